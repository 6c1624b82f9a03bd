// Package prometheus is our Prometheus rules: a file of recording and alerting
// rules for each domain, with its tests beside it in promtool's format.
//
// It owns the files and nothing else: pipeline/store evaluates them, any other
// Prometheus may load them, rules/promlint reports whether they are sound and
// rules/promunit runs their tests. The annotation runbook of an alert states what
// to do about it; docs/rules-prometheus.md lists them.
package prometheus
