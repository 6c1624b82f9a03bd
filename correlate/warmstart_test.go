package correlate_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// takeOver plays a story without output to the given second, restores in the engine
// what change makes of its own incidents, and returns what it publishes from there
// on.
func takeOver(t *testing.T, text string, second int, change func(own []explain.Incident) []explain.Incident) []explain.Incident {
	t.Helper()
	s, err := scenario.Parse("storms", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := standard(t)
	var out []explain.Incident
	start, inherited := telemetry.Time(0), false
	for _, r := range s.Records() {
		if r.Kind == telemetry.TickRecord {
			if start == 0 {
				start = r.Tick.At
			}
			if !inherited && r.Tick.At >= start.Add(telemetry.Duration(second)*1e9) {
				inherited = true
				e.WarmStart(change(e.Live()))
			}
		}
		if got := e.Step(r).Incidents; inherited {
			out = append(out, got...)
		}
	}
	if !inherited {
		t.Fatal("the story was over before")
	}
	return out
}

// told returns the incidents that still list a job, by id.
func told(all []explain.Incident) map[string]explain.Incident {
	out := latest(all)
	for id, in := range out {
		if len(in.Impact.Jobs) == 0 {
			delete(out, id)
		}
	}
	return out
}

// TestOneRestoredIncidentOfTwoJobsStaysOne: the engine that takes over knows both
// jobs' trouble, and another engine's name for it.
func TestOneRestoredIncidentOfTwoJobsStaysOne(t *testing.T) {
	out := takeOver(t, storms(200, 90), 112, func(own []explain.Incident) []explain.Incident {
		if len(own) != 1 || len(own[0].Impact.Jobs) != 2 {
			t.Fatalf("%d incidents before: the story is another", len(own))
		}
		held := own[0]
		held.ID, held.Revision, held.Opened = "inc-00000000000000cc", 5, held.Opened.Add(-3e9)
		return []explain.Incident{held}
	})
	all := told(out)
	in, ok := all["inc-00000000000000cc"]
	if !ok || len(all) != 1 {
		t.Fatalf("%d incidents tell of the storm, the held one %v", len(all), ok)
	}
	if in.State != explain.StateResolved || *in.Resolution != "recovered" || len(in.Impact.Jobs) != 2 || in.Revision < 6 {
		t.Errorf("revision %d: %s, %v, of %d jobs", in.Revision, in.State, in.Resolution, len(in.Impact.Jobs))
	}
}

// TestAJobOfNoRestoredIncidentJoinsItsPrimary: what the engine found out
// about a second job is news.
func TestAJobOfNoRestoredIncidentJoinsItsPrimary(t *testing.T) {
	out := takeOver(t, storms(200, 90), 112, func(own []explain.Incident) []explain.Incident {
		held := own[0]
		held.ID, held.Revision = "inc-00000000000000cc", 2
		held.Impact.Jobs = held.Impact.Jobs[:1]
		return []explain.Incident{held}
	})
	if len(out) == 0 || out[0].ID != "inc-00000000000000cc" || out[0].Revision != 3 || len(out[0].Impact.Jobs) != 2 {
		t.Errorf("first published: %+v", out)
	}
	if all := told(out); len(all) != 1 {
		t.Errorf("%d incidents tell of the storm", len(all))
	}
}

// TestTwoRestoredIncidentsOfOneRootAreMerged as any two are that come to one root.
func TestTwoRestoredIncidentsOfOneRootAreMerged(t *testing.T) {
	out := takeOver(t, storms(200, 90), 112, func(own []explain.Incident) []explain.Incident {
		a, b := own[0], own[0]
		a.ID, a.Revision, a.Opened = "inc-00000000000000aa", 2, a.Opened.Add(-2e9)
		b.ID, b.Revision = "inc-00000000000000bb", 4
		a.Impact.Jobs, b.Impact.Jobs = own[0].Impact.Jobs[:1], own[0].Impact.Jobs[1:]
		return []explain.Incident{b, a}
	})
	all := latest(out)
	older, younger := all["inc-00000000000000aa"], all["inc-00000000000000bb"]
	if younger.MergedInto == nil || *younger.MergedInto != older.ID || len(older.Impact.Jobs) != 2 || len(all) != 2 {
		t.Errorf("younger merged into %v, older tells of %d jobs, %d in all", younger.MergedInto, len(older.Impact.Jobs), len(all))
	}
}

// TestWhatNobodyPublishedIsPublishedAnew: nothing is held, so the engine's own
// incident opens with revision 1.
func TestWhatNobodyPublishedIsPublishedAnew(t *testing.T) {
	var id string
	out := takeOver(t, storms(200, 90), 112, func(own []explain.Incident) []explain.Incident {
		id = own[0].ID
		return nil
	})
	if len(out) == 0 || out[0].ID != id || out[0].Revision != 1 {
		t.Errorf("published %+v, want %s.1", out, id)
	}
}

// TestARestoredIncidentOfTheSameNameGoesOnCounting: the engines disagree whether it
// is over; they cannot disagree on its numbers.
func TestARestoredIncidentOfTheSameNameGoesOnCounting(t *testing.T) {
	out := takeOver(t, storms(200, 90), 112, func(own []explain.Incident) []explain.Incident {
		held, at, how := own[0], own[0].Opened.Add(5e9), "recovered"
		held.State, held.Resolved, held.Resolution, held.Revision = explain.StateResolved, &at, &how, 9
		held.Impact.Jobs = nil
		return []explain.Incident{held}
	})
	if len(out) == 0 || out[0].Revision != 10 || out[0].State != explain.StateOpen || out[0].Reopens != 1 {
		t.Errorf("published %+v", out)
	}
}
