package window

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// past is the history of a block's evidence series: a ring of rows, one per
// grid, NaN where nothing is known. Rows, not series, are contiguous, because
// closing a grid writes one row and questions are few.
type past struct {
	rows  int
	n     int32     // series per row
	cells []float32 // rows × n
	cover []float32 // per series: seconds of the cell of its last sample that its rates cover
}

func newPast(rows int, runs []run) past {
	p := past{rows: max(rows, 2)}
	for _, r := range runs {
		if r.ev >= 0 {
			p.n += r.n
		}
	}
	p.cells = make([]float32, p.rows*int(p.n))
	p.cover = make([]float32, p.n)
	fillNaN(p.cells)
	return p
}

func fillNaN(s []float32) {
	nan := float32(math.NaN())
	for i := range s {
		s[i] = nan
	}
}

// index returns which of the rows is that of a grid by its number.
func (p *past) index(cell int64) int {
	i := int(cell % int64(p.rows))
	if i < 0 {
		i += p.rows
	}
	return i
}

// row returns the row of a grid by its number.
func (p *past) row(cell int64) []float32 {
	i := p.index(cell)
	return p.cells[i*int(p.n) : (i+1)*int(p.n)]
}

// cellOf returns the number of the grid (g-grid, g] that contains t.
func cellOf(t telemetry.Time, grid telemetry.Duration) int64 {
	c := int64(t) / int64(grid)
	if int64(t)%int64(grid) > 0 {
		c++
	}
	return c
}

// microseconds rounds up; it stops at 71 minutes.
func microseconds(d telemetry.Duration) uint32 { return uint32(min((d+999)/1000, 1<<32-1)) }

func seconds(d telemetry.Duration) float64 { return float64(d) / 1e9 }

// mix returns the mean of m over c seconds and r over s seconds.
func mix(m, c, r, s float32) float32 {
	if !(c > 0) {
		return r
	}
	return (float32(m*c) + float32(r*s)) / (c + s)
}

// span is the range of cells over which a counter's rate is spread.
type span struct {
	from, to telemetry.Time
	newest   int64 // the cell being closed
	grid     telemetry.Duration
}

// spread gives series e the rate r from one sample to the next: the cells
// between have it, those at both ends their part of it.
func (p *past) spread(e int32, s span, r float32) {
	c0, c1 := cellOf(s.from, s.grid), cellOf(s.to, s.grid)
	oldest := s.newest - int64(p.rows) + 1
	if c0 == c1 {
		d := float32(seconds(s.to.Sub(s.from)))
		if c1 >= oldest {
			cell := &p.row(c1)[e]
			*cell = mix(*cell, p.cover[e], r, d)
		}
		p.cover[e] += d
		return
	}
	if d := telemetry.Time(c0 * int64(s.grid)).Sub(s.from); d > 0 && c0 >= oldest {
		cell := &p.row(c0)[e]
		*cell = mix(*cell, p.cover[e], r, float32(seconds(d)))
	}
	for c := max(c0+1, oldest); c < c1; c++ {
		p.row(c)[e] = r
	}
	if c1 >= oldest {
		p.row(c1)[e] = r
	}
	p.cover[e] = float32(seconds(s.to.Sub(telemetry.Time((c1 - 1) * int64(s.grid)))))
}

// begin records that no rate is known up to t: a first sample, or a reset. What is
// known of the cell that contains t stays.
func (p *past) begin(e int32, s span) {
	if s.from == never || cellOf(s.from, s.grid) != cellOf(s.to, s.grid) {
		p.cover[e] = 0
	}
}

// track reads the cells of one series, from the older to the newer.
type track struct {
	cells    []float32
	at, step int
}

// track begins at a grid by its number, which is kept.
func (p *past) track(e int32, cell int64) track {
	return track{p.cells, p.index(cell)*int(p.n) + int(e), int(p.n)}
}

// next returns the value in the grid at hand, and goes on to the next.
func (t *track) next() float32 {
	v := t.cells[t.at]
	if t.at += t.step; t.at >= len(t.cells) {
		t.at -= len(t.cells)
	}
	return v
}
