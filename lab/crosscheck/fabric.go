package crosscheck

import (
	"encoding/binary"
	"math"
	"slices"
)

// hop is a stream from one adapter to another, or the share of it that takes
// one uplink.
type hop struct {
	from, to int // ports of adapters
	up       int // uplink where it leaves its leaf, -1 where it does not
	share    float64
}

// pattern is what one transfer puts on the wire for each byte of its progress:
// a ring's hops all go as fast as the slowest, because each sends on only what
// it has received.
type pattern struct {
	id     int
	job    int // -1: nobody's
	hops   []hop
	demand float64 // bytes a second that it asks for; 0: all it can get
}

// transfer is a pattern with bytes left to move.
type transfer struct {
	*pattern
	left float64
	rate float64
	done func()
}

// flowState is what a solution states about one direction of a cable, by the port
// that sends.
type flowState struct {
	port     int
	rate     float64 // bytes a second
	wait     float64 // share of time with data and not allowed to send
	queued   bool    // more comes for this port than it can send
	slack    bool    // it marks without need
	marks    float64 // marked packets a second
	capacity float64
}

// ending is what a solution states about an adapter.
type ending struct {
	port             int
	marked, notified float64 // marked packets received and notifications taken, a second
	lost             float64 // packets lost on their way to it, a second
	resent           float64 // packets that it had to send again, a second
	gone             float64 // of these, those that did not only come out of order
}

// solution is the state of the fabric between two events.
type solution struct {
	rates   []float64 // of the patterns, in order of id
	flows   []flowState
	endings []ending
}

// fabric holds the transfers under way.
type fabric struct {
	site     *site
	cond     *conditions
	patterns int
	active   []*transfer // by pattern id
	solved   map[string]*solution
	current  *solution
	settled  float64 // time up to which progress is accounted for
	version  int
}

func newFabric(s *site, c *conditions) *fabric {
	return &fabric{site: s, cond: c, solved: map[string]*solution{}, current: &solution{}}
}

// register numbers a pattern.
func (f *fabric) register(p *pattern) *pattern {
	p.id = f.patterns
	f.patterns++
	return p
}

// start adds a transfer; the caller settles before and solves after.
func (f *fabric) start(t *transfer) {
	i, _ := slices.BinarySearchFunc(f.active, t.id, func(a *transfer, id int) int { return a.id - id })
	f.active = slices.Insert(f.active, i, t)
}

// settle accounts for the progress up to now and returns what is finished.
func (f *fabric) settle(now float64) []*transfer {
	dt := now - f.settled
	f.settled = now
	var over []*transfer
	for _, t := range f.active {
		t.left -= t.rate * dt
		if t.left <= 1 && t.done != nil {
			over = append(over, t)
		}
	}
	f.active = slices.DeleteFunc(f.active, func(t *transfer) bool { return t.left <= 1 && t.done != nil })
	return over
}

// stop removes a transfer that has no end.
func (f *fabric) stop(p *pattern) {
	f.active = slices.DeleteFunc(f.active, func(t *transfer) bool { return t.pattern == p })
}

// solve returns when the next transfer ends, at the rates that hold from now.
func (f *fabric) solve() float64 {
	key := make([]byte, 0, 2*len(f.active))
	for _, t := range f.active {
		key = binary.LittleEndian.AppendUint16(key, uint16(t.id))
	}
	sol, known := f.solved[string(key)]
	if !known {
		sol = newSolver(f).run()
		f.solved[string(key)] = sol
	}
	f.current = sol
	f.version++
	end := math.Inf(1)
	for i, t := range f.active {
		t.rate = sol.rates[i]
		if t.done != nil && t.rate > 0 {
			end = min(end, f.settled+t.left/t.rate)
		}
	}
	return end
}

// forget drops the solutions, because capacities or ways have changed.
func (f *fabric) forget() { clear(f.solved) }

// way returns the sending ports of a hop in order, under the conditions of now.
func (f *fabric) way(h *hop, ordinal int) []int {
	s := f.site
	out := []int{h.from, s.ports[h.to].peer}
	if h.up < 0 {
		return out
	}
	from, to := s.ports[s.ports[h.from].peer].sw, s.ports[s.ports[h.to].peer].sw
	up := f.cond.reroute(from, to, h.up, ordinal, s)
	if up < 0 {
		return nil
	}
	return []int{h.from, s.ups[from][up], s.ports[s.ups[to][up]].peer, s.ports[h.to].peer}
}

// spread returns the hops of a stream between two adapters: one inside a leaf,
// one for each uplink where packets are spread, one pinned else.
func (f *fabric) spread(from, to, ordinal int) []hop {
	s := f.site
	a, b := s.ports[s.ports[from].peer].sw, s.ports[s.ports[to].peer].sw
	if a == b {
		return []hop{{from, to, -1, 1}}
	}
	count := len(s.ups[a])
	if !s.adaptive {
		return []hop{{from, to, ordinal % count, 1}}
	}
	var out []hop
	for u := range count {
		out = append(out, hop{from, to, u, 1 / float64(count)})
	}
	return out
}

// ring is a ring over adapters.
func (f *fabric) ring(job int, nics []int, ordinal int) *pattern {
	p := &pattern{job: job}
	for i, from := range nics {
		p.hops = append(p.hops, f.spread(from, nics[(i+1)%len(nics)], ordinal+i)...)
	}
	return f.register(p)
}

// gather is what all the others send to one adapter.
func (f *fabric) gather(job int, nics []int, to int) *pattern {
	p := &pattern{job: job}
	for i, from := range nics {
		if from == to {
			continue
		}
		for _, h := range f.spread(from, to, i+to) {
			h.share /= float64(len(nics) - 1)
			p.hops = append(p.hops, h)
		}
	}
	return f.register(p)
}
