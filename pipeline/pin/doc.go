// Package pin keeps the evidence of incidents: the part of the log around each, cut
// to what it involves, as a trace of its own before the log ages out, and with it
// the feedback on the answer, as a labelled case that can be scored.
//
// It reads the log, the stream of incidents and the bucket of notes, and writes one
// folder. It must never block anything: an incident that finds no room is counted,
// not waited for.
package pin
