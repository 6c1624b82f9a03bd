package network

import (
	"cmp"
	"container/heap"
	"math"
)

// Flow is traffic along a path of links.
type Flow struct {
	Path []int32 // in the order in which traffic meets them; each link once
	// Demand is the rate that the sender would like: +Inf for one that takes
	// what it gets.
	Demand float64
}

// Solver finds rates. It keeps its scratch space: one Solver, one simulation.
type Solver struct {
	at     []int32 // by link: where its flows begin in flows
	flows  []int32 // flows by link
	active []int32 // by link: flows not yet settled
	used   []float64
	levels levels
	paused []bool
	queue  []int32
}

// MaxMin fills dst with the max-min fair rate of every flow: no flow can get more
// except at the cost of one that has no more. It is what per-flow congestion
// control with equal shares tends to. capacity is by link.
//
// Progressive filling: the link with the smallest fair level settles its flows
// first (Bertsekas and Gallager, "Data Networks", 6.5.2).
func (s *Solver) MaxMin(dst, capacity []float64, flows []Flow) []float64 {
	dst = s.start(dst, len(capacity), flows)
	for l := range capacity {
		s.push(l, capacity[l])
	}
	for f, flow := range flows {
		if !math.IsInf(flow.Demand, 1) {
			s.levels = append(s.levels, level{at: flow.Demand, id: int32(len(capacity) + f)})
		}
	}
	heap.Init(&s.levels)
	for len(s.levels) > 0 {
		top := heap.Pop(&s.levels).(level)
		if f := int(top.id) - len(capacity); f >= 0 {
			s.settle(dst, flows, int32(f), top.at)
			continue
		}
		l := int(top.id)
		if s.active[l] == 0 {
			continue
		}
		if now := s.share(l, capacity[l]); now > top.at {
			heap.Push(&s.levels, level{at: now, id: top.id})
			continue
		}
		for _, f := range s.flows[s.at[l]:s.at[l+1]] {
			s.settle(dst, flows, f, top.at)
		}
	}
	return dst
}

// start indexes the flows by link and marks all rates unsettled (-1). A flow
// without a path gets its demand.
func (s *Solver) start(dst []float64, links int, flows []Flow) []float64 {
	dst = resize(dst, len(flows))
	s.at, s.active = resize(s.at, links+1), resize(s.active, links)
	s.used, s.levels = resize(s.used, links), s.levels[:0]
	clear(s.at)
	clear(s.used)
	for f, flow := range flows {
		dst[f] = -1
		if len(flow.Path) == 0 {
			dst[f] = flow.Demand
		}
		for _, l := range flow.Path {
			s.at[l+1]++
		}
	}
	for l := range links {
		s.active[l] = s.at[l+1]
		s.at[l+1] += s.at[l]
	}
	s.flows = resize(s.flows, int(s.at[links]))
	s.queue = append(s.queue[:0], s.at[:links]...)
	for f, flow := range flows {
		for _, l := range flow.Path {
			s.flows[s.queue[l]] = int32(f)
			s.queue[l]++
		}
	}
	return dst
}

func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

func (s *Solver) push(l int, capacity float64) {
	if s.active[l] > 0 {
		s.levels = append(s.levels, level{at: s.share(l, capacity), id: int32(l)})
	}
}

// share is what each unsettled flow of a link could get.
func (s *Solver) share(l int, capacity float64) float64 {
	return max(0, capacity-s.used[l]) / float64(s.active[l])
}

func (s *Solver) settle(dst []float64, flows []Flow, f int32, rate float64) {
	if dst[f] >= 0 {
		return
	}
	dst[f] = rate
	for _, l := range flows[f].Path {
		s.used[l] += rate
		s.active[l]--
	}
}

// level is a link or a flow (its demand) and the fair level at which it binds.
type level struct {
	at float64
	id int32
}

// levels is a heap, lowest first, ties by identity.
type levels []level

func (h levels) Len() int { return len(h) }
func (h levels) Less(i, j int) bool {
	if c := cmp.Compare(h[i].at, h[j].at); c != 0 {
		return c < 0
	}
	return h[i].id < h[j].id
}
func (h levels) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *levels) Push(x any) { *h = append(*h, x.(level)) }

// Pop implements heap.Interface.
func (h *levels) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
