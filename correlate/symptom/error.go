package symptom

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
)

// errorOf is the standard error of the value of a reading for a candidate root; 0
// where none is known: of counts, extremes and shares.
func (f *Contrast) errorOf(i int32, x *explain.Reading) float64 {
	if x.Event != "" || x.Among == explain.AmongShare {
		return 0
	}
	var squares, n float64
	for _, k := range f.scope(i, x) {
		c := f.column(k, x)
		if _, seen := f.number(k, c, x.Take); !seen {
			continue
		}
		err := f.numberError(k, c, x.Take)
		squares += float64(err * err)
		n++
	}
	if n == 0 {
		return 0
	}
	typical := math.Sqrt(squares / n)
	switch x.Among {
	case explain.AmongMost, explain.AmongLeast:
		return typical
	case explain.AmongSum:
		return math.Sqrt(squares)
	}
	return typical / math.Sqrt(n)
}

// numberError is the standard error of number.
func (f *Contrast) numberError(i int32, c int, take explain.Take) float64 {
	now, before := f.meanErrors(i, c)
	was, _ := f.before.at(i, c)
	is, _ := f.now.at(i, c)
	switch take {
	case explain.TakeNow:
		return now
	case explain.TakeBefore:
		return before
	case explain.TakeShift, explain.TakePeers:
		return stats.Quadrature(now, before)
	case explain.TakeBits:
		_, err, _ := f.slowed(i, c)
		return err
	case explain.TakeExplained:
		return stats.Quadrature(now, before) / f.degradation.Excess
	case explain.TakeRatio, explain.TakePeersRatio:
		if was.Mean != 0 {
			share := float64(is.Mean) / float64(was.Mean)
			return stats.Quadrature(now, float64(before*share)) / math.Abs(float64(was.Mean))
		}
		_, err, _ := f.throttled(i, c)
		return err
	case explain.TakePeersExplained:
		return stats.Quadrature(f.missed(&is), f.numberError(i, c, explain.TakePeersRatio)) / (f.degradation.Slowdown - 1)
	case explain.TakeBelowPeers:
		if v, ok := f.number(i, c, take); ok && is.Mean != 0 {
			return math.Abs(float64(v*now) / float64(is.Mean))
		}
	}
	return 0
}

// scatterKnown is the number of samples from which on their own scatter counts for
// more than what is expected of it: by waiting in bursts, or by the scatter before.
const scatterKnown = 4.0

// missed is the relative error of a share of time during a degradation because the
// samples may have missed the moments in which the job waits: until there are enough
// of them to see how they scatter.
func (f *Contrast) missed(now *Stat) float64 {
	n := float64(now.Seen)
	return math.Sqrt((f.degradation.Slowdown - 1) / n * scatterKnown / (scatterKnown + n))
}

// meanErrors returns the standard errors of a series' means during the degradation
// and before it. Few samples during it may be alike by chance: they scatter as those
// before do, until there are enough of them.
func (f *Contrast) meanErrors(i int32, c int) (now, before float64) {
	is, _ := f.now.at(i, c)
	was, _ := f.before.at(i, c)
	now, before = float64(is.Err), float64(was.Err)
	if before != before {
		before = 0
	}
	n, usual := float64(is.Seen), math.Abs(float64(float64(was.Spread)*float64(was.Mean)))
	alike := math.Sqrt(min(n, max(1, float64(was.Run))))
	switch {
	case n <= 1:
		now = usual
	case usual > 0:
		own := float64(now * now * n)
		now = float64(alike * math.Sqrt((float64(scatterKnown*usual*usual)+float64((n-1)*own))/(scatterKnown+n-1)/n))
	}
	return now, before
}

// chance is how many standard errors a difference must have where dozens are
// searched: the largest of them reaches two and a half by chance.
const chance = 3.0
