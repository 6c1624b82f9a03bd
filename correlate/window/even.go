package window

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// Most runs are even: all their series were last sampled at the same instant, with
// the same flag. Then these three are stored in the run, not in the slots' arrays,
// and closing a grid touches half the memory. takeEven keeps an even run even;
// anything else spreads it out into the arrays first, and gathers it up again as
// soon as the slots agree.

// spreadOut makes the slots' arrays of a run good.
func (k *worker) spreadOut(b *block, r *run) { k.w.spreadOut(b, r) }

func (w *Window) spreadOut(b *block, r *run) {
	if !r.even {
		return
	}
	r.even = false
	l := w.lane(b, r)
	for i := range l.at {
		l.at[i], l.flag[i], l.step[i] = r.at, r.flag, r.step
	}
}

// gatherUp makes a run even if its slots agree.
func (k *worker) gatherUp(b *block, r *run) {
	l := k.w.lane(b, r)
	for i := range l.at {
		if l.at[i] != l.at[0] || l.flag[i] != l.flag[0] || l.step[i] != l.step[0] {
			return
		}
	}
	r.even, r.at, r.flag, r.step = true, l.at[0], l.flag[0], l.step[0]
}

// last returns the time and the flag of the last sample of a run's series i,
// and the microseconds since the one before.
func (w *Window) last(b *block, r *run, i int32) (telemetry.Time, Flag, uint32) {
	if r.even {
		return r.at, r.flag, r.step
	}
	s := b.base + i
	return w.at[s], w.flag[s], w.step[s]
}

// takeEven files one instant of a run of which every series is present, if it
// is even and stays so. If it returns false the run is as it was, or spread
// out and filed up to where it ceased to be even; takeRun does the rest.
func (k *worker) takeEven(b *block, r *run, words []uint64) bool {
	p := &k.pass
	if !r.even || r.at >= p.t || r.word.Type == telemetry.Float || r.column.op == opStep {
		return false
	}
	if r.at != p.seg.from {
		p.enter(r.at)
	}
	if r.column.op != opCounter {
		if !k.evenGauges(b, r, words) {
			return false
		}
	} else if !p.seg.valid || (r.ev >= 0 && !p.seg.near) {
		return false
	} else if n := k.evenCounters(b, r, words); n < len(words) {
		k.breakUp(b, r, n, words)
		return true
	}
	r.at, r.step = p.t, p.seg.step
	r.flag = freshOrGapped(p.seg.length, b.source.staleAfter(r.column, p.grid))
	return true
}

// evenGauges is gauges for an even run. It returns false, and leaves the run as it
// was, where one of them is no reading.
func (k *worker) evenGauges(b *block, r *run, words []uint64) bool {
	if most := r.column.most; most < math.MaxFloat32 {
		for _, word := range words {
			if math.Abs(r.word.Float(word)) > most {
				return false
			}
		}
	}
	val := k.w.val[b.base+r.off:][:len(words)]
	for i, word := range words {
		if v := float32(r.word.Float(word)); val[i] != v {
			val[i] = v
		}
	}
	if r.ev >= 0 {
		copy(b.past.row(k.pass.cell)[r.ev:r.ev+r.n], val)
	}
	return true
}

// evenCounters is counters for an even run. It returns how many it filed: all,
// or those before the first that is not plain.
func (k *worker) evenCounters(b *block, r *run, words []uint64) int {
	lo := b.base + r.off
	old, val, peak := k.w.word[lo:][:len(words)], k.w.val[lo:][:len(words)], k.w.peak[lo:][:len(words)]
	factor := float64(k.pass.seg.inverse * r.scale)
	n := len(words)
	for i, word := range words {
		prev := old[i]
		if word == prev && (r.stick == 0 || word != r.stick) {
			if val[i] != 0 {
				val[i] = 0
			}
			if peak[i] > 0 {
				peak[i] = float32(peak[i] * forget)
			}
			continue
		}
		if word^r.bias < prev^r.bias || (r.stick != 0 && word == r.stick) {
			n = i
			break
		}
		rate := float32(float64(word-prev) * factor)
		old[i], val[i] = word, rate
		peak[i] = max(rate, float32(peak[i]*forget))
	}
	if r.ev >= 0 {
		k.evenPast(b, r, val[:n])
	}
	return n
}

// evenPast files the rates of an even run in the history: the rest of the cell
// before, and the one being closed.
func (k *worker) evenPast(b *block, r *run, rates []float32) {
	p, s := &b.past, &k.pass.seg
	prev, cur := p.row(k.pass.cell - 1)[r.ev:][:len(rates)], p.row(k.pass.cell)[r.ev:][:len(rates)]
	cover := p.cover[r.ev:][:len(rates)]
	for i, rate := range rates {
		if s.before > 0 && prev[i] != rate {
			prev[i] = mix(prev[i], cover[i], rate, s.before)
		}
		cur[i] = rate
		if cover[i] != s.within {
			cover[i] = s.within
		}
	}
}

// breakUp ends the evenness of a run of counters at series n: those before are
// filed, the others are not.
func (k *worker) breakUp(b *block, r *run, n int, words []uint64) {
	p := &k.pass
	f := freshOrGapped(p.seg.length, b.source.staleAfter(r.column, p.grid))
	k.spreadOut(b, r)
	l := k.w.lane(b, r)
	for i := range n {
		l.at[i], l.flag[i], l.step[i] = p.t, f, p.seg.step
	}
	if r.ev >= 0 {
		fillNaN(b.past.row(p.cell)[r.ev+int32(n) : r.ev+r.n])
	}
	k.counters(b, r, n, words, nil)
}
