// Package recorder reads the log back: into a trace, or as curves of a few series
// on one axis of time.
//
// It owns which part of the log is read for a question: the position of an instant
// in the log (from the ticks: a recording may be played at any speed), and which
// collecting processes report a series (from the schemas). It changes nothing,
// concludes nothing, and computes no rate of its own: frames go through a window
// like the engine's, so wraps, resets and gaps are distinguished as there.
//
// # Curves
//
// A picture is the set of curves of one incident. It is kept for a while with its
// window and its place in the log, so that a repeated request costs only what is
// new. The number of pictures kept, the number worked on at a time and the points
// of a curve are bounded.
package recorder
