package symptom

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// locate notes which node contains each entity, what its cables lead to, and
// everything that is over the job's GPUs and ranks.
func (s *Survey) locate() {
	n := len(s.all)
	s.nodeOf, s.facing, s.seen = make([]int32, n), make([][]int32, n), make([]uint32, n)
	s.via = make([]int32, n)
	s.gpusIn, s.ranked, s.carriers = make([]int32, n), make([]int32, n), make([][]int32, n)
	for i, e := range s.all {
		s.nodeOf[i] = s.nodeAt(int32(i))
		if e.Kind != telemetry.NIC && e.Kind != telemetry.Port {
			continue
		}
		if p, _, ok := s.graph.Peer(e); ok {
			if k, ok := s.index[p]; ok {
				s.facing[i] = []int32{k}
			}
		}
	}
	for i, e := range s.all {
		if e.Kind == telemetry.Switch {
			for _, port := range s.under[i] {
				s.facing[i] = append(s.facing[i], s.facing[port]...)
			}
		}
	}
	s.kinds = map[telemetry.Kind][]int32{}
	for i, e := range s.all {
		if s.used[i] {
			s.kinds[e.Kind] = append(s.kinds[e.Kind], int32(i))
		}
	}
	s.rise(s.gpus, s.gpusIn)
	s.rise(s.ranks, s.ranked)
}

func (s *Survey) nodeAt(i int32) int32 {
	for range 4 {
		if s.all[i].Kind == telemetry.Node {
			return i
		}
		up := int32(-1)
		for _, o := range s.over[i] {
			switch s.all[o].Kind {
			case telemetry.Node:
				return o
			case telemetry.GPU, telemetry.NIC:
				up = o
			}
		}
		if up < 0 {
			return -1
		}
		i = up
	}
	return -1
}

// rise lists everything over some entities, and counts them under it.
func (s *Survey) rise(from []int32, count []int32) {
	for _, i := range from {
		s.carriers[i] = s.reach(i, s.over)
		for _, a := range s.carriers[i] {
			count[a]++
		}
		count[i]++
	}
}

// reach lists everything that can be reached from an entity, without the entity
// itself.
func (s *Survey) reach(from int32, next [][]int32) []int32 {
	s.search++
	s.seen[from] = s.search
	out := slices.Clone(next[from])
	for _, k := range out {
		s.seen[k] = s.search
	}
	for n := 0; n < len(out); n++ {
		for _, k := range next[out[n]] {
			if s.seen[k] != s.search {
				s.seen[k] = s.search
				out = append(out, k)
			}
		}
	}
	return out
}

// closure names what is over or under an entity, of one kind.
type closure struct {
	of   int32
	over bool
	kind telemetry.Kind
}

// below lists what is under an entity of one kind, as far as the job uses it; of a coolant
// unit every loop.
func (s *Survey) below(i int32, kind telemetry.Kind) []int32 {
	return s.closed(closure{i, false, kind})
}

// above lists what is over an entity of one kind, as far as the job uses it.
func (s *Survey) above(i int32, kind telemetry.Kind) []int32 {
	return s.closed(closure{i, true, kind})
}

// closed returns a closure, drawn on first use: signatures need the
// same ones at each judgement.
func (s *Survey) closed(c closure) []int32 {
	out, drawn := s.closures[c]
	if !drawn {
		next := s.under
		if c.over {
			next = s.over
		}
		out = s.pick(s.reach(c.of, next), c.kind)
		s.closures[c] = out
	}
	return out
}

func (s *Survey) pick(in []int32, kind telemetry.Kind) []int32 {
	var out []int32
	for _, k := range in {
		if (s.all[k].Kind == kind || kind == "") && (s.used[k] || kind == telemetry.Loop) {
			out = append(out, k)
		}
	}
	return out
}

// contrast lists what the job uses of a kind and is not under an entity.
func (s *Survey) contrast(i int32, kind telemetry.Kind) []int32 {
	s.reach(i, s.under)
	var out []int32
	for _, k := range s.kinds[kind] {
		if s.seen[k] != s.search {
			out = append(out, k)
		}
	}
	return out
}

// way returns the entities from one down to another under it, by the shortest path;
// nil where there is none.
func (s *Survey) way(from, to int32) []int32 {
	s.search++
	s.seen[from] = s.search
	queue, via := []int32{from}, s.via
	for n := 0; n < len(queue); n++ {
		for _, k := range s.under[queue[n]] {
			if s.seen[k] == s.search {
				continue
			}
			s.seen[k] = s.search
			via[k] = queue[n]
			if k == to {
				out := []int32{to}
				for at := to; at != from; {
					at = via[at]
					out = append(out, at)
				}
				slices.Reverse(out)
				return out
			}
			queue = append(queue, k)
		}
	}
	return nil
}

// Carries reports whether any of the job's GPUs are under an entity.
func (s *Survey) Carries(e telemetry.Entity) bool {
	i, ok := s.index[e]
	return ok && s.gpusIn[i] > 0 && e != s.job
}
