package whatif

// simulator plays a timeline's operations with given lengths.
type simulator struct {
	t    *Timeline
	plan *plan
	ends [][]float64 // by operation, then lane
	from []float64   // scratch, by lane
	all  []float64   // scratch, by lane
}

func newSimulator(t *Timeline, p *plan) *simulator {
	s := &simulator{t: t, plan: p, ends: make([][]float64, len(t.ops)), from: make([]float64, t.lanes()), all: make([]float64, t.lanes())}
	for i := range s.ends {
		s.ends[i] = make([]float64, t.lanes())
	}
	return s
}

// steps returns the length of every step, in seconds, if operations took the
// given lengths and began as soon as they could.
func (s *simulator) steps(lengths [][]float64) []float64 {
	out := make([]float64, len(s.t.Steps))
	for _, g := range s.plan.groups {
		s.play(g, lengths)
		for _, o := range g.ops {
			for lane, end := range s.ends[o] {
				out[lane/s.t.DP] = max(out[lane/s.t.DP], end)
			}
		}
	}
	return out
}

func (s *simulator) play(g group, lengths [][]float64) {
	clear(s.all)
	for _, o := range g.ops {
		clear(s.from)
		for _, d := range s.plan.deps[o] {
			for lane, end := range s.ends[d] {
				s.from[lane] = max(s.from[lane], end)
			}
		}
		for lane, at := range s.from {
			s.all[lane] = max(s.all[lane], at)
		}
	}
	if g.dp {
		s.together()
	}
	for _, o := range g.ops {
		for lane, at := range s.all {
			s.ends[o][lane] = at + lengths[o][lane]
		}
	}
}

// together makes all data-parallel ranks of a step begin with the last.
func (s *simulator) together() {
	for lo := 0; lo < len(s.all); lo += s.t.DP {
		step := s.all[lo : lo+s.t.DP]
		last := 0.0
		for _, at := range step {
			last = max(last, at)
		}
		for k := range step {
			step[k] = last
		}
	}
}
