package symptom

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// told is a history with a grid of one second: by metric what each grid held.
type told map[telemetry.MetricName][]float32

func (h told) slots() []telemetry.MetricName {
	return []telemetry.MetricName{metricClock, metricEngine, metricHeat}
}

func (h told) Slot(s telemetry.Series) (int, bool) {
	for i, name := range h.slots() {
		if _, ok := h[name]; ok && name == s.Metric {
			return i, true
		}
	}
	return 0, false
}

func (h told) Span(dst []float32, slot int, _, _ telemetry.Time) []float32 {
	return append(dst, h[h.slots()[slot]]...)
}

func (h told) At(int, telemetry.Time) (float64, bool) { return 0, false }
func (h told) Last(int) (telemetry.Time, bool)        { return 0, true }
func (told) Chosen(slot int) int                      { return slot }

func (h told) ClosedOf(int) (telemetry.Time, bool) {
	return 4e9, true
}
func (h told) Cadence(int) telemetry.Duration { return 1e9 }
func (h told) of(t *testing.T, m telemetry.MetricName) Stat {
	t.Helper()
	metric, ok := telemetry.DefaultCatalogue().Lookup(m)
	if !ok {
		t.Fatal(m)
	}
	gpu, engine := telemetry.Entity{Kind: telemetry.GPU, Name: "n0/0"}, &telemetry.Metric{Name: metricEngine}
	columns := []column{{metric: metric}, {metric: engine}}
	r := reader{src: Source{History: h, Grid: 1e9}, span: Span{From: 0, To: 4e9}, during: true, entity: gpu, columns: columns, slots: slotsOf(h, gpu, columns)}
	st, _ := r.read(0)
	return st
}

// TestAClockIsReadAtWork: an idle GPU that waits for its host lowers its clock; its
// clock at work has not changed.
func TestAClockIsReadAtWork(t *testing.T) {
	h := told{metricClock: {1700, 345, 1700, 345}, metricEngine: {1, 0, 0.99, 0.4}, metricHeat: {60, 50, 60, 50}}
	if s := h.of(t, metricClock); s.Mean != 1700 || s.Seen != 2 {
		t.Errorf("clock %+v", s)
	}
	if s := h.of(t, metricHeat); s.Mean != 55 {
		t.Errorf("temperature %+v", s)
	}
	serves := told{metricClock: {1700, 1690, 1710, 345, 1700}, metricEngine: {0.6, 0.62, 0.61, 0, 0.61}}
	if s := serves.of(t, metricClock); s.Seen != 4 || s.Mean < 1695 {
		t.Errorf("a GPU that serves: clock %+v", s)
	}
	delete(h, metricEngine)
	if s := h.of(t, metricClock); s.Seen != 4 {
		t.Errorf("where nothing is reported of the engine: %+v", s)
	}
}

// checkpoints holds one every fourth step.
type checkpoints struct{ before, now float64 }

func (c checkpoints) every(n int, v float64) (out []float64) {
	for i := range n {
		if i%4 == 3 {
			out = append(out, v)
		} else {
			out = append(out, 0.5)
		}
	}
	return out
}
func (c checkpoints) Last(_ telemetry.Series, _ telemetry.Time, n int) []float64 {
	return c.every(n, c.before) // as many as are asked for
}
func (c checkpoints) Values(telemetry.Series, telemetry.Time, telemetry.Time) []float64 {
	return c.every(8, c.now)
}

// TestWhatStepsHoldNowAndThenCountsWithItsMean: the median of checkpoint times does
// not show what they cost.
func TestWhatStepsHoldNowAndThenCountsWithItsMean(t *testing.T) {
	saves, _ := telemetry.DefaultCatalogue().Lookup("job_checkpoint_seconds")
	s := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "train"}, Metric: saves.Name}
	src := Source{Steps: checkpoints{before: 4, now: 12}, Grid: 1e9}
	before := (&reader{src: src}).steps(s, column{metric: saves})
	now := (&reader{src: src, during: true}).steps(s, column{metric: saves})
	if before.Mean != 1.375 || now.Mean != 3.375 {
		t.Errorf("%g before, %g now, want 1.375 and 3.375", before.Mean, now.Mean)
	}
}

// TestACheckpointIsNoUsualIdling: a single pause of some seconds is left out of the
// past, with the grids it began and ended in; short idling in each step is not, nor
// are repeated pauses during a degradation, unless the job reports checkpoints that
// take as long.
func TestACheckpointIsNoUsualIdling(t *testing.T) {
	step := []float32{1, 0.5, 0, 1}
	pause := []float32{0, 0, 0.05, 0, 0}
	long := slices.Concat(slices.Repeat(step, 8), pause)
	twice := slices.Concat(long, step, pause)
	for name, c := range map[string]struct {
		cells  []float32
		during bool
		saves  saved
		left   int
	}{
		"before":                         {slices.Concat(step, pause, step), false, saved{}, 6},
		"once in a degradation":          {slices.Concat(long, step), true, saved{}, 34},
		"again and again":                {slices.Concat(twice, step), true, saved{}, 50},
		"as often as told":               {slices.Concat(twice, step), true, saved{2, 6}, 36},
		"to the very end":                {long, true, saved{}, 31},
		"to the end for long":            {slices.Concat(long, pause, pause, pause), true, saved{}, 52},
		"the next checkpoint":            {twice, true, saved{1, 6}, 33},
		"longer than they take":          {twice, true, saved{1, 4}, 46},
		"in a short degradation":         {slices.Concat(step, pause, step), true, saved{}, 13},
		"nothing is heard":               {[]float32{nan(), nan(), nan(), nan(), nan()}, false, saved{}, 0},
		"nothing heard in a degradation": {[]float32{nan(), nan()}, true, saved{}, 0},
	} {
		cells := slices.Clone(c.cells)
		dropPauses(cells, c.during, c.saves)
		left := 0
		for _, v := range cells {
			if v == v {
				left++
			}
		}
		if left != c.left {
			t.Errorf("%s: %d grids left, want %d", name, left, c.left)
		}
	}
}
