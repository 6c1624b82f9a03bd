// Package evaluation turns scores of several named sets of cases into one table.
//
// It owns the syntax that names a set, the figures of a set (the columns of the
// table), the reliability diagram and the expected calibration error, the floors
// that a figure must keep, the paired comparison of two results, and the table of
// what parts of the engine are worth. It runs no engine, opens no file and
// measures no time: a caller gives it a score.Report for each set.
//
// docs/scoring.md describes sets and columns for users.
package evaluation
