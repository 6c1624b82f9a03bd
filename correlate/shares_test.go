package correlate

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTwoIncidentsOfOneJobShareItsLoss, from when the second is published until it
// is over; what neither explains is not attributed.
func TestTwoIncidentsOfOneJobShareItsLoss(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	incident := func(kind telemetry.Kind, root, signature string, d telemetry.Domain) explain.Incident {
		return explain.Incident{Revision: 1, Root: explain.Root{Entity: telemetry.Entity{Kind: kind, Name: root}, Signature: signature, Domain: d},
			Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job}}}}
	}
	c := &incidentCase{job: job, incident: incident(telemetry.GPU, "h1/0", "cold-plate", telemetry.Cooling), impact: explain.JobImpact{Job: job}}
	c.published = c.incident
	e.incidents.cases = []*incidentCase{c}
	at := telemetry.Time(1_800_000_000e9)
	e.sight.at = at.Add(60e9)
	lose := func(lost, share float64) {
		at = at.Add(1e9)
		c.impact.GPUSecondsLost, c.impact.Share = lost, share
		e.incidents.enter(c, at)
	}
	want := func(when string, plate, link, nobody float64) {
		t.Helper()
		r, err := e.Losses(24*3600e9, telemetry.Entity{})
		if err != nil {
			t.Fatal(err)
		}
		for what, x := range map[string][2]float64{"cooling": {r.Domains[4].Lost, plate}, "network": {r.Domains[2].Lost, link}, "nobody": {r.Unknown.Lost, nobody}, "all": {r.Lost, plate + link + nobody}} {
			if math.Abs(x[0]-x[1]) > 1e-9 {
				t.Errorf("%s, %s: %v, want %v", when, what, x[0], x[1])
			}
		}
	}
	lose(100, 1)
	c.concurrent = &concurrentFault{incident: incident(telemetry.Port, "leaf0/1", "link-degraded", telemetry.Network)}
	lose(150, 1)
	want("before readers know of the second", 150, 0, 0)
	c.concurrent.published = c.concurrent.incident
	c.concurrent.incident.Impact.Jobs[0].Share = 0.3
	lose(150, 0.6)
	lose(250, 0.6)
	want("with both", 150+60, 30, 10)
	lose(350, 1) // the loss alone was told anew
	want("shares add up to one", 210+70, 30+30, 10)

	k := snapshot.NewWriter()
	c.snapshot(k)
	again := &incidentCase{}
	r := snapshot.NewReader(k.Data())
	again.snapshot(r)
	if r.Err() != nil || r.Remaining() != 0 {
		t.Fatalf("%v, %d bytes left over", r.Err(), r.Remaining())
	}
	c = again
	e.incidents.cases = []*incidentCase{c}
	want("restored", 280, 60, 10)

	e.incidents.endConcurrent(c, "no longer seen", at)
	lose(450, 1)
	want("the second is over", 380, 60, 10)
	e.incidents.closeAccounts(e.incidents.cases, at)
	e.incidents.cases = nil
	want("all is over", 380, 60, 10)
}

// TestASecondIncidentHasOneConfidence: a concurrent fault that another engine published
// is stated with the confidence that it had, while it lasts and when it ends.
func TestASecondIncidentHasOneConfidence(t *testing.T) {
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	job, nic := telemetry.Entity{Kind: telemetry.Job, Name: "j"}, telemetry.Entity{Kind: telemetry.NIC, Name: "h/0"}
	restored := explain.Incident{ID: "inc-2", Revision: 2, State: explain.StateOpen, Root: explain.Root{Entity: nic, Signature: "s", Confidence: 0.8},
		Alternatives: []explain.Alternative{{Entity: nic, Signature: "u", Confidence: 0.3}}, Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job}}}}
	c := &incidentCase{job: job, published: explain.Incident{ID: "inc-1", Revision: 1, State: explain.StateOpen}}
	c.incident = c.published
	c.incident.Impact.Jobs = restored.Impact.Jobs
	c.restoreConcurrent(&restored)
	e.incidents.cases = []*incidentCase{c}
	stated := map[string]float64{}
	for _, in := range e.Live() {
		stated[in.ID] = in.Root.Confidence
	}
	if stated["inc-2"] != 0.8 {
		t.Errorf("while it lasts: %v, want 0.8", stated)
	}
	e.incidents.endConcurrent(c, "recovered", 1)
	if last := e.incidents.out.Incidents; len(last) != 1 || last[0].Root.Confidence != 0.8 || last[0].Revision != 3 {
		t.Errorf("at its end: %+v", last)
	}
}
