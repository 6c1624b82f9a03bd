package correlate

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A precursor is a gauge of the plant that leaves the range it was in: a flow that
// is lost, a fan that stops. Such meters are read every 10 to 60 seconds, so that a
// detector that needs several samples reports minutes late. One sample far outside
// of all that are kept is enough, because nothing is concluded from it but that the
// gauge has moved; a signature states how far is dangerous.

const (
	// leastPast is how many samples a gauge's range is known from.
	leastPast = 3
	// leastSiblings is how many gauges beside it show what all of them do, and
	// alikePart which part of its own way their median must have gone to do alike.
	leastSiblings = 3
	alikePart     = 0.5
)

// signalSteps looks at the gauges of precursors that have a fresh sample in grid g.
func (e *signals) signalSteps(g telemetry.Time) {
	follows := map[int]bool{}
	for i := range e.signalled {
		if slot, ok := e.window.Slot(e.signalled[i].series); ok && e.signalled[i].kind == stepSignal {
			follows[slot] = true
		}
	}
	for _, slot := range e.heed().gauges {
		seen, ok := e.window.Last(slot)
		if !ok || !e.window.Judged(slot) || seen <= g.Add(-e.freshFor(slot)) {
			continue
		}
		v, _ := e.window.Value(slot)
		now := float64(v)
		if v != v || !follows[slot] && !e.stepped(slot, seen, now) {
			continue
		}
		s := signal{series: e.window.Series(slot), kind: stepSignal, since: g, last: g, now: now, first: now}
		at, known := e.signals(&s)
		down := e.down(s.series.Entity)
		switch {
		case known && down:
			e.signalled = slices.Delete(e.signalled, at, at+1)
		case known:
			e.followStep(at, now, g)
		case !down && len(e.signalled) < maxSignals:
			s.before = e.usually(slot, seen, now)
			if !e.movedAlike(s.series, now/s.before) {
				s.onset = e.widened(slot, telemetry.Interval{Earliest: seen.Add(-max(e.cfg.Grid, e.window.Cadence(slot))), Latest: seen})
				e.signalled = slices.Insert(e.signalled, at, s)
			}
		}
	}
}

// down reports whether an entity reports that it is down: its gauges show nothing of
// wear then. A link that is down has no rate, or the one that it will try first.
func (e *signals) down(x telemetry.Entity) bool {
	return slices.ContainsFunc(e.heed().ups, func(m telemetry.MetricName) bool {
		slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: m})
		if !ok {
			return false
		}
		v, _ := e.window.Value(slot)
		return v == 0
	})
}

// freshFor is for how long after it was taken a slot's sample is the last that can
// have come.
func (e *signals) freshFor(slot int) telemetry.Duration {
	return e.window.Wait(slot) + e.cfg.Grid
}

// followStep keeps a gauge that moved, until it is halfway back.
func (e *signals) followStep(at int, v float64, g telemetry.Time) {
	s := &e.signalled[at]
	s.last, s.now = g, v
	if by, back := s.first-s.before, s.first-v; by > 0 && back > by/2 || by < 0 && back < by/2 {
		e.signalled = slices.Delete(e.signalled, at, at+1)
	}
}

// past gives the samples of a slot before the one seen last, the newest first, until
// more returns false.
func (e *signals) past(slot int, seen telemetry.Time, more func(float64) bool) {
	step := max(e.cfg.Grid, e.window.Cadence(slot))
	for g := floor(seen, e.cfg.Grid).Add(-step); g > seen.Add(-(history-2)*e.cfg.Grid); g = g.Add(-step) {
		if x, ok := e.window.At(slot, g); ok && !more(x) {
			return
		}
	}
}

// stepped reports whether a value is outside the range of the samples before it by
// more than that range is wide. More samples only widen the range.
func (e *signals) stepped(slot int, seen telemetry.Time, v float64) bool {
	low, high, n, inside := math.Inf(1), math.Inf(-1), 0, false
	e.past(slot, seen, func(x float64) bool {
		low, high, n = min(low, x), max(high, x), n+1
		wide := high - low
		inside = v >= low-wide && v <= high+wide
		return !inside
	})
	return n >= leastPast && !inside
}

// usually returns the median of the samples before a value; 0 where they are too few,
// or the newest is the same: most gauges never move.
func (e *signals) usually(slot int, seen telemetry.Time, v float64) float64 {
	var past []float64
	e.past(slot, seen, func(x float64) bool {
		past = append(past, x)
		return past[0] != v
	})
	if len(past) < leastPast {
		return 0
	}
	return stats.Median(past)
}

// movedAlike reports whether the same gauges of the same container moved as one
// did, to so much of its value before: fans follow the load, and all of them do.
func (e *signals) movedAlike(s telemetry.Series, to float64) bool {
	whole, ok := e.graph.Container(s.Entity)
	if !ok {
		return false
	}
	var ratios []float64
	for _, x := range e.graph.Contents(whole) {
		slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: s.Metric})
		if !ok || x == s.Entity {
			continue
		}
		seen, _ := e.window.Last(slot)
		v, _ := e.window.Value(slot)
		if before := e.usually(slot, seen, float64(v)); before != 0 && v == v {
			ratios = append(ratios, float64(v)/before)
		}
	}
	if len(ratios) < leastSiblings {
		return false
	}
	others := stats.Median(ratios)
	return others-1 < 0 == (to-1 < 0) && max(others-1, 1-others) > float64(alikePart*max(to-1, 1-to))
}
