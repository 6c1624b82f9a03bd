package explain

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
)

// grid is a job of stages × replicas ranks; shift returns by how much a rank
// computes longer than before.
func grid(stages, replicas int, shift func(stage, replica int) float64) []RankEvidence {
	var out []RankEvidence
	for s := range stages {
		for r := range replicas {
			out = append(out, RankEvidence{PP: s, EP: -1, Before: 1, Now: 1 + shift(s, r)})
		}
	}
	return out
}

func TestALateStageIsAWholeRow(t *testing.T) {
	for name, c := range map[string]struct {
		shift             func(stage, replica int) float64
		excess, precision float64
	}{
		"a stage":        {func(s, _ int) float64 { return pick(s == 2, 0.5, 0) }, 1, 1},
		"half a stage":   {func(s, _ int) float64 { return pick(s == 2, 0.25, 0) }, 0.5, 1},
		"one rank of it": {func(s, r int) float64 { return pick(s == 2 && r == 1, 0.5, 0) }, 0, 0},
		"all alike":      {func(s, _ int) float64 { return 0.5 }, 0, 1},
	} {
		v := Values{}
		byPlace(v, grid(4, 4, c.shift), 0.5)
		if v[StageExcess] != c.excess || v[StagePrecision] != c.precision {
			t.Errorf("%s: excess %g, precision %g, want %g, %g", name, v[StageExcess], v[StagePrecision], c.excess, c.precision)
		}
		if _, ok := v[ExpertExcess]; ok {
			t.Errorf("%s: speaks of experts where none are stated", name)
		}
	}
}

// TestByPlaceHasTheErrorOfTheRanks: what is inferred from samples errs by both places.
func TestByPlaceHasTheErrorOfTheRanks(t *testing.T) {
	ranks := grid(4, 4, func(s, _ int) float64 { return pick(s == 2, 0.5, 0) })
	for i := range ranks {
		ranks[i].Err = 0.3
	}
	v := Values{}
	byPlace(v, ranks, 0.5)
	if err := v[StageExcess.Err()]; err < 0.84 || err > 0.86 {
		t.Errorf("error %g, want 0.3·√2 of 0.5", err)
	}
}

func TestOnePlaceSaysNothing(t *testing.T) {
	v := Values{}
	byPlace(v, grid(1, 8, func(int, int) float64 { return 1 }), 1)
	byPlace(v, nil, 1)
	byPlace(v, grid(2, 2, func(int, int) float64 { return 1 }), 0)
	if len(v) != 0 {
		t.Errorf("%v", v)
	}
}

func pick(c bool, a, b float64) float64 {
	if c {
		return a
	}
	return b
}

// TestWhoseComputeTimesWander: four hosts; the ranks of one are late in turn.
func TestWhoseComputeTimesWander(t *testing.T) {
	e := &Evidence{Degradation: &jobs.Degradation{Steps: 1, Sum: 3, Expected: 2}}
	for _, w := range []float64{0.05, 0.05, 0.55, 0.05} {
		e.Hosts = append(e.Hosts, HostEvidence{HasCompute: true, ComputeNow: 1, ComputeBefore: 1, HasWander: true, Wander: w})
	}
	found := hosts(e, 0, nil)
	if len(found) != 1 || found[0].Values[WanderExcess] != 0.5 {
		t.Errorf("%+v", found)
	}
}
