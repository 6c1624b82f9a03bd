package correlate

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// serve files what serving jobs report of themselves in grid g.
func (e *roll) serve(g telemetry.Time) {
	for _, t := range e.running {
		itl, received := e.gaugeNow(t.job, jobs.MeasureITL)
		ttft, also := e.gaugeNow(t.job, jobs.MeasureTTFT)
		if !received && !also {
			continue
		}
		x := jobs.Served{ITL: itl, TTFT: ttft, Tokens: math.NaN()}
		x.Queue, _ = e.gaugeNow(t.job, "job_queue_requests")
		x.Cache, _ = e.gaugeNow(t.job, "job_kv_cache_ratio")
		tokens := e.perStep.Values(telemetry.Series{Entity: t.job, Metric: metricTokens}, g.Add(-jobs.ServedEvery), g)
		if n := len(tokens); n > 0 {
			x.Tokens = tokens[n-1]
		}
		e.reported(t.job) // it makes no steps that could be found
		e.book.ObserveServed(t.job, g, x)
	}
}

// gaugeNow is the value of a job's gauge in the grid closed last, if it was reported in
// it; else NaN.
func (e *roll) gaugeNow(job telemetry.Entity, m telemetry.MetricName) (float64, bool) {
	slot, ok := e.window.Slot(telemetry.Series{Entity: job, Metric: m})
	if !ok {
		return math.NaN(), false
	}
	v, flag := e.window.Value(slot)
	if flag != window.Fresh && flag != window.Gapped || v != v {
		return math.NaN(), false
	}
	return float64(v), true
}
