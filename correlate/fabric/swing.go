package fabric

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// A job sends in bursts, one or more a step, and nothing while it saves; a counter
// that is read seldom averages some of them. So the mean load of a link differs
// from one span to the next though nothing has changed. How much is learned from
// the link itself before: the variance of its mean load over spans of several
// lengths (the block means of Allan, Proc. IEEE 54, 1966, of a load).

// swings is the number of those lengths: 1, 2, 4 to 32 grids.
const swings = 6

// leastBlocks is the spans of a length from which their variance is taken.
const leastBlocks = 3

// Swing is the variance of a link's mean load over spans of 1, 2, 4 to 32 grids,
// shares of its speed squared; of those of which there were too few, that of the
// longest before them, divided as of independent spans.
type Swing [swings]float64

// swing is that of loads grid by grid, the last grids in blocks first.
func swing(loads []float64) Swing {
	var s Swing
	for k := range s {
		length := 1 << k
		if blocks := len(loads) / length; blocks >= leastBlocks {
			s[k] = blockVariance(loads[len(loads)-blocks*length:], length)
		} else if k > 0 {
			s[k] = s[k-1] / 2
		}
	}
	return s
}

// blockVariance is the variance of the means of consecutive blocks.
func blockVariance(loads []float64, length int) float64 {
	n, total, squares := 0.0, 0.0, 0.0
	for at := 0; at < len(loads); at += length {
		mean := sum(loads[at:at+length]) / float64(length)
		n++
		total += mean
		squares += float64(mean * mean)
	}
	mean := total / n
	return max(0, squares/n-float64(mean*mean)) * n / (n - 1)
}

// over is the variance of the mean load over a span of n grids. Beyond the longest
// measured it falls as it did towards that: by half with each doubling where blocks
// are independent, not at all where a pause of a minute is in one of them.
func (s *Swing) over(n float64) float64 {
	k := 0
	for k+1 < swings && float64(int(2)<<k) <= n {
		k++
	}
	longer := max(n, 1) / float64(int(1)<<k)
	if longer <= 1 || k == 0 || s[k-1] <= 0 {
		return s[k]
	}
	fall := min(1, max(0.5, s[k]/s[k-1]))
	return float64(s[k] * stats.Pow(longer, stats.Log(fall)/stats.Log(2)))
}

// LoadErr is the standard error of what an end sends now against before, in shares
// of its speed. Two samples before, or fewer, show no swing: then each sample is
// taken to swing by half of the mean of its time. An end that was not seen before may
// have sent anything.
func (r *Readings) LoadErr(before *Readings, i int) float64 {
	n, b := &r.Of[i], &before.Of[i]
	if b.Seen == 0 {
		return 1
	}
	interval := interval(b.Cadence, r.asks.grid)
	if b.Seen < leastBlocks || float64(b.Seen) < float64(leastSamples*interval) {
		is, was := n.Util/math.Sqrt(max(1, float64(n.Seen)/interval)), b.Util/math.Sqrt(max(1, float64(b.Seen)/interval))
		return float64(unknownSwing * stats.Quadrature(is, was))
	}
	return math.Sqrt(b.Swing.over(max(float64(n.Seen), interval)) + b.Swing.over(max(float64(b.Seen), interval)))
}

const (
	// leastSamples of an end before the degradation are needed for its swing.
	leastSamples = 2
	// unknownSwing is that of a sample of bursts, as a part of its mean: those of a
	// link that is used for a third to two thirds of the time, and read once a burst
	// or so.
	unknownSwing = 0.5
)
