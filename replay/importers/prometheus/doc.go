// Package prometheus queries a Prometheus server, or one with its query API (Mimir,
// Thanos, VictoriaMetrics, ours), for the samples of an interval, and writes them
// as the samples of a bundle.
//
// It owns the queries (every sample as it was stored, with its own time: nothing is
// interpolated) and which of several senders of one series counts. The meaning of
// labels is in the mapping files of collectors/mapping. It must never guess a
// meaning that no file states, or query a metric that no mapping uses.
package prometheus
