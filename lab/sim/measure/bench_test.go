package measure_test

import (
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// BenchmarkObserve measures one second of a site, the lean set, imperfect.
func BenchmarkObserve(b *testing.B) {
	for name, cfg := range map[string]site.Config{"256": site.Sized(256), "reference": site.Reference()} {
		b.Run(name, func(b *testing.B) {
			s, err := site.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			m, err := measure.New(s, nil, measure.Config{Seed: 1, Start: start, Imperfect: true, Set: measure.Lean})
			if err != nil {
				b.Fatal(err)
			}
			st, size := plainState(s, 0), 0
			emit := func(r *telemetry.Record) error { size += len(r.Frame); return nil }
			for range 40 {
				pass(st)
				if err := m.Observe(st, emit); err != nil {
					b.Fatal(err)
				}
			}
			size = 0
			b.ReportAllocs()
			for b.Loop() {
				pass(st)
				if err := m.Observe(st, emit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(m.Series()), "series")
			b.ReportMetric(float64(size)/float64(b.N), "bytes/s")
		})
	}
}
