// Package collectors is the contract of everything that reads a device: what a
// collector is, what it emits into, and the supervisor that keeps each one running
// and reports its health.
//
// It owns up, duration and drops by reason, for every collector alike, and the text
// of a dry run. It must never conclude anything, know the log or the network behind
// a Sink, or let a failure of one collector affect another.
package collectors
