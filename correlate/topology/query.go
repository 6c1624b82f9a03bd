package topology

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// The answers below are those of the last Advance, in identity order. Slices belong
// to the graph: they must not be changed and hold until the next Advance. A query
// for an unknown entity is not an error: its answer is empty.

// Peer returns the other end of a port's or nic's cable and the cable's
// nominal speed in bits per second, 0 if it is not stated.
func (g *Graph) Peer(e telemetry.Entity) (telemetry.Entity, float64, bool) {
	v, ok := g.find(e)
	if !ok || v.peer == none {
		return telemetry.Entity{}, 0, false
	}
	return g.verts[v.peer].entity, v.speed, true
}

// Container returns what e is directly contained in: what is stated, else what its
// name implies (also for an entity the graph does not know).
func (g *Graph) Container(e telemetry.Entity) (telemetry.Entity, bool) {
	v, ok := g.find(e)
	if !ok {
		return g.home(e)
	}
	if v.inside == none {
		return telemetry.Entity{}, false
	}
	return g.verts[v.inside].entity, true
}

// Within returns the innermost entity of kind k that e is or is contained in: the
// node of a gpu, the switch of a queue.
func (g *Graph) Within(e telemetry.Entity, k telemetry.Kind) (telemetry.Entity, bool) {
	for n := 0; n < maxClimb; n++ {
		if e.Kind == k {
			return e, true
		}
		var ok bool
		if e, ok = g.Container(e); !ok {
			break
		}
	}
	return telemetry.Entity{}, false
}

// Contents returns what is contained directly in e.
func (g *Graph) Contents(e telemetry.Entity) []telemetry.Entity {
	if v, ok := g.find(e); ok {
		return v.contents
	}
	return nil
}

// contentsOf returns the contents of one kind: a part of Contents, because
// kinds order first.
func (g *Graph) contentsOf(e telemetry.Entity, k telemetry.Kind) []telemetry.Entity {
	c := g.Contents(e)
	lo, _ := slices.BinarySearchFunc(c, k, compareKind)
	n, _ := slices.BinarySearchFunc(c[lo:], k, func(e telemetry.Entity, k telemetry.Kind) int {
		if e.Kind <= k {
			return -1
		}
		return 1
	})
	return c[lo : lo+n : lo+n]
}

func compareKind(e telemetry.Entity, k telemetry.Kind) int { return cmp.Compare(e.Kind, k) }

// NICs returns the nics that are directly contained in a node.
func (g *Graph) NICs(node telemetry.Entity) []telemetry.Entity {
	return g.contentsOf(node, telemetry.NIC)
}

// GPUs returns the gpus that are directly contained in a node.
func (g *Graph) GPUs(node telemetry.Entity) []telemetry.Entity {
	return g.contentsOf(node, telemetry.GPU)
}

// Ports returns the ports of a switch.
func (g *Graph) Ports(sw telemetry.Entity) []telemetry.Entity {
	return g.contentsOf(sw, telemetry.Port)
}

// Ranks returns the ranks of a job that are entities of their own, in the
// order of their names ("10" before "2").
func (g *Graph) Ranks(job telemetry.Entity) []telemetry.Entity {
	return g.contentsOf(job, telemetry.Rank)
}

// Uplinks returns the ports of a switch whose peer is a port of another.
func (g *Graph) Uplinks(sw telemetry.Entity) []telemetry.Entity { return g.more(sw).uplinks }

// Downlinks returns the ports of a switch whose peer is a nic or a port of one.
func (g *Graph) Downlinks(sw telemetry.Entity) []telemetry.Entity { return g.more(sw).downlinks }

// NIC returns the nic that an end of a cable is, or that contains it.
func (g *Graph) NIC(end telemetry.Entity) (telemetry.Entity, bool) {
	if end.Kind == telemetry.NIC {
		return end, true
	}
	in, _ := g.Container(end)
	return in, in.Kind == telemetry.NIC
}

// Groups returns the planes, rails, tenants and groups that e is a member of.
func (g *Graph) Groups(e telemetry.Entity) []telemetry.Entity { return g.more(e).groups }

// Members returns the members of a plane, rail, tenant or group.
func (g *Graph) Members(group telemetry.Entity) []telemetry.Entity { return g.more(group).members }

// JobsOn returns the jobs that run on a node or on something in it.
func (g *Graph) JobsOn(node telemetry.Entity) []telemetry.Entity { return g.more(node).jobs }

// Placements returns where a job runs, by node, thing and rank. What is stated
// twice (by the job and by a rank, by node and by gpu) is there once.
func (g *Graph) Placements(job telemetry.Entity) []Placement { return g.more(job).placements }

// more returns a vertex's rare lists, empty ones where it has none.
func (g *Graph) more(e telemetry.Entity) lists {
	if v, ok := g.find(e); ok && v.more != nil {
		return *v.more
	}
	return lists{}
}

// RankNode returns the node that a rank runs on: as the rank states it, else
// as its job does for that rank's number.
func (g *Graph) RankNode(rank telemetry.Entity) (telemetry.Entity, bool) {
	if id, ok := g.ids[rank]; ok {
		var best *fact
		for _, f := range g.verts[id].facts {
			if f := &g.facts[f]; f.live && f.relation == runs && f.from == id && (best == nil || g.better(f, best) < 0) {
				best = f
			}
		}
		if best != nil {
			n := g.within(best.to, telemetry.Node)
			return g.entityOf(n), n != none
		}
	}
	job, ok := g.Container(rank)
	n := RankNumber(rank)
	if !ok || n < 0 {
		return telemetry.Entity{}, false
	}
	for _, p := range g.Placements(job) {
		if p.Rank == n {
			return p.Node, !p.Node.IsZero()
		}
	}
	return telemetry.Entity{}, false
}

func (g *Graph) entityOf(id int32) telemetry.Entity {
	if id == none {
		return telemetry.Entity{}
	}
	return g.verts[id].entity
}

// Entities returns every entity of a kind that telemetry or a live edge names, or
// that contains one.
func (g *Graph) Entities(k telemetry.Kind) []telemetry.Entity {
	if l := g.kinds[k]; l != nil {
		return l.entities
	}
	return nil
}

// Jobs returns every job.
func (g *Graph) Jobs() []telemetry.Entity { return g.Entities(telemetry.Job) }

// Switches returns every switch.
func (g *Graph) Switches() []telemetry.Entity { return g.Entities(telemetry.Switch) }

// Neighbour is an entity one relation away.
type Neighbour struct {
	Relation telemetry.Relation
	Entity   telemetry.Entity
	Out      bool // the relation leads from the one requested to Entity
}

func (n Neighbour) compare(o Neighbour) int {
	if c := cmp.Compare(n.Relation, o.Relation); c != 0 {
		return c
	}
	if c := n.Entity.Compare(o.Entity); c != 0 {
		return c
	}
	switch {
	case n.Out == o.Out:
		return 0
	case n.Out:
		return 1
	}
	return -1
}

// Above lists what directly contains, feeds or cools e, in no order and some of it more
// than once. What is contained in e is not above it, though it may supply it: the
// supplies of a host.
func (g *Graph) Above(e telemetry.Entity) (out []telemetry.Entity) {
	if in, ok := g.Container(e); ok {
		out = append(out, in)
	}
	if v, ok := g.find(e); ok {
		for _, o := range v.outer {
			out = append(out, g.verts[o].entity)
		}
	}
	for _, s := range append(g.supplying(e, feeds), g.supplying(e, cools)...) {
		if in, ok := g.Container(s); !ok || in != e {
			out = append(out, s)
		}
	}
	return out
}

// supplying lists what has a relation of supply to e, by fact: two sources may state one
// edge.
func (g *Graph) supplying(e telemetry.Entity, r relation) (out []telemetry.Entity) {
	v, ok := g.find(e)
	if !ok {
		return nil
	}
	id := g.ids[e]
	for _, f := range v.facts {
		if f := &g.facts[f]; f.live && f.loss == "" && f.to == id && f.relation == r {
			out = append(out, g.verts[f.from].entity)
		}
	}
	return out
}

// Neighbours returns everything one relation away from e, each once, by
// relation, entity and direction. A cable counts as going out from either end.
func (g *Graph) Neighbours(e telemetry.Entity) []Neighbour { return g.AppendNeighbours(nil, e) }

// AppendNeighbours is Neighbours without an allocation where dst has room.
func (g *Graph) AppendNeighbours(dst []Neighbour, e telemetry.Entity) []Neighbour {
	id, ok := g.ids[e]
	if !ok {
		return dst
	}
	v := &g.verts[id]
	n := len(dst)
	for _, c := range v.contents {
		dst = append(dst, Neighbour{telemetry.Contains, c, true})
	}
	if v.inside != none {
		dst = append(dst, Neighbour{telemetry.Contains, g.verts[v.inside].entity, false})
	}
	for _, o := range v.outer {
		dst = append(dst, Neighbour{telemetry.Contains, g.verts[o].entity, false})
	}
	if v.peer != none {
		dst = append(dst, Neighbour{telemetry.Connects, g.verts[v.peer].entity, true})
	}
	for _, f := range v.facts {
		f := &g.facts[f]
		if !f.live || f.relation == contains || f.relation == connects {
			continue
		}
		other := f.from ^ f.to ^ id
		dst = append(dst, Neighbour{relationNames[f.relation], g.verts[other].entity, f.from == id})
	}
	slices.SortFunc(dst[n:], Neighbour.compare)
	return dst[:n+len(slices.Compact(dst[n:]))]
}
