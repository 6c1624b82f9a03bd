package world

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// solver finds what rate each flow of a traffic gets and what that does to
// links and NICs.
type solver struct {
	fabric    *fabric
	condition *condition.Set
	infinite  bool // InfiniBand: credits, no marks
	adaptive  bool
	marking   network.Marking
	reaction  network.Reaction
	window    float64      // packets in flight
	quanta    worlds.Scale // of the pause frames for a second of pause

	known    [256][2]float64 // rates and their equilibrium
	fair     network.Solver
	lossless network.Lossless
	rates    []float64
	// By link, for the traffic that is being solved.
	touched   []int32
	free      []float64 // bits per second that others leave
	links     []network.Link
	potential []float64 // bits per second that would come if nothing behind it delayed them
	coming    []float64 // by flow, what of it comes past the links so far
	paced     []float64 // bits per second while flows that wait for each other go as fast as their slowest
	flows     []float64
	used      []float64
	state     []queue
	slot      []int32 // in the traffic's list of effects
	byNIC     []float64
	nicSlot   []int32
}

// queue is how a link's sender fares.
type queue struct {
	full    bool
	mark    float64 // probability of a mark
	stop    float64 // share of time that it is paused
	drop    float64 // share of packets dropped before it
	eager   float64 // factor of the rate that too eager marking leaves
	length  float64 // bytes, while it is queued
	queued  float64 // share of the time in which it does
	highest float64
}

const (
	useful = 0.95 // of a link's bits: headers and gaps take the rest; ours
	fills  = 0.98 // of what a link has free is all of it
	// xoff is the queue at which a switch stops its feeders, in parts of where
	// marking begins; ours.
	xoff = 4.0
	// burstMark and burstStop are the share of packets marked and of time
	// stopped where bursts of a collective meet for moments, in health; ours:
	// marks in every collective, pause rare.
	burstMark = 2e-5
	burstStop = 2e-5
	// unmarkedRate is the part of the rate that is left, and unmarkedStop the share of time
	// paused, where bursts meet at a switch that marks nothing; ours.
	unmarkedRate = 0.75
	unmarkedStop = 0.05
	// crowd is from how many senders on a full link pauses its feeders, for
	// crowdStop of the time each; crowdMark times the square of their number is
	// marked. After the packet-level runs (traces/roce): 2 on an uplink mark
	// some 1 %, without pause; 6 on a port to a host a tenth, with pauses of up
	// to 0.07 to 0.09 at its feeders, a seventh of that one hop before, or none.
	crowd     = 4.0
	crowdStop = 0.006
	crowdMark = 0.003
	// burstDrop is the share of packets that is lost in such moments where
	// nothing stops the senders; ours.
	burstDrop = 2.5e-3
	fullDrop  = 1e-2
	// spill is how much of the packets that come while stopped a switch without
	// headroom drops; ours.
	spill = 0.5
)

func newSolver(f *fabric, cfg *Config) *solver {
	n := f.site.Links()
	p := &cfg.Physics
	s := &solver{fabric: f, infinite: cfg.InfiniBand, adaptive: cfg.Adaptive, marking: buffered(network.DefaultMarking(f.site.Speed), p.Buffers),
		window: p.Window.Of(window), quanta: p.Quanta,
		reaction: network.DefaultReaction(packet), free: make([]float64, n), links: make([]network.Link, n),
		potential: make([]float64, n), paced: make([]float64, n), flows: make([]float64, n), used: make([]float64, n), state: make([]queue, n),
		slot: make([]int32, n), byNIC: make([]float64, f.site.HostCables()), nicSlot: make([]int32, f.site.HostCables())}
	for i := range s.slot {
		s.slot[i] = -1
	}
	for i := range s.nicSlot {
		s.nicSlot[i] = -1
	}
	return s
}

// solve settles a traffic concurrent with what others offer on the same links.
func (s *solver) solve(t *traffic, others *offered) {
	s.gather(t)
	s.leave(others)
	s.coming = s.coming[:0]
	for i := range t.flows {
		f := &t.flows[i]
		demand := s.demand(f)
		s.coming = append(s.coming, demand)
		if !t.always && f.path != nil {
			demand = math.Inf(1) // its NIC's link bounds it as well
		}
		t.net[i] = network.Flow{Path: f.path, Demand: demand}
	}
	s.offer(t)
	s.rates = s.fair.MaxMin(s.rates, s.free, t.net)
	for i := range t.flows {
		for _, l := range t.flows[i].path {
			s.used[l] += s.rates[i]
		}
	}
	for _, l := range s.touched {
		full := s.potential[l] > float64(1.01*s.free[l]) && s.used[l] >= float64(fills*s.free[l])
		s.state[l] = s.queue(l, others.flows[l], full, s.used[l]/max(s.free[l], 1))
	}
	s.stop(t)
	s.pace(t)
	s.ease(t, others)
	s.feeders(t, others)
	s.pace(t)
	s.room(t)
	s.effects(t)
	s.forget()
}

// offer works out what would come to each link: what its flows ask for, and of
// that no more than the links before it carry. A queue builds up at the first full
// link of a way; behind it the same flows fill a link without one.
func (s *solver) offer(t *traffic) {
	for tier := range 4 {
		for i := range t.flows {
			if l := hop(t.flows[i].path, tier); l >= 0 {
				s.potential[l] += s.coming[i]
			}
		}
		for i := range t.flows {
			if l := hop(t.flows[i].path, tier); l >= 0 && s.potential[l] > s.free[l] {
				s.coming[i] = float64(s.coming[i] * s.free[l] / s.potential[l])
			}
		}
	}
}

// hop is a way's link of a tier: from a NIC, up, down, to a NIC; -1 for none.
func hop(path []int32, tier int) int32 {
	switch {
	case len(path) == 0 || len(path) == 2 && (tier == 1 || tier == 2):
		return -1
	case tier == 3:
		return path[len(path)-1]
	}
	return path[tier]
}

// pace works out what each flow's rate is worth and how long a share takes.
func (s *solver) pace(t *traffic) {
	for i := range t.flows {
		s.goodput(&t.flows[i], s.rates[i])
	}
	t.times()
}

// ease empties queues before which nothing piles up, because the flows there
// wait for a slower one of theirs elsewhere: a ring goes as fast as its slowest
// hop, and its other hops, paced by that, leave room on their links. Where
// bursts meet, the queue is the shorter the fewer there are.
func (s *solver) ease(t *traffic, others *offered) {
	if t.always {
		return
	}
	for i := range t.flows {
		f := &t.flows[i]
		pace := 0.0
		if took := t.group[f.group]; took > 0 {
			pace = float64(f.bytes*8*f.wire) / took
		}
		for _, l := range f.path {
			s.paced[l] += pace
		}
	}
	for _, l := range s.touched {
		paced := s.paced[l]
		s.paced[l] = 0
		if s.state[l].stop > 0.01 || s.state[l].full && paced >= float64(fills*s.free[l]) {
			continue
		}
		s.state[l] = s.queue(l, others.flows[l], false, paced/max(s.free[l], 1))
	}
}

// gather finds the links of a traffic and how many flows each has.
func (s *solver) gather(t *traffic) {
	s.touched = s.touched[:0]
	clear(s.byNIC)
	for i := range t.flows {
		f := &t.flows[i]
		s.byNIC[f.from]++
		for _, l := range f.path {
			if s.flows[l] == 0 {
				s.touched = append(s.touched, l)
			}
			s.flows[l]++
		}
	}
}

// forget clears what gather and solve wrote.
func (s *solver) forget() {
	for _, l := range s.touched {
		s.flows[l], s.potential[l], s.used[l], s.free[l] = 0, 0, 0, 0
		s.links[l] = network.Link{}
	}
}

// leave works out what others leave of each link: what they do not take, but
// at least a fair share.
func (s *solver) leave(others *offered) {
	for _, l := range s.touched {
		speed := float64(useful * s.fabric.speed[l] * (1 - min(0.98, others.stop[l])))
		fair := float64(speed * s.flows[l] / (s.flows[l] + others.flows[l]))
		s.free[l] = max(speed-others.load[l], fair)
	}
}

// demand is what a flow offers: its own demand, at most its part of its NIC.
func (s *solver) demand(f *flow) float64 {
	if f.path == nil {
		return 0
	}
	return min(f.demand, float64(useful*s.fabric.site.Speed)/s.byNIC[f.from])
}

// queue is the state of a link's sender, where more comes than it carries or
// not. part is how much it sends of what it has free.
func (s *solver) queue(l int32, foreign float64, full bool, part float64) queue {
	bursts := float64(s.fabric.bursts[l] * crowding(part))
	q := queue{eager: 1, queued: 1, mark: float64(burstMark * bursts), stop: float64(burstStop * bursts)}
	sw := s.fabric.sender[l]
	if sw < 0 { // a NIC's own work queues do not mark
		q.mark = 0
		return q
	}
	c := &s.condition.Switches[sw]
	q.length = float64(0.03 * s.marking.Min * bursts)
	q.highest = float64(0.4 * s.marking.Min * bursts)
	q.full = full
	if full {
		rate := s.free[l] / s.flows[l] / 8 / packet
		n := max(2, s.flows[l]+foreign)
		q.mark = max(min(s.marking.Most, float64(crowdMark*n*n)), s.equilibrium(max(rate, 1)))
		q.length = s.marking.Length(q.mark)
		q.highest = float64(1.5 * q.length)
		if n >= crowd {
			q.highest = float64(xoff * s.marking.Min)
		}
	}
	if c.Eager < 1 {
		q.mark = max(q.mark, float64(0.05*(1-c.Eager)))
		q.eager = 0.3 + float64(0.7*math.Sqrt(max(0, c.Eager)))
		q.length, q.highest = min(q.length, float64(s.marking.Min*c.Eager)), min(q.highest, float64(2*s.marking.Min*c.Eager))
	}
	if c.Class {
		q.drop, q.stop = burstDrop, 0
		if q.full {
			q.drop = fullDrop
		}
	}
	switch {
	case c.Class || s.infinite:
		q.mark, q.eager = 0, 1
	case c.NoMarks: // bursts end in pause instead
		q.mark, q.eager, q.highest = 0, unmarkedRate, float64(xoff*s.marking.Min)
	}
	return q
}

// crowding is how long a queue of bursts is in addition to the standing one while a
// link sends all it could, where it sends part of that: the mean queue ρ²/(1 − ρ)
// of random arrivals (Kleinrock, Queueing Systems, vol. 1), from useful on down.
func crowding(part float64) float64 {
	load := float64(useful * min(1, part))
	return float64(load*load) / (1 - load) * (1 - useful) / float64(useful*useful)
}

// equilibrium is the reaction's, remembered: few rates occur.
func (s *solver) equilibrium(rate float64) float64 {
	at := &s.known[random.Mix(math.Float64bits(rate))%uint64(len(s.known))]
	if at[0] != rate {
		*at = [2]float64{rate, s.reaction.Equilibrium(rate)}
	}
	return at[1]
}

// stop overlays what lossless links do where receivers take less than arrives, or
// where no mark slows the senders down.
func (s *solver) stop(t *traffic) {
	trouble := false
	for _, l := range s.touched {
		drain := s.fabric.drain[l]
		if s.fabric.hold[l] {
			drain = 0
		}
		s.links[l] = network.Link{Speed: s.free[l], Drain: float64(s.free[l] * drain)}
		trouble = trouble || drain < 1 || s.state[l].full && s.blind(l)
	}
	if !trouble {
		return
	}
	for i := range t.net {
		t.net[i].Demand = s.rates[i]
		if s.heedless(t.net[i].Path) {
			t.net[i].Demand = s.demand(&t.flows[i])
		}
	}
	s.fair.Stop(&s.lossless, s.links, t.net)
	for _, l := range s.touched {
		s.links[l].Speed, s.links[l].Drain = s.lossless.Stopped[l], 0 // Drain is what of it reaches l
		if s.root(l) {
			s.links[l].Drain = s.lossless.Stopped[l]
		}
	}
	for i := range t.flows {
		s.backUp(t.flows[i].path)
	}
	for _, l := range s.touched {
		if stop := s.links[l].Drain; stop > 0.01 || s.root(l) {
			s.stopped(l, stop)
		}
	}
	for i := range t.flows {
		s.rates[i] = s.pausedRate(t.flows[i].path, s.rates[i], s.lossless.Rates[i])
	}
}

// root reports whether congestion begins at a link that is slowed down by its
// receiver or by nothing.
func (s *solver) root(l int32) bool {
	return s.lossless.Full[l] && (s.fabric.drain[l] < 1 || s.fabric.hold[l] || s.blind(l))
}

// The stopped share of a link as a part of the next one's: where marks slow senders
// down, they do before all queues on the way have filled, and work comes in bursts.
// As in the packet-level runs (traces/roce: 0.51, 0.21, 0 with DCQCN; 0.53, 0.38,
// 0.21, 0.05 without). What is paused all the time fills every queue.
const (
	backMarked   = 0.35
	backUnmarked = 0.65
)

// backUp carries the stop of a path's last root back along the path.
func (s *solver) backUp(path []int32) {
	for r := len(path) - 1; r >= 0; r-- {
		if !s.root(path[r]) {
			continue
		}
		part := backMarked
		switch {
		case s.fabric.hold[path[r]]:
			part = 1
		case s.infinite || s.blind(path[r]):
			part = backUnmarked
		}
		reach := 1.0
		for k := r - 1; k >= 0; k-- {
			reach = float64(reach * part)
			l := &s.links[path[k]]
			l.Drain = max(l.Drain, float64(l.Speed*reach))
		}
		return
	}
}

// drained is for how long traffic that was paused stays queued, in parts of the stop:
// what came meanwhile has to leave as well; ours.
const drained = 2.0

// stopped writes what being stopped for a share of the time does to a link's
// queue: it lasts while it is paused and until it has drained, not all the
// time at the mean.
func (s *solver) stopped(l int32, stop float64) {
	q := &s.state[l]
	q.stop = max(q.stop, stop)
	if s.fabric.sender[l] < 0 {
		return // a NIC's own queues
	}
	q.length, q.highest = float64(xoff*s.marking.Min), float64(1.1*xoff*s.marking.Min)
	q.queued = min(1, float64(drained*stop))
	if !s.blind(l) {
		q.mark = max(q.mark, float64(s.marking.Most*min(1, float64(stop*stop))))
		if s.root(l) {
			q.mark = max(q.mark, s.marking.Most)
		}
	}
}

// pausedRate is a flow's rate among paused links: what the lossless fabric leaves of it
// on a way through a root, or where nothing is marked; else what the pauses leave
// of its fair rate.
func (s *solver) pausedRate(path []int32, fair, lossless float64) float64 {
	most := 0.0
	for _, l := range path {
		if s.root(l) || s.blind(l) && s.state[l].full {
			return lossless
		}
		most = max(most, s.links[l].Drain)
	}
	if s.infinite || most > 0.99 {
		return lossless
	}
	return max(lossless, float64(fair*(1-most)))
}

// blind reports whether a link's sender does not signal that it is full.
func (s *solver) blind(l int32) bool {
	sw := s.fabric.sender[l]
	return sw >= 0 && !s.condition.Switches[sw].Class && (s.infinite || s.condition.Switches[sw].NoMarks)
}

func (s *solver) heedless(path []int32) bool {
	for _, l := range path {
		if s.blind(l) && s.state[l].full {
			return true
		}
	}
	return false
}

// feeders are stopped now and then where many meet in one link, and drop where
// there is no headroom for what is still on its way.
func (s *solver) feeders(t *traffic, others *offered) {
	for i := range t.flows {
		path := t.flows[i].path
		for k := 1; k < len(path); k++ {
			before, l := path[k-1], path[k]
			s.crowded(before, l, others)
			if k > 1 {
				s.crowded(path[k-2], l, others)
			}
			sw := s.fabric.sender[l]
			if s.condition.Switches[sw].NoMarks && !s.infinite {
				s.state[before].stop = max(s.state[before].stop, min(0.3, float64(unmarkedStop*s.fabric.bursts[l])))
			}
			if h := s.condition.Switches[sw].Headroom; h < 1 {
				stopped := s.state[before].stop + float64(250*burstStop)
				s.state[l].drop = max(s.state[l].drop, min(1, float64(spill*(1-h)*stopped)))
			}
		}
	}
}

// crowded stops a link for moments that feeds one in which more senders meet
// than reaction can hold in the first round trips; the one before it less.
func (s *solver) crowded(before, l int32, others *offered) {
	n := s.flows[l] + others.flows[l]
	if !s.state[l].full || n < crowd || s.state[l].drop > 0 {
		return
	}
	stop := min(0.3, float64(crowdStop*n))
	if s.fabric.receiver[before] != s.fabric.sender[l] {
		stop = float64(stop * 0.15)
	}
	s.state[before].stop = max(s.state[before].stop, stop)
}

// goodput works out what of a flow's rate is of use.
func (s *solver) goodput(f *flow, rate float64) {
	arrives, eager, disorder := 1.0, 1.0, 0.0
	for _, l := range f.path {
		arrives = float64(arrives * (1 - s.fabric.lost[l]) * (1 - s.state[l].drop))
		eager = min(eager, s.state[l].eager)
		disorder += s.fabric.reorder[l]
	}
	f.lost = 1 - arrives
	f.lost = min(1, f.lost+s.losslessDrops(f))
	if s.condition.NICs[f.to].Strict {
		f.lost = min(1, f.lost+s.disorder(f, disorder))
	}
	f.rate = float64(rate * eager)
	f.wire = 1 + float64(s.window*f.lost)
	if f.lost > 0.999 {
		f.rate, f.wire = 0, 1
	}
}

// losslessDrops is the share of a flow's packets that the first switch drops because
// one of its ends is in a class that nothing stops.
func (s *solver) losslessDrops(f *flow) float64 {
	if s.condition.NICs[f.from].Class || s.condition.NICs[f.to].Class {
		return burstDrop
	}
	return 0
}

// room works out how fast flows with a demand could go at once.
func (s *solver) room(t *traffic) {
	if !t.always {
		return
	}
	for i := range t.flows {
		f := &t.flows[i]
		f.room = 0
		if f.path == nil {
			continue
		}
		f.room = float64(useful * s.fabric.site.Speed)
		for _, l := range f.path {
			f.room = min(f.room, f.rate+float64(max(0, s.free[l]-s.used[l])*(1-s.state[l].stop)*s.fabric.drain[l]))
		}
	}
}

// disorder is the share of a flow's packets that come out of order: by the
// links' condition, and a few where routing adapts.
func (s *solver) disorder(f *flow, byLinks float64) float64 {
	if s.adaptive && len(f.path) > 2 {
		byLinks += sprayed
	}
	return min(1, byLinks)
}

// sprayed is the share of packets out of order under adaptive routing; ours.
const sprayed = 0.01

// times works out how long a share of a traffic takes.
func (t *traffic) times() {
	clear(t.group)
	t.seconds = 0
	if t.always {
		t.seconds = 1
		for i := range t.flows {
			if f := &t.flows[i]; t.fluid {
				f.bytes = f.rate / 8 / f.wire
			}
		}
		return
	}
	for i := range t.flows {
		f := &t.flows[i]
		took := math.Inf(1)
		if f.rate > 0 {
			took = float64(f.bytes*8*f.wire) / f.rate
		} else if f.bytes <= 0 {
			took = 0
		}
		t.group[f.group] = max(t.group[f.group], took)
		t.seconds = max(t.seconds, took)
	}
}
