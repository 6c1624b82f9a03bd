// Package explain names the root of a job's trouble: it lists who could have
// caused it, measures each, weighs the measures by the signatures, and tells
// the answer as a sentence, a chain and what speaks for and against.
//
// It owns the incident and the signature as types, the measures that
// signatures may use, and the weighing. It knows no fault by name: faults are
// data (rules/signatures). Candidates are only entities coupled to the hurt job
// through edges (design B4.5). It must never pick an answer because there has
// to be one: what no signature fits is "unknown, most likely at X".
package explain
