package mapping

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
)

// maxBounds is how many buckets a histogram has at most; one that has more gives no
// quantile.
const maxBounds = 512

// distribution is one of our histograms: what was added to its buckets since
// the last reading, whichever foreign series it came from.
type distribution struct {
	p50, p99 book.Cell
	bounds   []float64 // rising
	added    []float64 // by bound: how many more than last time were at or below it
	known    bool      // two readings have been compared
	rank     int       // of the name that it came under
}

// prefers reports whether a name is as good as any it came under; the counts of a
// lesser one are dropped.
func (d *distribution) prefers(rank int) bool {
	if rank < d.rank {
		d.rank = rank
		clear(d.added)
	}
	return rank == d.rank
}

// add records that so many more than last time are at or below a bound.
func (d *distribution) add(bound, more float64) {
	i, ok := slices.BinarySearch(d.bounds, bound)
	if !ok {
		if len(d.bounds) >= maxBounds {
			return
		}
		d.bounds, d.added = slices.Insert(d.bounds, i, bound), slices.Insert(d.added, i, 0)
	}
	d.added[i] += more
	d.known = true
}

// state records the quantiles of the interval: a gap where nothing was counted.
func (d *distribution) state(b *book.Book) int {
	if !d.known {
		return 0
	}
	n := 0
	for _, q := range []struct {
		cell book.Cell
		of   float64
	}{{d.p50, 0.5}, {d.p99, 0.99}} {
		if !q.cell.Known() {
			continue
		}
		v := quantile(q.of, d.bounds, d.added)
		b.SetFloat(q.cell, v)
		if v == v {
			n++
		}
	}
	clear(d.added)
	d.known = false
	return n
}

// quantile interpolates within the bucket that contains it, as Prometheus does:
// evenly, from zero on in the first, and no further than the last bound that is
// finite. NaN where nothing was counted.
func quantile(q float64, bounds, atOrBelow []float64) float64 {
	if len(bounds) == 0 || !(atOrBelow[len(bounds)-1] > 0) {
		return math.NaN()
	}
	rank := float64(q * atOrBelow[len(bounds)-1])
	i, _ := slices.BinarySearchFunc(atOrBelow, rank, cmp.Compare[float64])
	i = min(i, len(bounds)-1)
	switch {
	case math.IsInf(bounds[i], 1) && i > 0:
		return bounds[i-1]
	case math.IsInf(bounds[i], 1):
		return math.NaN()
	case i == 0 && bounds[0] <= 0:
		return bounds[0]
	}
	from, before := 0.0, 0.0
	if i > 0 {
		from, before = bounds[i-1], atOrBelow[i-1]
	}
	return from + float64((bounds[i]-from)*(rank-before)/(atOrBelow[i]-before))
}

// proportion is a mean over an interval: what one counter gained per gain of
// another.
type proportion struct {
	cell        book.Cell
	over, under gain
	gained, per float64
	compared    bool
}

// gain follows one counter.
type gain struct {
	last  float64
	known bool
}

// more returns what was gained since the last reading; after a reset, all of it.
func (g *gain) more(v float64) (float64, bool) {
	was, known := g.last, g.known
	g.last, g.known = v, true
	if v < was {
		was = 0
	}
	return v - was, known
}

// state records the mean; a gap where there was nothing to divide by.
func (p *proportion) state(b *book.Book) int {
	if !p.compared || !p.cell.Known() {
		return 0
	}
	v := math.NaN()
	if p.per > 0 {
		v = p.gained / p.per
	}
	p.gained, p.per, p.compared = 0, 0, false
	b.SetFloat(p.cell, v)
	if v != v {
		return 0
	}
	return 1
}

// take records a reading of one of the two counters.
func (p *proportion) take(of role, v float64) collectors.Reason {
	g, to := &p.over, &p.gained
	if of == divisor {
		g, to = &p.under, &p.per
	}
	if more, ok := g.more(v); ok {
		*to += more
		p.compared = true
	}
	return ""
}
