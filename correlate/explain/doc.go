// Package explain names the root cause of a job's degradation: it lists the
// candidates, measures each, weighs the measures by the signatures, and writes the
// answer as a sentence, a chain and the evidence for and against.
//
// It owns the incident and the signature as types, the measures that signatures may
// use, and the weighing. It knows no fault by name: faults are data
// (rules/signatures). Candidates are only entities coupled to the degraded job
// through edges. It must never pick an answer because there has to be
// one: what no signature fits is "unknown, most likely at X".
package explain
