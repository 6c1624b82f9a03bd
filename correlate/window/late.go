package window

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// takeLate files one instant that is older than the closing grid. It changes
// no value of a grid that was judged: history and the counters' base only.
func (k *worker) takeLate(b *block, words []uint64, states []telemetry.State) {
	for i := range b.runs {
		r := &b.runs[i]
		k.spreadOut(b, r)
		for j := range r.n {
			if states != nil && states[r.off+j] != telemetry.Present {
				continue
			}
			r.column.present = true
			k.counts.LateSamples++
			k.lateSample(b, r, j, words[r.off+j])
		}
	}
}

func (k *worker) lateSample(b *block, r *run, i int32, word uint64) {
	p, l := &k.pass, k.w.lane(b, r)
	newer := l.at[i] == never || l.at[i] < p.t
	switch r.column.op {
	case opCounter:
		if newer {
			k.lateCounter(b, r, i, word)
		}
	case opStep:
		if newer {
			k.steps(b, &run{column: r.column, word: r.word, off: r.off + i, n: 1, ev: -1}, []uint64{word}, nil)
		}
	default:
		v := r.word.Float(word)
		if !(math.Abs(v) <= r.column.most) {
			k.counts.Gaps++
			return
		}
		if c := cellOf(p.t, p.grid); r.ev >= 0 && c > p.cell-int64(b.past.rows) {
			if cell := &b.past.row(c)[r.ev+i]; math.IsNaN(float64(*cell)) {
				*cell = float32(v)
			}
		}
		if newer {
			l.at[i], l.val[i], l.flag[i] = p.t, float32(v), Held
		}
	}
}

// lateCounter keeps the increase up to a late sample newer than the last one,
// spread over the cells between.
func (k *worker) lateCounter(b *block, r *run, i int32, word uint64) {
	l := k.w.lane(b, r)
	at := [1]uint64{word}
	one := *r
	one.off, one.n = r.off+i, 1
	if r.ev >= 0 {
		one.ev = r.ev + i
	}
	p := &k.pass
	multi := p.multi
	p.multi = false // its grid is not the closing one
	if r.word.Type == telemetry.Float {
		k.floatCounters(b, &one, at[:], nil)
	} else {
		k.counters(b, &one, 0, at[:], nil)
	}
	p.seg, p.multi = segment{from: never}, multi
	if l.flag[i] == Fresh || l.flag[i] == Gapped {
		l.flag[i] = Held
	}
}
