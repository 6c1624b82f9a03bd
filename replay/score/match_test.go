package score

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bestByHand tries every assignment and keeps the best by the rule of
// docs/scoring.md: most matched, then the earliest incidents, then the earlier
// fault for the earlier incident.
func bestByHand(n, m int, meets func(i, f int) bool) []int {
	var best []int
	var try func(i int, sofar []int, taken uint)
	try = func(i int, sofar []int, taken uint) {
		if i == n {
			if best == nil || better(sofar, best) {
				best = slices.Clone(sofar)
			}
			return
		}
		for f := range m {
			if taken&(1<<f) == 0 && meets(i, f) {
				try(i+1, append(sofar, f), taken|1<<f)
			}
		}
		try(i+1, append(sofar, -1), taken)
	}
	try(0, nil, 0)
	return best
}

func better(a, b []int) bool {
	if x, y := size(a), size(b); x != y {
		return x > y
	}
	for i := range a {
		if (a[i] >= 0) != (b[i] >= 0) {
			return a[i] >= 0
		}
	}
	return slices.Compare(a, b) < 0
}

func size(assigned []int) (n int) {
	for _, f := range assigned {
		if f >= 0 {
			n++
		}
	}
	return n
}

func TestMatchAgreesWithTryingEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 4000 {
		n, m := r.IntN(6), r.IntN(5)
		density := r.Float64()
		edge := make([]bool, n*m)
		for i := range edge {
			edge[i] = r.Float64() < density
		}
		meets := func(i, f int) bool { return edge[i*m+f] }
		got, want := match(n, m, meets), bestByHand(n, m, meets)
		if n > 0 && !slices.Equal(got, want) {
			t.Fatalf("%d incidents, %d faults, edges %v: got %v, want %v", n, m, edge, got, want)
		}
	}
}

func TestMatchByHand(t *testing.T) {
	tests := []struct {
		name  string
		edges [][]int // of each incident, the faults it meets
		m     int
		want  []int
	}{
		{"nothing at all", nil, 0, []int{}},
		{"two incidents for one fault: the earlier one", [][]int{{0}, {0}}, 1, []int{0, -1}},
		{"the greedy choice would lose a match", [][]int{{0, 1}, {0}}, 2, []int{1, 0}},
		{"three need a chain of moves", [][]int{{0, 1}, {0, 2}, {0}}, 3, []int{1, 2, 0}},
		{"one incident over two faults takes the earlier", [][]int{{0, 1}}, 2, []int{0}},
		{"an incident that meets nothing", [][]int{{}, {0}}, 1, []int{-1, 0}},
	}
	for _, tc := range tests {
		got := match(len(tc.edges), tc.m, func(i, f int) bool { return slices.Contains(tc.edges[i], f) })
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
