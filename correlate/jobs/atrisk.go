package jobs

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Where something that a job depends on is known to be in trouble, so is the instant from
// which on its steps would be longer: those since are compared with those before, as two
// samples (Welch's test with the scatter of the usual ones). A change that is searched for
// among all instants needs more.

const (
	// riskBefore steps before and riskSince since are compared at least; they differ from
	// riskDeviations standard errors on.
	riskBefore, riskSince = 16, 5
	riskDeviations        = 4.0
)

// slowerSince returns the degradation of a job whose steps are longer since an instant; nil
// where they are not, or are too few. Single long ones count on neither side, nor do those
// of a degradation that is over.
func (j *Job) slowerSince(at telemetry.Interval, g telemetry.Time, u usual) *Degradation {
	var before, since []float64
	var steps []pending
	for i, s := range j.Recent {
		p := pending{s.End, s.Even, j.each(), j.Steps - uint64(len(j.Recent)-1-i)}
		switch {
		case isLong(u, s.Even):
		case s.End <= at.Earliest:
			before = append(before, s.Even)
		case p.within().Earliest >= max(at.Latest, j.well):
			since, steps = append(since, s.Even), append(steps, p)
		}
	}
	if len(before) < riskBefore || len(since) < riskSince {
		return nil
	}
	was, scatter := stats.Mean(before), deviation(before)
	// All are to be longer: a few that are long for themselves do not move the median.
	now := min(stats.Mean(since), was+stats.Median(slices.Clone(since))-stats.Median(before))
	err := float64(scatter * math.Sqrt(1/float64(len(before))+1/float64(len(since))))
	if b := j.blocks.past.usual(); b.n >= leastBlocks {
		// Steps in a row may be alike, which the scatter of their blocks contains.
		err = max(err, float64(b.sigma*math.Sqrt(blockSteps/float64(len(since)))))
	}
	if now-was < float64(riskDeviations*err) || now < float64((1+leastShift)*was) {
		return nil
	}
	h, line := j.suspected(g, u), was/2+now/2
	h.Before, h.Expected = was, was
	steps = steps[firstAbove(since, line):]
	h.inMeans(steps, line, float64((now-was)*math.Sqrt(blockSteps))/scatter)
	j.past.forget(max(0, len(steps)-len(j.suspects)))
	j.blocks.restart()
	return h
}

// firstAbove is from which of some values on they are above a line, most likely: what is
// above it is the largest sum from there.
func firstAbove(xs []float64, line float64) (first int) {
	sum, most := 0.0, 0.0
	for i := len(xs) - 1; i >= 0; i-- {
		if sum += xs[i] - line; sum > most {
			first, most = i, sum
		}
	}
	return first
}

// deviation is the standard deviation of values; 0 of fewer than two.
func deviation(xs []float64) float64 {
	m, sum := stats.Mean(xs), 0.0
	for _, x := range xs {
		sum = stats.Quadrature(sum, x-m)
	}
	return sum / math.Sqrt(max(1, float64(len(xs)-1)))
}
