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

// Rose finds when what some ends send together rose, among the grids of both spans
// that are still kept: the likeliest moment of a change between two levels is the one
// that explains most of the variance (Hinkley, Biometrika 57, 1970), and how sharply it
// is known follows from how the load swings, on either side and as it was learned
// before. The levels are those on either side, because the load need not have risen
// when the second span began. The interval is wider by a reading's cadence at both
// ends. False where it did not rise, or fewer grids than leastSide of either level are
// kept.
func (r *Readings) Rose(before *Readings, ends []int) (telemetry.Interval, bool) {
	var slowest, slow float64
	for _, i := range ends {
		slow += float64(math.Sqrt(float64(before.Of[i].Swing.over(longest)*longest)) * r.Map.Ends[i].Speed)
		slowest = max(slowest, r.Of[i].Cadence)
	}
	if r.history == nil {
		return telemetry.Interval{}, false
	}
	loads, first := r.load(before, ends)
	rises := explained(loads)
	at := 0
	for k := leastSide; k <= len(loads)-leastSide; k++ {
		if rises[k] > rises[at] {
			at = k
		}
	}
	if at == 0 {
		return telemetry.Interval{}, false
	}
	slack := float64(2 * roseOdds * max(persistent(loads[:at]), persistent(loads[at:]), float64(slow*slow)))
	lo, hi := at, at
	for lo > 0 && rises[at]-rises[lo-1] <= slack {
		lo--
	}
	for hi < len(loads) && rises[at]-rises[hi+1] <= slack {
		hi++
	}
	begin := first.Add(-r.asks.grid)
	read := telemetry.Duration(slowest * 1e9)
	return telemetry.Interval{Earliest: begin.Add(telemetry.Duration(lo) * r.asks.grid), Latest: begin.Add(telemetry.Duration(hi) * r.asks.grid)}.Widen(read), true
}

// explained is how much of a load's sum of squares a rise before each grid explains: 0
// where it is lower from there on.
func explained(loads []float64) []float64 {
	out := make([]float64, len(loads)+1)
	all, n, to := sum(loads), float64(len(loads)), 0.0
	for k := 1; k < len(loads); k++ {
		to += loads[k-1]
		before, since := to/float64(k), (all-to)/(n-float64(k))
		if d := since - before; d > 0 {
			out[k] = float64(d*d) * float64(k) * (n - float64(k)) / n
		}
	}
	return out
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
	var values []float64
	skip := 0
	for _, i := range ends {
		slot := r.Map.Ends[i].slots[txBytes]
		if slot < 0 {
			continue
		}
		values = r.history.Held(values[:0], slot, first, n)
		last, known := 0.0, 0
		for known < len(values) && values[known] != values[known] {
			known++
		}
		skip = max(skip, known)
		for k := known; k < len(values); k++ {
			if values[k] == values[k] {
				last = values[k]
			}
			total[k] += last
		}
	}
	skip = min(skip, len(total))
	return total[skip:], first.Add(telemetry.Duration(skip) * grid)
}
