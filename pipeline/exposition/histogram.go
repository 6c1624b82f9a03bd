package exposition

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// latencyBounds are the upper bounds of the buckets of a latency, in seconds.
var latencyBounds = [...]float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Histogram counts durations in fixed buckets. Its series appear with the first
// observation. It may be used by several goroutines at once.
type Histogram struct {
	set          *metrics.Set
	name, labels string

	once    sync.Once
	buckets [len(latencyBounds) + 1]*metrics.Counter // the last is +Inf
	count   *metrics.Counter
	sum     *metrics.FloatCounter
}

// NewHistogram returns the histogram called name, such as
// quintet_serve_request_seconds, with labels as they are written, such as
// `route="/metrics"`, or none.
func NewHistogram(set *metrics.Set, name, labels string) *Histogram {
	return &Histogram{set: set, name: name, labels: labels}
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	h.once.Do(h.register)
	seconds := d.Seconds()
	for i, b := range latencyBounds {
		if seconds <= b {
			h.buckets[i].Inc()
		}
	}
	h.buckets[len(latencyBounds)].Inc()
	h.count.Inc()
	h.sum.Add(seconds)
}

func (h *Histogram) register() {
	for i := range h.buckets {
		le := "+Inf"
		if i < len(latencyBounds) {
			le = strconv.FormatFloat(latencyBounds[i], 'g', -1, 64)
		}
		h.buckets[i] = h.set.GetOrCreateCounter(fmt.Sprintf(`%s_bucket{%s}`, h.name, strings.TrimPrefix(h.labels+`,le="`+le+`"`, ",")))
	}
	h.count = h.set.GetOrCreateCounter(h.series("_count"))
	h.sum = h.set.GetOrCreateFloatCounter(h.series("_sum"))
}

func (h *Histogram) series(suffix string) string {
	if h.labels == "" {
		return h.name + suffix
	}
	return h.name + suffix + "{" + h.labels + "}"
}
