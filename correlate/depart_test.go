package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestARelapseThatIsAnotherFaultDeparts: a degradation that opened an incident again
// while its cause was not sure, and is sure of one elsewhere later, becomes an
// incident of its own; the one before is resolved with the root that it had.
func TestARelapseThatIsAnotherFaultDeparts(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	incident := func(where telemetry.Entity, signature string, confidence float64) explain.Incident {
		return explain.Incident{ID: "inc-1", State: explain.StateOpen, Revision: 3, Reopens: 1,
			Root: explain.Root{Entity: where, Domain: telemetry.Power, Signature: signature, Confidence: confidence}}
	}
	for name, c := range map[string]struct {
		was, now explain.Incident
		want     bool
	}{
		"sure of another place":   {incident(node("a"), "cap", 1), incident(node("b"), "jitter", .84), true},
		"not sure of it":          {incident(node("a"), "cap", 1), incident(node("b"), "jitter", .4), false},
		"the first was not sure":  {incident(node("a"), "cap", .8), incident(node("b"), "jitter", .84), false},
		"another name, one place": {incident(node("a"), "cap", 1), incident(node("a"), "jitter", .84), false},
		"nothing is known of it":  {incident(node("a"), "cap", 1), incident(node("b"), explain.Unknown, .84), false},
	} {
		for _, reopens := range []int{0, 1} {
			e, err := New(Config{Site: "s"})
			if err != nil {
				t.Fatal(err)
			}
			x := &incidentCase{job: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, published: c.was, incident: c.now}
			x.incident.Reopens = reopens
			want := c.want && reopens > 0 // one that was never resolved corrects its root
			if got := e.incidents.departs(x); got != want {
				t.Errorf("%s, %d reopens: %v", name, reopens, got)
			}
			if !want {
				continue
			}
			e.incidents.depart(x, 500e9)
			last := e.incidents.out.Incidents
			if len(last) != 1 || last[0].ID != "inc-1" || last[0].State != explain.StateResolved || last[0].Revision != 4 || last[0].Root.Entity != node("a") {
				t.Errorf("the one before: %+v", last)
			}
			if in := &x.incident; in.ID == "inc-1" || in.SplitFrom == nil || *in.SplitFrom != "inc-1" || in.Reopens != 0 || x.published.Revision != 0 {
				t.Errorf("its own: %+v", in)
			}
			if e.incidents.departs(x) {
				t.Error("it departs again")
			}
		}
	}
}

// TestAPlaceInTheNetwork: what one link does is seen at many, so that a guess of
// another link is the same place; one of which the case is very sure is not, unless it
// is the other end of the cable.
func TestAPlaceInTheNetwork(t *testing.T) {
	port := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Port, Name: name} }
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	e.Step(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: port("leaf0/1"), Relation: telemetry.Connects, To: port("spine0/1")}})
	e.sight.graph.Advance(1)
	at := func(name string, confidence float64) *explain.Incident {
		return &explain.Incident{Root: explain.Root{Entity: port(name), Domain: telemetry.Network, Signature: "link-errors", Confidence: confidence}}
	}
	for name, c := range map[string]struct {
		was, now *explain.Incident
		same     bool
	}{
		"sure of two links":       {at("leaf0/1", .97), at("leaf7/3", .96), false},
		"the new one is a guess":  {at("leaf0/1", .97), at("leaf7/3", .6), true},
		"the old one was a guess": {at("leaf0/1", .6), at("leaf7/3", .96), true},
		"the other end of one":    {at("leaf0/1", .97), at("spine0/1", .96), true},
		"the same":                {at("leaf0/1", .97), at("leaf0/1", .96), true},
	} {
		if got := e.incidents.samePlace(c.was, c.now); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}
