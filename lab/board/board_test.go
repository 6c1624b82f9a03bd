package board

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestAHostThatDiedStaysOff: its management controller, which is read every ten
// seconds, runs on.
func TestAHostThatDiedStaysOff(t *testing.T) {
	host, gpu, fan := telemetry.Entity{Kind: telemetry.Node, Name: "n1"}, telemetry.Entity{Kind: telemetry.GPU, Name: "n1/0"}, telemetry.Entity{Kind: telemetry.Fan, Name: "n1/fan1"}
	b := New()
	take := func(r *telemetry.Record) {
		t.Helper()
		if err := b.Take(r); err != nil {
			t.Fatal(err)
		}
	}
	var enc telemetry.Encoder
	states := func(x telemetry.Entity, m telemetry.MetricName) func(at telemetry.Time) {
		s := &telemetry.Schema{Source: telemetry.Source{Collector: "lab", Target: x.Name}, Entities: []telemetry.Entity{x}, Columns: []telemetry.Column{{Metric: m, Type: telemetry.Uint}}}
		take(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: host, To: x, Relation: telemetry.Contains}})
		take(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
		return func(at telemetry.Time) {
			f := &telemetry.Frame{Fingerprint: s.Fingerprint(), Instants: []telemetry.Instant{{Source: at}}, Words: []uint64{1}, States: []telemetry.State{2}}
			text, err := enc.AppendFrame(nil, s, f)
			if err != nil {
				t.Fatal(err)
			}
			take(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: text})
		}
	}
	clock, speed := states(gpu, "gpu_sm_clock_hertz"), states(fan, "fan_speed_ratio")
	const died = 25
	for second := range 60 {
		at := telemetry.Time(1e18).Add(telemetry.Duration(second) * 1e9)
		if second < died {
			clock(at)
		}
		if second%10 == 0 {
			speed(at)
		}
		take(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
		if off := b.Off(host); second > 1 && off != (second >= died+4) {
			t.Errorf("after %d s, %d of them without its GPU: off is %v", second, second-died, off)
		}
	}
}
