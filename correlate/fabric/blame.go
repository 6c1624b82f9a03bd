package fabric

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxHops bounds the walk: twice the depth of any fat tree in use. Waiting that is
// still on its way then goes round in a circle.
const maxHops = 10

// Blame is where a job's waiting ends, end by end, in seconds per second of
// the span, and how it got there.
type Blame struct {
	At    []float64 // by end: waiting that ends here
	Total float64
	// Via is, by end, the end from which most of its waiting came, -1 where it
	// waits on its own account.
	Via []int
	// Circling is waiting that came back to where it had been: a pause loop.
	Circling float64
	// Round is, by end, the waiting that is still on its way there when the walk
	// ends: the ends of a loop. Its sum is Circling. Nil where nothing circles.
	Round []float64
	via   []float64
}

// Share returns the part of the job's waiting that ends at end i.
func (b *Blame) Share(i int) float64 {
	if b.Total <= 0 {
		return 0
	}
	return b.At[i] / b.Total
}

// PortShare returns the part of the job's waiting that ends at the NIC or port of
// end i, at any of its priorities, and whether i is the worst of them.
func (b *Blame) PortShare(m *Map, i int) (share float64, worst bool) {
	worst = true
	for _, k := range m.Port(i) {
		share += b.Share(k)
		if b.At[k] > b.At[i] || b.At[k] == b.At[i] && k < i {
			worst = false
		}
	}
	return share, worst
}

// Walk follows the waiting of a job's ends beyond what they waited before.
// nodes are the hosts the job runs on, in identity order.
func Walk(now, before *Readings, nodes []telemetry.Entity) *Blame {
	m := now.Map
	b := &Blame{At: make([]float64, len(m.Ends)), Via: make([]int, len(m.Ends)), via: make([]float64, len(m.Ends))}
	for i := range b.Via {
		b.Via[i] = -1
	}
	on := OnPath(m, nodes)
	now.lengthen(before, on)
	mass := sources(now, before, on)
	for hop := 0; hop < maxHops; hop++ {
		next := make([]float64, len(mass))
		moved := false
		for i, amount := range mass {
			if amount > 0 {
				moved = b.pass(now, before, i, amount, next) || moved
			}
		}
		mass = next
		if !moved {
			break
		}
	}
	if b.Circling = sum(mass); b.Circling > 0 {
		b.Round = mass
	}
	b.Total = sum(b.At) + b.Circling
	return b
}

// sources gives each end on the job's own paths the waiting it has gained: its
// NICs, the ports that face them, and, where the job spans switches, the ports
// between its access switches and the rest.
func sources(now, before *Readings, onPath []bool) []float64 {
	mass := make([]float64, len(now.Of))
	for i, on := range onPath {
		if on && excess(now, before, i) > float64(chance*now.GainErr(before, i)) {
			mass[i] = excess(now, before, i)
		}
	}
	return mass
}

// chance is how many standard errors an end must have gained for its waiting to be
// followed.
const chance = 2.0

// GainErr is the standard error of what an end has gained against before.
func (r *Readings) GainErr(before *Readings, i int) float64 {
	return stats.Quadrature(r.Of[i].WaitErr, before.Of[i].WaitErr)
}

// OnPath marks the ends that the job's traffic can cross: of a job of one host, which
// needs no network to compute, only those of the host and of what faces it.
func OnPath(m *Map, nodes []telemetry.Entity) []bool {
	on := make([]bool, len(m.Ends))
	access, accesses := make([]bool, len(m.facing)), 0
	for _, node := range nodes {
		for _, i := range m.Of(node) {
			on[i] = true
			if p := m.Ends[i].Peer; p >= 0 {
				for _, lane := range m.Port(p) {
					on[lane] = true
				}
				if sw := m.Ends[p].owner; !access[sw] {
					access[sw] = true
					accesses++
				}
			}
		}
	}
	if accesses < 2 || len(nodes) < 2 {
		return on
	}
	for i := range m.Ends {
		if !m.Between(i) {
			continue
		}
		a, z := m.Ends[i].owner, m.Ends[m.Ends[i].Peer].owner
		// A port that touches an access switch of other jobs alone is not on the
		// job's paths; one between switches that face no host at all may be.
		on[i] = (access[a] || !m.facing[a]) && (access[z] || !m.facing[z])
	}
	return on
}

// excess is the waiting an end has gained against before, beyond what it would
// have gained by the traffic being on for longer.
func excess(now, before *Readings, i int) float64 { return now.gained(before, i, 0) }

// gained is the same beyond what else may be taken for usual of the waiting that
// is met at moments; that it received pause is counted.
func (r *Readings) gained(before *Readings, i int, chance float64) float64 {
	n, b := &r.Of[i], &before.Of[i]
	return max(0, n.Wait-r.usual(b)-chance, n.PauseReceived-b.PauseReceived)
}

// usual is the waiting that an end would show now, had nothing but the time for
// which traffic is on changed since before.
func (r *Readings) usual(before *Reading) float64 { return float64(before.Wait * max(1, r.longer)) }

const (
	// usualWait is the share of waiting before from which an end usually has a
	// queue, and leastUsual how many such ends are needed to estimate how much
	// longer the traffic is on.
	usualWait  = 0.05
	leastUsual = 4
)

// lengthen notes how much longer the traffic on the given ends is on than before.
// Where bursts meet there is a queue for a part of that time, fault or not; when
// the job sends for longer because of something else, the queues last longer at all
// of these ends alike, and none of them is the cause. Hence the median of their
// waiting now over before.
func (r *Readings) lengthen(before *Readings, on []bool) {
	var ratios []float64
	for i, b := range before.Of {
		if on[i] && b.Wait >= usualWait {
			ratios = append(ratios, r.Of[i].Wait/b.Wait)
		}
	}
	r.longer = 1
	if len(ratios) >= leastUsual {
		r.longer = max(1, stats.Median(ratios))
	}
}

// passes is the share of an end's waiting that another end causes. A queue that was
// paused outlives the pause: each second of pause received takes about another
// second to drain, so an end that received pause for half of its waiting is a
// victim, however large its queue.
func passes(now, before *Readings, i int) float64 {
	received := now.Of[i].PauseReceived - before.Of[i].PauseReceived
	if received < pauseFloor {
		return 0
	}
	waiting := excess(now, before, i)
	if waiting <= 2*received {
		return 1
	}
	return 2 * received / waiting
}

// pass leaves at end i what it waits for on its own account and hands the rest
// on. It reports whether anything moved.
func (b *Blame) pass(now, before *Readings, i int, amount float64, next []float64) bool {
	share := passes(now, before, i)
	peer := now.across(i)
	if share == 0 || peer < 0 {
		b.At[i] += amount
		return false
	}
	b.At[i] += float64(amount * (1 - share))
	handed := float64(amount * share)
	if now.Map.Ends[peer].IsNIC() {
		b.endWalk(peer, i, handed)
		return false
	}
	return b.spread(now, peer, i, handed, next)
}

// across is the end that sent pause to end i: its peer, or, where i represents a
// whole port and the peer reports by priority, the priority that sent the most
// pause.
func (r *Readings) across(i int) int {
	m := r.Map
	peer := m.Ends[i].Peer
	if peer < 0 || m.Ends[i].Lane != "" {
		return peer
	}
	for _, p := range m.Port(peer) {
		if r.Of[p].PauseSent > r.Of[peer].PauseSent {
			peer = p
		}
	}
	return peer
}

// sameLane reports whether pause on one end can come from the other: priorities do
// not pause each other; an end that represents its whole port may be any.
func sameLane(a, b *End) bool { return a.Lane == b.Lane || a.Lane == "" || b.Lane == "" }

// endWalk ends the walk at end i.
func (b *Blame) endWalk(i, from int, amount float64) {
	b.At[i] += amount
	b.from(i, from, amount)
}

func (b *Blame) from(i, from int, amount float64) {
	if amount > b.via[i] {
		b.Via[i], b.via[i] = from, amount
	}
}

// spread hands the waiting caused by ingress port in to the egress ports of the
// same switch that waited in the same grids, by how much they did. Where in sent
// pause continuously, only those egress ports blocked it that received pause
// continuously themselves, if any did: what leaves through a port that sends frees
// buffers behind it.
func (b *Blame) spread(now *Readings, in, from int, amount float64, next []float64) bool {
	m := now.Map
	egress := m.Of(m.Ends[in].Owner)
	paused := now.trails[in].paused
	weights := now.weigh(egress, in, func(z int) float64 { return overlap(paused, now.pauseReceived(z)) })
	total := sum(weights)
	if total == 0 {
		weights = now.weigh(egress, in, func(z int) float64 { return together(paused, now.trails[z].wait) })
		total = sum(weights)
	}
	if total == 0 {
		b.endWalk(in, from, amount)
		return false
	}
	for k, z := range egress {
		if weights[k] > 0 {
			part := float64(amount*weights[k]) / total
			next[z] += part
			b.from(z, from, part)
		}
	}
	return true
}

// weigh weighs the egress ports that can be in the way of ingress port in.
func (r *Readings) weigh(egress []int, in int, of func(int) float64) []float64 {
	m := r.Map
	out := make([]float64, len(egress))
	for k, z := range egress {
		if z != in && sameLane(&m.Ends[z], &m.Ends[in]) {
			out[k] = of(z)
		}
	}
	return out
}

// pauseReceived returns by grid how long end i received pause, as the other end counts it.
func (r *Readings) pauseReceived(i int) []float32 {
	peer := r.across(i)
	if peer < 0 {
		return nil
	}
	return r.trails[peer].paused
}

// pauseless is the part of a grid from which received pause counts as continuous, so
// that nothing could be sent in it; clocks that differ take the rest.
const pauseless = 0.95

// overlap is how much two pauses coincide in grids that both filled, 0 where the
// first is mostly not continuous.
func overlap(sent, received []float32) float64 {
	if sent == nil || received == nil {
		return 0
	}
	var all, filled, both float64
	for k, v := range sent {
		all += float64(v)
		if v < pauseless {
			continue
		}
		filled += float64(v)
		if received[k] >= pauseless {
			both += float64(min(v, received[k]))
		}
	}
	if 2*filled < all {
		return 0
	}
	return both
}

// together is how much two trails coincide: Σ min(a, b) over the grids.
func together(a, b []float32) float64 {
	if a == nil || b == nil {
		return 0
	}
	var s float64
	for k := range a {
		s += float64(min(a[k], b[k]))
	}
	return s
}

// Own returns the waiting that end i has gained on its own account since before, in
// seconds per second: for a NIC the time it sent pause; for a switch port the time
// with a queue but without pause received.
func (r *Readings) Own(before *Readings, i int) float64 {
	if r.Map.Ends[i].IsNIC() {
		return max(0, r.Of[i].PauseSent-before.Of[i].PauseSent)
	}
	return float64(excess(r, before, i) * (1 - passes(r, before, i)))
}

// Surely is the part of Own that an end has gained beyond what it may have by
// chance. Ends are compared with each other by Own: what one gained by chance must
// not make another the only one.
func (r *Readings) Surely(before *Readings, i int) float64 {
	own, all := r.Own(before, i), excess(r, before, i)
	if r.Map.Ends[i].IsNIC() || all <= 0 {
		return own
	}
	b := &before.Of[i]
	sure := r.gained(before, i, byChance(r.usual(b), r.Of[i].Met, b.Met))
	return float64(own * sure / all)
}

// byChance is the difference by which a share that is met at so many moments now,
// and was at so many before, may differ though nothing changed: two standard errors
// of the difference of two binomial shares. A queue is sampled at moments, and in
// any minute one of hundreds has a queue more often than before.
func byChance(share float64, now, before int) float64 {
	if now == 0 || before == 0 || share >= 1 {
		return 0
	}
	variance := float64(share * (1 - share))
	return float64(2 * math.Sqrt(variance/float64(now)+variance/float64(before)))
}
