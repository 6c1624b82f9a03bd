// Package forward sends the history, as it is written, to receivers of Prometheus
// remote write: VictoriaMetrics, Mimir, Thanos, another Prometheus.
//
// It owns the configuration of a receiver; Prometheus' own queues read the
// database's write-ahead log, retry, shard and count.
package forward
