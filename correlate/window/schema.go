package window

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// sourceKey names a source of samples. A source that changes its lateness
// class is taken for another one: its past would be visible at other times.
type sourceKey struct {
	source telemetry.Source
	class  telemetry.LatenessClass
}

// schema is a schema with the place of its series.
type schema struct {
	*telemetry.Schema
	fingerprint telemetry.Fingerprint
	source      *source
	column      map[telemetry.MetricName]int32
	// direct is the block that has exactly this schema's series in its order;
	// nil if some of them were known before.
	direct *block
	// local maps position to the source's local index; nil if direct.
	local []int32
	// convert is set where a column's words must be converted before they meet
	// those of an earlier schema.
	convert []bool
}

// block is a contiguous range of slots: the series that one schema brought and
// its source had not stated before.
type block struct {
	id     int32
	base   int32 // first slot
	lo     int32 // first local index in the source
	n      int32
	source *source
	schema *schema
	pos    []int32 // positions in the schema; nil if all of them
	runs   []run
	past   past
}

// run is a part of a block whose series have one metric.
type run struct {
	column *column
	off, n int32   // in the block
	ev     int32   // first cell in a row of the history; -1 if none is kept
	scale  float64 // a counter's word difference times this is its value
	bias   uint64  // words compare as numbers once this bit is turned
	stick  uint64  // a word from here on is a saturated counter's; 0 if it never is
	word   telemetry.Column
	id     int32 // of all runs, as they came
	some   bool  // a sample of this run is in the closed grid
	full   bool  // one of every series does
	rivals bool  // some of its series have another source too

	// Where even is set these hold for all slots of the run.
	even bool
	at   telemetry.Time
	flag Flag
	step uint32
}

// column is what a source's samples of one metric have in common.
type column struct {
	name    telemetry.MetricName
	metric  *telemetry.Metric // nil if undeclared
	op      op
	most    float64 // the largest amount that is a reading
	rhythm  rhythm
	present bool // in the instant being taken
}

// op is how samples of a column are taken.
type op uint8

const (
	opOther op = iota // undeclared: the last value
	opGauge           // the mean of a grid
	opState           // the last of a grid
	opCounter
	opStep
)

// mostOf is the largest amount that is a reading of a metric: what a slot can hold, of
// what is undeclared.
func mostOf(m *telemetry.Metric) float64 {
	if m == nil {
		return math.MaxFloat32
	}
	return m.Most()
}

func opOf(m *telemetry.Metric) op {
	switch {
	case m == nil:
		return opOther
	case m.PerStep:
		return opStep
	case m.Type == telemetry.Counter:
		return opCounter
	case m.Type == telemetry.StateOf:
		return opState
	}
	return opGauge
}

// place is where an entity occurs: as number entity of a block's schema.
type place struct {
	block  int32
	entity int32
}

// AddSchema files a schema: from now on its frames are understood. The schema
// is kept; the caller must not change it. Stating it again changes nothing.
func (w *Window) AddSchema(s *telemetry.Schema) Outcome {
	o := w.addSchema(s)
	w.counts.Schemas[o]++
	return o
}

func (w *Window) addSchema(s *telemetry.Schema) Outcome {
	if s == nil || s.Validate() != nil {
		return Corrupt
	}
	fp := s.Fingerprint()
	if w.schemas[fp] != nil {
		return Duplicate
	}
	if len(w.word)+s.Len() > w.cfg.MaxSeries {
		return TooMany
	}
	sc := &schema{Schema: s, fingerprint: fp, column: make(map[telemetry.MetricName]int32, len(s.Columns))}
	for i, c := range s.Columns {
		sc.column[c.Metric] = int32(i)
	}
	w.schemas[fp] = sc
	w.order = append(w.order, sc)
	w.allot(sc, w.sourceOf(sc))
	w.release(sc)
	return Accepted
}

func (w *Window) sourceOf(sc *schema) *source {
	key := sourceKey{sc.Source, sc.Class}
	src := w.sources[key]
	if src == nil {
		src = newSource(key, int32(len(w.sources)))
		w.sources[key] = src
		list := w.byClass[sc.Class]
		i, _ := slices.BinarySearchFunc(list, src, func(a, b *source) int { return a.name.Compare(b.name) })
		w.byClass[sc.Class] = slices.Insert(list, i, src)
	}
	if src.declared == 0 || (sc.Cadence > 0 && sc.Cadence < src.declared) {
		src.declared = sc.Cadence
	}
	sc.source = src
	return src
}

// allot gives the series of a schema that its source has not stated before a
// block of slots, and maps the others to those they have.
func (w *Window) allot(sc *schema, src *source) {
	if len(src.blocks) == 0 {
		b := w.newBlock(sc, nil)
		sc.direct = b
		return
	}
	known := src.known()
	sc.local = make([]int32, sc.Len())
	sc.convert = make([]bool, len(sc.Columns))
	var fresh []int32
	for i := range sc.local {
		l, ok := known[sc.Series(i)]
		if !ok {
			l = src.n + int32(len(fresh))
			fresh = append(fresh, int32(i))
		} else if c := i / len(sc.Entities); src.runAt(l).word != sc.Columns[c] {
			sc.convert[c] = true
		}
		sc.local[i] = l
	}
	if len(fresh) > 0 {
		w.newBlock(sc, fresh)
	}
}

// newBlock allots slots for the positions pos of sc, all of them if nil.
func (w *Window) newBlock(sc *schema, pos []int32) *block {
	src := sc.source
	b := &block{id: int32(len(w.blocks)), base: int32(len(w.word)), lo: src.n, source: src, schema: sc, pos: pos}
	b.n = int32(len(pos))
	if pos == nil {
		b.n = int32(sc.Len())
	}
	b.makeRuns(w.cfg.Catalogue, src.index(), w.runs)
	w.runs += int32(len(b.runs))
	b.past = newPast(w.cfg.History, b.runs)
	w.blocks = append(w.blocks, b)
	src.blocks = append(src.blocks, b)
	src.n += b.n
	w.grow(b)
	w.register(b)
	return b
}

// makeRuns cuts the block where the metric changes.
func (b *block) makeRuns(cat *telemetry.Catalogue, known map[telemetry.MetricName]*column, firstRun int32) {
	ev := int32(0)
	for i := int32(0); i < b.n; {
		c := b.position(i) / int32(len(b.schema.Entities))
		j := i + 1
		for j < b.n && b.position(j)/int32(len(b.schema.Entities)) == c {
			j++
		}
		name := b.schema.Columns[c].Metric
		col := known[name]
		if col == nil {
			col = b.source.newColumn(name, cat)
		}
		r := newRun(b.schema.Columns[c], col)
		r.off, r.n, r.ev, r.id = i, j-i, -1, firstRun+int32(len(b.runs))
		if m := r.column.metric; m != nil && m.Evidence && !m.PerStep {
			r.ev = ev
			ev += r.n
		}
		b.runs = append(b.runs, r)
		i = j
	}
}

// position returns where the block's series i is in its schema.
func (b *block) position(i int32) int32 {
	if b.pos == nil {
		return i
	}
	return b.pos[i]
}

func newRun(c telemetry.Column, col *column) run {
	r := run{column: col, word: c, scale: 1, even: true, at: never}
	if c.Type == telemetry.Decimal {
		r.scale = c.Float(1)
		r.bias = 1 << 63
	}
	if m := col.metric; m != nil && m.Type == telemetry.Counter && m.Overflow == telemetry.Sticks && c.Type == telemetry.Uint {
		r.stick = maxOf(m.Width)
	}
	return r
}

// maxOf returns the largest value of a counter of so many bits; 0 bits mean 64.
func maxOf(width uint8) uint64 {
	if width == 0 || width >= 64 {
		return 1<<64 - 1
	}
	return 1<<width - 1
}

// grow makes room for a block's slots.
func (w *Window) grow(b *block) {
	n := int(b.n)
	w.word = append(w.word, make([]uint64, n)...)
	w.at = append(w.at, slices.Repeat([]telemetry.Time{never}, n)...)
	w.val = append(w.val, make([]float32, n)...)
	w.peak = append(w.peak, make([]float32, n)...)
	w.flag = append(w.flag, make([]Flag, n)...)
	w.step = append(w.step, make([]uint32, n)...)
	w.shadow = append(w.shadow, make([]bool, n)...)
	w.blockOf = append(w.blockOf, slices.Repeat([]int32{b.id}, n)...)
	for i := range b.runs {
		w.runOf = append(w.runOf, slices.Repeat([]uint16{uint16(i)}, int(b.runs[i].n))...)
	}
}
