package network

import (
	"container/heap"
	"math"
)

// Link is one direction of a cable in a lossless fabric.
type Link struct {
	Speed float64 // what it carries
	Drain float64 // what its receiver takes off it; Speed or more in health
}

// Lossless is the steady state of a fabric that drops nothing: PFC on RoCE, credits
// on InfiniBand. Slices are by flow and by link.
type Lossless struct {
	Rates []float64
	// Stopped is the share of time for which a link's sender is paused though it
	// has something to send: pause seconds per second (the sender's rx, its peer's
	// tx), or on InfiniBand the share of time without a credit.
	Stopped []float64
	// Full marks the links at which congestion begins: more arrives than they carry
	// or than their receiver takes.
	Full []bool
}

// Stop fills out with the steady state of links under flows that offer their
// Demand, which is finite, and do not yield by themselves: what happens where
// congestion control is absent, too late or has lost.
//
// A link that gets more than it passes stops those who feed it, and a link that
// is stopped stops all it carries, whomever it is for (head-of-line blocking),
// so that its feeders are stopped in turn up to the senders. Flows that meet in
// a full link are served in proportion to what they offer, as a first-in
// first-out queue serves. A stopped link always has something waiting, so it
// sends at full speed while it may: the share of time that it is stopped is one
// less its load. (reference rca.md B.1 and C.3.)
func (s *Solver) Stop(out *Lossless, links []Link, flows []Flow) {
	out.Rates = s.start(out.Rates, len(links), flows)
	out.Stopped, out.Full = resize(out.Stopped, len(links)), resize(out.Full, len(links))
	clear(out.Stopped)
	clear(out.Full)
	s.paused = resize(s.paused, len(links))
	clear(s.paused)
	for l := range links {
		if s.active[l] > 0 {
			s.levels = append(s.levels, level{at: s.served(out.Rates, flows, l, links[l]), id: int32(l)})
		}
	}
	heap.Init(&s.levels)
	for len(s.levels) > 0 {
		top := heap.Pop(&s.levels).(level)
		if top.at >= 1 {
			break // the rest gets what it offers
		}
		if s.active[top.id] == 0 {
			continue
		}
		if now := s.served(out.Rates, flows, int(top.id), links[top.id]); now > top.at {
			heap.Push(&s.levels, level{at: now, id: top.id})
			continue
		}
		out.Full[top.id] = true
		s.spread(out, flows, top)
	}
	for f := range flows {
		s.settle(out.Rates, flows, int32(f), flows[f].Demand)
	}
	for l, link := range links {
		if s.paused[l] || out.Full[l] && link.Drain < link.Speed {
			out.Stopped[l] = 1 - s.used[l]/link.Speed
		}
	}
}

// served is the share of what its unsettled flows offer that a link could
// pass, concurrent with those settled.
func (s *Solver) served(rates []float64, flows []Flow, l int, link Link) float64 {
	offered := 0.0
	for _, f := range s.flows[s.at[l]:s.at[l+1]] {
		if rates[f] < 0 {
			offered += flows[f].Demand
		}
	}
	if offered <= 0 {
		return math.Inf(1)
	}
	return max(0, min(link.Speed, link.Drain)-s.used[l]) / offered
}

// spread settles the flows of a full link, and of every link that is stopped
// because of it, at one share of what they offer.
func (s *Solver) spread(out *Lossless, flows []Flow, full level) {
	s.queue = append(s.queue[:0], full.id)
	for len(s.queue) > 0 {
		l := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		for _, f := range s.flows[s.at[l]:s.at[l+1]] {
			rate := float64(flows[f].Demand * full.at)
			s.settle(out.Rates, flows, f, rate)
			if out.Rates[f] == rate && rate < flows[f].Demand { // one that waits elsewhere is not delayed here
				s.stopFeeder(flows[f].Path, l)
			}
		}
	}
}

// stopFeeder stops the link before l on a path.
func (s *Solver) stopFeeder(path []int32, l int32) {
	for i := 1; i < len(path); i++ {
		if before := path[i-1]; path[i] == l && !s.paused[before] {
			s.paused[before] = true
			s.queue = append(s.queue, before)
		}
	}
}
