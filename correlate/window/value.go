package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Slots returns how many slots there are: every slot is below it. A slot is a
// dense index of a (source, series); it is no identity (I4).
func (w *Window) Slots() int { return len(w.word) }

// Slot returns the slot by which a series is judged now: that of its chosen
// source where several state it. False if no schema has the series.
func (w *Window) Slot(s telemetry.Series) (int, bool) {
	for _, p := range w.entities[s.Entity] {
		if slot, ok := w.blocks[p.block].slot(p.entity, s.Metric); ok {
			return w.Chosen(int(slot)), true
		}
	}
	return 0, false
}

// Chosen returns the slot by which the series of a slot is judged now: Slot of a
// series whose slot is known.
func (w *Window) Chosen(slot int) int {
	if w.shadow[slot] {
		return int(w.rivalOf[int32(slot)].judged())
	}
	return slot
}

// slot returns the slot of a metric of the block's entity.
func (b *block) slot(entity int32, m telemetry.MetricName) (int32, bool) {
	c, ok := b.schema.column[m]
	if !ok {
		return 0, false
	}
	i := c*int32(len(b.schema.Entities)) + entity
	if b.pos != nil {
		j, found := slices.BinarySearch(b.pos, i)
		return b.base + int32(j), found
	}
	return b.base + i, true
}

// register makes a block's series known by their names, and finds those that
// another source states too.
func (w *Window) register(b *block) {
	entities := b.schema.Entities
	for e := range entities {
		if b.pos != nil && !slices.ContainsFunc(b.pos, func(p int32) bool { return int(p)%len(entities) == e }) {
			continue
		}
		list := w.entities[entities[e]]
		for _, p := range list {
			if other := w.blocks[p.block]; other.source != b.source {
				w.oppose(other, p.entity, b, int32(e))
			}
		}
		w.entities[entities[e]] = append(list, place{b.id, int32(e)})
	}
}

// locate returns the block and the run of a slot, and its number in the block.
func (w *Window) locate(slot int) (*block, *run, int32) {
	b := w.blocks[w.blockOf[slot]]
	return b, &b.runs[w.runOf[slot]], int32(slot) - b.base
}

// Series returns the series of a slot.
func (w *Window) Series(slot int) telemetry.Series {
	b := w.blocks[w.blockOf[slot]]
	return b.series(int32(slot) - b.base)
}

// InRow reports whether a slot is of the same metric and source as the one before it, in
// one run.
func (w *Window) InRow(slot int) bool {
	_, r, i := w.locate(slot)
	return i > r.off
}

// Metric returns the catalogue's entry for a slot's metric, nil if there is none.
func (w *Window) Metric(slot int) *telemetry.Metric {
	_, r, _ := w.locate(slot)
	return r.column.metric
}

// Source returns the source of a slot.
func (w *Window) Source(slot int) telemetry.Source { return w.blocks[w.blockOf[slot]].source.name }

// Class returns the lateness class of a slot.
func (w *Window) Class(slot int) telemetry.LatenessClass {
	return w.blocks[w.blockOf[slot]].source.class
}

// Cadence returns the time between the samples of a slot: measured once there
// are enough, else as its schema states, and never less than the grid.
func (w *Window) Cadence(slot int) telemetry.Duration {
	b, r, _ := w.locate(slot)
	return b.source.cadence(r.column, w.cfg.Grid)
}

// Unmoved reports whether a slot is of a counter that has not increased since it is
// known: all its rates are 0, because its remembered maximum never becomes 0 again.
func (w *Window) Unmoved(slot int) bool {
	_, r, _ := w.locate(slot)
	return r.column.op == opCounter && r.word.Type != telemetry.Float && w.peak[slot] == 0
}

// Last returns the time of a slot's last sample, and false before the first.
func (w *Window) Last(slot int) (telemetry.Time, bool) {
	at, _, _ := w.last(w.locate(slot))
	return at, at != never
}

// Judged reports whether a slot is the one by which its series is judged.
func (w *Window) Judged(slot int) bool { return !w.shadow[slot] }

// Value returns what a slot is worth in the last closed grid of its class: for
// a counter its rate per second, for a gauge the mean of the grid's samples or
// the last one, for a state the last one. It is NaN where the flag is Missing,
// First, Reset or Stuck.
func (w *Window) Value(slot int) (float32, Flag) {
	b, r, i := w.locate(slot)
	at, f, _ := w.last(b, r, i)
	v := w.val[slot]
	g := b.source.closed
	if at == never || g == never {
		return float32(math.NaN()), Missing
	}
	if at > g.Add(-w.cfg.Grid) {
		return v, f
	}
	if g.Sub(at) > b.source.staleAfter(r.column, w.cfg.Grid) {
		return float32(math.NaN()), Missing
	}
	switch f {
	case Fresh, Gapped, Held:
		return v, Held
	case Stuck:
		return v, Stuck
	}
	return v, Missing
}

// At returns what a slot of an evidence metric was worth in the grid that ends
// at g, one of the last Config.History closed ones: a counter's rate is the
// mean, weighted by time, of the segments that overlap the grid, as far as
// they are known by now; a gauge holds its value for three cadences. False
// where nothing is known.
func (w *Window) At(slot int, g telemetry.Time) (float64, bool) {
	t := w.Tape(slot)
	return t.At(g)
}

// Tape is what is kept of one slot, to look at it in many grids: At of a Window
// without its search for the slot. It is valid until the next Close.
type Tape struct {
	past   *past
	series int32
	grid   telemetry.Duration
	closed telemetry.Time // never where nothing is kept
	oldest int64          // grid by number
	back   int64          // for how many grids a value holds
}

// Tape returns what is kept of a slot.
func (w *Window) Tape(slot int) Tape {
	b, r, i := w.locate(slot)
	t := Tape{past: &b.past, series: r.ev + i - r.off, grid: w.cfg.Grid, closed: b.source.closed}
	if r.ev < 0 || t.closed == never {
		t.closed = never
		return t
	}
	t.oldest = cellOf(t.closed, t.grid) - int64(b.past.rows) + 1
	if r.column.op != opCounter {
		t.back = int64(b.source.staleAfter(r.column, t.grid) / t.grid)
	}
	return t
}

// Next returns what is kept of the slot that is k further on, of the same metric and source.
func (t *Tape) Next(k int) Tape {
	next := *t
	next.series += int32(k)
	return next
}

// At is the Window's At of the slot.
func (t *Tape) At(g telemetry.Time) (float64, bool) {
	if t.closed == never || g > t.closed {
		return 0, false
	}
	c := cellOf(g, t.grid)
	if c < t.oldest {
		return 0, false
	}
	n := int64(t.past.n)
	at := int64(t.past.index(c))*n + int64(t.series)
	for last := max(t.oldest, c-t.back); c >= last; c-- {
		if v := t.past.cells[at]; v == v {
			return float64(v), true
		}
		if at -= n; at < 0 {
			at += int64(len(t.past.cells))
		}
	}
	return 0, false
}

// SourceState is what is known of one source.
type SourceState struct {
	Source  telemetry.Source
	Class   telemetry.LatenessClass
	Series  int
	Latest  telemetry.Time     // of its samples; the smallest Time before the first
	Cadence telemetry.Duration // the shortest of its columns
	Offset  telemetry.Duration // receive less source time, median; zero if not stated
	Spread  telemetry.Duration // median distance from it
	Wait    telemetry.Duration // for how long its grids stay open
	Stale   bool               // nothing for longer than three of its cadences, as of its closed grid
}

// Sources calls f for every source, by class and name.
func (w *Window) Sources(f func(SourceState)) {
	for _, list := range w.byClass {
		for _, s := range list {
			f(w.stateOf(s))
		}
	}
}

func (w *Window) stateOf(s *source) SourceState {
	st := SourceState{Source: s.name, Class: s.class, Series: int(s.n), Latest: s.latest, Cadence: math.MaxInt64}
	timeout := telemetry.Duration(0)
	for _, c := range s.columns {
		st.Cadence = min(st.Cadence, s.cadence(c, w.cfg.Grid))
		if d := s.staleTimeout(c, w.cfg.Grid); d > 0 && (timeout == 0 || d < timeout) {
			timeout = d
		}
	}
	st.Stale = s.latest != never && timeout > 0 && s.closed.Sub(s.latest) > timeout
	st.Wait = w.waits(s, w.asOf(s.class))
	st.Offset, st.Spread, _ = s.clock.offset()
	return st
}

// spreads is how many median distances the clock of a source may be off in addition to
// its offset: three standard deviations of normal jitter.
const spreads = 4.5

// ClockError returns by how much what a slot reported may have happened before the
// time its source gave it, and by how much after; zero if the source never states
// both clocks. A source that is received before its own time is ahead. One that is
// received after it is behind, or its samples take long to arrive: the two cannot
// be distinguished. Both widen by spreads times the median distance from the
// median.
func (w *Window) ClockError(slot int) (before, after telemetry.Duration) {
	off, spread, _ := w.blocks[w.blockOf[slot]].source.clock.offset()
	jitter := telemetry.Duration(spreads * float64(spread))
	return max(0, -off) + jitter, max(0, off) + jitter
}

// ClockOffset returns the median of receive less source time of a slot's source,
// zero if it never states both.
func (w *Window) ClockOffset(slot int) telemetry.Duration {
	off, _, _ := w.blocks[w.blockOf[slot]].source.clock.offset()
	return off
}

// bySeries orders rivals.
func bySeries(a, b *rival) int { return a.series.Compare(b.series) }

// byPreference orders the slots that compete for a series: class, then source.
func (w *Window) byPreference(a, b int32) int {
	x, y := w.blocks[w.blockOf[a]].source, w.blocks[w.blockOf[b]].source
	if c := cmp.Compare(x.class, y.class); c != 0 {
		return c
	}
	return x.name.Compare(y.name)
}
