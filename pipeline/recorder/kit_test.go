package recorder

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// memory is a log in memory.
type memory struct {
	mu      sync.Mutex
	first   uint64 // what lies before it is forgotten
	entries []bus.Entry
	frames  int             // handed over by Slice
	asked   map[string]bool // collectors
	block   chan struct{}   // if set, Slice waits for it
}

func (m *memory) Bounds(context.Context) (first, last uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first, uint64(len(m.entries)), nil
}

func (m *memory) Entry(_ context.Context, position uint64) (bus.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if position < m.first || position > uint64(len(m.entries)) {
		return bus.Entry{}, bus.ErrNotRetained
	}
	return m.entries[position-1], nil
}

func (m *memory) Slice(ctx context.Context, s bus.Span, fn func(bus.Entry) error) error {
	m.mu.Lock()
	block := m.block
	all := m.entries[m.first-1:]
	for _, c := range s.Collectors {
		m.asked[c] = true
	}
	m.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, e := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !inSpan(s, &e) {
			continue
		}
		if e.Record.Kind == telemetry.FrameRecord {
			m.mu.Lock()
			m.frames++
			m.mu.Unlock()
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func inSpan(s bus.Span, e *bus.Entry) bool {
	if e.Stored < s.From || s.To != 0 && e.Stored > s.To || s.Kinds != nil && !slices.Contains(s.Kinds, e.Record.Kind) {
		return false
	}
	return s.Collectors == nil || e.Collector == "" || slices.Contains(s.Collectors, e.Collector)
}

// add appends a record as a process states it. Records are stored a millisecond
// apart, whatever their own times: a recording played fast.
func (m *memory) add(collector string, r *telemetry.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := uint64(len(m.entries)) + 1
	m.entries = append(m.entries, bus.Entry{Position: n, Collector: collector, Stored: telemetry.Time(n * 1e6), Record: r})
}

// player puts a recording into a log, as much as is wanted at a time, and returns
// the engine's output for it.
type player struct {
	t       testing.TB
	log     *memory
	records []telemetry.Record
	next    int
	owner   map[telemetry.Fingerprint]string
	runner  *engine.Runner
}

func record(t testing.TB, name string) *player {
	t.Helper()
	rec, err := enginetest.Open(filepath.Join("..", "..", "testdata", "roce", name))
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, log: &memory{first: 1, asked: map[string]bool{}}, records: rec.Log, owner: map[telemetry.Fingerprint]string{}}
	p.rewind()
	return p
}

// rewind begins the recording again, in an engine that has seen nothing.
func (p *player) rewind() {
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		p.t.Fatal(err)
	}
	p.next, p.runner = 0, runner
}

// until plays up to and including the first tick at or after an instant; zero
// plays everything.
func (p *player) until(at telemetry.Time) {
	for p.next < len(p.records) {
		r := &p.records[p.next]
		p.next++
		p.log.add(p.collector(r), r)
		if _, err := p.runner.Apply(uint64(p.next), r); err != nil {
			p.t.Fatal(err)
		}
		if r.Kind == telemetry.TickRecord && at != 0 && r.Tick.At >= at {
			return
		}
	}
}

// collector is the process that would state a record: one on each target.
func (p *player) collector(r *telemetry.Record) string {
	switch r.Kind {
	case telemetry.TickRecord, telemetry.ConfigRecord:
		return ""
	case telemetry.SchemaRecord:
		p.owner[r.Schema.Fingerprint()] = r.Schema.Source.Target
		return r.Schema.Source.Target
	case telemetry.FrameRecord:
		h, err := r.Frame.Header()
		if err != nil {
			p.t.Fatal(err)
		}
		return p.owner[h.Fingerprint]
	}
	return "site"
}

// incident returns the only incident of what was played.
func (p *player) incident() *explain.Incident {
	p.t.Helper()
	all := p.runner.Incidents()
	if len(all) != 1 {
		p.t.Fatalf("%d incidents", len(all))
	}
	return &all[0]
}

func (p *player) recorder(c Config) *Recorder {
	p.t.Helper()
	c.Log = p.log
	r, err := New(c)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *player) picture(r *Recorder, in *explain.Incident, since telemetry.Time) *Picture {
	p.t.Helper()
	got, err := r.Curves(p.t.Context(), in, since)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}
