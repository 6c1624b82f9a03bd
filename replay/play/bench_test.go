package play_test

import (
	"context"
	"testing"

	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// nowhere takes records and forgets them.
type nowhere struct{ records int }

func (n *nowhere) Append(_ context.Context, _ string, rs ...*telemetry.Record) error {
	n.records += len(rs)
	return nil
}

// BenchmarkPlay is what the player itself costs: a log that takes everything at
// once. x-real is how many times faster than real time that is.
func BenchmarkPlay(b *testing.B) {
	path := asTrace(b, recorded)
	into := &nowhere{}
	var length telemetry.Duration
	b.ReportAllocs()
	for b.Loop() {
		rec := open(b, path)
		c := config(rec, into)
		c.Now = func() telemetry.Time { return 1_764_000_000_000_000_000 }
		if err := play.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		first, last := rec.Span()
		length += last.Sub(first)
	}
	b.ReportMetric(length.Seconds()/b.Elapsed().Seconds(), "x-real")
	b.ReportMetric(float64(into.records)/b.Elapsed().Seconds(), "records/s")
}
