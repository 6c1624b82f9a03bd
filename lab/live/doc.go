// Package live runs a simulated site by the clock: a second of it passes every
// second, its board says what its devices would answer, and faults are struck
// on it as one goes.
//
// It owns the pace. It must never know a protocol.
package live
