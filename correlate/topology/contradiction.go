package topology

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Fault is what is wrong with a statement.
type Fault string

// The faults, in the order in which Contradictions lists them.
const (
	FaultEndsBeforeStart Fault = "ends-before-start"
	FaultLoop            Fault = "containment-loop"
	FaultSelfLoop        Fault = "self-loop"
	FaultTwoContainers   Fault = "two-containers"
	FaultTwoPeers        Fault = "two-peers"
)

// Contradiction is a statement that contradicts the others or itself.
type Contradiction struct {
	Fault  Fault
	Entity telemetry.Entity // what they disagree about
	Lost   telemetry.Edge   // the statement that answers nothing
	Kept   telemetry.Edge   // the one that does; zero where Lost is wrong by itself or closes a loop
}

// Compare orders contradictions by fault, entity and lost edge.
func (c Contradiction) Compare(o Contradiction) int {
	if d := cmp.Compare(c.Fault, o.Fault); d != 0 {
		return d
	}
	if d := c.Entity.Compare(o.Entity); d != 0 {
		return d
	}
	return c.Lost.Compare(&o.Lost)
}

// maxRefused bounds the reports of statements that are wrong by themselves;
// the first in order are kept.
const maxRefused = 256

func contradictsItself(e *telemetry.Edge) Fault {
	switch {
	case e.From == e.To:
		return FaultSelfLoop
	case e.End != 0 && e.End < e.Start:
		return FaultEndsBeforeStart
	}
	return ""
}

// refuse keeps the report of a statement that is wrong by itself, for as long
// as it is fresh.
func (g *Graph) refuse(c Contradiction) {
	i, found := slices.BinarySearchFunc(g.refused, c, Contradiction.Compare)
	if found {
		g.refused[i].Lost.Received = max(g.refused[i].Lost.Received, c.Lost.Received)
		return
	}
	g.changed = true
	g.refused = slices.Insert(g.refused, i, c)
	if len(g.refused) > maxRefused {
		g.refused = g.refused[:maxRefused]
	}
}

// forgive drops reports that have not been renewed.
func (g *Graph) forgive() {
	n := len(g.refused)
	g.refused = slices.DeleteFunc(g.refused, func(c Contradiction) bool {
		return c.Lost.Received != 0 && c.Lost.Received.Add(StaleAfter) <= g.at
	})
	if len(g.refused) != n {
		g.changed = true
	}
}

// Contradictions returns the contradictions of now, in order. It is quick where
// there are none; else it looks at every edge: call it when Generation has grown.
func (g *Graph) Contradictions() []Contradiction {
	out := slices.Clone(g.refused)
	if g.lost == 0 {
		return out
	}
	for i := range g.facts {
		if f := &g.facts[i]; f.live && f.loss != "" {
			out = append(out, g.contradiction(f))
		}
	}
	slices.SortFunc(out, Contradiction.Compare)
	return out
}

func (g *Graph) contradiction(f *fact) Contradiction {
	c := Contradiction{Fault: f.loss, Lost: g.edge(f), Entity: g.verts[f.to].entity}
	switch f.loss {
	case FaultTwoPeers:
		at, other := f.from, g.verts[f.from].peer
		if b := g.verts[f.to].peer; other == none || b != none && g.verts[f.to].entity.Compare(g.verts[at].entity) < 0 {
			at, other = f.to, b
		}
		c.Entity = g.verts[at].entity
		c.Kept = g.winner(at, func(o *fact) bool {
			return o.relation == connects && (o.from == other || o.to == other)
		})
	case FaultTwoContainers:
		c.Kept = g.winner(f.to, func(o *fact) bool {
			return o.relation == contains && o.to == f.to && g.verts[o.from].entity.Kind == g.verts[f.from].entity.Kind
		})
	}
	return c
}

// winner returns the best live fact at a vertex that answers and fits.
func (g *Graph) winner(at int32, fits func(*fact) bool) telemetry.Edge {
	var best *fact
	for _, id := range g.verts[at].facts {
		if f := &g.facts[id]; f.live && f.loss == "" && fits(f) && (best == nil || g.better(f, best) < 0) {
			best = f
		}
	}
	if best == nil {
		return telemetry.Edge{}
	}
	return g.edge(best)
}

// StaleEdges returns the edges that have not been renewed for StaleAfter, in order:
// blind spots. They are still used in answers. Its cost is that of its answer.
func (g *Graph) StaleEdges() []telemetry.Edge {
	var out []telemetry.Edge
	for _, id := range g.stale {
		out = append(out, g.edge(&g.facts[id]))
	}
	slices.SortFunc(out, func(a, b telemetry.Edge) int { return a.Compare(&b) })
	return out
}

// better orders two facts that exclude each other, the preferred one first: by the
// rank of their source, fresh before stale, later start, later first receipt, and
// identity. It is the first receipt and not the newest, because two sources that
// both renew would otherwise alternate.
func (g *Graph) better(a, b *fact) int {
	if c := cmp.Compare(Rank(b.source), Rank(a.source)); c != 0 {
		return c
	}
	if a.stale != b.stale {
		if b.stale {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(b.start, a.start); c != 0 {
		return c
	}
	if c := cmp.Compare(b.first, a.first); c != 0 {
		return c
	}
	if c := g.verts[a.from].entity.Compare(g.verts[b.from].entity); c != 0 {
		return c
	}
	if c := g.verts[a.to].entity.Compare(g.verts[b.to].entity); c != 0 {
		return c
	}
	return cmp.Compare(a.source, b.source)
}
