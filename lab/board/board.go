package board

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/quintet-dc/quintet/telemetry"
)

// Reading is the latest value of a series.
type Reading struct {
	At     telemetry.Time
	Column telemetry.Column
	Word   uint64
	// Gap states that the device has no value now.
	Gap bool
	// before is when the reading before was taken.
	before telemetry.Time
}

// Float returns the reading as a number; NaN where there is none.
func (r Reading) Float() float64 {
	switch {
	case r.Gap:
		return math.NaN()
	case r.Column.Type == telemetry.Float:
		return math.Float64frombits(r.Word)
	case r.Column.Type == telemetry.Decimal:
		v := float64(int64(r.Word))
		for range r.Column.Exp {
			v /= 10
		}
		return v
	}
	return float64(r.Word)
}

// Uint returns the reading as a whole number, a counter exactly.
func (r Reading) Uint() uint64 {
	if r.Column.Type == telemetry.Uint {
		return r.Word
	}
	return uint64(max(0, r.Float()))
}

// maxEvents is how many events are kept.
const maxEvents = 4096

// Board is a site as its devices know it. It is safe for concurrent use.
type Board struct {
	mu       sync.RWMutex
	now      telemetry.Time
	samples  telemetry.SampleReader
	readings map[telemetry.Entity]map[telemetry.MetricName]Reading
	edges    []telemetry.Edge
	inside   map[telemetry.Entity][]telemetry.Entity
	outside  map[telemetry.Entity]telemetry.Entity
	events   []telemetry.Event
	first    int // the number of events[0]
	passed   chan struct{}
}

// New returns an empty board.
func New() *Board {
	return &Board{readings: map[telemetry.Entity]map[telemetry.MetricName]Reading{},
		inside: map[telemetry.Entity][]telemetry.Entity{}, outside: map[telemetry.Entity]telemetry.Entity{}, passed: make(chan struct{})}
}

// Take notes the content of a record. The record stays the caller's. A tick ends a
// moment and wakes those who wait for one.
func (b *Board) Take(r *telemetry.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch r.Kind {
	case telemetry.SchemaRecord:
		b.samples.Learn(r.Schema)
	case telemetry.FrameRecord:
		return b.read(r.Frame)
	case telemetry.EdgeRecord:
		b.edge(r.Edge)
	case telemetry.EventRecord:
		b.events = append(b.events, *r.Event)
		if n := len(b.events) - maxEvents; n > 0 {
			b.events, b.first = slices.Delete(b.events, 0, n), b.first+n
		}
	case telemetry.TickRecord:
		b.now = r.Tick.At
		close(b.passed)
		b.passed = make(chan struct{})
	}
	return nil
}

func (b *Board) read(f telemetry.EncodedFrame) error {
	samples, err := b.samples.Read(f)
	if err != nil {
		return fmt.Errorf("board: %w", err)
	}
	for x := range samples {
		of := b.readings[x.Series.Entity]
		if of == nil {
			of = map[telemetry.MetricName]Reading{}
			b.readings[x.Series.Entity] = of
		}
		of[x.Series.Metric] = Reading{At: x.At, Column: x.Column, Word: x.Word, Gap: x.State == telemetry.Gap, before: of[x.Series.Metric].At}
	}
	return nil
}

func (b *Board) edge(e *telemetry.Edge) {
	b.edges = append(b.edges, *e)
	if e.Relation != telemetry.Contains {
		return
	}
	if _, ok := b.outside[e.To]; !ok {
		b.outside[e.To] = e.From
		b.inside[e.From] = append(b.inside[e.From], e.To)
	}
}

// Now is the time of the latest tick.
func (b *Board) Now() telemetry.Time {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.now
}

// Wait returns when the next tick has come, or ctx is done.
func (b *Board) Wait(ctx context.Context) error {
	b.mu.RLock()
	passed := b.passed
	b.mu.RUnlock()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read returns the latest reading of a series, false before the first.
func (b *Board) Read(x telemetry.Entity, m telemetry.MetricName) (Reading, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.readings[x][m]
	return r, ok
}

// offAfter is for how long nothing was measured on a host that does not run: its
// devices are read every second, and single readings are lost. What is read more rarely
// than that is read by its management controller, which runs on.
const offAfter = telemetry.Duration(5e9)

// Off reports whether a host does not run: nothing of what it contains has been
// measured lately. The exporters and files of such a host do not answer.
func (b *Board) Off(host telemetry.Entity) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := false
	for _, x := range b.inside[host] {
		for _, r := range b.readings[x] {
			if r.At.Sub(r.before) >= offAfter {
				continue
			}
			if known = true; b.now.Sub(r.At) < offAfter {
				return false
			}
		}
	}
	return known
}

// Metrics lists what is read of an entity, by name.
func (b *Board) Metrics(x telemetry.Entity) []telemetry.MetricName {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []telemetry.MetricName
	for m := range b.readings[x] {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

// Entities lists the entities of a kind that an edge or a reading names, in
// identity order.
func (b *Board) Entities(k telemetry.Kind) []telemetry.Entity {
	b.mu.RLock()
	defer b.mu.RUnlock()
	seen := map[telemetry.Entity]bool{}
	note := func(x telemetry.Entity) {
		if x.Kind == k {
			seen[x] = true
		}
	}
	for i := range b.edges {
		note(b.edges[i].From)
		note(b.edges[i].To)
	}
	for x := range b.readings {
		note(x)
	}
	var out []telemetry.Entity
	for x := range seen {
		out = append(out, x)
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return out
}

// Inside lists what an entity directly contains, in the order it was stated.
func (b *Board) Inside(x telemetry.Entity) []telemetry.Entity {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Clone(b.inside[x])
}

// Outside returns what contains an entity.
func (b *Board) Outside(x telemetry.Entity) (telemetry.Entity, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	e, ok := b.outside[x]
	return e, ok
}

// Edges lists the edges of a relation, in the order they were stated.
func (b *Board) Edges(r telemetry.Relation) []telemetry.Edge {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []telemetry.Edge
	for _, e := range b.edges {
		if e.Relation == r {
			out = append(out, e)
		}
	}
	return out
}

// Events lists what has happened from number since on, and the number to ask
// for next. Of very many only the last are kept.
func (b *Board) Events(since int) ([]telemetry.Event, int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	from := min(max(0, since-b.first), len(b.events))
	return slices.Clone(b.events[from:]), b.first + len(b.events)
}
