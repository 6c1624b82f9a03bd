// Package logs collects events from logs: the kernel's messages, syslog over the
// network, and files.
//
// It owns the forms in which logs are written, and the allow-list of patterns by
// which a line becomes an event of an entity. It must never carry a line that no
// pattern asks for, nor judge an event: repeats are merged, and that is all.
//
// # Time
//
// A kernel message states its time since boot; the wall clock at boot is taken once
// and corrected where messages just read prove it wrong by more than two seconds.
// Any other time is the line's own. If a line was written just now and states a
// time that is off by more than a minute, our time is used.
//
// # What is reported again
//
// Lines that existed before the collector first ran are left out, as stale, unless
// they are younger than the configuration asks for. With a state file, reading
// continues after a restart where it ended.
package logs
