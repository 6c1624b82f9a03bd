// Package score judges incidents against the truth of labelled bundles:
// which fault was found, whether its root, signature and
// domain are right, how soon, how well its cost was put, and how often an
// alarm was false.
//
// It owns the truth file, the matching of incidents with faults, every
// figure of the score, its JSON and its tables. It never runs the engine, reads
// a file or looks at a clock: a caller hands it Cases and, for the tables, an
// io.Writer. It never lets a right answer decide which incident is matched with
// which fault.
//
// docs/scoring.md states each definition in words and its limits.
package score
