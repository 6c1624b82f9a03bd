// Package play states a recording again as if it happened now: its records in
// order, moved in time by a whole number of grids, at a chosen speed.
//
// It owns the moving of times and the pace. Where the records go is its
// caller's.
package play
