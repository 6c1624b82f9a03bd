package ticker

import "github.com/VictoriaMetrics/metrics"

// counts are a ticker's own metrics.
type counts struct {
	stated, adopted, steps, failures, follows *metrics.Counter
}

func newCounts(set *metrics.Set, t *ticker) counts {
	look := func(fn func(p *pace) float64) func() float64 {
		return func() float64 {
			t.mu.Lock()
			defer t.mu.Unlock()
			return fn(t.pace)
		}
	}
	set.GetOrCreateGauge("quintet_ticker_behind_seconds", look(func(p *pace) float64 { return p.clock.Sub(p.last).Seconds() }))
	set.GetOrCreateGauge("quintet_ticker_processes", look(func(p *pace) float64 { return float64(len(p.processes)) }))
	set.GetOrCreateGauge("quintet_ticker_ignored_ticks", look(func(p *pace) float64 { return float64(p.ignored) }))
	set.GetOrCreateGauge("quintet_ticker_wall_disbelieved", look(func(p *pace) float64 { return float64(p.disbelieved) }))
	return counts{
		stated:   set.GetOrCreateCounter("quintet_ticker_stated_total"),
		adopted:  set.GetOrCreateCounter("quintet_ticker_adopted_total"),
		steps:    set.GetOrCreateCounter("quintet_ticker_clock_steps_total"),
		failures: set.GetOrCreateCounter("quintet_ticker_failures_total"),
		follows:  set.GetOrCreateCounter("quintet_ticker_interruptions_total"),
	}
}
