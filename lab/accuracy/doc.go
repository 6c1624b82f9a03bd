// Package accuracy writes docs/accuracy.md: what the answers over the cases of
// the simulated site were worth, how sure that is, what simple methods would
// have answered on the same cases, and what is still wrong.
//
// It owns the tables and the bounds: Wilson's for shares, a bootstrap over
// seeds for everything else. It must never run a case or judge an answer.
package accuracy
