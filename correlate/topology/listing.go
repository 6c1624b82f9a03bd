package topology

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// ListQuery selects the entities of one kind, page by page.
type ListQuery struct {
	Kind   telemetry.Kind
	Inside telemetry.Entity // zero: wherever they are; else those directly in it
	After  string           // a name: those that follow it; "" begins
	Limit  int
}

// Detail is an entity with what is one relation away from it. Nothing in it is
// shared with the graph.
type Detail struct {
	Entity    telemetry.Entity
	Inside    telemetry.Entity   // zero: in nothing
	Groups    []telemetry.Entity // planes, rails, tenants, groups
	Peer      telemetry.Entity   // the other end of its cable
	Speed     float64            // of the cable, bits per second; 0: not stated
	FedBy     []telemetry.Entity // what gives it power
	CooledBy  []telemetry.Entity
	Jobs      []telemetry.Entity // that run on it, of a node
	Downlinks int                // of a switch: ports whose peer is a nic or a port of one
	Uplinks   int                // and those whose peer is another switch's port
}

// List returns entities of a kind in the order of their names, and whether there
// are more.
func (g *Graph) List(q ListQuery) ([]Detail, bool) {
	all := g.Entities(q.Kind)
	if !q.Inside.IsZero() {
		all = g.contentsOf(q.Inside, q.Kind)
	}
	if q.After != "" {
		at, found := slices.BinarySearchFunc(all, telemetry.Entity{Kind: q.Kind, Name: q.After}, telemetry.Entity.Compare)
		if found {
			at++
		}
		all = all[at:]
	}
	more := len(all) > q.Limit
	out := make([]Detail, 0, min(len(all), q.Limit))
	for _, e := range all[:min(len(all), q.Limit)] {
		out = append(out, g.detail(e))
	}
	return out, more
}

func (g *Graph) detail(e telemetry.Entity) Detail {
	d := Detail{Entity: e, Groups: slices.Clone(g.Groups(e)), Jobs: slices.Clone(g.JobsOn(e)), Downlinks: len(g.Downlinks(e)), Uplinks: len(g.Uplinks(e))}
	d.Inside, _ = g.Container(e)
	d.Peer, d.Speed, _ = g.Peer(e)
	d.FedBy, d.CooledBy = distinctly(g.supplying(e, feeds)), distinctly(g.supplying(e, cools))
	return d
}

// distinctly puts entities in identity order, each once: two sources may state
// one edge.
func distinctly(es []telemetry.Entity) []telemetry.Entity {
	slices.SortFunc(es, telemetry.Entity.Compare)
	return slices.Compact(es)
}
