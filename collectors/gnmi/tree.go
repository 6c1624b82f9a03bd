package gnmi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// node is a place in a device's tree.
type node struct {
	elem     mapping.Element
	parent   *node
	states   []state
	children map[string]*node    // by element; nil where nothing means anything to us
	lists    map[string][]string // the keys of lists among the members of a JSON object
	leaf     *leaf
}

// state is a place in the profile that a node's path fits, and how.
type state struct {
	at   *pattern
	vars []mapping.Binding
}

// leaf is a node that means something.
type leaf struct {
	uses []use
	at   telemetry.Time // of its value, by the device
	seq  uint64         // of the notification that it was in last
}

// use is one use of a leaf. An ignored leaf has none.
type use struct {
	rule     *rule
	cell     book.Cell
	fold     *folded
	slot     int
	word     uint64
	known    bool
	onChange bool           // restated while the session lasts
	at       telemetry.Time // of the word
	port     *port
	near     *neighbourhood
}

// child returns the node below n for an element, nil where nothing is known of
// it; it is found out once.
func (r *reader) child(n *node, e mapping.Element) *node {
	r.scratch = e.AppendTo(r.scratch[:0])
	if c, ok := n.children[string(r.scratch)]; ok {
		return c
	}
	if !r.keep(placeBytes + 4*len(r.scratch)) {
		return nil
	}
	c := &node{elem: mapping.Element{Name: strings.Clone(e.Name), Keys: slices.Clone(e.Keys)}, parent: n}
	for _, s := range n.states {
		for i := range s.at.edges {
			if vars, ok := s.at.edges[i].step.Match(c.elem.Name, c.elem.Keys, s.vars); ok {
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
	n.children[string(e.AppendTo(nil))] = c
	if c != nil {
		r.bear(c)
	}
	return c
}

// bear finds the uses of a new node.
func (r *reader) bear(n *node) {
	for _, s := range n.states {
		native, has := mapping.Bound(s.vars, "port")
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
func fits(ts []mapping.Selector, name string) bool {
	return slices.ContainsFunc(ts, func(t mapping.Selector) bool {
		_, ok := t.Match(name, nil, false)
		return ok
	})
}

// place finds the series of a use.
func (r *reader) place(u *use, vars []mapping.Binding) bool {
	e, ok := r.self, true
	if u.rule.of.Word == "" {
		e, ok = u.rule.of.Entity(func(_, name string) (string, bool) {
			switch name {
			case "target":
				return r.self.Name, true
			case "port":
				return u.port.name, true
			}
			v, ok := mapping.Bound(vars, name)
			return telemetry.NamePart(v), ok
		})
	}
	if !ok {
		r.drop(collectors.Malformed)
		return false
	}
	s := telemetry.Series{Entity: e, Metric: u.rule.Column.Metric}
	if f := r.folds[s]; f != nil && u.rule.Reduce != mapping.First {
		u.fold, u.slot = f, f.join()
		return true
	}
	if r.taken[s] {
		// Two leaves map to the same series; the first one is used.
		r.drop(collectors.Duplicate)
		return false
	}
	cell, ok := r.bookOf().Cell(e, u.rule.Column)
	if !ok {
		r.drop(collectors.OverLimit)
		return false
	}
	r.taken[s] = true
	if u.port != nil {
		u.port.placed = true
	}
	if u.rule.Reduce != mapping.First {
		u.fold = &folded{cell: cell, how: u.rule.Reduce, column: u.rule.Column}
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
func (r *reader) find(elems []mapping.Element) []*node {
	at := []*node{r.root}
	for _, e := range elems {
		var next []*node
		for _, n := range at {
			for _, c := range n.children {
				if c != nil && c.elem.Name == e.Name && contains(c.elem.Keys, e.Keys) {
					next = append(next, c)
				}
			}
		}
		at = next
	}
	slices.SortFunc(at, func(a, b *node) int { return cmp.Compare(a.path(), b.path()) })
	return at
}

func contains(have, want []mapping.Binding) bool {
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
	return n.parent.path() + "/" + string(n.elem.AppendTo(nil))
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
