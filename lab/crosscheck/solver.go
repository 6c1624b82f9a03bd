package crosscheck

import (
	"math"
	"slices"
)

const (
	packetBytes = 4096
	wireShare   = .93 // of a cable's speed that a stream can use
)

// solver finds max-min fair rates and what waits where.
type solver struct {
	f        *fabric
	ways     [][][]int // pattern, hop: sending ports
	loads    []map[int]float64
	capacity map[int]float64
	ports    []int // in order
	rates    []float64
	offered  []float64 // what a pattern would send if only its senders' cables bound it
	flow     map[int]*flowState
	end      map[int]*ending
	paused   map[int]float64 // ports that stand behind others, and for what share of time
}

func newSolver(f *fabric) *solver {
	v := &solver{f: f, capacity: map[int]float64{}, flow: map[int]*flowState{}, end: map[int]*ending{}, paused: map[int]float64{}}
	for _, t := range f.active {
		loads, ways := map[int]float64{}, make([][]int, len(t.hops))
		for i := range t.hops {
			ways[i] = f.way(&t.hops[i], i+t.id)
			for _, p := range ways[i] {
				loads[p] += t.hops[i].share
				v.capacity[p] = f.cond.capacity(p)
			}
			if ways[i] == nil {
				loads[-1]++
				v.capacity[-1] = 0
			}
		}
		v.ways, v.loads = append(v.ways, ways), append(v.loads, loads)
	}
	for p := range v.capacity {
		v.ports = append(v.ports, p)
	}
	slices.Sort(v.ports)
	return v
}

func (v *solver) run() *solution {
	v.fill()
	v.offer()
	congested := v.queues()
	if v.shareStandstill(congested) {
		v.fill()
		congested = v.queues()
	}
	for _, p := range congested {
		v.backUp(p)
	}
	v.needless()
	v.storms()
	v.losses()
	out := &solution{rates: v.rates}
	for _, p := range v.ports {
		if s := v.flow[p]; s != nil {
			out.flows = append(out.flows, *s)
		}
	}
	for p := range v.f.site.ports {
		if e := v.end[p]; e != nil {
			out.endings = append(out.endings, *e)
		}
	}
	return out
}

// fill raises all rates together and holds those whose ports are full.
func (v *solver) fill() {
	n := len(v.loads)
	v.rates = make([]float64, n)
	room, open := map[int]float64{}, make([]bool, n)
	for p, c := range v.capacity {
		room[p] = c
	}
	for i := range open {
		open[i] = true
	}
	for left := n; left > 0; {
		step, demand := math.Inf(1), map[int]float64{}
		for i, t := range v.f.active {
			if !open[i] {
				continue
			}
			if t.demand > 0 {
				step = min(step, t.demand-v.rates[i])
			}
			for p, share := range v.loads[i] {
				demand[p] += share
			}
		}
		for p, d := range demand {
			step = min(step, room[p]/d)
		}
		step = max(step, 0)
		for p, d := range demand {
			room[p] -= step * d
		}
		for i, t := range v.f.active {
			if !open[i] {
				continue
			}
			v.rates[i] += step
			if full(v.loads[i], room, v.capacity) || t.demand > 0 && v.rates[i] >= t.demand*(1-1e-9) {
				open[i] = false
				left--
			}
		}
	}
}

func full(loads, room, capacity map[int]float64) bool {
	for p := range loads {
		if room[p] <= 1e-9*capacity[p] {
			return true
		}
	}
	return false
}

// offer finds what each pattern would send if only its senders' cables bound it.
func (v *solver) offer() {
	total := map[int]float64{}
	for i := range v.loads {
		for _, p := range v.ports {
			total[p] += v.loads[i][p]
		}
	}
	v.offered = make([]float64, len(v.loads))
	for i, t := range v.f.active {
		v.offered[i] = math.Inf(1)
		for _, p := range v.ports {
			if v.loads[i][p] > 0 && p >= 0 && v.f.site.ports[p].nic {
				v.offered[i] = min(v.offered[i], v.capacity[p]/total[p])
			}
		}
		if t.demand > 0 {
			v.offered[i] = min(v.offered[i], t.demand)
		}
	}
}

// queues fills in the flows and returns the ports for which more comes than
// they can send.
func (v *solver) queues() []int {
	var out []int
	clear(v.flow)
	for _, p := range v.ports {
		if p < 0 {
			continue
		}
		rate, pressure := 0.0, 0.0
		for i := range v.loads {
			rate += v.loads[i][p] * v.rates[i]
			pressure += v.loads[i][p] * v.offered[i]
		}
		s := &flowState{port: p, rate: rate, capacity: v.capacity[p]}
		v.flow[p] = s
		if s.slack = v.f.cond.slack[p] > 0; !s.slack && rate >= .97*s.capacity && pressure > 1.03*s.capacity && !v.f.site.ports[p].nic && v.paused[p] == 0 {
			s.queued = true
			out = append(out, p)
		}
		if taken := v.f.cond.taken(p); taken < 1 && rate >= .97*s.capacity {
			s.wait = 1 - taken // what is behind the cable does not take what it could carry
		}
		s.wait = max(s.wait, v.paused[p], v.bursts(s))
		v.mark(s)
	}
	return out
}

// bursts returns the share of time that a port waits for bursts that meet
// further on, as ports do in health: most where nothing slows the senders, and
// more at some ports than at others.
func (v *solver) bursts(s *flowState) float64 {
	most := .02
	if v.f.site.ecn {
		most = .004
	}
	return most * uniform(uint64(s.port), 83) * math.Pow(s.rate/v.f.site.speed, 2)
}

// mark sets the marks of a port: of a standing queue, or of bursts that meet.
func (v *solver) mark(s *flowState) {
	policy := v.f.cond.marking(s.port)
	if v.f.site.ports[s.port].nic || policy == 0 {
		return
	}
	share := 2e-4 * math.Pow(s.rate/v.f.site.speed, 4)
	if s.queued || s.slack && s.rate >= .97*s.capacity {
		share = .06
	}
	s.marks = s.rate / packetBytes * min(1, share*policy)
}

// shareStandstill takes from unrelated transfers what they lose behind others that
// occupy the same buffers, and reports whether there is any.
func (v *solver) shareStandstill(congested []int) bool {
	for _, c := range congested {
		root := v.flow[c]
		if root.wait < .15 || v.f.site.ecn && root.wait < .9 {
			continue
		}
		for _, p := range v.behind(c) {
			if v.f.site.ports[p].uplink || v.f.site.switchPort(p) {
				v.paused[p] = max(v.paused[p], .35*root.wait)
			}
		}
	}
	for p, share := range v.paused {
		v.capacity[p] *= 1 - share
	}
	return len(v.paused) > 0
}

// behind returns the ports through which the streams for a port come.
func (v *solver) behind(c int) []int {
	var out []int
	for i := range v.ways {
		for _, way := range v.ways[i] {
			if at := slices.Index(way, c); at > 0 {
				out = append(out, way[:at]...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// backUp makes the ports behind a congested one wait, and notifies the ends.
func (v *solver) backUp(c int) {
	damping := 1.0
	if v.f.site.ecn && v.f.cond.marking(c) > 0 {
		damping = v.f.site.kappa
	}
	for i := range v.ways {
		for h, way := range v.ways[i] {
			at := slices.Index(way, c)
			if at < 0 {
				continue
			}
			for _, p := range way[:at] {
				s := v.flow[p]
				wish := 0.0
				for j := range v.loads {
					wish += v.loads[j][p] * v.offered[j]
				}
				s.wait = max(s.wait, damping*(1-s.rate/max(min(wish, v.f.site.speed*wireShare), 1)))
			}
			v.notify(&v.f.active[i].hops[h], v.rates[i], v.flow[c])
		}
	}
}

// needless has the senders slowed whose ways lead over a port that marks
// without a queue.
func (v *solver) needless() {
	for i := range v.ways {
		for h, way := range v.ways[i] {
			for _, p := range way {
				if s := v.flow[p]; s.slack {
					v.notify(&v.f.active[i].hops[h], v.rates[i], s)
				}
			}
		}
	}
}

// notify reports the marks on the way of a stream to its receiver and sender.
func (v *solver) notify(h *hop, rate float64, c *flowState) {
	if c.marks == 0 || c.rate == 0 {
		return
	}
	marks := c.marks * h.share * rate / c.rate
	to, from := v.ending(h.to), v.ending(h.from)
	to.marked += marks
	from.notified += min(marks, 20000*h.share)
}

// storms pauses ports that are paused whatever comes.
func (v *solver) storms() {
	for p, duty := range v.f.cond.storm {
		if duty <= 0 {
			continue
		}
		if v.flow[p] == nil {
			v.flow[p] = &flowState{port: p, capacity: v.f.site.speed}
			v.ports = append(v.ports, p)
		}
		v.flow[p].wait = max(v.flow[p].wait, duty)
	}
	slices.Sort(v.ports)
}

// losses counts packets lost on cables and sent again by their senders.
func (v *solver) losses() {
	for i := range v.ways {
		for h, way := range v.ways[i] {
			for _, p := range way {
				ratio := v.f.cond.loss[p]
				if ratio == 0 {
					continue
				}
				hop := &v.f.active[i].hops[h]
				packets := v.rates[i] * hop.share / packetBytes * ratio
				v.ending(hop.to).lost += packets
				v.ending(hop.from).resent += packets
				if v.f.cond.disturb[p] != "reorder" {
					v.ending(hop.from).gone += packets
				}
			}
		}
	}
}

func (v *solver) ending(p int) *ending {
	if v.end[p] == nil {
		v.end[p] = &ending{port: p}
	}
	return v.end[p]
}

func (s *site) switchPort(p int) bool { return !s.ports[p].nic }
