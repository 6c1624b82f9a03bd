// Package recorder reads the log back: into a trace, or as curves of a few
// series on one axis of time.
//
// It owns which part of the log is read for a question: where in the log an
// instant lies (the ticks say so: a recording may be played at any speed), and
// which collecting processes state a series (the schemas say so). It changes
// nothing, concludes nothing, and computes no rate of its own: frames go through
// a window like the engine's, so wraps, resets and gaps are told apart as there.
//
// # Curves
//
// A picture is what is drawn of one incident. It is kept for a while with its
// window and its place in the log, so that asking again costs only what is new.
// How many are kept, how many are worked on at a time and how many points a
// curve has are bounded.
package recorder
