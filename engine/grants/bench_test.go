package grants_test

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// BenchmarkGateTake is one frame of a process without a grant, and with one.
func BenchmarkGateTake(b *testing.B) {
	for _, process := range []string{"", "free", "limited"} {
		b.Run("process="+process, func(b *testing.B) {
			g := grants.NewGate()
			c, err := grants.Grants{Processes: []grants.Grant{{Process: "limited", Nodes: []string{"n1"}}}}.Config(start)
			if err != nil {
				b.Fatal(err)
			}
			g.Take("", tick(0))
			g.Take("", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c})
			s := &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: "n1"}, Columns: []telemetry.Column{{Metric: "m", Type: telemetry.Uint}}}
			for i := range 200 {
				s.Entities = append(s.Entities, telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprint("n1/", i)})
			}
			var e telemetry.Encoder
			f := telemetry.Frame{Fingerprint: s.Fingerprint(), Incarnation: 1, Sequence: 1, Instants: []telemetry.Instant{{Source: start, Received: start}}, Words: make([]uint64, 200)}
			for i := range f.Words {
				f.Words[i] = uint64(i * 7919 * 7919)
			}
			data, err := e.AppendFrame(nil, s, &f)
			if err != nil {
				b.Fatal(err)
			}
			g.Take(process, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
			r := &telemetry.Record{Kind: telemetry.FrameRecord, Frame: data}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n++; n%1000 == 0 {
					g.Take("", tick(n/1000))
				}
				if why := g.Take(process, r); why != "" {
					b.Fatal(why)
				}
			}
		})
	}
}
