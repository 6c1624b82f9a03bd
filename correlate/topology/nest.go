package topology

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxClimb bounds the containers looked at above one entity when loops are
// looked for; a site nests about eight deep.
const maxClimb = 64

// nest decides whether the stated containments can close a loop at all and, if they
// can, which of them hold: all are taken greedily, the best first, and one that
// would close a loop is refused. This looks at every containment, and happens only
// while a loop is stated.
func (g *Graph) nest() {
	g.upward = slices.DeleteFunc(g.upward, func(id int32) bool { return !g.facts[id].live })
	g.looped = slices.ContainsFunc(g.upward, func(id int32) bool { return g.mayLoop(&g.facts[id]) })
	if !g.looped {
		return
	}
	var all []int32
	for id := range g.facts {
		if f := &g.facts[id]; f.live && f.relation == contains {
			all = append(all, int32(id))
			g.lose(f, FaultLoop)
		}
	}
	slices.SortFunc(all, func(a, b int32) int { return g.better(&g.facts[a], &g.facts[b]) })
	for _, id := range all {
		g.admit(id)
	}
}

// admit decides one containment after all better ones.
func (g *Graph) admit(id int32) {
	f := &g.facts[id]
	for _, o := range g.verts[f.to].facts {
		o := &g.facts[o]
		if o.live && o.relation == contains && o.to == f.to && o.loss == "" && o.from != f.from &&
			g.verts[o.from].entity.Kind == g.verts[f.from].entity.Kind {
			g.lose(f, FaultTwoContainers)
			return
		}
	}
	if !g.reaches(f.from, f.to) {
		g.lose(f, "")
	}
}

// reaches reports whether id is what, or is contained in it by admitted
// containments.
func (g *Graph) reaches(id, what int32) bool {
	g.work.pass++
	queue := []int32{id}
	g.verts[id].seen = g.work.pass
	for i := 0; i < len(queue); i++ {
		if queue[i] == what {
			return true
		}
		for _, f := range g.verts[queue[i]].facts {
			f := &g.facts[f]
			if f.live && f.relation == contains && f.to == queue[i] && f.loss == "" && g.verts[f.from].seen != g.work.pass {
				g.verts[f.from].seen = g.work.pass
				queue = append(queue, f.from)
			}
		}
	}
	return false
}

// mayLoop reports whether the outer end of a containment could itself be contained in
// the inner one, by any live statement and by any name. A site that nests more
// than maxClimb containers is taken to loop, which only costs time.
func (g *Graph) mayLoop(f *fact) bool {
	inner := g.verts[f.to].entity
	queue := []telemetry.Entity{g.verts[f.from].entity}
	for i := 0; i < len(queue); i++ {
		if queue[i] == inner || len(queue) > maxClimb {
			return true
		}
		for _, up := range g.possible(queue[i]) {
			if !slices.Contains(queue, up) {
				queue = append(queue, up)
			}
		}
	}
	return false
}

// possible lists everything an entity could be directly contained in.
func (g *Graph) possible(e telemetry.Entity) []telemetry.Entity {
	var out []telemetry.Entity
	if id, ok := g.ids[e]; ok {
		for _, f := range g.verts[id].facts {
			if f := &g.facts[f]; f.live && f.relation == contains && f.to == id {
				out = append(out, g.verts[f.from].entity)
			}
		}
	}
	for _, k := range homeKinds(e.Kind) {
		if p := e.Prefix(); p != "" && k != "" {
			out = append(out, telemetry.Entity{Kind: k, Name: p})
		}
	}
	return out
}

// encloses reports whether home is contained in e, by admitted containments and,
// for what has none, by name: then e cannot be contained in home. Every name in
// such a loop is refused, so that none of them is preferred.
func (g *Graph) encloses(e, home telemetry.Entity) bool {
	queue := []telemetry.Entity{home}
	for i := 0; i < len(queue) && i < maxClimb; i++ {
		if queue[i] == e {
			return true
		}
		for _, up := range g.above(queue[i]) {
			if !slices.Contains(queue, up) {
				queue = append(queue, up)
			}
		}
	}
	return false
}

// above lists what an entity is contained in by admitted containments or else by
// name.
func (g *Graph) above(e telemetry.Entity) []telemetry.Entity {
	var out []telemetry.Entity
	if id, ok := g.ids[e]; ok {
		for _, f := range g.verts[id].facts {
			if f := &g.facts[f]; f.live && f.relation == contains && f.to == id && f.loss == "" {
				out = append(out, g.verts[f.from].entity)
			}
		}
	}
	if len(out) == 0 {
		if h, ok := g.home(e); ok {
			out = append(out, h)
		}
	}
	return out
}
