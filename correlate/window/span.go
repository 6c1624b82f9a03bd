package window

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// Span appends to dst what a slot of an evidence metric was worth in each grid
// that ends in (from, to], as far as the grids are closed and still kept: NaN
// where nothing was sampled. Unlike At it holds no gauge beyond its own grid,
// so that the mean of what is there is one of samples.
func (w *Window) Span(dst []float32, slot int, from, to telemetry.Time) []float32 {
	b, r, i := w.locate(slot)
	closed := b.source.closed
	if r.ev < 0 || closed == never {
		return dst
	}
	newest := cellOf(closed, w.cfg.Grid)
	first := max(cellOf(from, w.cfg.Grid)+1, newest-int64(b.past.rows)+1)
	e := r.ev + i - r.off
	for c := first; c <= min(cellOf(to, w.cfg.Grid), newest); c++ {
		dst = append(dst, b.past.row(c)[e])
	}
	return dst
}

// Held appends to dst what At would return for each of n grids in a row, the
// first of which ends at first: NaN where nothing is known.
func (w *Window) Held(dst []float64, slot int, first telemetry.Time, n int) []float64 {
	b, r, i := w.locate(slot)
	nan := math.NaN()
	closed := b.source.closed
	if r.ev < 0 || closed == never {
		for range n {
			dst = append(dst, nan)
		}
		return dst
	}
	newest, c0 := cellOf(closed, w.cfg.Grid), cellOf(first, w.cfg.Grid)
	back := int64(0)
	if r.column.op != opCounter {
		back = int64(b.source.silent(r.column, w.cfg.Grid) / w.cfg.Grid)
	}
	e := int(r.ev + i - r.off)
	held, since := nan, int64(math.MinInt64)
	oldest := newest - int64(b.past.rows) + 1
	for c := max(c0-back, min(c0, oldest)); c < c0+int64(n); c++ {
		if c >= oldest && c <= newest {
			if v := b.past.row(c)[e]; v == v {
				held, since = float64(v), c
			}
		}
		switch {
		case c < c0:
		case c > newest || since < c-back:
			dst = append(dst, nan)
		default:
			dst = append(dst, held)
		}
	}
	return dst
}
