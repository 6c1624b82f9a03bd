package gnmi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// node is a place in a device's tree.
type node struct {
	elem     element
	parent   *node
	states   []state
	children map[string]*node    // by element; nil where nothing means anything to us
	lists    map[string][]string // the keys of lists among the members of a JSON object
	leaf     *leaf
}

// state is a place in the profile that a node's path fits, and how.
type state struct {
	at   *pattern
	vars []binding
}

// leaf is a node that means something.
type leaf struct {
	uses []use
	at   telemetry.Time // of its value, by the device
	seq  uint64         // of the notification that it was in last
}

// use is one use of a leaf. An ignored leaf has none.
type use struct {
	rule  *rule
	cell  book.Cell
	fold  *folded
	slot  int
	word  uint64
	known bool
	held  bool           // restated while the session stands
	at    telemetry.Time // of the word
	port  *port
	near  *neighbourhood
}

// child returns the node below n for an element, nil where nothing is known of
// it; it is found out once.
func (r *reader) child(n *node, e element) *node {
	r.scratch = e.appendID(r.scratch[:0])
	if c, ok := n.children[string(r.scratch)]; ok {
		return c
	}
	if !r.keep(placeBytes + 4*len(r.scratch)) {
		return nil
	}
	c := &node{elem: element{strings.Clone(e.name), slices.Clone(e.keys)}, parent: n}
	for _, s := range n.states {
		for i := range s.at.edges {
			if vars, ok := s.at.edges[i].step.match(c.elem, s.vars); ok {
				c.states = append(c.states, state{s.at.edges[i].to, vars})
			}
		}
	}
	if len(c.states) == 0 || !r.keep(nodeBytes) {
		c = nil
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[string(e.appendID(nil))] = c
	if c != nil {
		r.bear(c)
	}
	return c
}

// bear finds the uses of a new node.
func (r *reader) bear(n *node) {
	for _, s := range n.states {
		native, has := bound(s.vars, "port")
		skip := has && fits(r.profile.skip, native)
		if has && !skip && len(r.profile.ports) > 0 && !fits(r.profile.ports, native) {
			continue // no port
		}
		for _, rule := range s.at.rules {
			if n.leaf == nil {
				n.leaf = &leaf{}
			}
			if skip || rule.role == ignored || rule.queues && !r.queues {
				continue
			}
			u := use{rule: rule}
			if has {
				if u.port = r.port(native); u.port == nil {
					continue
				}
			}
			switch rule.role {
			case neighbour:
				u.near = r.neighbourhood(u.port, s.vars)
			case reading:
				if !r.place(&u, s.vars) {
					continue
				}
			}
			n.leaf.uses = append(n.leaf.uses, u)
		}
	}
}

// fits reports whether a name matches one of some templates.
func fits(ts []template, name string) bool {
	return slices.ContainsFunc(ts, func(t template) bool {
		_, ok := t.match(name, nil)
		return ok
	})
}

// place finds the series of a use.
func (r *reader) place(u *use, vars []binding) bool {
	e := r.self
	if u.rule.kind != telemetry.Switch {
		below, ok := u.rule.within.fill(vars, func(b binding) string {
			if b.name == "port" {
				return u.port.name
			}
			return telemetry.NamePart(b.value)
		})
		if !ok {
			r.drop(collectors.Unknown)
			return false
		}
		e = telemetry.Entity{Kind: u.rule.kind, Name: r.self.Name + "/" + below}
	}
	s := telemetry.Series{Entity: e, Metric: u.rule.column.Metric}
	if f := r.folds[s]; f != nil && u.rule.fold != single {
		u.fold, u.slot = f, f.join()
		return true
	}
	if r.taken[s] {
		// Two leaves map to the same series; the first one is used.
		r.drop(collectors.Duplicate)
		return false
	}
	if e.Validate() != nil {
		r.drop(collectors.Malformed)
		return false
	}
	cell, ok := r.bookOf().Cell(e, u.rule.column)
	if !ok {
		r.drop(collectors.OverLimit)
		return false
	}
	r.taken[s] = true
	if u.port != nil {
		u.port.placed = true
	}
	if u.rule.fold != single {
		u.fold = &folded{cell: cell, how: u.rule.fold, column: u.rule.column}
		u.slot = u.fold.join()
		r.folds[s] = u.fold
	}
	u.cell = cell
	r.contain(e, u.port)
	return true
}

// contain states what contains an entity, once.
func (r *reader) contain(e telemetry.Entity, p *port) {
	if r.contained[e] || e == r.self {
		return
	}
	r.contained[e] = true
	outer := r.self
	edge := &telemetry.Edge{To: e, Relation: telemetry.Contains, Source: sourceName, Received: r.at.Received}
	switch {
	case e.Kind == telemetry.Queue && p != nil:
		outer = p.entity
		r.contain(outer, p)
	case e.Kind == telemetry.Port && p != nil && p.native != p.name && usable(p.native):
		edge.Attrs = []telemetry.Attr{{Key: "interface", Value: p.native}}
	}
	edge.From = outer
	r.pending = append(r.pending, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: edge})
}

// find lists the nodes that a path leads to; an element without its keys matches
// all.
func (r *reader) find(elems []element) []*node {
	at := []*node{r.root}
	for _, e := range elems {
		var next []*node
		for _, n := range at {
			for _, c := range n.children {
				if c != nil && c.elem.name == e.name && contains(c.elem.keys, e.keys) {
					next = append(next, c)
				}
			}
		}
		at = next
	}
	slices.SortFunc(at, func(a, b *node) int { return cmp.Compare(a.path(), b.path()) })
	return at
}

func contains(have, want []binding) bool {
	for _, k := range want {
		if !slices.Contains(have, k) {
			return false
		}
	}
	return true
}

func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	return n.parent.path() + "/" + string(n.elem.appendID(nil))
}

// below calls visit for every use at or below n.
func (n *node) below(visit func(*leaf, *use)) {
	if n.leaf != nil {
		for i := range n.leaf.uses {
			visit(n.leaf, &n.leaf.uses[i])
		}
	}
	for _, c := range n.children {
		if c != nil {
			c.below(visit)
		}
	}
}
