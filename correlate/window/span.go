package window

import "github.com/quintet-dc/quintet/telemetry"

// Span appends to dst what a slot of an evidence metric was worth in each grid
// that ends in (from, to], as far as the grids are closed and still kept: NaN
// where nothing was sampled. Unlike At it holds no gauge beyond its own grid,
// so that the mean of what is there is one of samples.
func (w *Window) Span(dst []float32, slot int, from, to telemetry.Time) []float32 {
	b, r, i := w.locate(slot)
	closed := w.closed[b.source.class]
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
