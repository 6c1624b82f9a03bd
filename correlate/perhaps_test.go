package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// unsure is an incident of a job that began in a second, with a root and one
// alternative.
func unsure(job string, began int, root, other string) *explain.Incident {
	at := telemetry.Interval{Earliest: telemetry.Time(began) * 1e9, Latest: telemetry.Time(began+3) * 1e9}
	entity := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.PSU, Name: name} }
	return &explain.Incident{
		Onset:        at,
		Root:         explain.Root{Entity: entity(root), Signature: "power-brake", Domain: telemetry.Power, Confidence: 0.1},
		Alternatives: []explain.Alternative{{Entity: entity(other), Signature: "power-brake"}},
		Impact:       explain.Impact{Jobs: []explain.JobImpact{{Job: telemetry.Entity{Kind: telemetry.Job, Name: job}}}},
	}
}

// Jobs that become degraded together and list each other's root are taken as
// affected by one fault, unsure as they are.
func TestUnsureIncidentsThatBeganTogetherMayBeOne(t *testing.T) {
	a := unsure("a", 100, "r0/1", "r0/2")
	for name, c := range map[string]struct {
		b    *explain.Incident
		want bool
	}{
		"the same root":          {unsure("b", 110, "r0/1", "r0/9"), true},
		"each lists the other's": {unsure("b", 110, "r0/2", "r0/1"), true},
		"nothing in common":      {unsure("b", 110, "r7/1", "r7/2"), false},
		"a minute later":         {unsure("b", 170, "r0/1", "r0/2"), false},
		"a minute earlier":       {unsure("b", 30, "r0/1", "r0/2"), false},
	} {
		if got := maybeSameRoot(a, c.b); got != c.want || maybeSameRoot(c.b, a) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, change := range map[string]func(*explain.Incident){
		"of another domain":     func(in *explain.Incident) { in.Root.Domain = telemetry.Network },
		"the job's own trouble": func(in *explain.Incident) { in.Root.Entity = in.Impact.Jobs[0].Job },
	} {
		b := unsure("b", 110, "r0/1", "r0/2")
		change(b)
		if maybeSameRoot(a, b) {
			t.Errorf("%s: taken for one", name)
		}
	}
	b := unsure("b", 110, "r0/2", "r0/9")
	b.Root.Signature, b.Root.Domain = explain.Unknown, 0
	if !maybeSameRoot(a, b) || !maybeSameRoot(b, a) {
		t.Error("one that is listed without a name at the same place is taken for another")
	}
	if b := unsure("b", 110, "r0/2", "r0/1"); alike(a, b) {
		t.Error("other roots are merged for good")
	}
}

// A job that became degraded together with another, published one is not published
// for a while: one fault may affect both.
func TestASecondJobWaitsToBePublished(t *testing.T) {
	opened := telemetry.Time(110e9)
	for name, c := range map[string]struct {
		change func(first, second *incidentCase)
		after  telemetry.Duration
		waits  bool
	}{
		"at first":                    {nil, 3e9, true},
		"a while later":               {nil, 30e9, false},
		"it stands still":             {func(_, b *incidentCase) { b.impact.State = "stalled" }, 3e9, false},
		"it was split off":            {func(_, b *incidentCase) { b.incident.SplitFrom = new(string) }, 3e9, false},
		"it was told of":              {func(_, b *incidentCase) { b.published.Revision = 1 }, 3e9, false},
		"it stands under the first":   {func(a, b *incidentCase) { b.under = a.job }, 3e9, false},
		"the first is not told of":    {func(a, _ *incidentCase) { a.published.Revision = 0 }, 3e9, false},
		"the first is well again":     {func(a, _ *incidentCase) { a.well = true }, 3e9, false},
		"the first began long before": {func(a, _ *incidentCase) { a.incident.Onset = unsure("a", 20, "r0/1", "r0/2").Onset }, 3e9, true},
		"and it is sure of its own": {func(a, b *incidentCase) {
			a.incident.Onset, b.incident.Root.Confidence = unsure("a", 20, "r0/1", "r0/2").Onset, 0.95
		}, 3e9, false},
	} {
		both := [2]*incidentCase{}
		for i, job := range []string{"a", "b"} {
			x := &incidentCase{incident: *unsure(job, 100+5*i, "r"+job, "s"+job)}
			x.job, x.impact.State, x.incident.Opened = x.incident.Impact.Jobs[0].Job, "slow", opened
			both[i] = x
		}
		both[0].published.Revision = 1
		if c.change != nil {
			c.change(both[0], both[1])
		}
		e := &caseBook{cases: both[:]}
		if got := e.waits(both[1], opened.Add(c.after)); got != c.waits {
			t.Errorf("%s: waits %v", name, got)
		}
		if e.waits(both[0], opened.Add(c.after)) && both[0].published.Revision > 0 {
			t.Errorf("%s: the first waits", name)
		}
	}
}

// A relapse that another job of the incident feels first is of that incident.
func TestARelapseIsOfEveryJobOfItsIncident(t *testing.T) {
	job := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Job, Name: name} }
	for name, want := range map[string]bool{"a": true, "b": true, "c": false} {
		e, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		was := &incidentCase{job: job("a"), incident: *unsure("a", 100, "r0/1", "r0/2"), resolved: telemetry.Time(200e9)}
		was.published.Impact.Jobs = []explain.JobImpact{{Job: job("a")}, {Job: job("b")}}
		e.incidents.past = []*incidentCase{was}
		if got := e.incidents.takeUp(&incidentCase{job: job(name)}, unsure(name, 300, "r0/1", "r0/2"), telemetry.Time(310e9)); (got != nil) != want {
			t.Errorf("%s: %v", name, got != nil)
		}
	}
}
