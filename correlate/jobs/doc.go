// Package jobs follows the steps of training jobs and says when one is slow,
// stalled or well again, against its own past and nothing else.
//
// It owns what a usual step is for a job, the evidence gathered against it,
// and the account of a hurt (when it began, how long its steps are now, what
// they would be). It never asks why: that is explain's work. Time comes with
// the data: a step carries its end, and Close carries the grid.
package jobs
