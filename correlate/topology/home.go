package topology

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// updateHomes decides which entities exist and in what each of them is contained.
//
// Which of the stated containments hold is a function of the live facts; where none
// does, the name decides (home), which is a function of the facts and of Know. An
// entity that contains something exists, so a new queue can make a port and a
// switch exist; hence the list that grows while it is worked off. It ends because
// names get shorter.
func (g *Graph) updateHomes() {
	was := g.looped
	if g.work.nesting {
		g.nest()
	}
	if (g.looped || was) && len(g.work.homes) > 0 {
		for id := range g.verts {
			if g.verts[id].used {
				g.mark(int32(id), markHome)
			}
		}
	}
	for len(g.work.homes) > 0 {
		n := len(g.work.homes) - 1
		id := g.work.homes[n]
		g.work.homes = g.work.homes[:n]
		g.verts[id].marks &^= markHome
		g.updateHome(id)
	}
}

// updateHome brings one entity's existence and containers up to date.
func (g *Graph) updateHome(id int32) {
	v := &g.verts[id]
	if stated := v.known || v.live > 0; stated != v.stated {
		v.stated = stated
		g.disturb(id)
	}
	if visible := v.stated || v.contained > 0; visible != v.visible {
		v.visible = visible
		l := g.kind(v.entity.Kind)
		l.dirty = true
		if visible {
			l.ids = append(l.ids, id)
		}
		g.changed = true
	}
	g.rehouse(id, g.containers(id))
}

// disturb has everything looked at again whose name could mean this entity or
// a rival of it.
func (g *Graph) disturb(id int32) {
	e := g.verts[id].entity
	for _, c := range g.verts[id].children {
		g.mark(c, markHome)
	}
	for _, k := range rivalHomes(e.Kind) {
		if k == "" {
			break
		}
		if r, ok := g.ids[telemetry.Entity{Kind: k, Name: e.Name}]; ok {
			for _, c := range g.verts[r].children {
				g.mark(c, markHome)
			}
		}
	}
}

// containers returns what an entity is contained in, innermost first. The slice is
// scratch.
func (g *Graph) containers(id int32) []int32 {
	out := g.scratch.homes[:0]
	if !g.verts[id].visible {
		return out
	}
	if !g.looped {
		g.contest(id)
	}
	for _, f := range g.verts[id].facts {
		if f := &g.facts[f]; f.live && f.relation == contains && f.to == id && f.loss == "" {
			out = append(out, f.from)
		}
	}
	if len(out) == 0 {
		if home, ok := g.home(g.verts[id].entity); ok && !(g.looped && g.encloses(g.verts[id].entity, home)) {
			out = append(out, g.intern(home))
		}
	}
	if len(out) > 1 {
		slices.SortFunc(out, func(a, b int32) int { return compareInner(g.verts[a].entity, g.verts[b].entity) })
		out = slices.Compact(out)
	}
	g.scratch.homes = out
	return out
}

// compareInner orders containers of one entity, innermost kind first.
func compareInner(a, b telemetry.Entity) int {
	if d := depth(b.Kind) - depth(a.Kind); d != 0 {
		return d
	}
	return a.Compare(b)
}

// home returns the container that an entity's name implies.
func (g *Graph) home(e telemetry.Entity) (telemetry.Entity, bool) {
	kinds := homeKinds(e.Kind)
	prefix := e.Prefix()
	if kinds[0] == "" || prefix == "" {
		return telemetry.Entity{}, false
	}
	for _, k := range kinds {
		h := telemetry.Entity{Kind: k, Name: prefix}
		if id, ok := g.ids[h]; k != "" && ok && (g.verts[id].known || g.verts[id].live > 0) {
			return h, true
		}
	}
	return telemetry.Entity{Kind: kinds[0], Name: prefix}, true
}

// contest lets the containers of one kind that are stated for an entity
// compete: the best keeps it.
func (g *Graph) contest(id int32) {
	fs := g.scratch.facts[:0]
	for _, c := range g.verts[id].facts {
		if f := &g.facts[c]; f.live && f.relation == contains && f.to == id {
			fs = append(fs, c)
		}
	}
	g.scratch.facts = fs
	slices.SortFunc(fs, func(a, b int32) int { return g.better(&g.facts[a], &g.facts[b]) })
	for i, f := range fs {
		g.lose(&g.facts[f], g.beaten(fs[:i], f))
	}
}

// beaten reports whether one of the better facts puts the same entity into another
// container of the same kind.
func (g *Graph) beaten(better []int32, id int32) Fault {
	f := &g.facts[id]
	for _, b := range better {
		o := &g.facts[b]
		if o.loss == "" && o.from != f.from && g.verts[o.from].entity.Kind == g.verts[f.from].entity.Kind {
			return FaultTwoContainers
		}
	}
	return ""
}

// rehouse moves an entity into the given containers.
func (g *Graph) rehouse(id int32, to []int32) {
	v := &g.verts[id]
	if v.isContainedIn(to) {
		return
	}
	old := slices.Clone(v.outer)
	if v.inside != none {
		old = append(old, v.inside)
	}
	v.inside, v.outer = none, nil
	if len(to) > 0 {
		v.inside = to[0]
	}
	if len(to) > 1 {
		v.outer = slices.Clone(to[1:])
	}
	g.changed = true
	for _, c := range old {
		g.verts[c].contained--
		g.mark(c, markHome|markContents)
		g.disturbHouse(id, c)
	}
	for i := 0; i < len(to); i++ {
		c := to[i]
		g.verts[c].contained++
		g.verts[c].children = append(g.verts[c].children, id)
		g.mark(c, markHome|markContents)
		g.disturbHouse(id, c)
	}
	if len(v.facts) > 0 || len(v.children) > 0 {
		g.work.pass++
		g.disturbRuns(id)
	}
}

// isContainedIn reports whether the vertex is already contained in exactly these.
func (v *vertex) isContainedIn(in []int32) bool {
	if len(in) == 0 {
		return v.inside == none
	}
	return v.inside == in[0] && slices.Equal(v.outer, in[1:])
}

// disturbHouse marks what depends on a thing being in its container.
func (g *Graph) disturbHouse(id, container int32) {
	switch v := &g.verts[id]; v.entity.Kind {
	case telemetry.Port:
		g.mark(container, markPorts)
		if v.peer == none {
			return
		}
		if s := g.switchOf(v.peer); s != none {
			g.mark(s, markPorts)
		}
	case telemetry.Rank:
		g.mark(container, markRuns)
	}
}

// disturbRuns marks the jobs that run on a thing or on something in it: the
// node they run on may have changed.
func (g *Graph) disturbRuns(id int32) {
	v := &g.verts[id]
	if v.seen == g.work.pass || v.entity.Kind == telemetry.Node {
		return
	}
	v.seen = g.work.pass
	for _, f := range v.facts {
		if f := &g.facts[f]; f.relation == runs && f.to == id {
			g.markJob(f.from)
		}
	}
	for _, c := range v.children {
		g.disturbRuns(c)
	}
}

// holds reports whether child is contained directly in id.
func (g *Graph) holds(id, child int32) bool {
	v := &g.verts[child]
	return v.inside == id || slices.Contains(v.outer, id)
}

// listContents rebuilds the sorted list of what is contained directly in a vertex.
func (g *Graph) listContents(id int32) {
	v := &g.verts[id]
	v.children = slices.DeleteFunc(v.children, func(c int32) bool { return !g.holds(id, c) })
	g.sortIDs(v.children)
	v.children = slices.Compact(v.children)
	v.contents = g.named(v.contents[:0], v.children)
}

// within returns the innermost vertex of kind k that id is contained in or is.
func (g *Graph) within(id int32, k telemetry.Kind) int32 {
	for id != none && g.verts[id].entity.Kind != k {
		id = g.verts[id].inside
	}
	return id
}
