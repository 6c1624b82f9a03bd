// Package replay is the recorded shell: it opens a recording, which is a trace or a
// labelled bundle, and runs the engine over it as the live pipeline would.
//
// It owns the loop from record to incident and the further results of a replay: the
// span of the recording, the outcome of its records, the case that a score judges.
// It must never change a record, decide anything about a site, or know the live
// pipeline. It reads no clock: a caller who wants another pace than as fast as
// possible decides when a tick may pass.
package replay
