package fabric

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Leak is how much of what one end of a link sends never comes out of the
// other.
type Leak struct {
	// Share is the part of the bytes that is lost at least: the estimate less
	// twice its standard error, not below 0.
	Share float64
	// Error is that standard error: the precision of the share.
	Error float64
	Seen  bool
}

const (
	// leastLeakGrids is how many grids of both counters a comparison needs, and
	// leastReadings how many readings that do not depend on each other: five are fitted.
	leastLeakGrids, leastReadings = 12, 6.0
	// shared is for how many grids in a row the difference of two counters is the same
	// where both are read in each.
	shared = 2.0
	// mostCompanions is how many other links of two devices a link is compared with.
	mostCompanions = 3
)

// Leak compares the two counters of the link to which end i sends, where the network
// has reported losses. Two devices are not read at one instant, so that their counts
// differ by what passed in between: by the offset of their clocks times the rate just
// before or just after. Losses add up instead. The difference is therefore fitted by
// the bytes sent so far and those two rates, and only the slope of the first is the
// leak (bytes are conserved; a loss is a slope). Other links of the same two devices are
// read at the same instants, so that what these miss in common is no loss of one of
// them. It is fitted on first use.
func (r *Readings) Leak(i int) Leak {
	leak, fitted := r.leaks[i]
	if fitted || !r.lossy {
		return leak
	}
	if w, ok := r.counters(i); ok {
		f := fit{first: r.asks.first, grid: r.asks.grid, n: r.asks.n}
		leak = f.leak(r.history, w, r.companions(i))
	}
	r.leaks[i] = leak
	return leak
}

// direction is one direction of a link, by the slots of its two byte counters: that of the
// end that sends and that of the end that receives.
type direction struct{ tx, rx int }

// counters returns the direction in which main end i sends; false where too little
// passes, or both ends read one counter, which shows no difference of two.
func (r *Readings) counters(i int) (direction, bool) {
	e := &r.Map.Ends[i]
	if !e.Main || e.Peer < 0 || r.Of[i].Util < idle/4 {
		return direction{}, false
	}
	w := direction{e.slots[txBytes], r.Map.Ends[e.Peer].slots[rxBytes]}
	return w, w.tx >= 0 && w.rx >= 0 && w.tx != w.rx
}

// companions are directions of other links from the device of end i to that of its peer,
// those that follow it first.
func (r *Readings) companions(i int) []direction {
	m := r.Map
	from := m.ports[m.Ends[i].Owner]
	at := slices.Index(from, i)
	var all []direction
	for k := 1; k < len(from) && len(all) < mostCompanions; k++ {
		j := from[(at+k)%len(from)]
		if p := m.Ends[j].Peer; p < 0 || m.Ends[p].owner != m.Ends[m.Ends[i].Peer].owner {
			continue
		}
		if w, ok := r.counters(j); ok {
			all = append(all, w)
		}
	}
	return all
}

// resent reports whether any NIC had to retransmit packets.
func (r *Readings) resent() bool {
	for i := range r.Map.Ends {
		if r.Map.Ends[i].IsNIC() {
			if v, _ := r.Rate(i, Sequence); v > 0 {
				return true
			}
		}
	}
	return false
}

// fit is a regression over the grids of a span.
type fit struct {
	first  telemetry.Time
	grid   telemetry.Duration
	n      int
	tx, rx []float64
}

// load reads both counters; a grid that either misses ends the comparison
// there, the longest part without one is kept, and what is compared later is of it.
func (f *fit) load(h History, w direction) {
	f.tx, f.rx = f.tx[:0], f.rx[:0]
	best, bestLen, from := 0, 0, 0
	for k := range f.n {
		g := f.first.Add(telemetry.Duration(k) * f.grid)
		a, okA := h.At(w.tx, g)
		b, okB := h.At(w.rx, g)
		f.tx, f.rx = append(f.tx, a), append(f.rx, b)
		if !okA || !okB {
			from = k + 1
		} else if k+1-from > bestLen {
			best, bestLen = from, k+1-from
		}
	}
	f.tx, f.rx = f.tx[best:best+bestLen], f.rx[best:best+bestLen]
	f.first, f.n = f.first.Add(telemetry.Duration(best)*f.grid), bestLen
}

// leak fits sent − received = a + leak·sent + b·(rate before) + c·(rate after), and once
// more with what its companions miss: of two lower bounds the higher one holds.
func (f *fit) leak(h History, w direction, companions []direction) Leak {
	f.load(h, w)
	n := f.n - 1 // the last grid has no rate after it
	if n < leastLeakGrids {
		return Leak{}
	}
	readings := float64(n) / max(shared, interval(seconds(h, w.tx), f.grid), interval(seconds(h, w.rx), f.grid))
	total := sum(f.tx[:n])
	if total <= 0 || readings < leastReadings {
		return Leak{}
	}
	// All are fractions of what was sent altogether: bytes missing, bytes sent,
	// rates.
	y, x, before, after := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var sent, taken float64
	for k := range n {
		sent += f.tx[k]
		taken += f.rx[k]
		y[k], x[k], before[k], after[k] = (sent-taken)/total, sent/total, f.tx[k]/total, f.tx[k+1]/total
	}
	leak := lost(readings, y, x, before, after)
	if common, ok := f.missed(h, companions, n); ok {
		if than := lost(readings, y, x, before, after, common); than.Seen {
			leak = Leak{max(leak.Share, than.Share), min(leak.Error, than.Error), true}
		}
	}
	return leak
}

// missed is what directions miss of what was sent into them, each of its own, added up in each of n grids;
// false where none of them was seen in all.
func (f *fit) missed(h History, of []direction, n int) ([]float64, bool) {
	each := fit{first: f.first, grid: f.grid, n: f.n}
	common, seen := make([]float64, n), false
	for _, w := range of {
		each.load(h, w)
		total := sum(each.tx[:min(n, len(each.tx))])
		if each.n < f.n || total <= 0 {
			each.first, each.n = f.first, f.n
			continue
		}
		seen = true
		missing := 0.0
		for k := range n {
			missing += each.tx[k] - each.rx[k]
			common[k] += missing / total
		}
	}
	return common, seen
}

// lost is the least part of x that y grows by. A counter that jumps once, after a reset or
// a lost frame, adds its jump to the slope; real losses occur all along. So the fit is
// repeated with one jump removed, where the difference jumps most.
func lost(readings float64, y, x []float64, others ...[]float64) Leak {
	y, x = slices.Clone(y), slices.Clone(x)
	slope, err, ok := regress(readings, y, x, others...)
	if !ok {
		return Leak{}
	}
	share := slope - float64(2*err)
	if share > 0 {
		if steady, _, ok := regress(readings, y, x, append(others, jump(y, x))...); ok {
			share = min(share, steady)
		}
	}
	return Leak{Share: max(0, share), Error: err, Seen: true}
}

// jump is 1 from where y, as it was fitted to x, rises most, and 0 before. Both are
// left centred and clear of the other regressors.
func jump(y, x []float64) []float64 {
	slope := dot(x, y) / dot(x, x)
	at, most := 0, math.Inf(-1)
	for k := 1; k < len(y); k++ {
		if d := y[k] - y[k-1] - float64(slope*(x[k]-x[k-1])); d > most {
			at, most = k, d
		}
	}
	out := make([]float64, len(y))
	for k := at; k < len(out); k++ {
		out[k] = 1
	}
	return out
}

// regress fits y by x and others, which it centres and clears as it does y and x:
// it returns the slope of x and its standard error. independent is how many of the
// values do not depend on each other. It is not ok for an x that the others explain.
func regress(independent float64, y, x []float64, others ...[]float64) (slope, err float64, ok bool) {
	centre(y)
	centre(x)
	all := dot(x, x)
	for _, v := range others {
		centre(v)
	}
	for _, v := range orthonormal(others...) {
		remove(y, v)
		remove(x, v)
	}
	xx := dot(x, x)
	if xx <= float64(1e-9*all) || xx <= 0 {
		return 0, 0, false
	}
	slope = dot(x, y) / xx
	var rest float64
	for k := range y {
		e := y[k] - float64(slope*x[k])
		rest += float64(e * e)
	}
	variance := rest / max(1, independent-4)
	return slope, math.Sqrt(variance / xx), true
}

// orthonormal makes vectors of length 1 at right angles of those given; one that
// adds nothing is left out: an even flow has one rate.
func orthonormal(vs ...[]float64) [][]float64 {
	var out [][]float64
	for _, v := range vs {
		length := dot(v, v)
		for _, o := range out {
			remove(v, o)
		}
		rest := dot(v, v)
		if rest <= float64(1e-9*length) || rest <= 0 {
			continue
		}
		scale := 1 / math.Sqrt(rest)
		for k := range v {
			v[k] = float64(v[k] * scale)
		}
		out = append(out, v)
	}
	return out
}

// remove subtracts from v its component along unit.
func remove(v, unit []float64) {
	along := dot(v, unit)
	for k := range v {
		v[k] -= float64(along * unit[k])
	}
}

func centre(xs []float64) {
	m := sum(xs) / float64(len(xs))
	for i := range xs {
		xs[i] -= m
	}
}

func dot(a, b []float64) float64 {
	var s float64
	for i := range a {
		s += float64(a[i] * b[i])
	}
	return s
}
