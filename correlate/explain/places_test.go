package explain

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
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

// onHosts is a job of so many hosts of four ranks, each with an expert of its own; shift returns by
// how much a rank computes longer than before.
func onHosts(hosts int, shift func(host, local int) float64) (out []RankEvidence) {
	for h := range hosts {
		for l := range 4 {
			out = append(out, RankEvidence{PP: -1, EP: 4*h + l, Local: l, Before: 1, Now: 1 + shift(h, l),
				Host: telemetry.Entity{Kind: telemetry.Node, Name: fmt.Sprintf("n%02d", h)}})
		}
	}
	return out
}

// TestByPlaceComparesAnExpertWithItsHost: what makes a host late is no matter of its experts, and
// the latest of many that scatter is late by chance.
func TestByPlaceComparesAnExpertWithItsHost(t *testing.T) {
	scatter := func(h, l int) float64 { return 0.01 * float64((37*h+11*l)%9-4) }
	for name, c := range map[string]struct {
		shift       func(host, local int) float64
		least, most float64
	}{
		"an expert":   {func(h, l int) float64 { return scatter(h, l) + pick(h == 3 && l == 2, 0.5, 0) }, 0.7, 1},
		"a host":      {func(h, l int) float64 { return pick(h == 3, 0.5, 0) }, 0, 0},
		"only chance": {scatter, -0.4, 0},
	} {
		v := Values{}
		byPlace(v, onHosts(24, c.shift), 0.5)
		if x := v[ExpertExcess]; x < c.least || x > c.most {
			t.Errorf("%s: excess %g, want %g to %g", name, x, c.least, c.most)
		}
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

// TestTheOnlyHostIsLateAgainstNone: that its ranks compute longer may be the work of its job.
func TestTheOnlyHostIsLateAgainstNone(t *testing.T) {
	late := HostEvidence{Node: telemetry.Entity{Kind: telemetry.Node, Name: "n1"}, HasCompute: true, ComputeBefore: 1, ComputeNow: 2, HasLate: true, Late: 1}
	e := &Evidence{Degradation: &jobs.Degradation{Before: 2, Expected: 2, Steps: 4, Sum: 12}, Hosts: []HostEvidence{late}}
	if cs := hosts(e, 0, nil); len(cs) != 0 {
		t.Errorf("the only host of a job is a candidate: %v", cs)
	}
	cs := hosts(e, 0, []telemetry.Entity{late.Node})
	if len(cs) != 1 {
		t.Fatalf("%d candidates where telemetry points to the host, want 1", len(cs))
	}
	for _, m := range []Measure{ComputeExcess, PeersLate, LateStart, WanderExcess} {
		if x, seen := cs[0].Values[m]; seen {
			t.Errorf("%s of the only host is %v, want it unseen", m, x)
		}
	}
	well := late
	well.Node.Name, well.ComputeNow, well.Late = "n0", 1, 0
	e.Hosts = []HostEvidence{well, late}
	if cs := hosts(e, 0, nil); len(cs) != 1 || cs[0].Entity != late.Node {
		t.Errorf("of two hosts, %v are candidates, want the late one", cs)
	}
}
