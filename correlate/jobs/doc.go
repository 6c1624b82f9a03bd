// Package jobs follows the steps of training jobs and the latencies of jobs that
// serve, and reports when one is slow, stalled or recovered, compared with its own
// past and nothing else.
//
// It owns what a usual step is for a job, its periodic patterns (checkpoints,
// phases, how much a step holds), the evidence gathered against it, the account of
// a degradation (when it began, how long its steps are now, what they would be), of
// useful time and of what failures cost, and what jobs and ranks state step by
// step. It never looks for the cause: package explain does. Time comes with the data: a step
// carries its end, and Close carries the grid.
package jobs
