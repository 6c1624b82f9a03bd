package topology

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// key is the identity of a fact (telemetry.Edge).
type key struct {
	from, to int32
	relation relation
	start    telemetry.Time
	source   string
}

// fact is all statements of one identity merged.
type fact struct {
	key
	end      telemetry.Time // zero while it holds
	received telemetry.Time // of the newest statement
	first    telemetry.Time // of the oldest statement
	attrs    []telemetry.Attr
	loss     Fault // why it answers nothing although it is live; "" if it answers
	live     bool
	stale    bool
	dead     bool // to be freed when the Advance is done
	used     bool
}

// edge returns the fact as an edge; the attributes are shared.
func (g *Graph) edge(f *fact) telemetry.Edge {
	return telemetry.Edge{
		From: g.verts[f.from].entity, To: g.verts[f.to].entity, Relation: relationNames[f.relation],
		Start: f.start, End: f.end, Received: f.received, Source: f.source, Attrs: f.attrs,
	}
}

func copyEdge(e *telemetry.Edge) telemetry.Edge {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	slices.SortStableFunc(c.Attrs, func(a, b telemetry.Attr) int { return cmp.Compare(a.Key, b.Key) })
	return c
}

// apply takes the pending statements that are due.
func (g *Graph) apply() {
	if g.due > g.at {
		return
	}
	g.due = never
	keep := g.pending[:0]
	for i := range g.pending {
		e := &g.pending[i]
		if d := dueAt(e); d > g.at {
			g.due = min(g.due, d)
			keep = append(keep, *e)
			continue
		}
		if f := contradictsItself(e); f != "" {
			g.refuse(Contradiction{Fault: f, Entity: e.From, Lost: *e})
		} else {
			g.state(e)
		}
	}
	clear(g.pending[len(keep):])
	g.pending = keep
	if cap(g.pending) > 1<<12 && len(g.pending) < cap(g.pending)/8 {
		g.pending = slices.Clone(g.pending) // let a burst's memory go
	}
}

// state merges one statement into its fact. Statements of one identity form a
// semilattice (newest receipt, then supersedes), so their order does not
// matter (I2).
func (g *Graph) state(e *telemetry.Edge) {
	r, _ := relationOf(e.Relation)
	k := key{g.intern(e.From), g.intern(e.To), r, e.Start, e.Source}
	id, ok := g.keys[k]
	if !ok {
		g.create(k, e)
		return
	}
	f := &g.facts[id]
	if e.Received < f.first {
		f.first = e.Received
		g.touch(f)
	}
	if supersedes(e, f) {
		if !slices.Equal(f.attrs, e.Attrs) {
			f.attrs = e.Attrs
			g.touch(f)
		}
		f.end = e.End
	}
	f.received = max(f.received, e.Received)
	g.wake = min(g.wake, g.review(id))
}

// create adds a fact; review makes it live.
func (g *Graph) create(k key, e *telemetry.Edge) {
	if len(g.keys) >= MaxEdges {
		g.overflow++
		g.mark(k.from, 0)
		g.mark(k.to, 0)
		return
	}
	f := fact{key: k, end: e.End, received: e.Received, first: e.Received, attrs: e.Attrs, used: true}
	var id int32
	if n := len(g.freeFacts); n > 0 {
		id, g.freeFacts = g.freeFacts[n-1], g.freeFacts[:n-1]
		g.facts[id] = f
	} else {
		id = int32(len(g.facts))
		g.facts = append(g.facts, f)
	}
	g.keys[k] = id
	for _, v := range [...]int32{k.from, k.to} {
		g.verts[v].facts = append(g.verts[v].facts, id)
		g.mark(v, 0)
	}
	g.wake = min(g.wake, g.review(id))
}

// supersedes reports whether a statement adds to what is merged in f.
func supersedes(e *telemetry.Edge, f *fact) bool {
	if c := cmp.Compare(e.Received, f.received); c != 0 {
		return c > 0
	}
	if (e.End != 0) != (f.end != 0) {
		return e.End != 0
	}
	if c := cmp.Compare(e.End, f.end); c != 0 {
		return c > 0
	}
	return slices.CompareFunc(e.Attrs, f.attrs, compareAttr) > 0
}

func compareAttr(a, b telemetry.Attr) int {
	if c := cmp.Compare(a.Key, b.Key); c != 0 {
		return c
	}
	return cmp.Compare(a.Value, b.Value)
}

// review sets a fact's states for the present grid and returns when expire
// must look at it again.
func (g *Graph) review(id int32) telemetry.Time {
	f := &g.facts[id]
	live := f.end == 0 || f.end > g.at
	staleAt := never
	if f.received != 0 {
		staleAt = f.received.Add(StaleAfter)
	}
	stale := live && staleAt <= g.at
	if live != f.live || stale != f.stale {
		g.revive(id, live, stale)
	}
	switch {
	case !live:
		return f.end.Add(StaleAfter)
	case f.end != 0 && (stale || f.end < staleAt):
		return f.end
	case stale:
		return never
	}
	return staleAt
}

// revive moves a fact between live, stale and ended.
func (g *Graph) revive(id int32, live, stale bool) {
	f := &g.facts[id]
	if live != f.live {
		d := int32(1)
		if !live {
			d = -1
		}
		g.verts[f.from].live += d
		g.verts[f.to].live += d
		g.rise(id, live)
	}
	if stale && !f.stale {
		g.stale = append(g.stale, id)
	}
	if !live {
		g.lose(f, "")
	}
	f.live, f.stale = live, stale
	g.touch(f)
}

// rise keeps the list of live containments that may close a loop. nest drops
// those that have ended.
func (g *Graph) rise(id int32, live bool) {
	f := &g.facts[id]
	if live && f.relation == contains && depth(g.verts[f.from].entity.Kind) >= depth(g.verts[f.to].entity.Kind) {
		g.upward = append(g.upward, id)
	}
}

// kill drops a fact that can no longer matter. It stays addressable until the
// Advance is done.
func (g *Graph) kill(id int32) {
	f := &g.facts[id]
	if f.live {
		g.revive(id, false, false)
	}
	delete(g.keys, f.key)
	f.dead = true
	g.work.dead = append(g.work.dead, id)
	g.mark(f.from, 0)
	g.mark(f.to, 0)
}

// touch marks what a change of a fact can change.
func (g *Graph) touch(f *fact) {
	g.changed = true
	g.mark(f.from, markHome)
	g.mark(f.to, markHome)
	switch f.relation {
	case connects:
		g.mark(f.from, markLink)
		g.mark(f.to, markLink)
	case contains:
		g.work.nesting = true
	case member:
		g.mark(f.from, markGroups)
		g.mark(f.to, markGroups)
	case runs:
		g.markJob(f.from)
	}
}

// lose sets why a fact answers nothing, and counts those that do not.
func (g *Graph) lose(f *fact, why Fault) {
	if f.loss == why {
		return
	}
	if f.loss == "" {
		g.lost++
	} else if why == "" {
		g.lost--
	}
	f.loss = why
	g.changed = true
}

// expire reviews all facts when one of them is due, and drops ended facts that
// can no longer matter and stale ones that their own source has replaced.
func (g *Graph) expire() {
	g.forgive()
	if g.wake <= g.at {
		g.wake = never
		for id := range g.facts {
			g.expireOne(int32(id))
		}
	}
	if !g.changed {
		return
	}
	for _, id := range g.stale {
		if f := &g.facts[id]; f.stale && g.replaced(f) {
			g.kill(id)
		}
	}
	g.stale = slices.DeleteFunc(g.stale, func(id int32) bool { return !g.facts[id].stale })
}

func (g *Graph) expireOne(id int32) {
	f := &g.facts[id]
	if !f.used || f.dead {
		return
	}
	next := g.review(id)
	if next <= g.at {
		g.kill(id) // ended longer ago than a late statement can come
		return
	}
	g.wake = min(g.wake, next)
}

// replaced reports whether the source of a stale fact has since stated, afresh, the
// same relation with a later start, or another peer or container in its place: the
// source has changed its statement without ending the old one.
func (g *Graph) replaced(f *fact) bool {
	if f.relation == connects {
		return g.replacedAt(f, f.from) || g.replacedAt(f, f.to)
	}
	if f.relation != contains && len(g.verts[f.from].facts) < len(g.verts[f.to].facts) {
		return g.replacedAt(f, f.from)
	}
	return g.replacedAt(f, f.to) // of a containment, the inner end: it names few
}

func (g *Graph) replacedAt(f *fact, end int32) bool {
	for _, id := range g.verts[end].facts {
		o := &g.facts[id]
		if o == f || !o.live || o.stale || o.relation != f.relation || o.source != f.source || o.start < f.start {
			continue
		}
		same := o.from == f.from && o.to == f.to
		rival := f.relation == contains && o.to == f.to && g.verts[o.from].entity.Kind == g.verts[f.from].entity.Kind
		if same || rival || f.relation == connects {
			return true
		}
	}
	return false
}
