package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/pace"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// statedRate is what a job that reports no step states of its progress: tokens a second, or
// how well it uses its GPUs. Equal amounts of work take as long as its inverse.
type statedRate struct {
	metric telemetry.MetricName // "" where it states none
	last   telemetry.Time       // of its newest value; 0 before
	amount float64              // what was done between the first two, which is taken for a step
}

// states takes a rate that a job states, as of the end of a step, in place of the length of
// that. Tokens come first: they count what the job is for.
func (e *roll) states(s *window.StepSample) {
	i, ok := slices.BinarySearchFunc(e.paced, s.Series.Entity, pacer.compare)
	if !ok || s.Value <= 0 || e.paced[i].rate.metric == metricTokens && s.Series.Metric != metricTokens {
		return
	}
	p := &e.paced[i]
	if p.rate.metric != s.Series.Metric {
		p.rate, p.track, p.by = statedRate{metric: s.Series.Metric}, pace.Tracker{}, byNothing
		if e.reports(p.job) {
			e.book.Renew(p.job, s.At)
		}
	}
	r := &p.rate
	if r.amount == 0 && r.last != 0 && s.At > r.last {
		r.amount = float64(s.Value * s.At.Sub(r.last).Seconds())
	}
	if r.last = max(r.last, s.At); r.amount > 0 {
		e.book.Observe(p.job, s.At, r.amount/s.Value, s.Wait-e.cfg.Lateness[telemetry.Prompt])
	}
}
