// Package recorder reads the log back: into a trace, or as curves of a few
// series on one axis of time.
//
// It owns which part of the log is read for a question. It changes nothing and
// concludes nothing.
package recorder
