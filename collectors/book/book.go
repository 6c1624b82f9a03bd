package book

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// perPart is how many entities a part holds: the ports of a switch. Their
// columns are what is left of a source's series.
const perPart = 64

// DefaultLimit is the maximum number of series of a book whose Config sets none:
// eight full sources.
const DefaultLimit = 8 * telemetry.MaxSeriesPerSource

// Config defines the source of a book's readings.
type Config struct {
	Collector, Target string
	// Part begins the names of the source's parts; "" leaves them to the kinds
	// of entity.
	Part    string
	Class   telemetry.LatenessClass
	Cadence telemetry.Duration // nominal; zero if there is none
	Limit   int                // series at most; 0 is DefaultLimit
}

// Cell is where a series' readings go. The zero Cell is no cell.
type Cell struct {
	part *part
	row  int32 // of its entity
	col  int32
}

// Known reports whether the cell exists.
func (c Cell) Known() bool { return c.part != nil }

// Book turns readings into frames. It is used by one goroutine.
type Book struct {
	cfg         Config
	parts       []*part
	kinds       map[telemetry.Kind]int // parts by kind
	rows        map[telemetry.Entity]place
	series      int
	incarnation uint64
}

type place struct {
	part *part
	row  int32
}

// part is one source: entities of one kind and their columns.
type part struct {
	kind     telemetry.Kind
	name     string
	entities []telemetry.Entity
	columns  []telemetry.Column
	column   map[telemetry.MetricName]int32
	cells    map[[2]int32]bool // those that a reading was ever for
	feed     *collectors.Feed
	grown    bool
	touched  bool
	stride   int // entities that there is room for
	words    []uint64
	states   []telemetry.State
	outWords []uint64
	outState []telemetry.State
}

// New returns an empty book.
func New(c Config) *Book {
	c.Limit = cmp.Or(c.Limit, DefaultLimit)
	return &Book{cfg: c, kinds: map[telemetry.Kind]int{}, rows: map[telemetry.Entity]place{}}
}

// Series returns the number of series.
func (b *Book) Series() int { return b.series }

// Cell returns the cell of a series, which it makes if there is none. False where
// there is no room, where the name is invalid, or where the metric has another type
// in this part.
func (b *Book) Cell(e telemetry.Entity, c telemetry.Column) (Cell, bool) {
	at, ok := b.rows[e]
	if !ok {
		if b.series >= b.cfg.Limit || e.Validate() != nil {
			return Cell{}, false
		}
		at = b.place(e)
	}
	p := at.part
	col, ok := p.column[c.Metric]
	switch {
	case ok && p.columns[col] != c:
		return Cell{}, false
	case !ok:
		if b.series >= b.cfg.Limit || (len(p.columns)+1)*p.stride > telemetry.MaxSeriesPerSource {
			return Cell{}, false
		}
		col = p.addColumn(c)
	}
	if k := [2]int32{at.row, col}; !p.cells[k] {
		if b.series >= b.cfg.Limit {
			return Cell{}, false
		}
		p.cells[k] = true
		b.series++
	}
	return Cell{p, at.row, col}, true
}

// place gives an entity its row, in a new part if the last of its kind is full.
func (b *Book) place(e telemetry.Entity) place {
	var p *part
	for _, q := range b.parts {
		if q.kind == e.Kind && len(q.entities) < q.stride {
			p = q
		}
	}
	if p == nil {
		n := b.kinds[e.Kind] + 1
		b.kinds[e.Kind] = n
		p = &part{kind: e.Kind, name: b.partName(e.Kind, n), column: map[telemetry.MetricName]int32{}, cells: map[[2]int32]bool{}, stride: perPart}
		if e.Kind == telemetry.Collector {
			p.stride = 1 // foreign series: one entity, and any number of metrics
		}
		b.parts = append(b.parts, p)
	}
	p.entities = append(p.entities, e)
	p.grown = true
	at := place{p, int32(len(p.entities) - 1)}
	b.rows[e] = at
	return at
}

func (b *Book) partName(k telemetry.Kind, n int) string {
	name := string(k)
	if b.cfg.Part != "" {
		name = b.cfg.Part + "." + name
	}
	if n > 1 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	return name
}

func (p *part) addColumn(c telemetry.Column) int32 {
	col := int32(len(p.columns))
	p.columns = append(p.columns, c)
	p.column[c.Metric] = col
	p.grown = true
	p.words = append(p.words, make([]uint64, p.stride)...)
	p.states = append(p.states, make([]telemetry.State, p.stride)...)
	return col
}

// Set stores a reading: the word of its column's type. A later one replaces it.
func (b *Book) Set(c Cell, word uint64) {
	i := int(c.col)*c.part.stride + int(c.row)
	c.part.words[i], c.part.states[i], c.part.touched = word, telemetry.Present, true
}

// SetFloat records a reading of a Float column; NaN is a gap.
func (b *Book) SetFloat(c Cell, v float64) {
	if v != v {
		b.Gap(c)
		return
	}
	b.Set(c, math.Float64bits(v))
}

// Gap records that a series was asked for and that nothing is known.
func (b *Book) Gap(c Cell) {
	i := int(c.col)*c.part.stride + int(c.row)
	c.part.words[i], c.part.states[i], c.part.touched = 0, telemetry.Gap, true
}

// Emit states everything noted since the last time, as read at an instant, and
// returns how many readings that were. A part that has grown states its schema
// first. It fails where telemetry finds a schema unsound, which is a fault of
// the collector.
func (b *Book) Emit(sink collectors.Emitter, at telemetry.Instant) (int, error) {
	n := 0
	for _, p := range b.parts {
		if !p.touched {
			continue
		}
		k, err := b.emitPart(p, sink, at)
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// Forget has every schema emitted again before its next frame: the current listener has
// received none.
func (b *Book) Forget() {
	for _, p := range b.parts {
		p.feed = nil
	}
}

func (b *Book) emitPart(p *part, sink collectors.Emitter, at telemetry.Instant) (int, error) {
	if p.feed == nil || p.grown {
		// Numbering starts over; two parts of one book may not share a number.
		b.incarnation = max(b.incarnation+1, uint64(time.Now().UnixNano()))
		feed, err := collectors.NewFeed(&telemetry.Schema{
			Source: telemetry.Source{Collector: b.cfg.Collector, Target: b.cfg.Target, Part: p.name},
			Class:  b.cfg.Class, Cadence: b.cfg.Cadence,
			Entities: append([]telemetry.Entity(nil), p.entities...), Columns: append([]telemetry.Column(nil), p.columns...),
		}, b.incarnation)
		if err != nil {
			return 0, err
		}
		p.feed, p.grown = feed, false
		sink.Emit(feed.Schema())
	}
	words, states, n := p.lay()
	r, err := p.feed.Frame(at, words, states)
	if err != nil {
		return 0, err
	}
	sink.Emit(r)
	p.touched = false
	clear(p.words)
	clear(p.states)
	return n, nil
}

// lay returns the readings in schema order, and how many there are.
func (p *part) lay() (words []uint64, states []telemetry.State, read int) {
	n := len(p.entities)
	p.outWords, p.outState = p.outWords[:0], p.outState[:0]
	for c := range p.columns {
		lo := c * p.stride
		p.outWords = append(p.outWords, p.words[lo:lo+n]...)
		p.outState = append(p.outState, p.states[lo:lo+n]...)
	}
	for _, s := range p.outState {
		if s == telemetry.Present {
			read++
		}
	}
	return p.outWords, p.outState, read
}
