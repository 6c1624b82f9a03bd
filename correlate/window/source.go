package window

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// source is one source of samples: its series, the frames that wait and what
// is known of its clock.
type source struct {
	id       int32 // of all sources, as they came
	name     telemetry.Source
	class    telemetry.LatenessClass
	declared telemetry.Duration // the shortest cadence its schemas state; 0 if none
	blocks   []*block
	columns  []*column
	n        int32 // series

	frames []frame
	bytes  []byte             // of the frames, one behind the other
	spare  []*telemetry.Frame // to decode into
	clock  clock
	latest telemetry.Time // of its samples

	wait    wait
	closed  telemetry.Time // the end of its last closed grid
	stepped bool           // it closed a grid in the last Close or CatchUp; not state
}

// frame is a frame that waits for its grid.
type frame struct {
	schema      *schema
	first, last telemetry.Time
	done        telemetry.Time // instants up to here are taken
	off, len    int            // in source.bytes
	cost        int            // what it counts against MaxPending
	instants    int
	decoded     *telemetry.Frame // nil until needed; only where there are several instants
}

func newSource(key sourceKey, id int32) *source {
	return &source{id: id, name: key.source, class: key.class, latest: never, closed: never}
}

// index returns the source's columns by name.
func (s *source) index() map[telemetry.MetricName]*column {
	m := make(map[telemetry.MetricName]*column, len(s.columns))
	for _, c := range s.columns {
		m[c.name] = c
	}
	return m
}

func (s *source) newColumn(name telemetry.MetricName, cat *telemetry.Catalogue) *column {
	c := &column{name: name, rhythm: rhythm{last: never}}
	if m, ok := cat.Lookup(name); ok {
		c.metric = m
	}
	c.op, c.most = opOf(c.metric), mostOf(c.metric)
	s.columns = append(s.columns, c)
	return c
}

// known returns the local index of every series the source has stated.
func (s *source) known() map[telemetry.Series]int32 {
	m := make(map[telemetry.Series]int32, s.n)
	for _, b := range s.blocks {
		for i := range b.n {
			m[b.series(i)] = b.lo + i
		}
	}
	return m
}

func (b *block) series(i int32) telemetry.Series { return b.schema.Series(int(b.position(i))) }

// runOf returns the run of the block's series i.
func (b *block) runOf(i int32) *run {
	lo, hi := 0, len(b.runs)
	for hi-lo > 1 {
		m := (lo + hi) / 2
		if b.runs[m].off <= i {
			lo = m
		} else {
			hi = m
		}
	}
	return &b.runs[lo]
}

// runAt returns the run of the source's local index l.
func (s *source) runAt(l int32) *run {
	for _, b := range s.blocks {
		if l < b.lo+b.n {
			return b.runOf(l - b.lo)
		}
	}
	return nil
}

// holds reports whether these very bytes wait already.
func (s *source) holds(h telemetry.FrameHeader, b telemetry.EncodedFrame) bool {
	for i := range s.frames {
		f := &s.frames[i]
		if f.first == h.First && f.last == h.Last && f.len == len(b) && string(s.bytes[f.off:f.off+f.len]) == string(b) {
			return true
		}
	}
	return false
}

// cost is what a frame counts against MaxPending: its bytes, and its words if
// they will have to be kept decoded.
func cost(h telemetry.FrameHeader, sc *schema, size int) int {
	if h.Instants == 1 {
		return size
	}
	return size + 9*h.Instants*sc.Len()
}

// push keeps a copy of a frame and returns what it counts.
func (s *source) push(sc *schema, h telemetry.FrameHeader, b telemetry.EncodedFrame) int {
	f := frame{schema: sc, first: h.First, last: h.Last, done: never, off: len(s.bytes), len: len(b), instants: h.Instants, cost: cost(h, sc, len(b))}
	if n := len(s.bytes) + len(b); n > cap(s.bytes) {
		s.bytes = slices.Grow(s.bytes, len(b)+n/2) // frames differ in size: room for larger ones
	}
	s.bytes = append(s.bytes, b...)
	s.frames = append(s.frames, f)
	return f.cost
}

// drop removes the frames whose last instant is taken, and returns what they
// counted.
func (s *source) drop(g telemetry.Time) (freed int) {
	kept := 0
	for i := range s.frames {
		f := &s.frames[i]
		if f.last > g {
			f.done = g
			if kept < i {
				s.frames[kept] = *f
			}
			kept++
			continue
		}
		freed += f.cost
		if f.decoded != nil {
			s.spare = append(s.spare, f.decoded)
		}
	}
	clear(s.frames[kept:])
	s.frames = s.frames[:kept]
	s.compact()
	return freed
}

// compact moves the bytes of waiting frames down when half of the buffer is
// behind them.
func (s *source) compact() {
	if len(s.frames) == 0 {
		s.bytes = s.bytes[:0]
		return
	}
	if s.frames[0].off*2 < len(s.bytes) {
		return
	}
	to := 0
	for i := range s.frames {
		f := &s.frames[i]
		copy(s.bytes[to:], s.bytes[f.off:f.off+f.len])
		f.off = to
		to += f.len
	}
	s.bytes = s.bytes[:to]
}

// staleAfter returns how long after the last sample a column counts as stale, at
// the earliest: three cadences, and no less than three grids.
func (s *source) staleAfter(c *column, grid telemetry.Duration) telemetry.Duration {
	return staleAfter * s.cadence(c, grid)
}

// staleTimeout is the time without data after which the source is stale (see staleAfter).
// It is zero where a stale source cannot be distinguished from a slow one: as long
// as the cadence is not known, and for the steps of jobs, which come when they are
// done.
func (s *source) staleTimeout(c *column, grid telemetry.Duration) telemetry.Duration {
	if c.op == opStep || c.rhythm.cadence == 0 && s.declared == 0 {
		return 0
	}
	return s.staleAfter(c, grid)
}

// cadence returns the measured cadence of a column, else the stated one, else
// the grid; never less than the grid.
func (s *source) cadence(c *column, grid telemetry.Duration) telemetry.Duration {
	d := c.rhythm.cadence
	if d == 0 {
		d = s.declared
	}
	return max(d, grid)
}
