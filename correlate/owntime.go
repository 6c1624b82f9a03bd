package correlate

import (
	"github.com/quintet-dc/quintet/telemetry"
)

// A rank's own time is the part of a step in which the others may wait for it: the step
// without what it waits for them and without the time for which data moves. It is the time
// of its kernels and of what delays them: a host that is disturbed launches them later and
// computes no longer. Who waits least is waited for.

// stepSeries are values stated at the ends of steps, the oldest first.
type stepSeries struct {
	at    []telemetry.Time
	value []float64
}

func (e *sight) stepSeries(x telemetry.Entity, m telemetry.MetricName, from, to telemetry.Time) (out stepSeries) {
	e.perStep.Each(telemetry.Series{Entity: x, Metric: m}, from, to, func(at telemetry.Time, v float64) {
		out.at, out.value = append(out.at, at), append(out.value, v)
	})
	return out
}

// nearest returns the value whose instant is nearest to at, and no further from it than
// within. k is where to begin, and next where that was: instants rise.
func (s *stepSeries) nearest(at telemetry.Time, k int, within telemetry.Duration) (next int, v float64, ok bool) {
	distance := func(i int) telemetry.Duration {
		d := s.at[i].Sub(at)
		return max(d, -d)
	}
	for k+1 < len(s.at) && distance(k+1) <= distance(k) {
		k++
	}
	if k >= len(s.at) || distance(k) > within {
		return k, 0, false
	}
	return k, s.value[k], true
}

// ownTimes returns a rank's own time, in seconds, in each of a job's steps in (from, to]
// in which it stated what it waited. Of a rank that never states for how long data moved,
// that is part of its own time; it is the same for all ranks of a collective.
func (e *sight) ownTimes(steps *stepSeries, rank telemetry.Entity, from, to telemetry.Time) []float64 {
	waits := e.stepSeries(rank, metricWait, from, to)
	if len(waits.at) == 0 || len(steps.at) == 0 {
		return nil
	}
	moves := e.stepSeries(rank, metricTransfer, from, to)
	var out []float64
	var i, j int
	for k, at := range waits.at {
		var length, moved float64
		var ok, moving bool
		i, length, ok = steps.nearest(at, i, seconds(steps.value[i]/2))
		j, moved, moving = moves.nearest(at, j, 0)
		if ok && (moving || len(moves.at) == 0) {
			out = append(out, length-waits.value[k]-moved)
		}
	}
	return out
}
