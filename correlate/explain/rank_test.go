package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTheLikeliestPlaceComesFirst: two signatures for the effects of one adapter
// point to it together, though another place has the likeliest single answer.
func TestTheLikeliestPlaceComesFirst(t *testing.T) {
	sigs := []explain.Signature{
		signature("s", 0, explain.Feature{Measure: "x", Full: 1, For: 3, Against: -3}),
		signature("u", 0, explain.Feature{Measure: "y", Full: 1, For: 3, Against: -3}),
	}
	got := judge(sigs, []explain.Candidate{
		{Entity: entity("nic:a/n0"), Values: explain.Values{"x": 0.95, "y": 0}},
		{Entity: entity("nic:b/n0"), Values: explain.Values{"x": 0.9, "y": 0.9}},
	}, entity("job:train"), 8)
	if got[0].Entity != entity("nic:b/n0") || got[1].Confidence > got[0].Confidence+got[2].Confidence {
		t.Errorf("first %v (%v), then %v (%v)", got[0].Entity, got[0].Confidence, got[1].Entity, got[1].Confidence)
	}
	if got[1].Entity != entity("nic:a/n0") {
		t.Errorf("second is %v: another name of the first place comes after a likelier place", got[1].Entity)
	}
}

// TestWhatAllHostsShowAlikeIsTheJobs: where what would show it of one host is read at all of
// them, the job has what they share; where it is not read, half of that.
func TestWhatAllHostsShowAlikeIsTheJobs(t *testing.T) {
	s := signature("s", 6, explain.Feature{Measure: "x", Full: 1, For: 3, Against: -3}, explain.Feature{Measure: "y", Full: 1, For: 2, Against: -2, Roots: []telemetry.Kind{telemetry.Node}})
	s.Roots = []telemetry.Kind{telemetry.Job, telemetry.Node}
	for read, want := range map[bool][2]float64{true: {0.95, 1}, false: {0.45, 0.51}} {
		cands := []explain.Candidate{{Entity: entity("job:train"), Values: explain.Values{"x": 1}}}
		for _, host := range []string{"node:a", "node:b", "node:c"} {
			v := explain.Values{"x": 1}
			if read {
				v["y"] = 0.5
			}
			cands = append(cands, explain.Candidate{Entity: entity(host), Values: v})
		}
		got := judge([]explain.Signature{s}, cands, entity("job:train"), 8)
		if got[0].Entity != entity("job:train") || got[0].Confidence < want[0] || got[0].Confidence > want[1] {
			t.Errorf("read: %v: first %v at %v, want the job at %v", read, got[0].Entity, got[0].Confidence, want)
		}
	}
}

// TestWhatHasNoNameIsSharedByItsSuspects: that nothing fits is no evidence against
// the strongest suspect; a place that fits in part may be likelier.
func TestWhatHasNoNameIsSharedByItsSuspects(t *testing.T) {
	s := []explain.Signature{signature("s", 0, explain.Feature{Measure: "x", Full: 1, For: 3, Against: -3})}
	cands := []explain.Candidate{{Entity: entity("nic:a/n0"), Values: explain.Values{"x": 0.4}}}
	at := explain.Unnamed{At: []explain.Suspect{{Entity: entity("nic:b/n0"), Weight: 0.3}, {Entity: entity("nic:a/n0"), Weight: 0.2}}}
	got := explain.Judge(s, cands, explain.JudgeConfig{Unknown: at, Keep: 8})
	if got[0].Entity != entity("nic:a/n0") || got[0].Name() != "s" {
		t.Errorf("first is %s at %v", got[0].Name(), got[0].Entity)
	}
	whole := 1 - got[0].Confidence
	var parts []float64
	for _, a := range got {
		if a.Name() == explain.Unknown {
			parts = append(parts, a.Confidence)
		}
	}
	if len(parts) != 2 || !near(parts[0], 0.3*whole) || !near(parts[1], 0.2*whole) {
		t.Errorf("of %v unknown the suspects have %v", whole, parts)
	}
	at.At[0].Weight, at.At[1].Weight = 1, 1
	if got := explain.Judge(s, cands, explain.JudgeConfig{Unknown: at, Keep: 8}); !near(got[0].Confidence+got[1].Confidence+got[2].Confidence, 1) {
		t.Errorf("more than all is shared: %+v", got)
	}
}
