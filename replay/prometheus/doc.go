// Package prometheus asks a Prometheus server, or one that speaks its query API
// (Mimir, Thanos, VictoriaMetrics, ours), for what it holds of an interval, and
// writes it as the samples of a bundle.
//
// It owns the questions (every sample as it was stored, with its own time:
// nothing is interpolated) and which of several senders of one series counts.
// What labels mean stands in the mapping files of collectors/mapping. It must
// never guess a meaning that no file states, or ask for what nobody here
// understands.
package prometheus
