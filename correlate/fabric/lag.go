package fabric

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// LagSpan is the spans that Lags compares: in (From, Onset] the hosts kept time, in
// (Onset, To] one of them may not.
type LagSpan struct {
	From, Onset, To telemetry.Time
}

// Peers are a job's NICs, by end: the ratio of what each sends to what the median
// one does (Shares), and by how many seconds the clock of its source may differ
// from the others' (Clocks).
type Peers struct {
	Ends   []int
	Shares []float64
	Clocks []float64
}

// Lag is by how many seconds later in the step a NIC sends than it did, and the
// standard error of that.
type Lag struct {
	Seconds, Error float64
}

// Surely returns the part of a lag beyond what the error allows by chance, in
// seconds: the search is for the largest of some dozens of NICs, hence three
// errors.
func (l Lag) Surely() float64 { return max(0, l.Seconds-float64(lagErrors*l.Error)) }

const lagErrors = 3

// Lags returns, for each of a job's NICs, how much later in the step it sends than
// it did, against the median of them all; false where too little is seen.
//
// A host that is late by Δ in every step has always sent Δ seconds' worth of bytes
// less than its peers, on average over time, and no less in total. That deficit is
// a mean over time, so it is the same however coarsely the counters are sampled:
// nothing needs to be seen inside a step. What differs from one part of the time to
// the next is not a host that is late in every step: the scatter of the parts is
// the error. So is the rate difference that a clock that is off produces.
func (m *Map) Lags(h History, grid telemetry.Duration, s LagSpan, peers Peers) ([]Lag, bool) {
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
	at := make([]float64, len(sent))
	for k := range n {
		for i := range sent {
			at[i] = sent[i][k]
		}
		middle[k] = stats.Median(at)
	}
	rate := (middle[n-1] - middle[split-1]) / float64(n-split)
	if rate <= 0 {
		return nil, false
	}
	before := middle[split-1] / float64(split)
	lags := make([]Lag, len(ends))
	for i := range sent {
		was, is := below(middle, sent[i], 0, split), below(middle, sent[i], split, n)
		clock := float64(peers.Clocks[i] * (1 - before/rate))
		lags[i].Seconds = float64((is.mean-was.mean)/rate*float64(grid)) / 1e9
		scatter := float64(math.Sqrt(float64(is.err*is.err)+float64(was.err*was.err))/rate*float64(grid)) / 1e9
		lags[i].Error = math.Sqrt(float64(scatter*scatter) + float64(clock*clock))
	}
	return lags, true
}

// evenly is how many steps' bytes the totals of two NICs may differ by and still be
// one share of the work: a step begun and not ended.
const evenly = 1.2

// Work is what a job's NICs did over a span in which it was not degraded.
type Work struct {
	Span Span
	Ends []int
	Step float64 // its usual step, in seconds
}

// Shares returns the ratio of what each of a job's NICs sends to what the median
// one does. An end that does half the work of its peers is not late for it.
func (m *Map) Shares(h History, grid telemetry.Duration, w Work) []float64 {
	totals := make([]float64, len(w.Ends))
	for i, end := range w.Ends {
		for _, v := range m.sentPerGrid(h, end, w.Span.From.Add(grid), int(w.Span.To.Sub(w.Span.From)/grid)) {
			if v == v {
				totals[i] += v
			}
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

// rates reads the bytes per grid of each end over the whole span. Grids that one
// end misses are filled with the median of the others in that grid.
func (m *Map) rates(h History, grid telemetry.Duration, s LagSpan, ends []int) ([][]float64, bool) {
	before, n := int(s.Onset.Sub(s.From)/grid), int(s.To.Sub(s.From)/grid)
	if len(ends) < 3 || before < leastLagGrids || n-before < leastLagGrids {
		return nil, false
	}
	rates := make([][]float64, len(ends))
	for i, end := range ends {
		rates[i] = m.sentPerGrid(h, end, s.From.Add(grid), n)
		missing := 0
		for _, v := range rates[i] {
			if v != v {
				missing++
			}
		}
		if float64(missing) > float64(mostMissing*float64(n)) {
			return nil, false
		}
	}
	fillMissing(rates)
	return rates, true
}

// sentPerGrid is what an end sent in each of n grids, NaN where that is not known.
func (m *Map) sentPerGrid(h History, end int, first telemetry.Time, n int) []float64 {
	slot := m.Ends[end].slots[txBytes]
	if slot < 0 {
		return slices.Repeat([]float64{math.NaN()}, n)
	}
	return h.Held(make([]float64, 0, n), slot, first, n)
}

func (m *Map) rate(h History, end int, g telemetry.Time) (float64, bool) {
	slot := m.Ends[end].slots[txBytes]
	if slot < 0 {
		return 0, false
	}
	return h.At(slot, g)
}

func fillMissing(rates [][]float64) {
	for k := range rates[0] {
		if !slices.ContainsFunc(rates, func(r []float64) bool { return r[k] != r[k] }) {
			continue
		}
		var others []float64
		for _, r := range rates {
			if r[k] == r[k] {
				others = append(others, r[k])
			}
		}
		usual := 0.0
		if len(others) > 0 {
			usual = stats.Median(others)
		}
		for _, r := range rates {
			if r[k] != r[k] {
				r[k] = usual
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

// deficit is how far a row is below the middle one on average, and the standard
// error of that.
type deficit struct{ mean, err float64 }

// lagParts is into how many parts a span is divided to estimate how a deficit
// scatters.
const lagParts = 6

// below measures a row's deficit over [from, to).
func below(middle, row []float64, from, to int) deficit {
	parts := make([]float64, min(lagParts, to-from))
	for p := range parts {
		lo, hi := from+p*(to-from)/len(parts), from+(p+1)*(to-from)/len(parts)
		parts[p] = meanBelow(middle, row, lo, hi)
	}
	d := deficit{mean: meanBelow(middle, row, from, to)}
	var squares float64
	for _, x := range parts {
		squares += float64((x - d.mean) * (x - d.mean))
	}
	n := float64(len(parts))
	d.err = math.Sqrt(squares / (n - 1) / n)
	return d
}

// meanBelow returns how far row is below middle, on average over [from, to).
func meanBelow(middle, row []float64, from, to int) float64 {
	var d float64
	for k := from; k < to; k++ {
		d += middle[k] - row[k]
	}
	return d / float64(to-from)
}
