// Package promunit runs tests of Prometheus rules that are written in
// promtool's format, without promtool: the rules are evaluated by Prometheus'
// own rule manager and engine over a database of their own.
//
// It owns the format's reading and the comparison; what a rule means is
// Prometheus'. Histograms as expected values are refused: our rules have none.
package promunit
