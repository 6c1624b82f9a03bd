// Package work is what runs on a simulated site: training jobs whose ranks
// compute, wait for each other and exchange, and serving jobs with a queue.
//
// It owns the shape of a job (which rank sits where and in which groups), what
// a rank has to do in a step, how long groups of ranks take together, and which
// bytes go between which nodes. Draws are addressed by step and rank, so that
// two runs of one seed do the same work at the same step whatever happened
// before.
//
// It never describes how fast anything goes: clocks, rates and storage are passed
// in. It knows no link, no temperature and no fault.
package work
