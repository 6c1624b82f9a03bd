// Package live runs a simulated site in real time: a second of it passes every
// second, its board holds what its devices would answer, and faults are injected
// while it runs.
//
// It owns the pace. It must never know a protocol.
package live
