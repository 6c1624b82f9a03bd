package forward

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// family are the metrics of all queues, under the names that Prometheus gives them.
type family struct {
	samples, failed, retried, dropped, bytes *prometheus.CounterVec
	pending, read, sent                      *prometheus.GaugeVec
	took                                     *prometheus.HistogramVec
}

// counts are the metrics of one queue.
type counts struct {
	samples, failed, retried, dropped, bytes prometheus.Counter
	pending                                  prometheus.Gauge
	took                                     prometheus.Observer
	lastRead, lastSent                       *newest
}

// newest is the highest of some times, in ms since 1970, shown in seconds.
type newest struct {
	ms    atomic.Int64
	shown prometheus.Gauge
}

// raise makes n at least ms.
func (n *newest) raise(ms int64) {
	for {
		old := n.ms.Load()
		if ms <= old {
			return
		}
		if n.ms.CompareAndSwap(old, ms) {
			n.shown.Set(float64(ms) / 1000)
			return
		}
	}
}

func newCounts(r prometheus.Registerer) *family {
	by := []string{"remote_name", "url"}
	counter := func(name, help string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prometheus_remote_storage_" + name, Help: help}, by)
		r.MustRegister(v)
		return v
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "prometheus_remote_storage_" + name, Help: help}, by)
		r.MustRegister(v)
		return v
	}
	f := &family{
		samples: counter("samples_total", "Samples sent, those of repeated requests each time."),
		failed:  counter("samples_failed_total", "Samples that the receiver refused or that were pending when the process ended."),
		retried: counter("samples_retried_total", "Samples sent again after a failure."),
		dropped: counter("samples_dropped_total", "Samples of unknown series, not sent."),
		bytes:   counter("bytes_total", "Bytes sent, compressed."),
		pending: gauge("samples_pending", "Samples read and not yet sent."),
		read:    gauge("queue_highest_timestamp_seconds", "Time of the newest sample read, in seconds since 1970."),
		sent:    gauge("queue_highest_sent_timestamp_seconds", "Time of the newest sample sent, in seconds since 1970."),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "prometheus_remote_storage_sent_batch_duration_seconds", Help: "Duration of requests.",
			Buckets: append(prometheus.DefBuckets, 25, 60, 120, 300)}, by),
	}
	r.MustRegister(f.took)
	return f
}

// of returns the metrics of a receiver.
func (f *family) of(name, url string) counts {
	return counts{samples: f.samples.WithLabelValues(name, url), failed: f.failed.WithLabelValues(name, url), retried: f.retried.WithLabelValues(name, url),
		dropped: f.dropped.WithLabelValues(name, url), bytes: f.bytes.WithLabelValues(name, url), pending: f.pending.WithLabelValues(name, url),
		took: f.took.WithLabelValues(name, url), lastRead: &newest{shown: f.read.WithLabelValues(name, url)}, lastSent: &newest{shown: f.sent.WithLabelValues(name, url)}}
}

// enqueued counts a sample that was read, by its time.
func (c *counts) enqueued(ms int64) { c.lastRead.raise(ms) }

// attempted counts a request.
func (c *counts) attempted(samples, bytes int, took time.Duration) {
	c.samples.Add(float64(samples))
	c.bytes.Add(float64(bytes))
	c.took.Observe(took.Seconds())
}

// sent counts samples that the receiver has.
func (c *counts) sent(samples []sample) {
	for _, s := range samples {
		c.lastSent.raise(s.at)
	}
}
