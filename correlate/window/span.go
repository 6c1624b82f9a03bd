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
	t := b.past.track(r.ev+i-r.off, first)
	for range min(cellOf(to, w.cfg.Grid), newest) - first + 1 {
		dst = append(dst, t.next())
	}
	return dst
}

// Held appends to dst what At would return for each of n grids in a row, the
// first of which ends at first: NaN where nothing is known.
func (w *Window) Held(dst []float64, slot int, first telemetry.Time, n int) []float64 {
	b, r, i := w.locate(slot)
	closed := b.source.closed
	if r.ev < 0 || closed == never {
		return blank(dst, int64(n))
	}
	newest, c := cellOf(closed, w.cfg.Grid), cellOf(first, w.cfg.Grid)
	end, oldest := c+int64(n), newest-int64(b.past.rows)+1
	back := int64(0)
	if r.column.op != opCounter {
		back = int64(b.source.staleAfter(r.column, w.cfg.Grid) / w.cfg.Grid)
	}
	value, left := math.NaN(), int64(0) // and for how many grids it is valid
	t := b.past.track(r.ev+i-r.off, max(c-back, oldest))
	for k := max(c-back, oldest); k < min(c, newest+1); k++ {
		if v := t.next(); v == v {
			value, left = float64(v), back+1
		}
		left--
	}
	dst = blank(dst, min(oldest, end)-c)
	for range min(end-1, newest) - max(c, oldest) + 1 {
		if v := t.next(); v == v {
			value, left = float64(v), back+1
		}
		if left--; left < 0 {
			value = math.NaN()
		}
		dst = append(dst, value)
	}
	return blank(dst, end-max(c, newest+1))
}

// blank appends n grids in which nothing is known, none where n is negative.
func blank(dst []float64, n int64) []float64 {
	for range n {
		dst = append(dst, math.NaN())
	}
	return dst
}
