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
