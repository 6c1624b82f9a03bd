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

// TestAFileServerIsNoHostOfTheJob: what a job's storage runs on, and the rack around it, are no
// hosts of the job's GPUs, though all of them wait for what it stores.
func TestAFileServerIsNoHostOfTheJob(t *testing.T) {
	g := topology.New()
	named := func(kind telemetry.Kind, name string) telemetry.Entity {
		return telemetry.Entity{Kind: kind, Name: name}
	}
	job, server, rack, storage := named(telemetry.Job, "train"), named(telemetry.Node, "oss1"), named(telemetry.Rack, "r9"), named(telemetry.Storage, "fs")
	for _, e := range []telemetry.Edge{
		{From: rack, To: server, Relation: telemetry.Contains},
		{From: server, To: storage, Relation: telemetry.Contains},
		{From: job, To: storage, Relation: telemetry.Uses},
		{From: named(telemetry.Node, "n0"), To: named(telemetry.GPU, "n0/0"), Relation: telemetry.Contains},
		{From: job, To: named(telemetry.GPU, "n0/0"), Relation: telemetry.Runs},
	} {
		e.Source = site.Source
		g.Add(&e)
	}
	g.Advance(1e9)
	s := Draw(g, Where{Job: job, Nodes: []telemetry.Entity{named(telemetry.Node, "n0")}})
	for _, e := range []telemetry.Entity{server, rack} {
		if i, ok := s.index[e]; ok && (s.used[i] || len(s.below(i, telemetry.GPU)) > 0) {
			t.Errorf("the job runs on %s", e)
		}
	}
	if _, ok := s.index[storage]; !ok {
		t.Errorf("the job is not coupled to %s", storage)
	}
}
