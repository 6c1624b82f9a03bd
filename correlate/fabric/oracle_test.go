package fabric_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// random builds a small fabric in which every end has every symptom, with gaps,
// series that do not exist and queues read every other grid. In half of them every
// end sends pause to its peer in the second half.
func random(t testing.TB, r *rand.Rand) (*world, []telemetry.Entity) {
	t.Helper()
	w := build(t, 1+r.IntN(3), 1+r.IntN(2), 2+r.IntN(5))
	loud := r.IntN(2) == 0
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
		for _, e := range w.graph.Entities(kind) {
			w.invent(r, e, loud)
		}
	}
	for _, p := range w.switchPorts() {
		if r.IntN(3) == 0 {
			w.lanes(p)
			for _, q := range []string{"/0", "/3"} {
				w.invent(r, telemetry.Entity{Kind: telemetry.Queue, Name: entity(p).Name + q}, loud)
			}
		}
	}
	var job []telemetry.Entity
	for h := range w.hosts {
		if r.IntN(2) == 0 {
			job = append(job, nodes(fmt.Sprintf("h%d", h))...)
		}
	}
	return w, job
}

// invent writes what one end did in the two halves.
func (w *world) invent(r *rand.Rand, e telemetry.Entity, loud bool) {
	for first := 1; first <= grids; first += half {
		all := loud && first > half
		stood, sends, receives := r.IntN(3) == 0, all || r.IntN(3) == 0, all || r.IntN(3) == 0
		for k := first; k < first+half; k++ {
			if r.IntN(10) > 0 {
				w.report(e.String(), txBytes, k, k, speed*r.Float64())
			}
			w.report(e.String(), rxBytes, k, k, speed*max(0, r.Float64()-0.2))
			if sends {
				w.report(e.String(), pauseSent, k, k, 1.1*r.Float64()*float64(r.IntN(2)))
			}
			if receives {
				w.report(e.String(), pauseReceived, k, k, 1.1*r.Float64())
			}
			if e.Kind != telemetry.NIC && k%2 == 0 && e.Name != "leaf0/s0" {
				w.report(e.String(), queue, k, k, 0)
				if stood {
					w.report(e.String(), queue, k, k, stands*r.Float64())
				}
			}
			if r.IntN(4) == 0 {
				w.report(e.String(), marked, k, k, float64(r.IntN(500)))
			}
		}
	}
}

// cell is one end in one grid, computed naively.
type cell struct {
	seen                   bool
	tx, rx, received, sent float64
	waits                  float64
	waitKnown, met         bool
	marked                 float64
}

func (w *world) cell(e *fabric.End, k int) cell {
	zero := func(v float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return v
	}
	tx := w.value(e, txBytes, k)
	if math.IsNaN(tx) {
		return cell{}
	}
	c := cell{seen: true, tx: tx / speed, rx: zero(w.value(e, rxBytes, k)) / speed,
		received: min(zero(w.pause(e, pauseReceived, pauseSent, k)), 1), sent: min(zero(w.pause(e, pauseSent, pauseReceived, k)), 1),
		marked: zero(w.value(e, marked, k))}
	_, hasQueue := w.slots[w.series(e, queue)]
	q := w.value(e, queue, k)
	c.waits, c.waitKnown = c.received, true
	switch {
	case !math.IsNaN(q): // two microseconds of its speed are a standing queue
		c.waits, c.met = 0, true
		if q > 2e-6*speed {
			c.waits = 1
		}
	case e.IsNIC():
	case hasQueue: // between two readings of it
		c.waits, c.waitKnown = 0, false
	case c.tx > 0.95:
		c.waits = 1
	default: // a fiftieth of the packets marked: traffic stood all the time
		c.waits = max(c.received, min(1, 50*min(1, c.marked/max(c.tx*speed/4096, 1))))
	}
	return c
}

func percentile95(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	x := 0.95 * float64(len(s)-1)
	lo, hi := int(math.Floor(x)), int(math.Ceil(x))
	return s[lo]*(1-(x-math.Floor(x))) + s[hi]*(x-math.Floor(x))
}

func meanOf(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x / float64(len(xs))
	}
	return sum
}

// naive reads one end over the grids first..last.
func (w *world) naive(e *fabric.End, first, last int) fabric.Reading {
	var tx, rx, received, sent, waits, standing, idle []float64
	met := 0
	for k := first; k <= last; k++ {
		c := w.cell(e, k)
		if !c.seen {
			continue
		}
		tx, rx, received, sent = append(tx, c.tx), append(rx, c.rx), append(received, c.received), append(sent, c.sent)
		if c.rx < 0.02 {
			idle = append(idle, c.sent)
		}
		if c.met {
			met++
		}
		if c.waitKnown {
			waits = append(waits, c.waits)
			if c.waits > 0.5 && c.received < 0.8 {
				standing = append(standing, c.tx/(1-c.received))
			}
		}
	}
	r := fabric.Reading{Seen: len(tx), Util: meanOf(tx), RUtil: meanOf(rx), PauseReceived: meanOf(received), PauseSent: meanOf(sent),
		Ceiling: percentile95(standing), Peak: percentile95(tx), RPeak: percentile95(rx), PauseSentIdle: meanOf(idle), Idle: len(idle), Met: met, Cadence: 1}
	if len(waits) > 0 {
		r.Wait = max(meanOf(waits), r.PauseReceived)
	}
	return r
}

func TestReadAgreesWithTheNaiveOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		w, _ := random(t, r)
		m := fabric.Survey(w.graph, w)
		first := 1 + r.IntN(grids)
		last := first + r.IntN(grids-first+1)
		got := m.Read(w, grid, fabric.Span{From: at(first - 1), To: at(last)})
		for i := range m.Ends {
			want := w.naive(&m.Ends[i], first, last)
			if !alike(&got.Of[i], &want) {
				t.Fatalf("%v in grids %d..%d:\ngot  %+v\nwant %+v", m.Ends[i].Entity, first, last, got.Of[i], want)
			}
		}
	}
}

func alike(a, b *fabric.Reading) bool {
	x := []float64{a.Cadence, a.Util, a.RUtil, a.PauseReceived, a.PauseSent, a.Wait, a.Ceiling, a.Peak, a.RPeak, a.PauseSentIdle, float64(a.Met)}
	y := []float64{b.Cadence, b.Util, b.RUtil, b.PauseReceived, b.PauseSent, b.Wait, b.Ceiling, b.Peak, b.RPeak, b.PauseSentIdle, float64(b.Met)}
	return a.Seen == b.Seen && a.Idle == b.Idle && slices.EqualFunc(x, y, near)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

// propagation follows every share of waiting separately, path by path.
type propagation struct {
	w             *world
	m             *fabric.Map
	now, then     *fabric.Readings
	at            []float64
	circling, all float64
	longer        float64
}

// usual is by how much longer queues last where there has always been one.
func (p *propagation) usual(job []telemetry.Entity) float64 {
	var ratios []float64
	for i, on := range fabric.OnPath(p.m, job) {
		if b := p.then.Of[i].Wait; on && b >= 0.05 {
			ratios = append(ratios, p.now.Of[i].Wait/b)
		}
	}
	slices.Sort(ratios)
	n := len(ratios)
	if n < 4 {
		return 1
	}
	return max(1, (ratios[(n-1)/2]+ratios[n/2])/2)
}

func (p *propagation) excess(i int) float64 {
	n, b := p.now.Of[i], p.then.Of[i]
	return max(0, n.Wait-b.Wait*p.longer, n.PauseReceived-b.PauseReceived)
}

// step leaves at end i its own waiting and follows the rest.
func (p *propagation) step(i int, amount float64, hops int) {
	if hops == 10 {
		p.circling += amount
		return
	}
	e := p.m.Ends[i]
	received := p.now.Of[i].PauseReceived - p.then.Of[i].PauseReceived
	if received < 0.01 || e.Peer < 0 {
		p.at[i] += amount
		return
	}
	others := min(1, 2*received/p.excess(i))
	p.at[i] += amount * (1 - others)
	peer := p.across(i)
	out := p.egress(peer)
	var total float64
	for _, weight := range out {
		total += weight
	}
	if total == 0 {
		p.at[peer] += amount * others
		return
	}
	for z, weight := range out {
		if weight > 0 {
			p.step(z, amount*others*weight/total, hops+1)
		}
	}
}

// across is the end that sent pause to end i: where i has no priorities and its
// peer has, the one that sent the most.
func (p *propagation) across(i int) int {
	best := p.m.Ends[i].Peer
	if best >= 0 && p.m.Ends[i].Lane == "" {
		for z := range p.m.Ends {
			if p.m.Ends[z].Entity == p.m.Ends[best].Entity && p.now.Of[z].PauseSent > p.now.Of[best].PauseSent {
				best = z
			}
		}
	}
	return best
}

// egress weighs the other ports of the switch to which port in belongs by how much
// of their waiting falls into the grids in which in sent pause; where it sent pause
// all the time, and others received pause all the time, by that.
func (p *propagation) egress(in int) map[int]float64 {
	out := map[int]float64{}
	if p.m.Ends[in].Entity.Kind == telemetry.NIC {
		return out
	}
	standing := map[int]float64{}
	var all, filled float64
	for k := half + 1; k <= grids; k++ {
		sent := p.w.cell(&p.m.Ends[in], k).sent
		all += sent
		if sent >= 0.95 {
			filled += sent
		}
	}
	for z := range p.m.Ends {
		a, b := p.m.Ends[in].Lane, p.m.Ends[z].Lane
		if z == in || p.m.Ends[z].Owner != p.m.Ends[in].Owner || a != "" && b != "" && a != b {
			continue
		}
		for k := half + 1; k <= grids; k++ {
			a, b := p.w.cell(&p.m.Ends[in], k), p.w.cell(&p.m.Ends[z], k)
			out[z] += min(a.sent, max(b.waits, b.received))
			if peer := p.across(z); peer >= 0 && a.sent >= 0.95 {
				if received := p.w.cell(&p.m.Ends[peer], k).sent; received >= 0.95 {
					standing[z] += min(a.sent, received)
				}
			}
		}
	}
	if len(standing) > 0 && 2*filled >= all {
		return standing
	}
	return out
}

func TestWalkAgreesWithFollowingEveryPath(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	moved := 0
	for range 30 {
		w, job := random(t, r)
		m, then, now := w.read()
		p := &propagation{w: w, m: m, now: now, then: then, at: make([]float64, len(m.Ends))}
		p.longer = p.usual(job)
		for i, on := range fabric.OnPath(m, job) {
			if n, b := now.Of[i].WaitErr, then.Of[i].WaitErr; on && p.excess(i) > 2*math.Hypot(n, b) {
				p.all += p.excess(i)
				p.step(i, p.excess(i), 0)
			}
		}
		b := fabric.Walk(now, then, job)
		for i := range m.Ends {
			if math.Abs(b.At[i]-p.at[i]) > 1e-5 {
				t.Fatalf("at %v: got %v, want %v", m.Ends[i].Entity, b.At[i], p.at[i])
			}
		}
		if math.Abs(b.Circling-p.circling) > 1e-5 {
			t.Fatalf("circling: got %v, want %v", b.Circling, p.circling)
		}
		if b.Circling > 0 {
			moved++
		}
		conserves(t, b, p.all)
	}
	if moved == 0 {
		t.Error("nothing ever went in a circle: the fabrics are too quiet to tell")
	}
}

// conserves checks that the walk conserves waiting: it is handed on, never made or
// lost.
func conserves(t *testing.T, b *fabric.Blame, sources float64) {
	t.Helper()
	sum, shares := b.Circling, 0.0
	for i, x := range b.At {
		if x < 0 {
			t.Fatalf("blame of %v", x)
		}
		sum += x
		shares += b.Share(i)
	}
	if math.Abs(sum-sources) > 1e-9*(1+sources) || math.Abs(b.Total-sources) > 1e-9*(1+sources) {
		t.Fatalf("blame %v, total %v, of sources %v", sum, b.Total, sources)
	}
	if shares > 1+1e-9 {
		t.Fatalf("shares of %v", shares)
	}
}

// trodden marks the ends on every path between two of the job's hosts that
// passes no switch of other hosts, one link after another.
func trodden(m *fabric.Map, job []telemetry.Entity) []bool {
	on := make([]bool, len(m.Ends))
	mark := func(i int) {
		for z := range m.Ends {
			if m.Ends[z].Entity == m.Ends[i].Entity {
				on[z] = true
			}
		}
	}
	ours, foreign := map[telemetry.Entity]bool{}, map[telemetry.Entity]bool{}
	for i := range m.Ends {
		if !m.FacesHost(i) {
			continue
		}
		sw, host := m.Ends[i].Owner, m.Ends[m.Ends[i].Peer].Owner
		if slices.Contains(job, host) {
			ours[sw] = true
			mark(i)
			mark(m.Ends[i].Peer)
		} else {
			foreign[sw] = true
		}
	}
	var walk func(at telemetry.Entity, been []telemetry.Entity, links []int)
	walk = func(at telemetry.Entity, been []telemetry.Entity, links []int) {
		if ours[at] {
			for _, l := range links {
				mark(l)
				mark(m.Ends[l].Peer)
			}
		}
		for _, i := range m.Of(at) {
			if !m.Between(i) {
				continue
			}
			next := m.Ends[m.Ends[i].Peer].Owner
			if slices.Contains(been, next) || foreign[next] && !ours[next] {
				continue
			}
			walk(next, append(slices.Clone(been), next), append(slices.Clone(links), i))
		}
	}
	for sw := range ours {
		walk(sw, []telemetry.Entity{sw}, nil)
	}
	return on
}

func TestOnPathIsWhatPathsTread(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		w := build(t, 1+r.IntN(4), 1+r.IntN(3), 2+r.IntN(7))
		m := fabric.Survey(w.graph, w)
		var job []telemetry.Entity
		for h := range w.hosts {
			if r.IntN(3) == 0 {
				job = append(job, nodes(fmt.Sprintf("h%d", h))...)
			}
		}
		got, want := fabric.OnPath(m, job), trodden(m, job)
		for i := range m.Ends {
			if got[i] != want[i] {
				t.Fatalf("job on %v: %v is on a path: %v, want %v", job, m.Ends[i].Entity, got[i], want[i])
			}
		}
	}
}

// What computes on one host needs no network between hosts, however many leaves its NICs
// are on.
func TestOnPathOfOneHostStopsAtItsLeaves(t *testing.T) {
	w := build(t, 2, 2, 4)
	w.cable(t, "nic:h0/n1", "port:leaf1/h0")
	w.graph.Advance(at(1))
	m := fabric.Survey(w.graph, w)
	for i, got := range fabric.OnPath(m, nodes("h0")) {
		end := &m.Ends[i]
		if want := end.Owner == entity("node:h0") || end.Peer >= 0 && m.Ends[end.Peer].Owner == entity("node:h0"); got != want {
			t.Errorf("%v is on a path: %v, want %v", end.Entity, got, want)
		}
	}
}

// With a link missing or a third tier the walk may look at ends no path treads,
// but it misses none, and never looks at another job's access switch.
func TestOnPathMissesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		w := build(t, 4, 0, 8)
		for l := range 4 {
			for s := range 2 {
				if r.IntN(5) > 0 { // pods of two leaves and two spines
					w.cable(t, fmt.Sprintf("port:leaf%d/s%d", l, s), fmt.Sprintf("port:spine%d/l%d", 2*(l/2)+s, l))
				}
			}
		}
		for s := range 4 {
			for c := range 2 {
				w.cable(t, fmt.Sprintf("port:spine%d/c%d", s, c), fmt.Sprintf("port:core%d/s%d", c, s))
			}
		}
		w.graph.Advance(at(1))
		m := fabric.Survey(w.graph, w)
		job := nodes(fmt.Sprintf("h%d", r.IntN(4)), fmt.Sprintf("h%d", 4+r.IntN(4)))
		got, want := fabric.OnPath(m, job), trodden(m, job)
		for i := range m.Ends {
			if want[i] && !got[i] {
				t.Fatalf("job on %v: %v is not on a path", job, m.Ends[i].Entity)
			}
			if got[i] && m.Ends[i].IsNIC() && !slices.Contains(job, m.Ends[i].Owner) {
				t.Fatalf("job on %v: %v is on a path", job, m.Ends[i].Entity)
			}
		}
	}
}

// doubted is a world that does not say which counters never moved.
type doubted struct{ *world }

func (doubted) Unmoved(int) bool { return false }

// What is known of counters that never moved changes no reading.
func TestReadingsAreAlikeWithUnmovedCounters(t *testing.T) {
	zeros, unmoved := []string{pauseReceived, pauseSent, marked, "port_rx_crc_errors_total", "port_tx_discards_total"}, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 8))
		w, _ := random(t, r)
		for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
			for _, e := range w.graph.Entities(kind) {
				if metric := zeros[r.IntN(len(zeros))]; r.IntN(2) == 0 {
					w.report(e.String(), metric, 1+r.IntN(half), half+r.IntN(half), 0)
				}
			}
		}
		for slot := range w.past {
			if w.Unmoved(slot) {
				unmoved++
			}
		}
		m := fabric.Survey(w.graph, w)
		got, want := m.Read(w, grid, now()), m.Read(doubted{w}, grid, now())
		for i := range m.Ends {
			for k := fabric.Damaged; k <= fabric.Falls; k++ {
				a, okA := got.Rate(i, k)
				if b, okB := want.Rate(i, k); a != b || okA != okB {
					t.Fatalf("seed %d: %s counts %v (%v), want %v (%v)", seed, m.Ends[i].Entity, a, okA, b, okB)
				}
			}
			if got.Of[i] != want.Of[i] {
				t.Fatalf("seed %d: %s reads %+v, want %+v", seed, m.Ends[i].Entity, got.Of[i], want.Of[i])
			}
		}
	}
	if unmoved == 0 {
		t.Error("no counter was unmoved")
	}
}
