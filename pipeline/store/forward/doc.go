// Package forward sends the history, as it is written, to receivers of Prometheus
// remote write: VictoriaMetrics, Mimir, Thanos, another Prometheus.
//
// It owns the configuration of a receiver and the queue of samples to it.
// Prometheus' watcher reads the database's write-ahead log; a queue divides what it
// reads among connections by series, so that the samples of one series arrive in
// order. A receiver that is unavailable blocks its queue, and no other: what is not
// sent waits in the log.
package forward
