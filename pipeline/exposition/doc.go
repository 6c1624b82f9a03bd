// Package exposition writes a process's own metrics in Prometheus's text format.
//
// It owns the help text and the type of every metric of this program, and the
// histogram that they use: with cumulative le buckets, which PromQL reads. It
// never counts anything itself.
package exposition
