package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// MaxSlices is the largest number of slices that a ForEach may use.
const MaxSlices = 256

// ForEach cuts 0…n into parts and calls fn for each, possibly at the same
// time, with the part's number (0 ≤ slice < MaxSlices, each used once) and its
// bounds; it returns when all have returned. How it cuts changes no answer
// (I8).
type ForEach func(n int, fn func(slice, lo, hi int))

// Serial is the ForEach of one slice.
func Serial(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) }

// StepSample is one sample of a PerStep metric.
type StepSample struct {
	Slot   int
	Series telemetry.Series
	At     telemetry.Time // the step's end
	Value  float64
	Wait   telemetry.Duration // for how long grids of its source stay open
}

// Switch reports that a series is judged from another source from now on.
type Switch struct {
	Series   telemetry.Series
	From, To telemetry.Source
	FromSlot int
	ToSlot   int
}

// Closed is what closing a grid found in addition to the values. It is
// valid until the next Close.
type Closed struct {
	Class    telemetry.LatenessClass
	Grid     telemetry.Time // of sources that wait for as long as their class
	Sources  int            // how many closed a grid
	Steps    []StepSample   // by time, entity, metric
	Switched []Switch       // by entity, metric
}

// closing is what the slices of one Close share.
type closing struct {
	class   telemetry.LatenessClass
	at      telemetry.Time     // as of which the class is closed
	by      telemetry.Duration // how far a source goes at most
	sources []*source
	fn      func(slice, lo, hi int)
}

// worker is what one slice needs to itself.
type worker struct {
	w      *Window
	pass   pass
	dec    telemetry.Decoder
	frame  telemetry.Frame
	merged merged
	refs   []ref
	sums   []float64 // per local index, where a grid has several instants
	weight []float64
	found  []StepSample
	counts Counts
	freed  int
	delay  telemetry.Duration // the shortest from source to receipt of the instant
	most   telemetry.Duration // the longest
	stated bool               // whether one is stated
	closed int                // sources that closed a grid
}

// ref is one instant that waits.
type ref struct {
	t     telemetry.Time
	frame int // in source.frames
	k     int // instant of that frame
}

// Close closes the grid (g-Grid, g] of the sources of a class that wait for as long
// as it does, and of those that wait less the one that is due at the same instant:
// it takes every sample of the grid that waits. The caller closes a class's grids in
// order; one that is closed already stays so, and nothing happens. The result is
// valid until the next Close or CatchUp.
func (w *Window) Close(class telemetry.LatenessClass, g telemetry.Time, each ForEach) Closed {
	if class >= telemetry.LatenessClasses || g <= w.closed[class] {
		w.emptied(class, g)
		return w.out
	}
	by := w.cfg.Grid
	if w.closed[class] != never {
		by = g.Sub(w.closed[class])
	}
	return w.close(class, g, by, each)
}

// emptied begins the result of a Close.
func (w *Window) emptied(class telemetry.LatenessClass, g telemetry.Time) {
	w.out.Class, w.out.Grid, w.out.Sources = class, g, 0
	w.out.Steps, w.out.Switched = w.out.Steps[:0], w.out.Switched[:0]
}

func (w *Window) close(class telemetry.LatenessClass, g telemetry.Time, by telemetry.Duration, each ForEach) Closed {
	w.emptied(class, g)
	c := &w.closing
	c.class, c.at, c.by, c.sources = class, g.Add(w.cfg.Lateness[class]), by, w.byClass[class]
	if len(c.sources) > 0 {
		each(len(c.sources), c.fn)
	}
	w.closed[class] = g
	w.collect()
	w.elect(class)
	w.publishSteps()
	if len(w.waiting) > 0 {
		w.expire()
	}
	return w.out
}

// closeSlice closes the sources lo…hi.
func (w *Window) closeSlice(slice, lo, hi int) {
	k := w.workers[slice]
	if k == nil {
		k = &worker{w: w}
		w.workers[slice] = k
	}
	for _, s := range w.closing.sources[lo:hi] {
		k.closeSource(s)
	}
}

// collect adds up what the slices counted and found.
func (w *Window) collect() {
	for _, k := range w.workers {
		if k == nil {
			continue
		}
		w.counts.add(&k.counts)
		w.pending -= k.freed
		w.out.Sources += k.closed
		w.out.Steps = append(w.out.Steps, k.found...)
		k.counts, k.freed, k.closed, k.found = Counts{}, 0, 0, k.found[:0]
	}
}

// publishSteps keeps the steps of the sources that are judged and orders them.
func (w *Window) publishSteps() {
	kept := w.out.Steps[:0]
	for _, s := range w.out.Steps {
		if !w.shadow[s.Slot] {
			s.Series, s.Wait = w.Series(s.Slot), w.Wait(s.Slot)
			kept = append(kept, s)
		}
	}
	w.out.Steps = kept
	slices.SortFunc(kept, func(a, b StepSample) int {
		if c := cmp.Compare(a.At, b.At); c != 0 {
			return c
		}
		return a.Series.Compare(b.Series)
	})
}

// closeSource takes the waiting instants of a source up to the end of its next grid,
// by time, unless that grid still waits.
func (k *worker) closeSource(s *source) {
	p, c := &k.pass, &k.w.closing
	g, due := k.w.next(s, c.at, c.by)
	if s.stepped = due; !due {
		return
	}
	k.closed++
	*p = pass{g: g, gs: g.Add(-k.w.cfg.Grid), grid: k.w.cfg.Grid, at: c.at}
	p.cell = cellOf(p.g, p.grid)
	for _, b := range s.blocks {
		for i := range b.runs {
			b.runs[i].some, b.runs[i].full = false, false
		}
	}
	if len(s.frames) > 0 {
		k.takeAll(s)
	}
	for _, b := range s.blocks {
		for i := range b.runs {
			if r := &b.runs[i]; r.ev >= 0 && !r.some {
				fillNaN(b.past.row(p.cell)[r.ev : r.ev+r.n])
			}
		}
	}
	s.closed = g
}

// takeAll takes the instants up to the grid's end.
func (k *worker) takeAll(s *source) {
	p := &k.pass
	k.gather(s)
	if p.multi = k.several(); p.multi {
		k.sums, k.weight = zeroed(k.sums, int(s.n)), zeroed(k.weight, int(s.n))
	}
	for i := 0; i < len(k.refs); {
		j := i + 1
		for j < len(k.refs) && k.refs[j].t == k.refs[i].t {
			j++
		}
		p.t, p.seg = k.refs[i].t, segment{from: never}
		k.instant(s, k.refs[i:j])
		i = j
	}
	if p.multi {
		k.means(s)
	}
	k.freed += s.drop(p.g)
}

func zeroed(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// gather lists the instants up to the grid's end, by time.
func (k *worker) gather(s *source) {
	k.refs = k.refs[:0]
	for i := range s.frames {
		f := &s.frames[i]
		if f.first > k.pass.g {
			continue
		}
		if f.instants == 1 {
			k.refs = append(k.refs, ref{f.first, i, 0})
			continue
		}
		if f.decoded == nil && !k.open(s, f) {
			continue
		}
		for n := range f.decoded.Instants {
			if t := f.decoded.Time(n); t > f.done && t <= k.pass.g {
				k.refs = append(k.refs, ref{t, i, n})
			}
		}
	}
	if len(k.refs) > 1 {
		slices.SortFunc(k.refs, func(a, b ref) int { return cmp.Compare(a.t, b.t) })
	}
}

// open decodes a frame of several instants into the source's keeping.
func (k *worker) open(s *source, f *frame) bool {
	var d *telemetry.Frame
	if n := len(s.spare); n > 0 {
		d, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		d = new(telemetry.Frame)
	}
	if k.dec.Decode(s.bytes[f.off:f.off+f.len], f.schema.Schema, d) != nil {
		k.counts.CorruptLate++
		s.spare = append(s.spare, d)
		f.last = never // to be dropped
		return false
	}
	f.decoded = d
	return true
}

// several reports whether more than one instant is in the grid itself.
func (k *worker) several() bool {
	for i := range k.refs {
		if t := k.refs[i].t; t > k.pass.gs && t != k.refs[len(k.refs)-1].t {
			return true
		}
	}
	return false
}

// instant takes the samples of one time.
func (k *worker) instant(s *source, refs []ref) {
	k.delay, k.most, k.stated = math.MaxInt64, 0, false
	if len(refs) == 1 {
		sc, words, states, ok := k.load(s, refs[0])
		if !ok {
			return
		}
		if sc.direct != nil {
			k.file(sc.direct, words, states)
			k.finish(s)
			return
		}
	}
	k.merged.reset(int(s.n))
	for _, r := range refs {
		if sc, words, states, ok := k.load(s, r); ok {
			k.merged.add(sc, words, states)
		}
	}
	k.counts.Contradictions += k.merged.resolve()
	for _, b := range s.blocks {
		k.file(b, k.merged.words[b.lo:b.lo+b.n], k.merged.states[b.lo:b.lo+b.n])
	}
	k.finish(s)
}

func (k *worker) file(b *block, words []uint64, states []telemetry.State) {
	if k.pass.t <= k.pass.gs {
		k.takeLate(b, words, states)
		return
	}
	k.counts.Samples += present(words, states)
	k.take(b, words, states)
}

func present(words []uint64, states []telemetry.State) (n uint64) {
	if states == nil {
		return uint64(len(words))
	}
	for _, s := range states {
		if s == telemetry.Present {
			n++
		}
	}
	return n
}

// finish records the instant's time with the source and its columns.
func (k *worker) finish(s *source) {
	t := k.pass.t
	if t > s.latest {
		s.latest = t
		k.received(s)
		if k.stated {
			s.clock.add(k.delay)
		}
	}
	for _, c := range s.columns {
		if c.present {
			c.present = false
			if t > c.rhythm.last {
				c.rhythm.tick(t)
			}
		}
	}
}

// load returns one instant's samples; they are valid until the next load.
func (k *worker) load(s *source, r ref) (*schema, []uint64, []telemetry.State, bool) {
	f := &s.frames[r.frame]
	d := f.decoded
	if d == nil {
		d = &k.frame
		if k.dec.Decode(s.bytes[f.off:f.off+f.len], f.schema.Schema, d) != nil {
			k.counts.CorruptLate++
			return nil, nil, nil, false
		}
	}
	if in := d.Instants[r.k]; in.Source != 0 && in.Received != 0 {
		d := in.Received.Sub(in.Source)
		k.delay, k.most, k.stated = min(k.delay, d), max(k.most, d), true
	}
	n := f.schema.Len()
	var states []telemetry.State
	if d.States != nil {
		states = d.States[r.k*n : (r.k+1)*n]
	}
	return f.schema, d.Words[r.k*n : (r.k+1)*n], states, true
}

// sum adds v over so many seconds to what the grid's samples sum up to.
func (k *worker) sum(local int32, v, weight float64) {
	k.sums[local] += float64(v * weight)
	k.weight[local] += weight
}

// means gives the series that had several samples in the grid their mean.
func (k *worker) means(s *source) {
	for _, b := range s.blocks {
		for i := range b.runs {
			r := &b.runs[i]
			if r.column.op == opCounter || r.column.op == opGauge {
				k.meansOf(b, r)
			}
		}
	}
}

func (k *worker) meansOf(b *block, r *run) {
	l := k.w.lane(b, r)
	var cur []float32
	if r.ev >= 0 && r.column.op == opGauge && r.some {
		cur = b.past.row(k.pass.cell)[r.ev : r.ev+r.n]
	}
	for i := range l.val {
		local := b.lo + r.off + int32(i)
		weight := k.weight[local]
		if !(weight > 0) || math.IsNaN(float64(l.val[i])) {
			continue
		}
		l.val[i] = float32(k.sums[local] / weight)
		if cur != nil {
			cur[i] = l.val[i]
		}
	}
}
