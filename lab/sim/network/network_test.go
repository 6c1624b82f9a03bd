package network_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if math.Abs(got-want) > relative*math.Abs(want)+1e-12 {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// greedy is traffic that takes what it gets.
func greedy(path ...int32) network.Flow { return network.Flow{Path: path, Demand: math.Inf(1)} }

func offers(demand float64, path ...int32) network.Flow {
	return network.Flow{Path: path, Demand: demand}
}

func TestDumbbellIsSharedAlike(t *testing.T) {
	var s network.Solver
	// Links 0 to 2 lead to link 3, which is narrower; 4 is a flow's own.
	got := s.MaxMin(nil, []float64{100, 100, 100, 90, 50}, []network.Flow{greedy(0, 3), greedy(1, 3), greedy(2, 3), greedy(4)})
	for i, want := range []float64{30, 30, 30, 50} {
		near(t, "rate", got[i], want, 1e-12)
	}
}

// TestParkingLot: the long flow meets a short one on each of n links. The first
// link, half as wide, settles it; the others give the rest to their own.
func TestParkingLot(t *testing.T) {
	var s network.Solver
	got := s.MaxMin(nil, []float64{50, 100, 100}, []network.Flow{greedy(0, 1, 2), greedy(0), greedy(1), greedy(2)})
	for i, want := range []float64{25, 25, 75, 75} {
		near(t, "rate", got[i], want, 1e-12)
	}
}

func TestWhoWantsLittleLeavesTheRest(t *testing.T) {
	var s network.Solver
	got := s.MaxMin(nil, []float64{90}, []network.Flow{offers(10, 0), greedy(0), greedy(0), offers(5)})
	for i, want := range []float64{10, 40, 40, 5} {
		near(t, "rate", got[i], want, 1e-12)
	}
}

// fabric draws links and flows.
func fabric(seed uint64) (capacity []float64, flows []network.Flow) {
	r := random.New(seed)
	for range 3 + r.Below(12) {
		capacity = append(capacity, r.Uniform(10, 100))
	}
	for range 1 + r.Below(30) {
		path := r.Permutation(len(capacity))[:1+r.Below(3)]
		f := network.Flow{Demand: math.Inf(1)}
		if r.Chance(0.4) {
			f.Demand = r.Uniform(1, 60)
		}
		for _, l := range path {
			f.Path = append(f.Path, int32(l))
		}
		flows = append(flows, f)
	}
	return capacity, flows
}

// fillSlowly is the naive oracle: raise all rates together by a little and stop
// those that meet a full link.
func fillSlowly(capacity []float64, flows []network.Flow) []float64 {
	const step = 1e-3
	rates, done := make([]float64, len(flows)), make([]bool, len(flows))
	for !slices.Equal(done, slices.Repeat([]bool{true}, len(flows))) {
		load := make([]float64, len(capacity))
		for f := range flows {
			if !done[f] {
				rates[f] += step
			}
			for _, l := range flows[f].Path {
				load[l] += rates[f]
			}
		}
		for f := range flows {
			done[f] = done[f] || rates[f] >= flows[f].Demand
			for _, l := range flows[f].Path {
				done[f] = done[f] || load[l] >= capacity[l]
			}
		}
	}
	return rates
}

func TestMaxMinAgainstSlowFilling(t *testing.T) {
	var s network.Solver
	for seed := range uint64(40) {
		capacity, flows := fabric(seed)
		got, want := s.MaxMin(nil, capacity, flows), fillSlowly(capacity, flows)
		for f := range flows {
			if math.Abs(got[f]-want[f]) > 0.05 {
				t.Fatalf("seed %d: flow %d gets %.3f, filled slowly %.3f", seed, f, got[f], want[f])
			}
		}
	}
}

// TestUnitsAndNamesDoNotMatter: all speeds times k are all rates times k, and
// other numbers for links and flows are the same rates.
func TestUnitsAndNamesDoNotMatter(t *testing.T) {
	var s network.Solver
	for seed := range uint64(40) {
		capacity, flows := fabric(seed)
		want := s.MaxMin(nil, capacity, flows)
		r := random.New(seed + 1000)
		links, order := r.Permutation(len(capacity)), r.Permutation(len(flows))
		scaled, moved := make([]float64, len(capacity)), make([]network.Flow, len(flows))
		for l := range capacity {
			scaled[links[l]] = 8 * capacity[l]
		}
		for f, flow := range flows {
			m := network.Flow{Demand: 8 * flow.Demand}
			for _, l := range flow.Path {
				m.Path = append(m.Path, int32(links[l]))
			}
			moved[order[f]] = m
		}
		got := s.MaxMin(nil, scaled, moved)
		for f := range flows {
			near(t, "rate", got[order[f]], 8*want[f], 1e-9)
		}
	}
}

// TestRingAtTheSlowestHop: where every member sends to the next, the slowest link
// sets the rate of its flows.
func TestRingAtTheSlowestHop(t *testing.T) {
	const n, size = 8, 1e9
	var s network.Solver
	capacity := slices.Repeat([]float64{50e9}, n)
	capacity[5] = 10e9
	var flows []network.Flow
	for i := range n {
		flows = append(flows, greedy(int32(i), int32((i+1)%n)))
	}
	rate := slices.Min(s.MaxMin(nil, capacity, flows)) // two flows meet on each link
	near(t, "slowest", rate, 5e9, 1e-12)
}

// fullest is the exact mean of the largest of m cells after n balls: from
// P(max ≤ k) = n!·[xⁿ] (Σ_{j≤k} xʲ/j!)ᵐ / mⁿ, built cell by cell.
func fullest(n, m int) float64 {
	mean := 0.0
	for k := range n {
		ways := make([]float64, n+1) // ways[i]: probability mass of i balls placed so far
		ways[0] = 1
		for cell := range m {
			next := make([]float64, n+1)
			for i, w := range ways {
				q := 1 / float64(m-cell) // of the balls that are left, each falls here with this chance
				for j := 0; j <= min(k, n-i); j++ {
					next[i+j] += w * binomial(n-i, j, q)
				}
			}
			ways = next
		}
		if ways[n] > 1-1e-12 {
			break
		}
		mean += 1 - ways[n]
	}
	return mean
}

func binomial(n, k int, p float64) float64 {
	if p == 1 {
		return map[bool]float64{true: 1}[n == k]
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// TestHashingIsUneven: the mean of the fullest of m uplinks under n flows, from
// our hash, against the exact value (and reference rca.md B.3).
func TestHashingIsUneven(t *testing.T) {
	for _, c := range []struct {
		flows, links int
		reference    float64
	}{{8, 8, 2.60}, {16, 16, 3.08}, {32, 32, 3.52}, {64, 16, 7.9}, {128, 32, 8.6}} {
		exact := fullest(c.flows, c.links)
		near(t, "reference", c.reference, exact, 0.02)
		const trials = 4000
		sum := 0.0
		for trial := range uint64(trials) {
			load := make([]int, c.links)
			for f := range c.flows {
				load[network.Choose(trial, network.Key{From: uint32(f), To: 7, Entropy: 4791}, c.links)]++
			}
			sum += float64(slices.Max(load))
		}
		near(t, "hashed", sum/trials, exact, 0.02)
	}
}
