package explain_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// symptoms are what each suspect shows, and which entity is under which.
type symptoms struct {
	explain.Symptoms // what is not asked here
	show             map[telemetry.Entity]explain.Values
	order            []telemetry.Entity
	under            map[telemetry.Entity]telemetry.Entity // by the one above
}

func (s symptoms) Suspects() []telemetry.Entity { return s.order }

func (s symptoms) Measure(e telemetry.Entity, v explain.Values) {
	for m, x := range s.show[e] {
		v[m] = x
	}
}

func (s symptoms) Relation(cause, effect telemetry.Entity) (telemetry.Relation, bool) {
	return telemetry.Cools, s.under[cause] == effect
}

func (s symptoms) Exclude(telemetry.Entity, bool) {}
func (s symptoms) Spared(telemetry.Entity) bool   { return false }

// twoFaults is a GPU whose clock explains a part of the loss, and a host whose
// ranks explain the rest.
func twoFaults(first, second float64) (*explain.Evidence, []explain.Signature) {
	feature := func(m explain.Measure) []explain.Feature {
		return []explain.Feature{{Name: "dose", Measure: m, None: 0.05, Full: 0.2, For: 8, Against: -8, Required: true}}
	}
	sigs := []explain.Signature{
		{Name: "gpu-slow", Domain: telemetry.Computing, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.GPU}, Features: feature(explain.ClockExplained)},
		{Name: "slow-rank", Domain: telemetry.Software, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.Node}, Features: feature(explain.ComputeExcess)},
	}
	gpu, node := entity("gpu:h0/1"), entity("node:h7")
	return &explain.Evidence{Job: entity("job:train"), Degradation: &jobs.Degradation{}, Symptoms: symptoms{
		order: []telemetry.Entity{gpu, node},
		show:  map[telemetry.Entity]explain.Values{gpu: {explain.ClockExplained: first}, node: {explain.ComputeExcess: second}},
		under: map[telemetry.Entity]telemetry.Entity{},
	}}, sigs
}

func TestASecondFaultIsLookedForWhereTheFirstExplainsAPart(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second float64
		above, found  bool
	}{
		{"both explain a half", 0.5, 0.4, false, true},
		{"the first explains it all", 0.9, 0.4, false, false},
		{"the second explains next to nothing", 0.5, 0.1, false, false},
		{"the second stands under the first", 0.5, 0.4, true, false},
	} {
		e, sigs := twoFaults(c.first, c.second)
		best := explain.Answer{Entity: entity("gpu:h0/1"), Signature: &sigs[0], Values: explain.Values{explain.ClockExplained: c.first}}
		if c.above {
			e.Symptoms.(symptoms).under[best.Entity] = entity("node:h7")
		}
		answers, ok := explain.Concurrent(sigs, e, &best, nil)
		if ok != c.found {
			t.Errorf("%s: found %v", c.name, ok)
		}
		if ok && (answers[0].Entity != entity("node:h7") || answers[0].Name() != "slow-rank") {
			t.Errorf("%s: %+v", c.name, answers[0])
		}
	}
}

// TestWhatPowersMachinesDoesNotStopTheirTraffic: a brake slows every GPU of a rack
// and stops no traffic: a queue at a NIC in it is a fault of its own. A GPU in it
// that is slow is not.
func TestWhatPowersMachinesDoesNotStopTheirTraffic(t *testing.T) {
	nic, gpu, shelf := entity("nic:h0/0"), entity("gpu:h0/1"), entity("shelf:r0/a")
	feature := func(m explain.Measure) []explain.Feature {
		return []explain.Feature{{Name: "dose", Measure: m, None: 0.05, Full: 0.2, For: 8, Against: -8, Required: true}}
	}
	sigs := []explain.Signature{
		{Name: "power-brake", Domain: telemetry.Power, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.Shelf}, Features: feature(explain.ClockExplained)},
		{Name: "slow-receiver", Domain: telemetry.Network, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.NIC}, Features: feature(explain.Explained)},
		{Name: "gpu-slow", Domain: telemetry.Computing, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.GPU}, Features: feature(explain.ClockExplained)},
	}
	e := &explain.Evidence{Job: entity("job:train"), Degradation: &jobs.Degradation{}, Symptoms: symptoms{
		order: []telemetry.Entity{gpu, nic, shelf},
		show:  map[telemetry.Entity]explain.Values{shelf: {explain.ClockExplained: 1}, nic: {explain.Explained: 0.6}, gpu: {explain.ClockExplained: 1}},
		under: map[telemetry.Entity]telemetry.Entity{shelf: gpu},
	}}
	if !explain.Apart(&sigs[0], &sigs[1]) || explain.Apart(&sigs[0], &sigs[2]) || explain.Apart(&sigs[1], &sigs[2]) {
		t.Fatal("power and traffic are apart, power and a GPU's clock are not")
	}
	brake := explain.Answer{Entity: shelf, Signature: &sigs[0]}
	for _, above := range []telemetry.Entity{gpu, nic} {
		e.Symptoms.(symptoms).under[shelf] = above
		answers := explain.Without(sigs, e, explain.Remainder{Root: &brake, Alone: explain.Alone})
		for _, a := range answers {
			if a.Entity == shelf || above == gpu && a.Entity == gpu {
				t.Errorf("over %s: the brake leaves %s at %s", above, a.Name(), a.Entity)
			}
		}
		if answers[0].Entity != nic && above == gpu || !e.Certain(answers) && above == gpu {
			t.Errorf("over %s: %+v", above, answers[0])
		}
		if above == nic && !holds(answers, nic) {
			t.Errorf("the NIC under the brake is taken away with it")
		}
	}
}

// TestASecondFaultIsRarerWhereTheFirstExplainsAll: what would be certain as the rest of
// a loss is not as a fault that began by chance while another lasts.
func TestASecondFaultIsRarerWhereTheFirstExplainsAll(t *testing.T) {
	e, sigs := twoFaults(0.5, 0.4)
	best := explain.Answer{Entity: entity("gpu:h0/1"), Signature: &sigs[0], Values: explain.Values{explain.ClockExplained: 0.5}}
	score := explain.Without(sigs, e, explain.Remainder{Root: &best})[0].Score
	for _, c := range []struct {
		alone float64
		want  bool
	}{{score - 4, true}, {score - 4 + explain.StillAlone - explain.Alone, false}} {
		if got := e.Certain(explain.Without(sigs, e, explain.Remainder{Root: &best, Alone: c.alone})); got != c.want {
			t.Errorf("an answer of %.1f beside %.1f that there is none: certain %v, want %v", score, c.alone, got, c.want)
		}
	}
}

func holds(answers []explain.Answer, x telemetry.Entity) bool {
	return slices.ContainsFunc(answers, func(a explain.Answer) bool { return a.Entity == x })
}

// TestWhatLiesOnTheChainIsNoSecondFault: entities on the chain of the first fault
// belong to it.
func TestWhatLiesOnTheChainIsNoSecondFault(t *testing.T) {
	e, sigs := twoFaults(0.5, 0.4)
	best := explain.Answer{Entity: entity("gpu:h0/1"), Signature: &sigs[0], Values: explain.Values{explain.ClockExplained: 0.5}}
	if _, ok := explain.Concurrent(sigs, e, &best, []explain.Link{{Entity: entity("node:h7")}}); ok {
		t.Error("a link of the chain is a second fault")
	}
}

// TestAPartOfALoss: the step without this root is shorter by that part of the loss.
func TestAPartOfALoss(t *testing.T) {
	now, expected := 5.0, 3.0
	j := explain.JobImpact{Now: &now, Expected: &expected, Share: 1}
	for share, want := range map[float64]float64{1: 3, 0.25: 4.5, 0: 5} {
		p := j.Part(share)
		if p.Share != share || !near(*p.Expected, want) || math.Abs(*p.Slowdown-5/want) > 1e-5 {
			t.Errorf("a share of %v: %v, expected %v, slowdown %v", share, p.Share, *p.Expected, *p.Slowdown)
		}
	}
	if p := (explain.JobImpact{}).Part(0.5); p.Share != 0.5 || p.Expected != nil {
		t.Errorf("of a stalled job: %+v", p)
	}
}

// TestAnUnnamedCauseCompetesWithAWeakMatch: what accounts for the loss and has no
// signature prevails over a weak match, not over a strong one.
func TestAnUnnamedCauseCompetesWithAWeakMatch(t *testing.T) {
	e, sigs := twoFaults(0, 0)
	e.Suspects = []explain.Suspect{{Entity: entity("loop:l0"), Weight: 1, Accounts: 1}}
	for explained, want := range map[float64]string{0.12: explain.Unknown, 0.2: "gpu-slow"} {
		cands := []explain.Candidate{{Entity: entity("gpu:h0/1"), Values: explain.Values{explain.ClockExplained: explained}}}
		if got := explain.Judge(sigs, cands, explain.JudgeConfig{Unknown: e.Unnamed(), Keep: 3}); got[0].Name() != want {
			t.Errorf("a dose of %v: %s at %v", explained, got[0].Name(), got[0].Entity)
		}
	}
	e.Suspects[0].Accounts = 0
	if u := e.Unnamed(); u.Score != 0 || len(u.At) != 1 {
		t.Errorf("what accounts for nothing has %v", u)
	}
}

// TestWhatIsNotMeasuredIsNotKnownToCostAnything: a second fault may explain a loss that
// nothing measures the causes of; that it does is known of a measured part alone.
func TestWhatIsNotMeasuredIsNotKnownToCostAnything(t *testing.T) {
	s := &explain.Signature{Features: []explain.Feature{{Measure: explain.ClockExplained}}}
	for name, c := range map[string]struct {
		values              explain.Values
		explained, measured bool
	}{
		"not seen": {explain.Values{}, true, false}, "a part": {explain.Values{explain.ClockExplained: 0.4}, true, true},
		"hardly any": {explain.Values{explain.ClockExplained: 0.1}, false, false},
	} {
		a := &explain.Answer{Signature: s, Values: c.values}
		if a.Explained() != c.explained || a.Measured() != c.measured {
			t.Errorf("%s: explained %v, measured %v", name, a.Explained(), a.Measured())
		}
	}
}
