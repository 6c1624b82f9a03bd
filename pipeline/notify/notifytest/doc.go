// Package notifytest checks a kind of receiver against what notify requires of it:
// the same bytes under the same id at every attempt, a true verdict, and an end
// when its context ends.
//
// It owns the ways in which the far end behaves, and the required outcome of each.
// It must never know a receiver's protocol: a kind brings its own far end. Only
// tests import it.
package notifytest
