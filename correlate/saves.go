package correlate

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const metricSaves telemetry.MetricName = "job_checkpoint_seconds"

// savesBefore returns how long the checkpoints took that a job told of before a
// hurt, in the median: some of them may have taken longer already; 0 where it
// told of none.
func (e *Engine) savesBefore(job telemetry.Entity, until telemetry.Time) float64 {
	var told []float64
	for _, v := range e.perStep.Values(telemetry.Series{Entity: job, Metric: metricSaves}, math.MinInt64, until) {
		if v > 0 {
			told = append(told, v)
		}
	}
	if len(told) == 0 {
		return 0
	}
	return stats.Median(told)
}

// savesNow returns what checkpoints took beyond that, in seconds a step of the
// hurt; nil where it is not known what they usually take.
func (e *Engine) savesNow(c *incidentCase, hurt *jobs.Hurt) *float64 {
	vs := e.perStep.Values(telemetry.Series{Entity: c.job, Metric: metricSaves}, hurt.Onset.Earliest, hurt.LastSlow)
	if c.saves <= 0 || len(vs) == 0 {
		return nil
	}
	var more float64
	for _, v := range vs {
		more += max(0, v-c.saves)
	}
	more /= float64(len(vs))
	return &more
}

// toldBefore returns the medians of what a job told of its work before a hurt.
func (e *Engine) toldBefore(job telemetry.Entity, until telemetry.Time) (told [2]float64) {
	for i, m := range toldOf() {
		told[i], _ = e.perStep.Before(telemetry.Series{Entity: job, Metric: m}, until, beforeCompute)
	}
	return told
}

func toldOf() [2]telemetry.MetricName {
	return [2]telemetry.MetricName{metricTokens, "job_mfu_ratio"}
}

// toldWork returns what a job says it does a second, now over before; 0 where it
// says nothing of it.
func (e *Engine) toldWork(c *incidentCase, hurt *jobs.Hurt, g telemetry.Time) float64 {
	for i, m := range toldOf() {
		if now, n := e.perStep.Median(telemetry.Series{Entity: c.job, Metric: m}, hurt.Onset.Earliest, hurt.End(g)); n > 0 && c.told[i] > 0 {
			return now / c.told[i]
		}
	}
	return 0
}
