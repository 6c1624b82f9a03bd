package baseline

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Time(1e9)

// TestTheSeriesThatStraysNamesTheRoot: of three GPUs one loses half its clock,
// another a tenth a little earlier.
func TestTheSeriesThatStraysNamesTheRoot(t *testing.T) {
	gpus := []telemetry.Entity{{Kind: telemetry.GPU, Name: "n/0"}, {Kind: telemetry.GPU, Name: "n/1"}, {Kind: telemetry.GPU, Name: "n/2"}}
	sc := &telemetry.Schema{Source: telemetry.Source{Collector: "dcgm", Target: "n", Part: "gpus"}, Cadence: 1e9, Entities: gpus, Columns: []telemetry.Column{
		{Metric: "gpu_sm_clock_hertz", Type: telemetry.Uint}, {Metric: "gpu_throttle_thermal_seconds_total", Type: telemetry.Decimal, Exp: 3}}}
	w := Watch(200*second, 300*second)
	var enc telemetry.Encoder
	hear := func(r *telemetry.Record) {
		if err := w.Observe(r); err != nil {
			t.Fatal(err)
		}
	}
	hear(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: sc})
	for s := range 300 {
		clock := [3]float64{1800e6, 1800e6, 1800e6}
		for g := range clock {
			clock[g] += 10e6 * math.Sin(float64(s*(g+3)))
		}
		if s >= 220 {
			clock[1] /= 2
		}
		if s >= 210 {
			clock[2] *= 0.9
		}
		f := telemetry.Frame{Incarnation: 1, Sequence: uint64(s), Instants: []telemetry.Instant{{Source: telemetry.Time(s) * second}},
			Words: []uint64{uint64(clock[0]), uint64(clock[1]), uint64(clock[2]), 0, 0, 0}}
		b, err := enc.AppendFrame(nil, sc, &f)
		if err != nil {
			t.Fatal(err)
		}
		hear(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
	}
	want := map[string]telemetry.Entity{MaxZ: gpus[1], MedianIQR: gpus[1], FirstOnset: gpus[2]}
	for _, r := range w.Rank() {
		if len(r.Entities) == 0 || r.Entities[0] != want[r.Method] || r.Domains[0] != telemetry.Computing {
			t.Errorf("%s names %v, want %v", r.Method, r.Entities, want[r.Method])
		}
	}
}
