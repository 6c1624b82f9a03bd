// Package sysfs collects from a host's sysfs tree: RDMA ports and their counters,
// links, the configuration of the network devices behind them, and the temperature
// of their optical modules where the driver shows its sensors.
//
// It owns which file is which metric, and what a driver's oddities mean. It never
// writes, never executes a program, and never gives up a device for one unreadable
// file.
//
// # Entities
//
// A device with one port, number 1, is one entity: nic:<node>/<device>. A device
// with several is nic:<node>/<device>, which has what is counted for the whole
// device, and contains nic:<node>/<device>:<port> for each. A port with several
// network interfaces behind it (a bond) contains nic:<node>/<interface> for each,
// which has what ethtool counts there; with one interface the port itself has it.
// Priorities are queue:<nic>/<priority>. Edges state all of that; what is known of
// a port besides (PCI address, driver, interface …) is on the edge from its node.
//
// # Which number is taken
//
// Every file in counters/, counters_ext/ and hw_counters/ is read, known or not; an
// unknown one becomes a metric named for its driver and file. Where two places have
// the same number, the wider counter is read and the other counted as duplicate.
// Counters are passed on as they are: the engine detects a counter that sticks at
// its maximum, from the width in the catalogue. What a device only pretends to know
// (the rate of efa) is not passed on.
//
// One number is computed here: mlx5 counts the bits that error correction corrected
// and those that could have been received, and port_pre_fec_ber is the ratio of the
// former to the latter since the previous reading.
//
// # Cost
//
// Files stay open and are read in place, at most once a second. A group of files
// (those of one port that the device answers together) whose reading takes long is
// read less often: after each reading it is left alone for twenty times as long as
// the reading took.
package sysfs
