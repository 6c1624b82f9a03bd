package symptom

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestWhatIsUnderAHostIsItsOwn: NICs of one plane behave alike, but nothing of
// another host is under this one.
func TestWhatIsUnderAHostIsItsOwn(t *testing.T) {
	cfg := site.Sized(64)
	lab, err := site.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := topology.New()
	var nodes []telemetry.Entity
	for e := range lab.Edges {
		g.Add(&e)
	}
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	for n := range lab.Nodes {
		nodes = append(nodes, site.NodeName(n))
		g.Add(&telemetry.Edge{From: job, To: site.NodeName(n), Relation: telemetry.Runs, Source: site.Source})
	}
	g.Advance(1e9)
	s := Draw(g, Where{Job: job, Nodes: nodes})
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.GPU} {
		if n := len(s.below(s.index[nodes[2]], kind)); n != lab.GPUs {
			t.Errorf("%d of kind %s under a host, want %d", n, kind, lab.GPUs)
		}
	}
	plane := telemetry.Entity{Kind: telemetry.Plane, Name: "3"}
	if n := len(s.below(s.index[plane], telemetry.NIC)); n != lab.Nodes {
		t.Errorf("%d nics under a plane, want %d", n, lab.Nodes)
	}
}
