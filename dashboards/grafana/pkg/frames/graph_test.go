package frames

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// site is a fabric of n nodes with eight NICs each, every NIC in a port of its
// leaf of 32 nodes.
func site(n int) *client.Topology {
	t := &client.Topology{}
	add := func(from, to, rel string) { t.Edges = append(t.Edges, client.Edge{From: from, To: to, Rel: rel}) }
	for i := range n {
		node, leaf := fmt.Sprintf("node:n%d", i), fmt.Sprintf("leaf%d", i/32)
		add("job:train", node, "runs")
		for k := range 8 {
			nic, port := fmt.Sprintf("nic:n%d/nic%d", i, k), fmt.Sprintf("port:%s/p%d", leaf, 8*(i%32)+k)
			add(node, nic, "contains")
			add(nic, port, "connects")
			add("switch:"+leaf, port, "contains")
		}
	}
	return t
}

func field(t *testing.T, f *data.Frame, name string) *data.Field {
	t.Helper()
	k, _ := f.FieldByName(name)
	if k == nil {
		t.Fatalf("frame %s has no field %s", f.Name, name)
	}
	return k
}

// However large a site is, the graph has at most as many nodes as Grafana draws,
// every edge ends at a node, none at the same it began at, the centre remains a
// node of its own, and a node that replaces others has their number: none is lost.
func TestAGraphIsNeverTooLarge(t *testing.T) {
	for _, n := range []int{1, 32, 80, 200, 2000} {
		topo := site(n)
		const centre = "nic:n0/nic3"
		all := entitiesOf(topo)
		got := Topology(topo, centre)
		nodes, edges := got[0], got[1]
		if nodes.Rows() > MaxNodes {
			t.Errorf("%d nodes: %d drawn, want at most %d", n, nodes.Rows(), MaxNodes)
		}
		if aggregated := nodes.Rows() < len(all); aggregated != (len(nodes.Meta.Notices) > 0) {
			t.Errorf("%d nodes: %d of %d drawn, %d remarks", n, nodes.Rows(), len(all), len(nodes.Meta.Notices))
		}
		ids := map[string]bool{}
		stood := 0
		for r := range nodes.Rows() {
			id := field(t, nodes, "id").At(r).(string)
			if ids[id] {
				t.Errorf("%d nodes: %s is drawn twice", n, id)
			}
			ids[id] = true
			members := 1
			if s := field(t, nodes, "mainstat").At(r).(string); s != "" {
				if _, err := fmt.Sscan(s, &members); err != nil {
					t.Fatal(err)
				}
			}
			stood += members
		}
		if stood != len(all) {
			t.Errorf("%d nodes: what is drawn stands for %d entities of %d", n, stood, len(all))
		}
		if !ids[centre] {
			t.Errorf("%d nodes: the centre is not drawn", n)
		}
		for r := range edges.Rows() {
			from, to := field(t, edges, "source").At(r).(string), field(t, edges, "target").At(r).(string)
			if !ids[from] || !ids[to] || from == to {
				t.Fatalf("%d nodes: an edge from %s to %s", n, from, to)
			}
		}
	}
}

// The waterfall starts at the whole; each known part begins where the one before
// ended; and it ends at nothing, achieved being its last part.
func TestTheWaterfallAddsUp(t *testing.T) {
	part := func(name string, seconds float64) client.PartAmount {
		return client.PartAmount{Part: name, GPUSeconds: &seconds}
	}
	b := &client.AttributeBudget{GPUSeconds: 1000, Parts: []client.PartAmount{part("restarts", 100), {Part: "memory"}, part("heat", 250)}, Unexplained: client.Amount{GPUSeconds: 350}, Achieved: &client.Amount{GPUSeconds: 300}}
	f := BudgetWaterfall(b)
	left := 1000.0
	for r := range f.Rows() {
		spent, _ := field(t, f, "gpu_seconds").ConcreteAt(r)
		from, known := field(t, f, "from").ConcreteAt(r)
		to, _ := field(t, f, "to").ConcreteAt(r)
		if name := field(t, f, "part").At(r).(string); (name != "memory") != known {
			t.Errorf("%s: known: %v", name, known)
		}
		if !known {
			continue
		}
		if from != left || math.Abs(from.(float64)-spent.(float64)-to.(float64)) > 1e-9 {
			t.Errorf("row %d: from %v to %v, spent %v, before it %v were left", r, from, to, spent, left)
		}
		left = to.(float64)
	}
	if left != 0 {
		t.Errorf("%v are left, want nothing", left)
	}
}

// A source's lane is "silent" exactly where a naive evaluation of the gaps has no
// data.
func TestLanes(t *testing.T) {
	zero := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	minute := func(m int) time.Time { return zero.Add(time.Duration(m) * time.Minute) }
	gap := func(from, to int) client.Gap {
		g := client.Gap{Collector: "c", Target: "t", Part: "p", From: minute(from)}
		if to > 0 {
			end := minute(to)
			g.To = &end
		}
		return g
	}
	for name, gaps := range map[string][]client.Gap{
		"none":                    nil,
		"one":                     {gap(20, 30)},
		"goes on":                 {gap(50, 0)},
		"began before":            {gap(-20, 15)},
		"ends after":              {gap(40, 100)},
		"the whole":               {gap(-5, 0)},
		"two, the newest first":   {gap(40, 45), gap(10, 20)},
		"one ends as one begins":  {gap(20, 30), gap(30, 40)},
		"before and after":        {gap(-30, -10), gap(80, 90)},
		"ends where the range is": {gap(-30, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			c := &client.SourceList{Sources: []client.Source{{Collector: "c", Target: "t", Part: "p"}}, Gaps: gaps}
			f := Timeline(c, minute(0), minute(60))[0]
			at, state := f.Fields[0], f.Fields[1]
			for m := range 60 {
				// Between the minutes, so that ends are no matter.
				moment := minute(m).Add(30 * time.Second)
				want := receiving
				for _, g := range gaps {
					if g.From.Before(moment) && (g.To == nil || g.To.After(moment)) {
						want = noData
					}
				}
				got := ""
				for r := range at.Len() {
					if !at.At(r).(time.Time).After(moment) {
						got = state.At(r).(string)
					}
				}
				if got != want {
					t.Errorf("minute %d: %q, want %q", m, got, want)
				}
			}
			for r := 1; r < at.Len(); r++ {
				if !at.At(r).(time.Time).After(at.At(r - 1).(time.Time)) {
					t.Errorf("row %d is not after the one before", r)
				}
			}
		})
	}
}

// A filter lets pass what it names; an empty one, everything.
func TestFilters(t *testing.T) {
	i := &client.Incident{Severity: "warning", Kind: "incident", Root: &client.Root{Entity: "nic:h9/nic0", Domain: "network", Signature: "slow-receiver"}}
	i.Impact.Jobs = []client.JobImpact{{Job: "job:train"}}
	i.Chain = []client.Link{{Entity: "port:leaf1/p2"}}
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Severities: []string{"critical", "warning"}}, true},
		{Filter{Severities: []string{"critical"}}, false},
		{Filter{Domains: []string{"network"}, Job: "train"}, true},
		{Filter{Domains: []string{"network"}, Job: "job:train"}, true},
		{Filter{Domains: []string{"network"}, Job: "tra"}, false},
		{Filter{Entity: "port:leaf1/p2", Signature: "slow-receiver", Kinds: []string{"incident"}}, true},
		{Filter{Entity: "port:leaf1/p3"}, false},
		{Filter{Kinds: []string{"risk"}}, false},
		{Filter{Signature: "pfc-storm"}, false},
	} {
		if got := c.f.Passes(i); got != c.want {
			t.Errorf("%+v: %v, want %v", c.f, got, c.want)
		}
	}
	if (Filter{Domains: []string{"network"}}).Passes(&client.Incident{}) {
		t.Error("an incident without a known root is in no domain")
	}
}
