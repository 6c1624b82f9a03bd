// Package nvml reads a host's NVIDIA GPUs directly, through the driver's management
// library, where no dcgm-exporter runs on the host.
//
// It owns which of the library's values is which metric and in which unit. It only
// reads: it sets no limit, no clock and no counter. The library is bound by cgo, so
// the reader is part of a build with the tag nvml only; without it the collector
// reports that.
//
// Activity is the mean over the time since the last reading (GPM, Hopper and
// later); where a device has no GPM only the utilisation of the last second that
// NVML itself keeps is known, and tensor and memory activity are not stated. Power
// is the instantaneous one where the device reports it. An XID comes as an event
// the moment the driver raises it; XIDs that name no hardware or driver fault (an
// application's own error) come too: the engine judges what they mean.
package nvml
