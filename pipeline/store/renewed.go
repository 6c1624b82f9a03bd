package store

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// putter takes a sample of the instant that is being written.
type putter func(labels.Labels, float64)

// renewed is a set of series that is stated whole each time: a series that is
// missing the next time is stale then.
type renewed struct {
	before, now map[uint64]labels.Labels
}

// put states a series.
func (r *renewed) put(l labels.Labels, v float64, put putter) {
	if r.now == nil {
		r.now = map[uint64]labels.Labels{}
	}
	h := l.Hash()
	if _, twice := r.now[h]; twice {
		return
	}
	r.now[h] = l
	put(l, v)
}

// end marks the series that were stated the last time and were not this time.
func (r *renewed) end(put putter) {
	for h, l := range r.before {
		if _, still := r.now[h]; !still {
			put(l, math.Float64frombits(value.StaleNaN))
		}
	}
	r.before, r.now = r.now, r.before
	clear(r.now)
}

// named makes labels from pairs of a name and a value.
func named(metric string, pairs ...string) labels.Labels {
	b := labels.NewScratchBuilder(1 + len(pairs)/2)
	b.Add(model.MetricNameLabel, metric)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			b.Add(pairs[i], pairs[i+1])
		}
	}
	b.Sort()
	return b.Labels()
}
