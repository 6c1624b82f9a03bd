package attribute

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Matrix is how the five domains affect one another in a window. Rows are the
// domains from which chain links lead and columns those to which they lead, in the
// order of Domains.
type Matrix struct {
	From    telemetry.Time     `json:"from"`
	To      telemetry.Time     `json:"to"`
	Domains []telemetry.Domain `json:"domains"`
	// Coupling[i][j] is GPU-seconds lost through chain links from domain i to
	// domain j. One loss passes every link of its chain and counts once for each
	// pair of domains, so that sums over the matrix are no loss.
	Coupling [][]float64 `json:"coupling"`
	// Lag[i][j] is the median of the links' lags in seconds, weighted by what
	// was lost through them; nil where nothing was.
	Lag [][]*float64 `json:"lag_seconds"`
	// Total is all that was lost, and Unlinked the part of it whose way is not
	// known: its chain has no link.
	Total    float64 `json:"gpu_seconds_lost"`
	Unlinked float64 `json:"unlinked_gpu_seconds_lost"`
}

// Coupling reports through which domains the losses of a window passed.
func (l *Ledger) Coupling(w Window, open []Open) Matrix {
	all := telemetry.Domains()
	m := Matrix{From: w.from, To: w.to, Domains: all, Coupling: make([][]float64, len(all)), Lag: make([][]*float64, len(all))}
	lags := make([][][]weighed, len(all))
	for i := range all {
		m.Coupling[i], m.Lag[i], lags[i] = make([]float64, len(all)), make([]*float64, len(all)), make([][]weighed, len(all))
	}
	fine, days := l.with(open)
	rows := fine.rows
	if w.days {
		rows = days.rows
	}
	first, last := w.cells()
	for i := range rows {
		r := &rows[i]
		if r.Cell < first || r.Cell > last {
			continue
		}
		m.Total += r.Lost
		passed := 0
		for k, c := range r.Links {
			if !isDomain(c.From) || !isDomain(c.To) {
				continue
			}
			passed++
			from, to := int(c.From)-1, int(c.To)-1
			lags[from][to] = append(lags[from][to], weighed{c.Lag, r.Lost})
			if !slices.ContainsFunc(r.Links[:k], func(o Coupling) bool { return o.From == c.From && o.To == c.To }) {
				m.Coupling[from][to] += r.Lost
			}
		}
		if passed == 0 {
			m.Unlinked += r.Lost
		}
	}
	for i := range all {
		for j := range all {
			m.Lag[i][j] = median(lags[i][j])
		}
	}
	return m
}

// weighed is a value and its weight.
type weighed struct{ x, weight float64 }

// median is the value at or below which half of the weight is; nil of nothing.
func median(xs []weighed) *float64 {
	slices.SortStableFunc(xs, func(a, b weighed) int { return cmp.Compare(a.x, b.x) })
	total := 0.0
	for _, x := range xs {
		total += x.weight
	}
	upTo := 0.0
	for i := range xs {
		if upTo += xs[i].weight; upTo >= total/2 {
			return &xs[i].x
		}
	}
	return nil
}
