// Package notifytest holds a kind of receiver to what notify needs of it: the
// same bytes under the same id at every attempt, a true verdict, and an end when
// its context ends.
//
// It owns the ways in which the far end behaves, and what must come of each. It
// must never know how a receiver is spoken to: a kind brings its own far end.
// Only tests import it.
package notifytest
