package fabric

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// roseOdds is the log-likelihood by which a moment may be less likely than the
// likeliest one and still be when a load rose: two standard errors.
const roseOdds = 2.0

// leastSide is how many grids of either level are needed to find when it changed.
const leastSide = 3

// Rose finds when what some ends send together rose to what they send now, among
// the grids of both spans that are still kept: the likeliest moment of a change
// between two known levels is where the sum of what exceeds their mean is least
// (Page, Biometrika 41, 1954), and how sharply it is known follows from how the load
// swings, on either side and as it was learned before. The interval is wider by a
// reading's cadence at both ends. False where it did not rise, or fewer grids than
// leastSide of either level are kept.
func (r *Readings) Rose(before *Readings, ends []int) (telemetry.Interval, bool) {
	var was, is, slowest, slow float64
	for _, i := range ends {
		speed := r.Map.Ends[i].Speed
		slow += float64(math.Sqrt(float64(before.Of[i].Swing.over(longest)*longest)) * speed)
		was += float64(before.Of[i].Util * speed)
		is += float64(r.Of[i].Util * speed)
		slowest = max(slowest, r.Of[i].Cadence)
	}
	if is <= was || r.history == nil {
		return telemetry.Interval{}, false
	}
	loads, first := r.load(before, ends)
	sums := make([]float64, len(loads)+1)
	at := 0
	for k, x := range loads {
		sums[k+1] = sums[k] + x - (was+is)/2
		if sums[k+1] < sums[at] {
			at = k + 1
		}
	}
	if at < leastSide || at > len(loads)-leastSide {
		return telemetry.Interval{}, false
	}
	slack := float64(roseOdds * max(persistent(loads[:at]), persistent(loads[at:]), float64(slow*slow)) / (is - was))
	lo, hi := at, at
	for lo > 0 && sums[lo-1]-sums[at] <= slack {
		lo--
	}
	for hi < len(loads) && sums[hi+1]-sums[at] <= slack {
		hi++
	}
	begin := first.Add(-r.asks.grid)
	read := telemetry.Duration(slowest * 1e9)
	return telemetry.Interval{Earliest: begin.Add(telemetry.Duration(lo) * r.asks.grid), Latest: begin.Add(telemetry.Duration(hi) * r.asks.grid)}.Widen(read), true
}

// longest is how many grids the longest spans of a Swing have.
const longest = 1 << (swings - 1)

// persistent is the variance of a load per grid as it adds up over spans: the
// largest at any of the lengths of a Swing, which the bursts of steps and the pauses
// between them make many times that of single grids.
func persistent(loads []float64) float64 {
	var most float64
	s := swing(loads)
	for k, v := range s {
		most = max(most, float64(v*float64(int(1)<<k)))
	}
	return most
}

// load is what ends send together grid by grid, in bytes per second, from the
// beginning of the span before to the end of the span now, and the end of the first
// grid. A grid in which one of them is not known is what it was in the grid before.
func (r *Readings) load(before *Readings, ends []int) ([]float64, telemetry.Time) {
	grid := r.asks.grid
	n := int(r.Span.To.Sub(before.Span.From) / grid)
	first := r.Span.To.Add(-telemetry.Duration(n-1) * grid)
	total := make([]float64, max(n, 0))
	var held []float64
	skip := 0
	for _, i := range ends {
		slot := r.Map.Ends[i].slots[txBytes]
		if slot < 0 {
			continue
		}
		held = r.history.Held(held[:0], slot, first, n)
		last, known := 0.0, 0
		for known < len(held) && held[known] != held[known] {
			known++
		}
		skip = max(skip, known)
		for k := known; k < len(held); k++ {
			if held[k] == held[k] {
				last = held[k]
			}
			total[k] += last
		}
	}
	skip = min(skip, len(total))
	return total[skip:], first.Add(telemetry.Duration(skip) * grid)
}
