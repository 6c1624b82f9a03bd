package store

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/telemetry"
)

// The series of places and relations.
const (
	jobInfo    = "quintet_job_info"
	memberInfo = "quintet_member_info"
)

const (
	// maxEdges bounds the edges that are kept.
	maxEdges = 1 << 20
	// maxDepth is how deep things are contained in one another; it ends a circle.
	maxDepth = 8
)

// places keeps the edges of the site that series refer to: what a job runs on, and
// what an entity belongs to. An edge that is not renewed is kept until it has not
// been stated for as long as a schema is remembered.
type places struct {
	count *counters
	edges map[telemetry.EdgeIdentity]stated
	now   telemetry.Time // newest tick
	dirty bool
	sets  []labels.Labels
	out   renewed
}

// stated is an edge and when it was stated last.
type stated struct {
	edge telemetry.Edge
	at   telemetry.Time
}

func newPlaces(count *counters) *places {
	return &places{count: count, edges: map[telemetry.EdgeIdentity]stated{}}
}

// take implements extra.
func (p *places) take(r *telemetry.Record) {
	switch r.Kind {
	case telemetry.TickRecord:
		p.now = r.Tick.At
	case telemetry.EdgeRecord:
		e := r.Edge
		switch e.Relation {
		case telemetry.Connects, telemetry.Uses:
			return
		}
		id := e.Identity()
		old, known := p.edges[id]
		if !known && len(p.edges) >= maxEdges {
			p.count.edges.Inc()
			return
		}
		p.edges[id] = stated{*e, p.now}
		p.dirty = p.dirty || !known || old.edge.End != e.End
	}
}

// write implements extra.
func (p *places) write(at int64, put putter) {
	for id, s := range p.edges {
		if s.at == 0 { // stated before the first tick
			s.at = p.now
			p.edges[id] = s
		}
		if ended := s.edge.End != 0 && millis(s.edge.End) <= at; ended || p.now.Sub(s.at) > forgotten {
			delete(p.edges, id)
			p.dirty = true
		}
	}
	if p.dirty {
		p.dirty = false
		p.sets = p.infos()
	}
	for _, l := range p.sets {
		p.out.put(l, 1, put)
	}
	p.out.end(put)
}

// graph is the relations that follow from the edges.
type graph struct {
	inner, outer map[telemetry.Entity][]telemetry.Entity // containment, both ways
	pairs        map[telemetry.Entity][]telemetry.Entity // a gpu's adapters
	groups       map[telemetry.Entity][]telemetry.Entity // stated of the entity itself
	runs         map[telemetry.Entity][]telemetry.Entity // a job's devices and nodes
}

func (p *places) graph() graph {
	g := graph{inner: map[telemetry.Entity][]telemetry.Entity{}, outer: map[telemetry.Entity][]telemetry.Entity{},
		pairs: map[telemetry.Entity][]telemetry.Entity{}, groups: map[telemetry.Entity][]telemetry.Entity{}, runs: map[telemetry.Entity][]telemetry.Entity{}}
	for _, s := range p.edges {
		from, to := s.edge.From, s.edge.To
		switch s.edge.Relation {
		case telemetry.Contains:
			add(g.inner, from, to)
			add(g.outer, to, from)
			if gathers(from.Kind) {
				add(g.groups, to, from)
			}
		case telemetry.Pairs:
			add(g.pairs, from, to)
		case telemetry.Runs:
			if from.Kind == telemetry.Rank {
				from = telemetry.Entity{Kind: telemetry.Job, Name: from.Prefix()}
			}
			add(g.runs, from, to)
		case telemetry.Member:
			add(g.groups, from, to)
		case telemetry.Feeds, telemetry.Cools:
			add(g.groups, to, from)
		}
	}
	return g
}

func add(m map[telemetry.Entity][]telemetry.Entity, from, to telemetry.Entity) {
	if !from.IsZero() && !to.IsZero() && from != to {
		m[from] = append(m[from], to)
	}
}

// gathers reports whether what such a thing contains is shown as belonging to
// it; a port's belonging to its switch is in its name.
func gathers(k telemetry.Kind) bool {
	return k == telemetry.Rack || k == telemetry.Row || k == telemetry.Hall
}

// infos lists the series that hold now.
func (p *places) infos() []labels.Labels {
	g := p.graph()
	var out []labels.Labels
	for job, on := range g.runs {
		seen := map[telemetry.Entity]bool{}
		for _, e := range on {
			for _, d := range g.through(e) {
				if !seen[d] {
					seen[d] = true
					out = append(out, named(jobInfo, "job", job.Name, label.Kind, string(d.Kind), label.Name, d.Name, "node", nodeOf(d)))
				}
			}
		}
	}
	for e := range g.members() {
		for _, of := range g.belongs(e) {
			out = append(out, named(memberInfo, label.Kind, string(e.Kind), label.Name, e.Name, "group_kind", string(of.Kind), "group", of.Name))
		}
	}
	return out
}

// through lists the entities on or through which a job runs that runs on e.
func (g *graph) through(e telemetry.Entity) []telemetry.Entity {
	out := []telemetry.Entity{e}
	if e.Kind == telemetry.Node {
		for _, d := range g.inner[e] {
			if d.Kind == telemetry.GPU || d.Kind == telemetry.NIC {
				out = append(out, d)
			}
		}
		return out
	}
	if e.Kind != telemetry.GPU || e.Prefix() == "" {
		return out
	}
	node := telemetry.Entity{Kind: telemetry.Node, Name: e.Prefix()}
	out = append(out, node)
	if nics := g.pairs[e]; len(nics) > 0 {
		return append(out, nics...)
	}
	for _, d := range g.inner[node] {
		if d.Kind == telemetry.NIC {
			out = append(out, d)
		}
	}
	return out
}

// nodeOf returns the node that contains a device by the device's name.
func nodeOf(e telemetry.Entity) string {
	switch e.Kind {
	case telemetry.Node:
		return e.Name
	case telemetry.GPU, telemetry.NIC:
		return e.Prefix()
	}
	return ""
}

// members lists the entities that may belong to something: those of which it is
// stated, and the nodes, devices and switches in them.
func (g *graph) members() map[telemetry.Entity]bool {
	out := map[telemetry.Entity]bool{}
	for e := range g.groups {
		g.reach(e, out, 0)
	}
	return out
}

func (g *graph) reach(e telemetry.Entity, seen map[telemetry.Entity]bool, depth int) {
	if seen[e] || depth > maxDepth {
		return
	}
	seen[e] = true
	for _, d := range g.inner[e] {
		if heir(d.Kind) {
			g.reach(d, seen, depth+1)
		}
	}
}

// heir reports whether an entity belongs to whatever what contains it belongs
// to.
func heir(k telemetry.Kind) bool {
	switch k {
	case telemetry.Node, telemetry.GPU, telemetry.NIC, telemetry.Switch, telemetry.Rack, telemetry.Row:
		return true
	}
	return false
}

// belongs lists the entities that an entity belongs to, by itself or with its
// containers.
func (g *graph) belongs(e telemetry.Entity) (out []telemetry.Entity) {
	seen := map[telemetry.Entity]bool{e: true}
	walk := []telemetry.Entity{e}
	for depth := 0; len(walk) > 0 && depth <= maxDepth; depth++ {
		var next []telemetry.Entity
		for _, x := range walk {
			for _, of := range g.groups[x] {
				if !slices.Contains(out, of) && of != e {
					out = append(out, of)
				}
			}
			if !heir(x.Kind) {
				continue
			}
			for _, o := range g.outer[x] {
				if !seen[o] {
					seen[o] = true
					next = append(next, o)
				}
			}
		}
		walk = next
	}
	return out
}
