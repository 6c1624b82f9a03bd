package fabric

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// LagSpan says when Lags compares: in (From, Onset] the hosts kept time, in
// (Onset, To] one of them may not.
type LagSpan struct {
	From, Onset, To telemetry.Time
}

// Peers are a job's nics, by end, and the part that each sends of what the
// median one does (Shares).
type Peers struct {
	Ends   []int
	Shares []float64
}

// Lags returns, for each of a job's nics, how many seconds later in the step it
// sends than it did, against the median of them all; false where too little is
// seen.
//
// A host that is late by Δ in every step has always sent Δ seconds' worth of
// bytes less than its peers, on average over time, and no less in total. That
// deficit is a mean over time, so it is the same however coarsely the counters
// are sampled: nothing needs to be seen inside a step.
func (m *Map) Lags(h History, grid telemetry.Duration, s LagSpan, peers Peers) ([]float64, bool) {
	ends := peers.Ends
	s.From = m.firstSeen(h, grid, s, ends)
	rates, ok := m.rates(h, grid, s, ends)
	if !ok {
		return nil, false
	}
	split := int(s.Onset.Sub(s.From) / grid)
	sent := make([][]float64, len(ends))
	for i := range rates {
		sent[i] = cumulate(rates[i], peers.Shares[i])
	}
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

// evenly is how many steps' bytes the totals of two nics may differ by and
// still be one share of the work: a step begun and not ended.
const evenly = 1.2

// Work is what a job's nics did over a span in which it was well.
type Work struct {
	Span Span
	Ends []int
	Step float64 // its usual step, in seconds
}

// Shares returns what part each of a job's nics sends of what the median one
// does. An end that does half the work of its peers is not late for it.
func (m *Map) Shares(h History, grid telemetry.Duration, w Work) []float64 {
	totals := make([]float64, len(w.Ends))
	for i, end := range w.Ends {
		for g := w.Span.From.Add(grid); g <= w.Span.To; g = g.Add(grid) {
			v, _ := m.rate(h, end, g)
			totals[i] += v
		}
	}
	typical := stats.Median(slices.Clone(totals))
	length := float64(w.Span.To.Sub(w.Span.From)) / 1e9
	shares := make([]float64, len(w.Ends))
	for i, total := range totals {
		shares[i] = 1
		if off := total/typical - 1; total > 0 && (off > float64(evenly*w.Step)/length || -off > float64(evenly*w.Step)/length) {
			shares[i] = total / typical
		}
	}
	return shares
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
				rates[i][k] = stats.Median(slices.Clone(others))
			}
		}
	}
}

// cumulate sums what an end has sent, as if it did the median end's share.
func cumulate(rates []float64, share float64) []float64 {
	sent := make([]float64, len(rates))
	var c float64
	for k, r := range rates {
		c += r / share
		sent[k] = c
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
