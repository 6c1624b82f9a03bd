// Package fault states what the faults that have signatures and their benign look-alikes
// do to the parts of a simulated site.
//
// It owns the table of kinds (where each may strike, what its severity means,
// which answers count as right) and the writing of faults that are active at an
// instant into a condition.Set. It never states what follows: that is physics,
// and package world's.
package fault
