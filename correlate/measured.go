package correlate

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// measured returns the mean of a series between two times, in its own unit, and the
// standard error of that mean, NaN where a single sample was seen; false where
// nothing of it is kept.
func (e *sight) measured(s telemetry.Series, from, to telemetry.Time) (mean, err float64, ok bool) {
	if m, declared := e.cfg.Catalogue.Lookup(s.Metric); declared && m.PerStep {
		return meanOf(e.perStep.Values(s, from, to), 1)
	}
	slot, known := e.window.Slot(s)
	if !known {
		return 0, 0, false
	}
	grid := e.cfg.Grid
	var vs []float64
	for g := max(floor(from, grid).Add(grid), e.oldest(to)); g <= to; g = g.Add(grid) {
		if v, ok := e.window.At(slot, g); ok {
			vs = append(vs, v)
		}
	}
	// Grids between two samples of a slow source show the same sample.
	return meanOf(vs, max(1, float64(e.window.Cadence(slot))/float64(grid)))
}

// meanOf returns the mean of values and its standard error, where so many values
// in a row come of one sample.
func meanOf(vs []float64, repeated float64) (mean, err float64, ok bool) {
	if len(vs) == 0 {
		return 0, 0, false
	}
	for _, v := range vs {
		mean += v
	}
	mean /= float64(len(vs))
	var squares float64
	for _, v := range vs {
		squares += float64((v - mean) * (v - mean))
	}
	samples := float64(len(vs)) / repeated
	if samples < 2 {
		return mean, math.NaN(), true
	}
	return mean, math.Sqrt(squares / float64(len(vs)) / (samples - 1)), true
}

const (
	// relatedBefore is how long before a degradation an event may have to do with it.
	relatedBefore = telemetry.Duration(120e9)
	// maxRelated bounds the events that an incident lists.
	maxRelated = 16
)

// eventsAt lists the events at entities since a little before a time.
func (e *memory) eventsAt(of []telemetry.Entity, since telemetry.Time) []explain.Related {
	out := []explain.Related{}
	for i := range e.recent {
		ev := &e.recent[i]
		if ev.At < since.Add(-relatedBefore) || !slices.ContainsFunc(of, func(x telemetry.Entity) bool { return x == ev.Entity || e.within(ev.Entity, x) }) {
			continue
		}
		text := string(ev.Name)
		if ev.Text != "" {
			text += ": " + ev.Text
		}
		out = append(out, explain.Related{At: ev.At, Kind: "event", Entity: ev.Entity, Text: text})
	}
	return out[:min(len(out), maxRelated)]
}
