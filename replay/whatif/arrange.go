package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// timeline arranges the events by lane. All lanes must hold the same operations.
func (in *intake) timeline() (*Timeline, error) {
	if len(in.events) == 0 {
		return nil, errors.New("timeline: no operations")
	}
	t := &Timeline{}
	steps := map[int32]bool{}
	for i := range in.events {
		e := &in.events[i]
		stage, ok := in.stages[e.at]
		if !ok {
			return nil, fmt.Errorf("timeline: pid %d tid %d has no thread_name", e.at.pid, e.at.tid)
		}
		steps[e.step] = true
		t.DP, t.PP = max(t.DP, e.at.pid+1), max(t.PP, stage+1)
	}
	sorted := slices.Sorted(maps.Keys(steps))
	for _, s := range sorted {
		t.Steps = append(t.Steps, int(s))
	}
	index := map[op]int{}
	for i := range in.events {
		o := in.op(&in.events[i])
		if _, ok := index[o]; !ok {
			index[o] = len(t.ops)
			t.ops = append(t.ops, o)
		}
	}
	if len(t.ops)*len(t.Steps)*t.DP > 2*len(in.events) {
		return nil, fmt.Errorf("timeline: %d operations for %d steps of %d data-parallel ranks: lanes differ", len(in.events), len(t.Steps), t.DP)
	}
	slices.SortFunc(t.ops, compareOps)
	for i, o := range t.ops {
		index[o] = i
	}
	return t, t.fill(in, index, sorted)
}

func compareOps(a, b op) int {
	return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.kind, b.kind), cmp.Compare(a.n, b.n))
}

func (in *intake) op(e *recorded) op { return op{kinds()[e.kind], in.stages[e.at], int(e.seq)} }

// fill sets the lengths and, from the first lane, the order of computing.
func (t *Timeline) fill(in *intake, index map[op]int, steps []int32) error {
	t.lengths = make([][]float64, len(t.ops))
	for i := range t.lengths {
		t.lengths[i] = make([]float64, t.lanes())
		for k := range t.lengths[i] {
			t.lengths[i][k] = math.NaN()
		}
	}
	starts := make([]float64, len(t.ops))
	for i := range in.events {
		e := &in.events[i]
		s, _ := slices.BinarySearch(steps, e.step)
		o, lane := index[in.op(e)], s*t.DP+e.at.pid
		if !math.IsNaN(t.lengths[o][lane]) {
			return fmt.Errorf("timeline: %s twice", t.describe(o, lane))
		}
		t.lengths[o][lane] = e.dur
		if lane == 0 {
			starts[o] = e.start
		}
	}
	t.order = make([][]int, t.PP)
	for o := range t.ops {
		if k := slices.IndexFunc(t.lengths[o], math.IsNaN); k >= 0 {
			return fmt.Errorf("timeline: %s is missing", t.describe(o, k))
		}
		if kind := t.ops[o].kind; kind == forward || kind == backward {
			t.order[t.ops[o].stage] = append(t.order[t.ops[o].stage], o)
		}
	}
	for stage, order := range t.order {
		if len(order) == 0 {
			return fmt.Errorf("timeline: stage %d computes nothing", stage)
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	}
	return nil
}

func (t *Timeline) lanes() int { return len(t.Steps) * t.DP }

func (t *Timeline) describe(o, lane int) string {
	return fmt.Sprintf("%s %d of stage %d, data-parallel rank %d, step %d", t.ops[o].kind, t.ops[o].n, t.ops[o].stage, lane%t.DP, t.Steps[lane/t.DP])
}
