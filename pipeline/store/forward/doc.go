// Package forward sends the history on, as it is written, to whatever speaks
// Prometheus' remote write: VictoriaMetrics, Mimir, Thanos, another Prometheus.
//
// It owns what a receiver is told of itself; Prometheus' own queues read the
// database's write-ahead log, retry, shard and count.
package forward
