// Package pace finds the steps of a job that reports none in what its own counters
// integrate: bytes sent, or what its GPUs compute, a grid at a time.
//
// A training job does the same in every step. So its traffic repeats itself with
// the step's period, and every step moves the same bytes: once the period is known,
// a step has ended whenever another step's bytes have gone by, however long that
// took. It owns the search for the period and the counting after it, and reports
// where the sampling does not allow either. It must never guess: a period that the
// samples do not show clearly is not identifiable.
package pace
