// Package promlint reports what is wrong with Prometheus rules and Grafana
// dashboards that ask of this site's history: syntax, metrics that nothing
// states, labels that a metric does not have, names that break the convention,
// panels without a unit.
//
// It owns the vocabulary: which metrics there are (the catalogue's, the info
// series, our own, those that our rules record) and which labels each has. It
// reads no file by itself and evaluates nothing.
package promlint
