package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Placement is one rank of a job, or the whole job where ranks are not known,
// on what it runs on. Numbers are -1 where they are not stated.
type Placement struct {
	On   telemetry.Entity // the gpu where known, else the node
	Node telemetry.Entity // the node that On is or is contained in; zero if in none
	Who  telemetry.Entity // the rank, or the job if no rank entity is stated

	Rank           int // attribute rank, else the last part of the rank's name
	DP, TP, PP, EP int // coordinates in data, tensor, pipeline and expert parallelism
	Role           string
}

func (p Placement) compare(o Placement) int {
	if c := p.Node.Compare(o.Node); c != 0 {
		return c
	}
	if c := p.On.Compare(o.On); c != 0 {
		return c
	}
	return cmp.Compare(p.Rank, o.Rank)
}

// markJob marks the job that a job or rank belongs to.
func (g *Graph) markJob(id int32) {
	v := &g.verts[id]
	if v.entity.Kind == telemetry.Job {
		g.mark(id, markRuns)
		return
	}
	if v.inside != none {
		g.mark(v.inside, markRuns)
	}
	for _, o := range v.outer {
		g.mark(o, markRuns)
	}
}

// updatePlacements rebuilds the placements of marked jobs and the jobs of the
// nodes that are concerned.
func (g *Graph) updatePlacements() {
	for i := 0; i < len(g.work.touched); i++ {
		id := g.work.touched[i]
		if v := &g.verts[id]; v.marks&markRuns != 0 && v.entity.Kind == telemetry.Job {
			g.placeJob(id)
		}
	}
}

func (g *Graph) placeJob(id int32) {
	l := g.verts[id].lists()
	old := l.placements
	ps := g.placements(nil, id)
	for _, c := range g.verts[id].children {
		if g.verts[c].entity.Kind == telemetry.Rank {
			ps = g.placements(ps, c)
		}
	}
	l.placements = distinct(ps)
	g.changed = true
	job := g.verts[id].entity
	for _, p := range old {
		g.unlistJob(p.Node, job)
	}
	for i, p := range l.placements {
		if i == 0 || p.Node != l.placements[i-1].Node {
			g.listJob(p.Node, job)
		}
	}
}

func (g *Graph) listJob(node, job telemetry.Entity) {
	if id, ok := g.ids[node]; ok {
		l := g.verts[id].lists()
		if i, found := slices.BinarySearchFunc(l.jobs, job, telemetry.Entity.Compare); !found {
			l.jobs = slices.Insert(l.jobs, i, job)
		}
	}
}

func (g *Graph) unlistJob(node, job telemetry.Entity) {
	if id, ok := g.ids[node]; ok && g.verts[id].more != nil {
		l := g.verts[id].more
		if i, found := slices.BinarySearchFunc(l.jobs, job, telemetry.Entity.Compare); found {
			l.jobs = slices.Delete(l.jobs, i, i+1)
		}
	}
}

// placements appends where a job or rank states that it runs.
func (g *Graph) placements(dst []Placement, id int32) []Placement {
	for _, f := range g.verts[id].facts {
		f := &g.facts[f]
		if !f.live || f.relation != runs || f.from != id {
			continue
		}
		p := Placement{
			On: g.verts[f.to].entity, Who: g.verts[id].entity, Role: attr(f.attrs, "role"),
			Rank: number(f.attrs, "rank"), DP: number(f.attrs, "dp"), TP: number(f.attrs, "tp"),
			PP: number(f.attrs, "pp"), EP: number(f.attrs, "ep"),
		}
		if p.Rank < 0 {
			p.Rank = RankNumber(p.Who)
		}
		if n := g.within(f.to, telemetry.Node); n != none {
			p.Node = g.verts[n].entity
		}
		dst = append(dst, p)
	}
	return dst
}

// RankNumber returns the number that ends a rank's name, -1 where there is
// none or the entity is no rank.
func RankNumber(e telemetry.Entity) int {
	if e.Kind != telemetry.Rank {
		return -1
	}
	return natural(e.Name[strings.LastIndexByte(e.Name, '/')+1:])
}

func number(attrs []telemetry.Attr, key string) int { return natural(attr(attrs, key)) }

func natural(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// distinct sorts placements and keeps one of all that state the same: a job and its
// ranks may both state where they run, one by node, the other by gpu.
func distinct(ps []Placement) []Placement {
	slices.SortFunc(ps, func(a, b Placement) int {
		if c := a.compare(b); c != 0 {
			return c
		}
		return compareSaying(a, b)
	})
	out := ps[:0]
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].compare(p) == 0 {
			out[n-1].fill(p)
		} else {
			out = append(out, p)
		}
	}
	return withoutVague(out)
}

// compareSaying orders placements of one rank on one thing, a rank's own
// statement before its job's.
func compareSaying(a, b Placement) int {
	if c := b.Who.Compare(a.Who); c != 0 { // "rank" follows "job"
		return c
	}
	for _, c := range [...]int{cmp.Compare(b.DP, a.DP), cmp.Compare(b.TP, a.TP), cmp.Compare(b.PP, a.PP), cmp.Compare(b.EP, a.EP)} {
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(b.Role, a.Role)
}

// fill takes from o what p does not state.
func (p *Placement) fill(o Placement) {
	for _, c := range [...]struct {
		to   *int
		from int
	}{{&p.DP, o.DP}, {&p.TP, o.TP}, {&p.PP, o.PP}, {&p.EP, o.EP}} {
		if *c.to < 0 {
			*c.to = c.from
		}
	}
	if p.Role == "" {
		p.Role = o.Role
	}
}

// withoutVague drops, node by node, a placement that another one states more
// exactly: the same thing with a rank, or a gpu of the same rank in the node.
func withoutVague(ps []Placement) []Placement {
	out := ps[:0]
	for i := 0; i < len(ps); {
		j := i + 1
		for j < len(ps) && ps[j].Node == ps[i].Node {
			j++
		}
		group := slices.Clone(ps[i:j])
		for _, p := range group {
			if !slices.ContainsFunc(group, func(q Placement) bool { return q.sharper(p) }) {
				out = append(out, p)
			}
		}
		i = j
	}
	return out
}

// sharper reports whether p states what q states, more exactly.
func (p Placement) sharper(q Placement) bool {
	if p.On == q.On {
		return q.Rank < 0 && p.Rank >= 0
	}
	return q.On == q.Node && p.Node == q.Node && (q.Rank < 0 || q.Rank == p.Rank)
}
