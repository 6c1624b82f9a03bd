// Package replica runs one copy of the engine over the log: from a snapshot, in
// order, publishing each revision once.
//
// It owns when a replica may speak, what it does when another one disagrees,
// and its snapshots. It is the only owner of its engine.
package replica
