package play_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// site is the log of a real server.
func site(t testing.TB) *bus.Bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// stored reads a log to its end.
func stored(t *testing.T, b *bus.Bus) *memory {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, last, err := b.Bounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, enough := &memory{}, errors.New("enough")
	err = b.Follow(ctx, 0, func(e bus.Entry) error {
		if e.Err != nil || e.Collector != "play" && e.Record.Kind != telemetry.TickRecord && e.Record.Kind != telemetry.ConfigRecord {
			t.Errorf("position %d: %q, %v", e.Position, e.Collector, e.Err)
		}
		m.log = append(m.log, *e.Record)
		if e.Position == last {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return m
}

// A play into a real log that is broken off and goes on by what the log says.
func TestIntoARealLog(t *testing.T) {
	b := site(t)
	path := asTrace(t, recorded)
	const shift = 1_764_000_000 * second
	for _, ticks := range []int{40, 41, 100, 0} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		c := movedBy(t, path, shift)
		c.Into = b
		last, known, err := b.LastTick(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if known {
			c.Last = last
		}
		seen := 0
		c.Progress = func(play.Progress) {
			if seen++; seen == ticks {
				cancel()
			}
		}
		if err := play.Run(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	want := played(t, movedBy(t, path, shift))
	got := stored(t, b)
	if !maps.Equal(set(got.text(t)), set(want.text(t))) || ticks(t, got) != ticks(t, want) {
		t.Fatalf("%d records stored, %d played", len(got.log), len(want.log))
	}
	if d := enginetest.Diff(mapped(t, published(t, got), -shift), wanted(t)); d != "" {
		t.Error(d)
	}
}

// A second play into the same log is not taken for the first one.
func TestASecondPlay(t *testing.T) {
	b := site(t)
	path := asTrace(t, recorded)
	first, _ := open(t, path).Span()
	const now = telemetry.Time(1_764_000_000_000_000_000)
	for range 2 {
		c := config(open(t, path), b)
		c.Now = func() telemetry.Time { return now }
		last, _, err := b.LastTick(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Last = last
		if err := play.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got, n := stored(t, b), len(original(t).log)
	if len(got.log) != 2*n {
		t.Fatalf("%d records stored, want %d twice", len(got.log), n)
	}
	again := &memory{log: got.log[n:]}
	shift := again.last().Sub(original(t).last())
	if shift%second != 0 || shift <= now.Sub(first) {
		t.Errorf("the second play is moved by %v", shift)
	}
	if d := enginetest.Diff(mapped(t, published(t, again), -shift), wanted(t)); d != "" {
		t.Error(d)
	}
}

// BenchmarkPlayIntoLog is BenchmarkPlay through JetStream on file storage: each
// tick waits until all before it is stored.
func BenchmarkPlayIntoLog(b *testing.B) {
	path := asTrace(b, recorded)
	var length telemetry.Duration
	all := uint64(0)
	for b.Loop() {
		b.StopTimer()
		rec, into := open(b, path), site(b)
		b.StartTimer()
		c := config(rec, into)
		c.Now = func() telemetry.Time { return 1_764_000_000_000_000_000 }
		ticks := uint64(0)
		c.Progress = func(p play.Progress) { ticks++ }
		if err := play.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		first, last := rec.Span()
		length += last.Sub(first)
		all += ticks
	}
	b.ReportMetric(length.Seconds()/b.Elapsed().Seconds(), "x-real")
	b.ReportMetric(float64(all)/b.Elapsed().Seconds(), "ticks/s")
}
