package recorder

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of the index.
const (
	markEvery  = 10 * time.Second // of ticks: how far apart two marks are
	maxMarks   = 1 << 14
	maxHashes  = 1 << 22 // entities of all schemas: 32 MiB
	stateAgain = time.Second
)

// mark is the position of a tick in the log.
type mark struct {
	at       telemetry.Time
	stored   telemetry.Time
	position uint64
}

// statement is a schema as some process states it. It is known by its place in
// the log, not by its content: an index of a large site stays small.
type statement struct {
	position uint64   // of the newest time it was stated
	entities []uint64 // their hashes, sorted
}

type statementKey struct {
	collector   string
	fingerprint telemetry.Fingerprint
}

// index maps instants to positions in the log, and series to the processes that
// report them. It reads on from where it stopped. It is used by one goroutine at a
// time.
type index struct {
	log  Log
	now  func() time.Time
	seed maphash.Seed

	position uint64 // of the last entry read
	stored   telemetry.Time
	looked   time.Time

	generation int // how often the log was found to be another one
	marks      timeline
	newest     mark // of the newest tick
	site       telemetry.SiteConfig
	statements map[statementKey]*statement
	hashes     int
	overflow   uint64 // schemas that found no room
}

func newIndex(log Log, site telemetry.SiteConfig, now func() time.Time) *index {
	return &index{log: log, now: now, seed: maphash.MakeSeed(), site: site, statements: map[statementKey]*statement{}}
}

// kinds are the kinds of records that the index reads.
var kinds = []telemetry.RecordKind{telemetry.TickRecord, telemetry.ConfigRecord, telemetry.SchemaRecord}

// refresh reads the log's new entries, and drops those that the log has removed.
func (x *index) refresh(ctx context.Context) error {
	if x.now().Sub(x.looked) < stateAgain {
		return nil
	}
	first, last, err := x.log.Bounds(ctx)
	if err != nil {
		return err
	}
	if last < x.position { // the log lost its end, or was made anew
		x.position, x.stored, x.marks, x.newest = 0, 0, nil, mark{}
		x.statements, x.hashes = map[statementKey]*statement{}, 0
		x.generation++
	}
	err = x.log.Slice(ctx, bus.Span{From: x.stored, Kinds: kinds}, func(e bus.Entry) error {
		if e.Position > x.position {
			x.position, x.stored = e.Position, e.Stored
			x.entry(&e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the log's ticks and schemas: %w", err)
	}
	x.forget(first)
	x.looked = x.now()
	return nil
}

func (x *index) entry(e *bus.Entry) {
	switch r := e.Record; {
	case r == nil:
	case r.Kind == telemetry.TickRecord:
		x.tick(mark{r.Tick.At, e.Stored, e.Position})
	case r.Kind == telemetry.SchemaRecord:
		x.schema(e)
	case r.Kind == telemetry.ConfigRecord && r.Config.Key == telemetry.ConfigSite:
		if c, err := telemetry.ParseSiteConfig(r.Config.Content); err == nil {
			x.site = c
		}
	}
}

// tick keeps a mark now and then. A tick that moves nothing is none.
func (x *index) tick(m mark) {
	if m.at <= x.newest.at && x.newest.position != 0 {
		return
	}
	x.newest = m
	if n := len(x.marks); n > 0 && m.at.Sub(x.marks[n-1].at) < markEvery {
		return
	}
	x.marks = append(x.marks, m)
	if len(x.marks) > maxMarks {
		kept := x.marks[:0]
		for i := 0; i < len(x.marks); i += 2 {
			kept = append(kept, x.marks[i])
		}
		x.marks = kept
	}
}

func (x *index) schema(e *bus.Entry) {
	s := e.Record.Schema
	key := statementKey{e.Collector, s.Fingerprint()}
	if known := x.statements[key]; known != nil {
		known.position = e.Position
		return
	}
	if x.hashes+len(s.Entities) > maxHashes {
		x.overflow++
		return
	}
	st := &statement{position: e.Position, entities: make([]uint64, len(s.Entities))}
	for i, en := range s.Entities {
		st.entities[i] = maphash.Comparable(x.seed, en)
	}
	slices.Sort(st.entities)
	x.hashes += len(st.entities)
	x.statements[key] = st
}

// forget drops what precedes the log's first entry. A schema that is no longer
// stated is dropped with its last statement.
func (x *index) forget(first uint64) {
	gone := 0
	for gone < len(x.marks) && x.marks[gone].position < first {
		gone++
	}
	x.marks = slices.Delete(x.marks, 0, gone)
	for key, st := range x.statements {
		if st.position < first {
			x.hashes -= len(st.entities)
			delete(x.statements, key)
		}
	}
}

// timeline is marks in the order of time.
type timeline []mark

func (l timeline) search(at telemetry.Time) (int, bool) {
	return slices.BinarySearchFunc(l, at, func(m mark, at telemetry.Time) int { return cmp.Compare(m.at, at) })
}

// before returns the last mark at or before an instant, and false where the log
// does not reach back so far.
func (l timeline) before(at telemetry.Time) (mark, bool) {
	i, found := l.search(at)
	switch {
	case found:
		return l[i], true
	case i == 0:
		return mark{}, false
	}
	return l[i-1], true
}

// behind returns the first mark behind an instant, and false where there is none
// yet.
func (l timeline) behind(at telemetry.Time) (mark, bool) {
	i, _ := l.search(at + 1)
	if i == len(l) {
		return mark{}, false
	}
	return l[i], true
}

// view is the part of the index that a question needs, apart from it.
type view struct {
	log        Log
	generation int
	site       telemetry.SiteConfig
	marks      timeline
	stating    map[statementKey]uint64 // the position of what may state an entity that was asked for
}

// view returns the statements that may contain one of the entities: all that do,
// and by chance others.
func (x *index) view(entities []telemetry.Entity) *view {
	v := &view{log: x.log, generation: x.generation, site: x.site, marks: slices.Clone(x.marks), stating: map[statementKey]uint64{}}
	hashes := make([]uint64, len(entities))
	for i, e := range entities {
		hashes[i] = maphash.Comparable(x.seed, e)
	}
	for key, st := range x.statements {
		for _, h := range hashes {
			if _, ok := slices.BinarySearch(st.entities, h); ok {
				v.stating[key] = st.position
				break
			}
		}
	}
	return v
}
