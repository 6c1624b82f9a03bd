package fabric

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// ledger is a Sink that keeps the last of everything.
type ledger struct {
	t       testing.TB
	log     slog.Handler
	changed chan struct{}

	mu      sync.Mutex
	reader  telemetry.SampleReader
	values  map[telemetry.Series]float64
	words   map[telemetry.Series]uint64
	gaps    map[telemetry.Series]bool
	events  []telemetry.Event
	edges   map[telemetry.EdgeIdentity]telemetry.Edge
	sweeps  int
	last    collectors.Sweep
	dropped map[collectors.Reason]int
	frames  int
}

func newLedger(t testing.TB) *ledger {
	return &ledger{t: t, log: slog.DiscardHandler, changed: make(chan struct{}, 1), values: map[telemetry.Series]float64{},
		words: map[telemetry.Series]uint64{}, gaps: map[telemetry.Series]bool{}, edges: map[telemetry.EdgeIdentity]telemetry.Edge{}, dropped: map[collectors.Reason]int{}}
}

func (l *ledger) Emit(r *telemetry.Record) {
	collectorstest.Strict{T: l.t}.Emit(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Kind {
	case telemetry.SchemaRecord:
		l.reader.Learn(r.Schema)
	case telemetry.EventRecord:
		l.events = append(l.events, *r.Event)
	case telemetry.EdgeRecord:
		l.edges[r.Edge.Identity()] = *r.Edge
	case telemetry.FrameRecord:
		l.read(r.Frame)
	}
	l.tell()
}

func (l *ledger) read(f telemetry.EncodedFrame) {
	samples, err := l.reader.Read(f)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.frames++
	for x := range samples {
		if x.State == telemetry.Gap {
			l.gaps[x.Series] = true
			delete(l.values, x.Series)
			continue
		}
		l.words[x.Series], l.values[x.Series] = x.Word, x.Float()
		delete(l.gaps, x.Series)
	}
}

// Logger implements collectors.Sink.
func (l *ledger) Logger() *slog.Logger { return slog.New(l.log) }

func (l *ledger) Swept(s collectors.Sweep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweeps++
	for why, n := range s.Dropped {
		l.dropped[why] += n
	}
	s.Dropped = nil
	l.last = s
	l.tell()
}

func (l *ledger) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// until waits until cond holds.
func (l *ledger) until(ctx context.Context, what string, cond func() bool) {
	l.t.Helper()
	for {
		l.mu.Lock()
		ok := cond()
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			l.t.Fatalf("waited for %s: %d frames, %d edges, events %v, last sweep %+v, dropped %v", what, l.frames, len(l.edges), l.events, l.last, l.dropped)
		}
	}
}

// value reads "kind:name metric"; it is called with the lock held.
func (l *ledger) value(s string) (float64, bool) {
	e, m, _ := strings.Cut(s, " ")
	entity, err := telemetry.ParseEntity(e)
	if err != nil {
		l.t.Fatal(err)
	}
	v, ok := l.values[telemetry.Series{Entity: entity, Metric: telemetry.MetricName(m)}]
	return v, ok
}

// happened lists events as "entity name text"; it is called with the lock held.
func (l *ledger) happened() []string {
	var out []string
	for _, e := range l.events {
		out = append(out, fmt.Sprintf("%s %s %s", e.Entity, e.Name, e.Text))
	}
	return out
}

// start runs a collector into a new ledger until the test is over.
func start(t testing.TB, c *Collector) *ledger {
	t.Helper()
	return startInto(newLedger(t), c)
}

// startInto runs the collector into a ledger.
func startInto(l *ledger, c *Collector) *ledger {
	t := l.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the collector did not end")
		}
	})
	return l
}
