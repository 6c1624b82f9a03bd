// Package sysfs collects from a host's sysfs tree: RDMA ports and their
// counters, links, and the configuration of the network devices behind them.
//
// It owns which file is which metric, and what a driver's oddities mean. It
// never writes, never executes a program, and never gives up a device for one
// unreadable file.
package sysfs
