package topology

import (
	"slices"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// link is one end's view of its cable.
type link struct {
	peer  int32
	speed float64
}

// updateLinks pairs the ends of cables. Ends that no statement connects do not
// concern each other, so each cluster of connected ends, two where all agree,
// is decided by itself.
func (g *Graph) updateLinks() {
	g.work.pass++
	for _, id := range g.work.links {
		if g.verts[id].seen != g.work.pass {
			g.couple(g.cluster(id))
		}
	}
}

// cluster returns the ends that live cables tie to id, and those cables. Both
// are scratch.
func (g *Graph) cluster(id int32) (members, cables []int32) {
	members, cables = append(g.scratch.members[:0], id), g.scratch.facts[:0]
	g.verts[id].seen = g.work.pass
	for i := 0; i < len(members); i++ {
		for _, c := range g.verts[members[i]].facts {
			f := &g.facts[c]
			if f.relation != connects || !f.live {
				continue
			}
			if f.from == members[i] {
				cables = append(cables, c)
			}
			other := f.from ^ f.to ^ members[i]
			if g.verts[other].seen != g.work.pass {
				g.verts[other].seen = g.work.pass
				members = append(members, other)
			}
		}
	}
	g.scratch.members, g.scratch.facts = members, cables
	return members, cables
}

// couple takes cables greedily, the best first: one holds if both its ends are
// free or already joined to each other.
func (g *Graph) couple(members, cables []int32) {
	old := g.scratch.links[:0]
	for _, m := range members {
		v := &g.verts[m]
		old = append(old, link{v.peer, v.speed})
		v.peer, v.speed = none, 0
	}
	g.scratch.links = old
	slices.SortFunc(cables, func(a, b int32) int { return g.better(&g.facts[a], &g.facts[b]) })
	for _, c := range cables {
		g.join(&g.facts[c])
	}
	for i, m := range members {
		v := &g.verts[m]
		if (link{v.peer, v.speed}) == old[i] {
			continue
		}
		g.changed = true
		if s := g.switchOf(m); s != none && v.entity.Kind == telemetry.Port {
			g.mark(s, markPorts)
		}
	}
}

func (g *Graph) join(f *fact) {
	a, b := &g.verts[f.from], &g.verts[f.to]
	joined := a.peer == f.to
	if !joined && (a.peer != none || b.peer != none) {
		g.lose(f, FaultTwoPeers)
		return
	}
	g.lose(f, "")
	a.peer, b.peer = f.to, f.from
	if a.speed == 0 {
		a.speed = speedOf(f.attrs)
		b.speed = a.speed
	}
}

// speedOf reads a cable's speed in bits per second, 0 where it is not stated
// or not a positive number.
func speedOf(attrs []telemetry.Attr) float64 {
	s, err := strconv.ParseFloat(attr(attrs, telemetry.AttrSpeed), 64)
	if err != nil || !(s > 0) || s > 1e18 {
		return 0
	}
	return s
}

func attr(attrs []telemetry.Attr, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// listPorts rebuilds a switch's uplinks (to a port of another switch) and
// downlinks (to a nic).
func (g *Graph) listPorts(id int32) {
	if g.verts[id].entity.Kind != telemetry.Switch {
		return
	}
	l := g.verts[id].lists()
	l.uplinks, l.downlinks = l.uplinks[:0], l.downlinks[:0]
	for _, c := range g.verts[id].children {
		p := &g.verts[c]
		if p.entity.Kind != telemetry.Port || p.peer == none {
			continue
		}
		if _, ok := g.NIC(g.verts[p.peer].entity); ok {
			l.downlinks = append(l.downlinks, p.entity)
		} else if s := g.switchOf(p.peer); s != none && s != id {
			l.uplinks = append(l.uplinks, p.entity)
		}
	}
}

// switchOf returns the switch that directly contains a port.
func (g *Graph) switchOf(port int32) int32 {
	v := &g.verts[port]
	if v.inside != none && g.verts[v.inside].entity.Kind == telemetry.Switch {
		return v.inside
	}
	for _, o := range v.outer {
		if g.verts[o].entity.Kind == telemetry.Switch {
			return o
		}
	}
	return none
}

// listGroups rebuilds what a vertex is a member of and what is a member of it.
func (g *Graph) listGroups(id int32) {
	l := g.verts[id].lists()
	l.groups, l.members = l.groups[:0], l.members[:0]
	for _, f := range g.verts[id].facts {
		f := &g.facts[f]
		switch {
		case !f.live || f.relation != member:
		case f.from == id:
			l.groups = append(l.groups, g.verts[f.to].entity)
		default:
			l.members = append(l.members, g.verts[f.from].entity)
		}
	}
	l.groups, l.members = sorted(l.groups), sorted(l.members)
}

// sorted puts entities in order, each once.
func sorted(es []telemetry.Entity) []telemetry.Entity {
	slices.SortFunc(es, telemetry.Entity.Compare)
	return slices.Compact(es)
}
