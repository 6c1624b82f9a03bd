package fabric

import (
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// finest is the most of a step that may lie between two samples for the step's
// shape to be seen in them.
const finest = 0.8

// Lag is how long after the start of a step, in seconds, an end sends its
// bytes: their centre of mass, averaged over the steps. A host that computes
// longer sends later. It returns false where nothing was sent or seen, and
// where a sample averages over a step.
func (m *Map) Lag(h History, grid telemetry.Duration, steps []jobs.Step, i int) (float64, bool) {
	slot := m.Ends[i].slots[txBytes]
	if slot < 0 {
		return 0, false
	}
	var total float64
	n := 0
	for _, s := range steps {
		if float64(h.Cadence(slot)) > float64(finest*float64(s.End-s.Start)) {
			continue
		}
		if lag, ok := stepLag(h, grid, slot, s); ok {
			total += lag
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return total / float64(n), true
}

// stepLag is the centre of mass of one step's bytes, a grid's bytes taken as
// spread evenly over it.
func stepLag(h History, grid telemetry.Duration, slot int, s jobs.Step) (float64, bool) {
	var bytes, moment float64
	for g := gridEnd(s.Start, grid); g.Add(-grid) < s.End; g = g.Add(grid) {
		rate, ok := h.At(slot, g)
		if !ok {
			return 0, false
		}
		from, to := max(g.Add(-grid), s.Start), min(g, s.End)
		b := float64(rate * float64(to-from))
		middle := (float64(from-s.Start) + float64(to-s.Start)) / 2
		bytes += b
		moment += float64(b * middle)
	}
	if bytes <= 0 {
		return 0, false
	}
	return moment / bytes / 1e9, true
}

// gridEnd is the end of the grid that holds the instant just after t.
func gridEnd(t telemetry.Time, grid telemetry.Duration) telemetry.Time {
	g := telemetry.Time(grid)
	return t - t%g + g
}
