package recorder

import (
	"testing"
	"time"
)

// BenchmarkCurves draws an incident of four minutes at a site of some thousand
// series, from a log in memory: first like a page that is just opened, then like
// one that has been open and requests new points.
func BenchmarkCurves(b *testing.B) {
	p := record(b, "slownic-2")
	p.until(0)
	in := p.incident()
	b.Run("opened", func(b *testing.B) {
		for b.Loop() {
			r := p.recorder(Config{})
			if _, err := r.Curves(b.Context(), in, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		r := p.recorder(Config{})
		for b.Loop() {
			if _, err := r.Curves(b.Context(), in, 290e9); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkIndex reads the ticks and schemas of the whole recording.
func BenchmarkIndex(b *testing.B) {
	p := record(b, "slownic-2")
	p.until(0)
	for b.Loop() {
		x := newIndex(p.log, p.recorder(Config{}).cfg.Site, time.Now)
		if err := x.refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
