package symptom

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestFewAlikeSamplesScatterAsBefore: a clock is at one of two levels, as its power
// cap lets it, and so is each sample of it. A few at the lower one are alike by
// chance; many are not.
func TestFewAlikeSamplesScatterAsBefore(t *testing.T) {
	clock := column{metric: &telemetry.Metric{Name: metricClock, Type: telemetry.Gauge}}
	was := make([]float64, 48)
	for i := range was {
		was[i] = 1.55e9
		if i%3 == 0 {
			was[i] = 1.75e9
		}
	}
	before := (&reader{values: was}).stat(clock)
	if mean := float64(before.Mean); math.Abs(float64(before.Spread)-0.095e9/mean) > 0.002 {
		t.Errorf("a spread of %.4f, of two levels", before.Spread)
	}
	for n, want := range map[int][2]float64{1: {0.055, 0.065}, 6: {0.014, 0.022}, 60: {0, 0.003}} {
		is := make([]float64, n)
		for i := range is {
			is[i] = 1.55e9
		}
		now := (&reader{values: is, during: true}).stat(clock)
		f := &Contrast{now: &Sheet{rows: [][]Stat{{now}}}, before: &Sheet{rows: [][]Stat{{before}}}}
		err, _ := f.meanErrors(0, 0)
		if part := err / 1.61e9; part < want[0] || part > want[1] {
			t.Errorf("%d samples at the lower level: an error of %.4f, want %v", n, part, want)
		}
	}
}

// TestSamplesThatAreAlikeInARowCountAsOne: a latency is high for three samples at a time,
// while another job writes. Three high samples are then one observation, as they are not
// where high ones come singly.
func TestSamplesThatAreAlikeInARowCountAsOne(t *testing.T) {
	latency := column{metric: &telemetry.Metric{Name: "storage_write_latency_seconds", Type: telemetry.Gauge}}
	high := map[string]func(int) bool{"in a row": func(i int) bool { return i/3%4 == 0 }, "single": func(i int) bool { return i%4 == 0 }}
	errs := map[string]float64{}
	for name, is := range high {
		was := make([]float64, 48)
		for i := range was {
			if was[i] = 9; is(i) {
				was[i] = 13
			}
		}
		before := (&reader{values: was}).stat(latency)
		now := (&reader{values: []float64{13, 13, 13}, during: true}).stat(latency)
		f := &Contrast{now: &Sheet{rows: [][]Stat{{now}}}, before: &Sheet{rows: [][]Stat{{before}}}}
		errs[name], _ = f.meanErrors(0, 0)
	}
	if errs["in a row"] < 1.4*errs["single"] {
		t.Errorf("errors of %.2f in a row and %.2f where high samples are single", errs["in a row"], errs["single"])
	}
}
