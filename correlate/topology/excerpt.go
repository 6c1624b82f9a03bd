package topology

import (
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// FromName is the source of a containment that is implied by a name and not stated.
const FromName = "name"

// EdgeView is an edge in force, as people look at it.
type EdgeView struct {
	telemetry.Edge
	Stale bool // it has not been renewed for StaleAfter
}

// Excerpt is a part of the graph for people. Its edges' attributes are shared
// with the graph.
type Excerpt struct {
	Entities  []telemetry.Entity // in identity order
	Edges     []EdgeView         // in order, each once
	Truncated bool               // there are more than were requested
}

// KindCount is how many entities of a kind there are.
type KindCount struct {
	Kind  telemetry.Kind
	Count int
}

// Count returns how many entities of each kind exist, by kind.
func (g *Graph) Count() []KindCount {
	var out []KindCount
	for _, k := range slices.Sorted(maps.Keys(g.kinds)) {
		if n := len(g.kinds[k].entities); n > 0 {
			out = append(out, KindCount{k, n})
		}
	}
	return out
}

// Whole returns the edges in force, the first limit in the order of the entity they
// lead from. It lists no entities: Count returns how many there are.
func (g *Graph) Whole(limit int) Excerpt {
	x := excerpt{g: g, limit: limit}
	for _, k := range slices.Sorted(maps.Keys(g.kinds)) {
		for _, e := range g.kinds[k].entities {
			if x.out.Truncated {
				return x.done()
			}
			x.leaving(g.ids[e])
		}
	}
	return x.done()
}

// Around returns what is within so many relations of e, at most limit entities and
// limit edges, the nearest first. An entity that does not exist has nothing around
// it.
func (g *Graph) Around(e telemetry.Entity, hops, limit int) Excerpt {
	x := excerpt{g: g, limit: limit}
	if _, ok := g.find(e); !ok {
		return x.done()
	}
	seen := map[telemetry.Entity]bool{e: true}
	ring := []telemetry.Entity{e}
	x.out.Entities = append(x.out.Entities, e)
	for range hops {
		var next []telemetry.Entity
		for _, at := range ring {
			x.touching(g.ids[at])
			for _, n := range g.Neighbours(at) {
				if !seen[n.Entity] && x.meet(n.Entity) {
					seen[n.Entity] = true
					next = append(next, n.Entity)
				}
			}
		}
		ring = next
	}
	return x.done()
}

// excerpt collects an Excerpt.
type excerpt struct {
	g     *Graph
	limit int
	taken map[int32]bool // facts
	out   Excerpt
}

func (x *excerpt) done() Excerpt {
	slices.SortFunc(x.out.Entities, telemetry.Entity.Compare)
	slices.SortFunc(x.out.Edges, func(a, b EdgeView) int { return a.Compare(&b.Edge) })
	x.out.Edges = slices.CompactFunc(x.out.Edges, func(a, b EdgeView) bool { return a.Compare(&b.Edge) == 0 })
	return x.out
}

// meet adds an entity, and reports whether there was room.
func (x *excerpt) meet(e telemetry.Entity) bool {
	if len(x.out.Entities) >= x.limit {
		x.out.Truncated = true
		return false
	}
	x.out.Entities = append(x.out.Entities, e)
	return true
}

// leaving adds the edges that lead from a vertex.
func (x *excerpt) leaving(id int32) {
	for _, f := range x.inOrder(id) {
		if x.g.facts[f].from == id {
			x.fact(f)
		}
	}
	for _, c := range x.g.verts[id].contents {
		x.implied(id, x.g.ids[c])
	}
}

// touching adds the edges at a vertex, in either direction.
func (x *excerpt) touching(id int32) {
	v := &x.g.verts[id]
	for _, f := range x.inOrder(id) {
		x.fact(f)
	}
	for _, c := range v.contents {
		x.implied(id, x.g.ids[c])
	}
	if v.inside != none {
		x.implied(v.inside, id)
	}
}

// inOrder returns the facts at a vertex in order, so that what there is no room
// for does not depend on what came first.
func (x *excerpt) inOrder(id int32) []int32 {
	return slices.SortedFunc(slices.Values(x.g.verts[id].facts), func(a, b int32) int {
		ea, eb := x.g.edge(&x.g.facts[a]), x.g.edge(&x.g.facts[b])
		return ea.Compare(&eb)
	})
}

// fact adds an edge that holds.
func (x *excerpt) fact(id int32) {
	f := &x.g.facts[id]
	if !f.live || f.loss != "" || x.taken[id] {
		return
	}
	if x.taken == nil {
		x.taken = map[int32]bool{}
	}
	x.taken[id] = true
	x.add(EdgeView{x.g.edge(f), f.stale})
}

// implied adds the containment of inner in outer if only its name implies it.
func (x *excerpt) implied(outer, inner int32) {
	for _, id := range x.g.verts[inner].facts {
		if f := &x.g.facts[id]; f.relation == contains && f.from == outer && f.to == inner && f.live && f.loss == "" {
			return
		}
	}
	x.add(EdgeView{Edge: telemetry.Edge{From: x.g.verts[outer].entity, To: x.g.verts[inner].entity, Relation: telemetry.Contains, Source: FromName}})
}

func (x *excerpt) add(e EdgeView) {
	if len(x.out.Edges) >= x.limit {
		x.out.Truncated = true
		return
	}
	x.out.Edges = append(x.out.Edges, e)
}
