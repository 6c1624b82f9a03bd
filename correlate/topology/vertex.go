package topology

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// none is the id of nothing.
const none = int32(-1)

// vertex is an entity with what is known about it. Its id is an index of this
// process, never an identity (I4).
type vertex struct {
	entity   telemetry.Entity
	facts    []int32 // every fact that names it, in any order
	children []int32 // what it contains; in order and exact once listed
	contents []telemetry.Entity
	outer    []int32 // further containers, of other kinds, inner first; usually none
	more     *lists  // nil while all are empty

	inside int32 // the innermost container
	peer   int32 // the other end of its cable
	speed  float64

	live      int32  // facts that hold now
	contained int32  // vertices that it contains
	seen      uint32 // the last search that visited it
	marks     mark
	known     bool // shown by telemetry
	stated    bool // known, or named by a live edge
	visible   bool // stated, or it contains something
	used      bool // false while the slot is free
}

// lists are the answers that few kinds of entity have.
type lists struct {
	uplinks, downlinks []telemetry.Entity
	groups, members    []telemetry.Entity
	jobs               []telemetry.Entity
	placements         []Placement
}

// mark is what an Advance has still to update for a vertex.
type mark uint16

const (
	markTouched mark = 1 << iota
	markHome
	markLink
	markContents
	markGroups
	markPorts
	markRuns
)

// mark sets m and puts the vertex on the list of touched ones.
func (g *Graph) mark(id int32, m mark) {
	v := &g.verts[id]
	if v.marks&markTouched == 0 {
		g.work.touched = append(g.work.touched, id)
	}
	fresh := m &^ v.marks
	v.marks |= m | markTouched
	if fresh&markHome != 0 {
		g.work.homes = append(g.work.homes, id)
	}
	if fresh&markLink != 0 {
		g.work.links = append(g.work.links, id)
	}
}

// intern returns the id of an entity, a new one if it has none. It never makes
// the entity visible.
func (g *Graph) intern(e telemetry.Entity) int32 {
	if id, ok := g.ids[e]; ok {
		return id
	}
	e.Kind = g.kind(e.Kind).kind // one string for all
	v := vertex{entity: e, inside: none, peer: none, used: true}
	var id int32
	if n := len(g.freeIDs); n > 0 {
		id, g.freeIDs = g.freeIDs[n-1], g.freeIDs[:n-1]
		g.verts[id] = v
	} else {
		id = int32(len(g.verts))
		g.verts = append(g.verts, v)
	}
	g.ids[e] = id
	return id
}

// find returns the vertex of an entity that exists now.
func (g *Graph) find(e telemetry.Entity) (*vertex, bool) {
	id, ok := g.ids[e]
	if !ok || !g.verts[id].visible {
		return nil, false
	}
	return &g.verts[id], true
}

// lists returns the vertex's lists for writing.
func (v *vertex) lists() *lists {
	if v.more == nil {
		v.more = &lists{}
	}
	return v.more
}

// learn applies what Know and Forget have filed.
func (g *Graph) learn() {
	for _, k := range g.knowing {
		if k.forget {
			if id, ok := g.ids[k.entity]; ok && g.verts[id].known {
				g.verts[id].known = false
				g.mark(id, markHome)
			}
			continue
		}
		if id := g.intern(k.entity); !g.verts[id].known {
			g.verts[id].known = true
			g.mark(id, markHome)
		}
	}
	g.knowing = g.knowing[:0]
}

// bury frees dead facts and vertices that nothing names any more, and clears
// the worklist.
func (g *Graph) bury() {
	for _, id := range g.work.touched {
		v := &g.verts[id]
		if len(g.work.dead) > 0 {
			v.facts = slices.DeleteFunc(v.facts, func(f int32) bool { return g.facts[f].dead })
		}
		v.marks = 0
		if v.used && len(v.facts) == 0 && !v.visible {
			delete(g.ids, v.entity)
			*v = vertex{inside: none, peer: none}
			g.freeIDs = append(g.freeIDs, id)
		}
	}
	for _, f := range g.work.dead {
		g.facts[f] = fact{}
		g.freeFacts = append(g.freeFacts, f)
	}
	g.work.touched, g.work.homes, g.work.links, g.work.dead = g.work.touched[:0], g.work.homes[:0], g.work.links[:0], g.work.dead[:0]
	g.work.nesting = false
}

// kindList is every visible entity of one kind.
type kindList struct {
	kind     telemetry.Kind
	ids      []int32
	entities []telemetry.Entity
	dirty    bool
}

func (g *Graph) kind(k telemetry.Kind) *kindList {
	l := g.kinds[k]
	if l == nil {
		l = &kindList{kind: k}
		g.kinds[k] = l
	}
	return l
}

// updateKinds rebuilds the lists of kinds whose members changed. The order of
// the touched does not show: each list is sorted by itself.
func (g *Graph) updateKinds() {
	for _, id := range g.work.touched {
		l := g.kinds[g.verts[id].entity.Kind]
		if !l.dirty {
			continue
		}
		l.dirty = false
		l.ids = slices.DeleteFunc(l.ids, func(id int32) bool { return !g.verts[id].visible })
		g.sortIDs(l.ids)
		l.ids = slices.Compact(l.ids)
		l.entities = g.named(l.entities[:0], l.ids)
	}
}

// sortIDs puts ids in identity order of their entities.
func (g *Graph) sortIDs(ids []int32) {
	slices.SortFunc(ids, func(a, b int32) int { return g.verts[a].entity.Compare(g.verts[b].entity) })
}

// named appends the entities of ids.
func (g *Graph) named(dst []telemetry.Entity, ids []int32) []telemetry.Entity {
	for _, id := range ids {
		dst = append(dst, g.verts[id].entity)
	}
	return dst
}
