package world

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/work"
)

// traffic is flows of one job that are on together: its rings, its exchanges,
// its transfers. A share of it is what is sent in one step; of traffic that
// goes all the time, in one second.
type traffic struct {
	always bool // not in steps: flows have a demand
	fluid  bool // of those, what goes in a share is what the rates allow
	hashed bool // its ways are as the hash has it, not picked
	layer  int  // what is spread apart from what: see router.load
	flows  []flow
	net    []network.Flow
	paths  []int32 // four links a flow

	seconds float64   // that a share takes; +Inf where it stalls
	group   []float64 // the same by group of flows that wait for each other
	links   []linkEffect
	nics    []nicEffect

	share, active float64 // of the second that passes: shares sent, seconds on
	recent        float64 // shares sent in the second before
	on            bool    // at its end
	// went is how many shares had gone when the second began, so counted that
	// each begins at a whole number.
	went float64
}

// begin begins a share.
func (t *traffic) begin() { t.went = -t.share }

// passed is how much of its own part a link has sent that is on for the first
// part of every share only, after so many shares.
func passed(shares, part float64) float64 {
	whole := math.Floor(shares)
	return whole + min(1, (shares-whole)/part)
}

// flow goes from NIC to NIC.
type flow struct {
	from, to int32
	group    int32
	due      float64 // bytes in a share in health
	bytes    float64 // in a share
	demand   float64 // bits per second; +Inf takes what it gets
	plan     [2]int  // the choices of its way in health
	path     []int32 // nil where there is no way

	rate float64 // bits per second on the wire
	room float64 // bits per second that it could have at once
	lost float64 // share of packets that do not come, or are taken for lost
	wire float64 // bytes sent for each that is of use
}

// The layers of traffic that are spread over uplinks apart from each other,
// because they are not on together.
const (
	rings = iota
	exchanges
	steady
	layers
)

// newTraffic makes a flow for each NIC of each hop.
func newTraffic(s *site.Site, layer int, hops []work.Hop) *traffic {
	if len(hops) == 0 {
		return nil
	}
	t := &traffic{layer: layer, always: layer == steady, seconds: 1}
	for _, h := range hops {
		if h.From == h.To {
			continue
		}
		for nic := range s.GPUs {
			f := flow{from: int32(h.From*s.GPUs + nic), to: int32(h.To*s.GPUs + nic), group: int32(h.Group), due: h.Bytes, bytes: h.Bytes, demand: math.Inf(1)}
			t.flows = append(t.flows, f)
		}
	}
	t.index()
	return t
}

func (t *traffic) index() {
	t.net, t.paths = make([]network.Flow, len(t.flows)), make([]int32, 4*len(t.flows))
	most := int32(0)
	for _, f := range t.flows {
		most = max(most, f.group)
	}
	t.group = make([]float64, most+1)
}

// router chooses ways.
type router struct {
	site     *site.Site
	fabric   *fabric
	seed     uint64
	adaptive bool
	blind    bool              // paths are hashed in health too
	load     [layers][]float64 // by link: flows that were led there
}

func newRouter(f *fabric, seed uint64, cfg *Config) *router {
	r := &router{site: f.site, fabric: f, seed: seed, adaptive: cfg.Adaptive, blind: cfg.Hashed}
	for i := range r.load {
		r.load[i] = make([]float64, f.site.Links())
	}
	return r
}

func (r *router) end(nic int32) site.End {
	return site.End{Node: int(nic) / r.site.GPUs, NIC: int(nic) % r.site.GPUs}
}

// plan spreads the flows of a healthy site: each takes the way whose fuller
// link is emptiest. It represents operators (and libraries) that pick the
// entropy of their queue pairs so that a placement does not collide.
func (r *router) plan(t *traffic) {
	for i := range t.flows {
		f := &t.flows[i]
		from, to := r.end(f.from), r.end(f.to)
		leaf, spine := r.site.Choices(from, to)
		switch {
		case leaf > 1 && r.blind:
			f.plan = [2]int{network.Choose(r.seed, r.key(f), leaf), network.Choose(r.seed+1, r.key(f), spine)}
		case leaf > 1:
			f.plan = r.emptiest(t, f, [2]int{leaf, spine}, false)
		}
		r.count(t, f, r.site.Path(t.paths[4*i:4*i], from, to, f.plan))
	}
}

func (r *router) count(t *traffic, f *flow, path []int32) {
	for _, l := range path {
		r.load[t.layer][l]++
	}
	f.path = path
}

// emptiest is the way whose fuller link has least; of several the first after
// one that the flow's key names.
func (r *router) emptiest(t *traffic, f *flow, n [2]int, alive bool) (best [2]int) {
	first := network.Choose(r.seed, r.key(f), n[0]*n[1])
	least := math.Inf(1)
	var path [4]int32
	for k := range n[0] * n[1] {
		way := (first + k) % (n[0] * n[1])
		choice := [2]int{way % n[0], way / n[0]}
		most := 0.0
		for _, l := range r.site.Path(path[:0], r.end(f.from), r.end(f.to), choice)[1:3] {
			load := r.load[t.layer][l] + 1
			if alive {
				load /= max(r.fabric.speed[l], 1) / r.site.Speed
			}
			most = max(most, load)
		}
		if most < least {
			least, best = most, choice
		}
	}
	return best
}

func (r *router) key(f *flow) network.Key {
	return network.Key{From: uint32(f.from), To: uint32(f.to), Entropy: uint32(f.group)}
}

// route leads all flows of a traffic over links as they are now.
func (r *router) route(t *traffic) {
	for i := range t.flows {
		f := &t.flows[i]
		from, to := r.end(f.from), r.end(f.to)
		n0, n1 := r.site.Choices(from, to)
		path := t.paths[4*i : 4*i : 4*i+4]
		choice := f.plan
		switch {
		case n0 == 0:
			f.path = nil
			continue
		case n0 > 1 && r.adaptive:
			choice = r.emptiest(t, f, [2]int{n0, n1}, true)
		case n0 > 1 && t.hashed:
			choice = [2]int{network.Choose(r.seed, r.key(f), n0), network.Choose(r.seed+1, r.key(f), n1)}
		case n0 > 1:
			choice = r.hashed(f, choice, [2]int{n0, n1})
		}
		path = r.site.Path(path, from, to, choice)
		if n0 > 1 && !r.whole(path) && !r.fabric.waits(path) {
			path = r.around(f, path, [2]int{n0, n1})
		}
		f.path = nil
		if r.whole(path) {
			r.count(t, f, path)
		}
	}
}

// hashed is the way that the leaf's hash gives where something was mixed into
// it, or an uplink draws more than its due.
func (r *router) hashed(f *flow, choice, n [2]int) [2]int {
	fabric, leaf := r.site.Leaf(int(f.from)/r.site.GPUs, int(f.from)%r.site.GPUs)
	at := fabric*r.site.Leaves + leaf
	if stir := r.fabric.stir[at]; stir != 0 {
		choice = [2]int{network.Choose(r.seed^stir, r.key(f), n[0]), network.Choose(r.seed^random.Mix(stir), r.key(f), n[1])}
	}
	if p := r.fabric.pile[at]; p.share > 0 {
		draw := random.New(r.seed ^ random.Mix(uint64(f.from)<<32|uint64(f.to)))
		if draw.Float64() < p.share {
			choice[0] = p.uplink
		}
	}
	return choice
}

func (r *router) whole(path []int32) bool {
	for _, l := range path {
		if !r.fabric.up[l] {
			return false
		}
	}
	return true
}

// around hashes over the ways that are left; without any it returns the path
// as it was.
func (r *router) around(f *flow, path []int32, n [2]int) []int32 {
	var way [4]int32
	left := 0
	for k := range n[0] * n[1] {
		if r.whole(r.site.Path(way[:0], r.end(f.from), r.end(f.to), [2]int{k % n[0], k / n[0]})) {
			left++
		}
	}
	pick := network.Choose(r.seed, r.key(f), left)
	for k := range n[0] * n[1] {
		choice := [2]int{k % n[0], k / n[0]}
		if !r.whole(r.site.Path(way[:0], r.end(f.from), r.end(f.to), choice)) {
			continue
		}
		if pick == 0 {
			return r.site.Path(path[:0], r.end(f.from), r.end(f.to), choice)
		}
		pick--
	}
	return path
}
