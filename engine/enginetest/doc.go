// Package enginetest plays recorded runs through the engine for tests that
// compare what comes out: the invariants, the golden replay on another machine.
//
// It owns the reading of a bundle into a log in memory and the text of what
// was published. It must never judge whether an answer is right (replay/score
// does), and only tests import it.
package enginetest
