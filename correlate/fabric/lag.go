package fabric

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// LagSpan says when Lags compares: in (From, Onset] the hosts kept time, in
// (Onset, To] one of them may not.
type LagSpan struct {
	From, Onset, To telemetry.Time
}

// Lags returns, for each of a job's nics, how many seconds later in the step it
// sends than it did, against the median of them all; false where too little is
// seen.
//
// A host that is late by Δ in every step has always sent Δ seconds' worth of
// bytes less than its peers, on average over time, and no less in total. That
// deficit is a mean over time, so it is the same however coarsely the counters
// are sampled: nothing needs to be seen inside a step.
func (m *Map) Lags(h History, grid telemetry.Duration, s LagSpan, ends []int) ([]float64, bool) {
	s.From = m.firstSeen(h, grid, s, ends)
	rates, ok := m.rates(h, grid, s, ends)
	if !ok {
		return nil, false
	}
	split := int(s.Onset.Sub(s.From) / grid)
	sent := cumulate(rates, split)
	n := len(rates[0])
	middle := make([]float64, n)
	for k := range n {
		middle[k] = medianAt(sent, k)
	}
	rate := (middle[n-1] - middle[split-1]) / float64(n-split)
	if rate <= 0 {
		return nil, false
	}
	lags := make([]float64, len(ends))
	for i := range sent {
		deficit := meanBelow(middle, sent[i], split, n) - meanBelow(middle, sent[i], 0, split)
		lags[i] = float64(deficit/rate*float64(grid)) / 1e9
	}
	return lags, true
}

// firstSeen is the end of the last grid before most ends are first seen.
func (m *Map) firstSeen(h History, grid telemetry.Duration, s LagSpan, ends []int) telemetry.Time {
	for g := s.From.Add(grid); g < s.Onset; g = g.Add(grid) {
		seen := 0
		for _, i := range ends {
			if _, ok := m.rate(h, i, g); ok {
				seen++
			}
		}
		if 2*seen > len(ends) {
			return g.Add(-grid)
		}
	}
	return s.Onset
}

const (
	// leastLagGrids each side of the onset are needed to compare.
	leastLagGrids = 4
	// mostMissing is the part of the grids an end may not have been seen in.
	mostMissing = 0.2
)

// rates reads the bytes per grid of each end over the whole span. What one end
// misses is taken from the median of the others in that grid.
func (m *Map) rates(h History, grid telemetry.Duration, s LagSpan, ends []int) ([][]float64, bool) {
	before, n := int(s.Onset.Sub(s.From)/grid), int(s.To.Sub(s.From)/grid)
	if len(ends) < 3 || before < leastLagGrids || n-before < leastLagGrids {
		return nil, false
	}
	rates, seen := make([][]float64, len(ends)), make([][]bool, len(ends))
	for i, end := range ends {
		rates[i], seen[i] = make([]float64, n), make([]bool, n)
		missing := 0
		for k := range n {
			rates[i][k], seen[i][k] = m.rate(h, end, s.From.Add(telemetry.Duration(k+1)*grid))
			if !seen[i][k] {
				missing++
			}
		}
		if float64(missing) > float64(mostMissing*float64(n)) {
			return nil, false
		}
	}
	fillMissing(rates, seen)
	return rates, true
}

func (m *Map) rate(h History, end int, g telemetry.Time) (float64, bool) {
	slot := m.Ends[end].slots[txBytes]
	if slot < 0 {
		return 0, false
	}
	return h.At(slot, g)
}

func fillMissing(rates [][]float64, seen [][]bool) {
	for k := range rates[0] {
		var others []float64
		for i := range rates {
			if seen[i][k] {
				others = append(others, rates[i][k])
			}
		}
		for i := range rates {
			if !seen[i][k] && len(others) > 0 {
				rates[i][k] = stats.Median(append([]float64(nil), others...))
			}
		}
	}
}

// evenly is how much the totals of two nics may differ and still be one share
// of the work: the rest is a step begun and not ended.
const evenly = 0.01

// cumulate sums each end's bytes, scaled to the median's total before the
// onset where its share of the work is clearly another.
func cumulate(rates [][]float64, split int) [][]float64 {
	totals := make([]float64, len(rates))
	for i := range rates {
		totals[i] = sum(rates[i][:split])
	}
	typical := stats.Median(append([]float64(nil), totals...))
	sent := make([][]float64, len(rates))
	for i := range rates {
		scale := 1.0
		if totals[i] > 0 && (totals[i] > float64(typical*(1+evenly)) || totals[i] < float64(typical*(1-evenly))) {
			scale = typical / totals[i]
		}
		sent[i] = make([]float64, len(rates[i]))
		var c float64
		for k, r := range rates[i] {
			c += float64(r * scale)
			sent[i][k] = c
		}
	}
	return sent
}

func medianAt(rows [][]float64, k int) float64 {
	at := make([]float64, len(rows))
	for i := range rows {
		at[i] = rows[i][k]
	}
	return stats.Median(at)
}

// meanBelow is how far row lies below middle, on average over [from, to).
func meanBelow(middle, row []float64, from, to int) float64 {
	var d float64
	for k := from; k < to; k++ {
		d += middle[k] - row[k]
	}
	return d / float64(to-from)
}
