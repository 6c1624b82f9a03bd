package correlate

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// savesBefore returns how long the checkpoints took that a job reported before a
// degradation, in the median: some of them may have taken longer already. Where it
// reported none, the excess of its periodic long steps is taken, where these have
// grown; 0 where there is neither.
func (e *examiner) savesBefore(job telemetry.Entity, degradation *jobs.Degradation) float64 {
	var reported []float64
	for _, v := range e.perStep.Values(telemetry.Series{Entity: job, Metric: metricCheckpoint}, math.MinInt64, degradation.Onset.Earliest) {
		if v > 0 {
			reported = append(reported, v)
		}
	}
	if len(reported) == 0 {
		return degradation.Periodic
	}
	return stats.Median(reported)
}

// savesNow returns what checkpoints took beyond that, in seconds a step of the
// degradation; nil where it is not known what they usually take. A job may report a
// checkpoint with every step, or only those that it wrote.
func (e *examiner) savesNow(c *incidentCase, degradation *jobs.Degradation) *float64 {
	vs := e.perStep.Values(telemetry.Series{Entity: c.job, Metric: metricCheckpoint}, degradation.Begun(), degradation.LastSlow)
	switch {
	case c.saves <= 0 || len(vs) == 0 && degradation.Periodic == 0:
		return nil
	case len(vs) == 0:
		more := degradation.Lost / max(1, float64(degradation.Steps))
		return &more
	}
	var more float64
	for _, v := range vs {
		if v > 0 {
			more += v - c.saves
		}
	}
	more = max(0, more) / max(1, float64(degradation.Steps))
	return &more
}

// reportedWorkBefore returns what a job reported of the work in its steps before a
// degradation, in the median.
func (e *examiner) reportedWorkBefore(job telemetry.Entity, until telemetry.Time) (reported [2]middle) {
	for i, m := range workMetrics() {
		if work := e.reportedRates(job, m, telemetry.Interval{Earliest: math.MinInt64, Latest: until}); len(work) > 0 {
			reported[i] = typical(work[max(0, len(work)-beforeCompute):])
		}
	}
	return reported
}

func workMetrics() [2]telemetry.MetricName {
	return [2]telemetry.MetricName{metricTokens, metricMFU}
}

// reportedRates lists what a job reports, as a rate, of the work in each of its
// steps: where some are long and some are not, the rate of most does not represent
// them all.
func (e *examiner) reportedRates(job telemetry.Entity, rate telemetry.MetricName, during telemetry.Interval) []float64 {
	rates := map[telemetry.Time]float64{}
	e.perStep.Each(telemetry.Series{Entity: job, Metric: rate}, during.Earliest, during.Latest, func(at telemetry.Time, v float64) { rates[at] = v })
	var out []float64
	e.perStep.Each(telemetry.Series{Entity: job, Metric: metricStep}, during.Earliest, during.Latest, func(at telemetry.Time, length float64) {
		if v, ok := rates[at]; ok {
			out = append(out, float64(v*length))
		}
	})
	return out
}

// reportedWork returns the work in a step that a job reports, now over before, and its
// standard error; 0 where it reports none.
func (e *examiner) reportedWork(c *incidentCase, degradation *jobs.Degradation, g telemetry.Time) (ratio, err float64) {
	for i, m := range workMetrics() {
		before := c.reportedWork[i]
		if work := e.reportedRates(c.job, m, telemetry.Interval{Earliest: degradation.Begun(), Latest: degradation.End(g)}); len(work) > 0 && before.value > 0 {
			now := typical(work)
			ratio = now.value / before.value
			return ratio, float64(ratio * stats.Quadrature(now.err/max(now.value, before.value), before.err/before.value))
		}
	}
	return 0, 0
}

// middle is the median of some values, with its standard error.
type middle struct{ value, err float64 }

// overMean is by how much larger the standard error of a median is than that of the mean,
// for normal values: √(π/2).
const overMean = 1.2533

// typical is the median of values; of one its error is not known, and 0.
func typical(values []float64) middle {
	value, off := stats.MAD(values)
	return middle{value, float64(overMean*stats.Consistency*off) / math.Sqrt(float64(len(values)))}
}
