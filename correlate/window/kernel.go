package window

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// pass is what the samples of one source and one instant have in common.
type pass struct {
	t     telemetry.Time // of the instant
	g, gs telemetry.Time // the grid (gs, g]
	cell  int64          // its number
	grid  telemetry.Duration
	at    telemetry.Time // as of which it is closed
	multi bool           // several instants of this grid: sums are kept
	seg   segment
}

// segment is what counters have in common that were last sampled at the same
// time.
type segment struct {
	from    telemetry.Time
	length  telemetry.Duration
	valid   bool    // from is known and before the instant
	step    uint32  // its microseconds
	inverse float64 // one over its seconds
	near    bool    // it begins in the cell before the one it ends in
	before  float32 // seconds of it in that cell
	within  float32 // seconds of it in the cell it ends in
}

// enter sets the segment that begins at from.
func (p *pass) enter(from telemetry.Time) {
	s := segment{from: from, valid: from != never && from < p.t}
	if s.valid {
		s.length = p.t.Sub(from)
		s.step = microseconds(s.length)
		s.inverse = 1 / seconds(s.length)
		s.near = from <= p.gs && from > p.gs.Add(-p.grid)
		s.before = float32(seconds(p.gs.Sub(from)))
		s.within = float32(seconds(p.t.Sub(max(p.gs, from))))
	}
	p.seg = s
}

// lane is the part of the slots' arrays that belongs to a run.
type lane struct {
	word []uint64
	at   []telemetry.Time
	val  []float32
	peak []float32
	flag []Flag
	step []uint32
}

func (w *Window) lane(b *block, r *run) lane {
	lo, hi := b.base+r.off, b.base+r.off+r.n
	return lane{w.word[lo:hi], w.at[lo:hi], w.val[lo:hi], w.peak[lo:hi], w.flag[lo:hi], w.step[lo:hi]}
}

// take files the samples of one instant, words and states being those of the
// block's series. States nil means that all are present.
func (k *worker) take(b *block, words []uint64, states []telemetry.State) {
	for i := range b.runs {
		r := &b.runs[i]
		ws := words[r.off : r.off+r.n]
		ss := states
		if ss != nil {
			ss = ss[r.off : r.off+r.n]
			if !k.anyPresent(ss) {
				continue
			}
		}
		r.column.present = true
		if ss != nil || k.pass.multi || !k.takeEven(b, r, ws) {
			k.takeRun(b, r, ws, ss)
		}
		r.some, r.full = true, r.full || ss == nil
	}
}

// takeRun files a run slot by slot.
func (k *worker) takeRun(b *block, r *run, words []uint64, states []telemetry.State) {
	k.spreadOut(b, r)
	if !r.some && r.ev >= 0 {
		fillNaN(b.past.row(k.pass.cell)[r.ev : r.ev+r.n])
	}
	switch {
	case r.column.op == opStep:
		k.steps(b, r, words, states)
	case r.column.op != opCounter:
		k.gauges(b, r, words, states)
	case r.word.Type == telemetry.Float:
		k.floatCounters(b, r, words, states)
	default:
		k.counters(b, r, 0, words, states)
	}
	if states == nil {
		k.gatherUp(b, r)
	}
}

// anyPresent also counts the gaps.
func (k *worker) anyPresent(states []telemetry.State) (any bool) {
	for _, s := range states {
		switch s {
		case telemetry.Present:
			any = true
		case telemetry.Gap:
			k.counts.Gaps++
		}
	}
	return any
}

// counters files one instant of counters, from the run's series i on: the rate
// since each one's last sample.
func (k *worker) counters(b *block, r *run, i int, words []uint64, states []telemetry.State) {
	p, l := &k.pass, k.w.lane(b, r)
	limit := b.source.staleAfter(r.column, p.grid)
	p.enter(l.at[i])
	factor, f := float64(p.seg.inverse*r.scale), freshOrGapped(p.seg.length, limit)
	for ; i < len(words); i++ {
		if states != nil && states[i] != telemetry.Present {
			continue
		}
		if l.at[i] != p.seg.from {
			p.enter(l.at[i])
			factor, f = float64(p.seg.inverse*r.scale), freshOrGapped(p.seg.length, limit)
		}
		word, old := words[i], l.word[i]
		if word^r.bias < old^r.bias || !p.seg.valid || (r.stick != 0 && word == r.stick) {
			k.addWithoutRate(b, r, int32(i), word)
			continue
		}
		rate := float32(float64(word-old) * factor)
		l.word[i], l.at[i], l.val[i], l.flag[i], l.step[i] = word, p.t, rate, f, p.seg.step
		l.peak[i] = max(rate, float32(l.peak[i]*forget))
		k.addRate(b, r, int32(i), rate)
	}
}

// forget is what is left of a counter's remembered maximum after each sample:
// half after some 180.
const forget = 1 - 1.0/256

// freshOrGapped returns whether the rate over a segment may be judged.
func freshOrGapped(length, limit telemetry.Duration) Flag {
	if length > limit {
		return Gapped
	}
	return Fresh
}

// addRate files a known rate in the history, and in the mean of several samples
// of a grid.
func (k *worker) addRate(b *block, r *run, i int32, rate float32) {
	p := &k.pass
	if r.ev >= 0 {
		b.past.spread(r.ev+i, span{p.seg.from, p.t, p.cell, p.grid}, rate)
	}
	if p.multi {
		k.sum(b.lo+r.off+i, float64(rate), float64(p.seg.within))
	}
}

// addWithoutRate files a counter's sample that has no plain rate: the first one, a fall,
// or one at the counter's maximum.
func (k *worker) addWithoutRate(b *block, r *run, i int32, word uint64) {
	p, l := &k.pass, k.w.lane(b, r)
	s := span{l.at[i], p.t, p.cell, p.grid}
	old, first := l.word[i], l.at[i] == never
	if !first && !p.seg.valid {
		return // not after the last sample: nothing new
	}
	l.word[i], l.at[i], l.step[i] = word, p.t, p.seg.step
	if r.stick != 0 && word == r.stick {
		k.blind(b, r, i, s, Stuck)
		return
	}
	if first {
		k.blind(b, r, i, s, First)
		return
	}
	inc, ok := uint64(0), false
	if r.word.Type == telemetry.Uint {
		inc, ok = wrapped(r.column.metric, old, word, float64(plausibleTimes*float64(float64(l.peak[i])*seconds(p.seg.length))))
	}
	if !ok {
		k.counts.Resets++
		k.blind(b, r, i, s, Reset)
		return
	}
	k.counts.Wraps++
	rate := float32(float64(inc) * p.seg.inverse)
	l.val[i], l.flag[i] = rate, freshOrGapped(p.seg.length, b.source.staleAfter(r.column, p.grid))
	l.peak[i] = max(rate, float32(l.peak[i]*forget))
	k.addRate(b, r, i, rate)
}

// blind files a counter's sample that has no rate, and why.
func (k *worker) blind(b *block, r *run, i int32, s span, why Flag) {
	l := k.w.lane(b, r)
	l.val[i], l.flag[i] = float32(math.NaN()), why
	if r.ev >= 0 {
		b.past.begin(r.ev+i, s)
	}
}

// floatCounters is counters for words that are floats: rare, and not exact.
func (k *worker) floatCounters(b *block, r *run, words []uint64, states []telemetry.State) {
	p, l := &k.pass, k.w.lane(b, r)
	limit := b.source.staleAfter(r.column, p.grid)
	for i, word := range words {
		if states != nil && states[i] != telemetry.Present {
			continue
		}
		v := math.Float64frombits(word)
		if !finite(v) {
			k.counts.Gaps++
			continue
		}
		p.enter(l.at[i])
		old := math.Float64frombits(l.word[i])
		if !p.seg.valid || v < old {
			k.addWithoutRate(b, r, int32(i), word)
			continue
		}
		rate := float32((v - old) * p.seg.inverse)
		if !finite(float64(rate)) {
			k.counts.Gaps++
			continue
		}
		l.word[i], l.at[i], l.val[i], l.flag[i], l.step[i] = word, p.t, rate, freshOrGapped(p.seg.length, limit), p.seg.step
		k.addRate(b, r, int32(i), rate)
	}
}

// finite reports whether v is a number that a slot can hold; what is not is a
// gap, so that no mean is ever spoilt by it.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat32 }

// gauges files one instant of gauges, states and undeclared metrics.
func (k *worker) gauges(b *block, r *run, words []uint64, states []telemetry.State) {
	p, l := &k.pass, k.w.lane(b, r)
	limit := b.source.staleAfter(r.column, p.grid)
	var cur []float32
	if r.ev >= 0 {
		cur = b.past.row(p.cell)[r.ev : r.ev+r.n]
	}
	p.enter(l.at[0])
	for i, word := range words {
		if states != nil && states[i] != telemetry.Present {
			continue
		}
		v := r.word.Float(word)
		if !(math.Abs(v) <= r.column.most) {
			k.counts.Gaps++
			continue
		}
		if l.at[i] >= p.t {
			continue
		}
		if l.at[i] != p.seg.from {
			p.enter(l.at[i])
		}
		l.at[i], l.val[i], l.flag[i], l.step[i] = p.t, float32(v), freshOrGapped(p.seg.length, limit), p.seg.step
		if p.multi && r.column.op == opGauge {
			k.sum(b.lo+r.off+int32(i), v, 1)
		}
		if cur != nil {
			cur[i] = float32(v)
		}
	}
}

// steps files one instant of per-step samples.
func (k *worker) steps(b *block, r *run, words []uint64, states []telemetry.State) {
	p, l := &k.pass, k.w.lane(b, r)
	for i, word := range words {
		if states != nil && states[i] != telemetry.Present || l.at[i] >= p.t {
			continue
		}
		v := r.word.Float(word)
		if !finite(v) {
			k.counts.Gaps++
			continue
		}
		p.enter(l.at[i])
		l.at[i], l.val[i], l.flag[i], l.step[i] = p.t, float32(v), Fresh, p.seg.step
		k.found = append(k.found, StepSample{Slot: int(b.base + r.off + int32(i)), At: p.t, Value: v})
	}
}
