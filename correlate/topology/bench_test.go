package topology

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// reference lists the edges of the reference site: 2,048 nodes of 8 nics and 8
// gpus in 64 racks, 768 switches of 64 ports in 8 planes, every port cabled,
// and jobs of 64 nodes on every gpu.
func reference() []telemetry.Edge {
	var es []telemetry.Edge
	e := func(kind telemetry.Kind, format string, args ...any) telemetry.Entity {
		return telemetry.Entity{Kind: kind, Name: fmt.Sprintf(format, args...)}
	}
	add := func(from telemetry.Entity, r telemetry.Relation, to telemetry.Entity, attrs ...telemetry.Attr) {
		es = append(es, telemetry.Edge{From: from, Relation: r, To: to, Start: second, Received: 60 * second, Source: "lldp", Attrs: attrs})
	}
	speed := telemetry.Attr{Key: telemetry.AttrSpeed, Value: "400000000000"}
	for n := range 2048 {
		node := e(telemetry.Node, "n%04d", n)
		add(e(telemetry.Rack, "r%02d", n/32), telemetry.Contains, node)
		job := e(telemetry.Job, "j%d", n/64)
		for k := range 8 {
			gpu, nic := e(telemetry.GPU, "n%04d/%d", n, k), e(telemetry.NIC, "n%04d/mlx5_%d", n, k)
			add(node, telemetry.Contains, gpu)
			add(node, telemetry.Contains, nic)
			add(gpu, telemetry.Pairs, nic)
			add(job, telemetry.Runs, gpu)
			add(e(telemetry.Rank, "j%d/%d", n/64, n%64*8+k), telemetry.Runs, gpu)
			add(nic, telemetry.Connects, e(telemetry.Port, "p%d-leaf%02d/eth%d", k, n/32, n%32), speed)
		}
	}
	for plane := range 8 {
		for leaf := range 64 {
			sw := e(telemetry.Switch, "p%d-leaf%02d", plane, leaf)
			add(sw, telemetry.Member, e(telemetry.Plane, "%d", plane))
			for p := range 64 {
				add(sw, telemetry.Contains, e(telemetry.Port, "%s/eth%d", sw.Name, p))
				if p >= 32 {
					add(e(telemetry.Port, "%s/eth%d", sw.Name, p), telemetry.Connects, e(telemetry.Port, "p%d-spine%02d/eth%d", plane, p-32, leaf), speed)
				}
			}
		}
		for spine := range 32 {
			sw := e(telemetry.Switch, "p%d-spine%02d", plane, spine)
			for p := range 64 {
				add(sw, telemetry.Contains, e(telemetry.Port, "%s/eth%d", sw.Name, p))
			}
		}
	}
	return es
}

func built(es []telemetry.Edge) *Graph {
	g := New()
	for i := range es {
		g.Add(&es[i])
	}
	g.Advance(60 * second)
	return g
}

func TestReferenceSize(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	g := built(reference())
	for k, want := range map[telemetry.Kind]int{telemetry.Port: 49152, telemetry.NIC: 16384, telemetry.Node: 2048, telemetry.Switch: 768} {
		if n := len(g.Entities(k)); n != want {
			t.Errorf("%d of kind %s, want %d", n, k, want)
		}
	}
	if n := len(g.Uplinks(ent("switch:p3-leaf07"))); n != 32 {
		t.Errorf("%d uplinks", n)
	}
	if n := len(g.Placements(ent("job:j5"))); n != 512 {
		t.Errorf("%d placements", n)
	}
	if c := g.Contradictions(); len(c) != 0 {
		t.Errorf("%d contradictions, first %+v", len(c), c[0])
	}
}

func BenchmarkBuildReference(b *testing.B) {
	es := reference()
	b.ReportMetric(float64(len(es)), "edges")
	b.ReportAllocs()
	for b.Loop() {
		built(es)
	}
}

func BenchmarkRenewReference(b *testing.B) {
	es := reference()
	g := built(es)
	at := 60 * second
	for b.Loop() {
		at += 60 * second
		for i := range es {
			es[i].Received = at
			g.Add(&es[i])
		}
		g.Advance(at)
	}
}

// BenchmarkJobChange moves one job of 512 gpus to start and to end.
func BenchmarkJobChange(b *testing.B) {
	g := built(reference())
	at := 60 * second
	for b.Loop() {
		for i := range 512 {
			e := telemetry.Edge{From: ent("job:new"), To: ent(fmt.Sprintf("gpu:n%04d/%d", i/8, i%8)), Relation: telemetry.Runs, Source: "slurm", Start: at, End: at + 10*second}
			g.Add(&e)
		}
		g.Advance(at)
		g.Advance(at + 10*second)
		at += 20 * second
	}
}

func BenchmarkQuietAdvance(b *testing.B) {
	g := built(reference())
	at := 60 * second
	for b.Loop() {
		at++
		g.Advance(at)
	}
}

func BenchmarkQueries(b *testing.B) {
	g := built(reference())
	port, leaf, node, job := ent("port:p3-leaf07/eth40"), ent("switch:p3-leaf07"), ent("node:n0100"), ent("job:j5")
	ask := map[string]func(){
		"Peer":       func() { g.Peer(port) },
		"Container":  func() { g.Container(port) },
		"Contents":   func() { g.Contents(leaf) },
		"Uplinks":    func() { g.Uplinks(leaf) },
		"NICs":       func() { g.NICs(node) },
		"JobsOn":     func() { g.JobsOn(node) },
		"Placements": func() { g.Placements(job) },
		"Neighbours": func() { g.Neighbours(leaf) },
	}
	for _, name := range []string{"Peer", "Container", "Contents", "Uplinks", "NICs", "JobsOn", "Placements", "Neighbours"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask[name]()
			}
		})
	}
}

func BenchmarkSnapshotReference(b *testing.B) {
	g := built(reference())
	var n int
	for b.Loop() {
		w := snapshot.NewWriter()
		g.Snapshot(w)
		n = len(w.Data())
	}
	b.ReportMetric(float64(n), "bytes")
}
