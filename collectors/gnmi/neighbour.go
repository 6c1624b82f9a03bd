package gnmi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxNeighbours bounds those that a device may claim.
const maxNeighbours = 4096

// neighbourhood is what a port has received about a neighbour at its other end.
type neighbourhood struct {
	port  *port
	words map[string]string
	stir  bool
	edge  *telemetry.Edge // as it was stated; nil if none is
	again bool            // it had one before
}

// neighbourhood returns that of the neighbour that a path's variables name.
func (r *reader) neighbourhood(p *port, vars []mapping.Binding) *neighbourhood {
	var key []byte
	for _, v := range vars {
		key = append(append(key, v.Value...), 0)
	}
	n := r.hoods[string(key)]
	if n == nil {
		n = &neighbourhood{port: p, words: map[string]string{}}
		if len(r.hoods) < maxNeighbours {
			r.hoods[string(key)] = n
			p.near = append(p.near, n)
		}
	}
	return n
}

// storeNeighbour stores one value about a neighbour.
func (r *reader) storeNeighbour(u *use, v scalar) {
	var w string
	switch {
	case v.form == text && len(v.b) <= 256:
		w = string(v.b)
	case v.form == truth && v.u == 1:
		w = "true"
	}
	if u.near.words[u.rule.field] != w {
		u.near.words[u.rule.field] = w
		r.stir(u.near)
	}
}

// leave forgets a word about a neighbour.
func (r *reader) leave(u *use) {
	delete(u.near.words, u.rule.field)
	r.stir(u.near)
}

func (r *reader) stir(n *neighbourhood) {
	if !n.stir {
		n.stir = true
		r.nearby = append(r.nearby, n)
		r.mark()
	}
}

// state emits the edge to a neighbour where it has changed, and the end of the
// one before.
func (r *reader) state(n *neighbourhood) {
	n.stir = false
	far, ok := r.far(n)
	if n.edge != nil && (!ok || n.edge.From != far && n.edge.To != far) {
		old := *n.edge
		old.End, old.Received = r.batch.Source, r.batch.Received
		r.pending = append(r.pending, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &old})
		n.edge, n.again = nil, true
	}
	if !ok {
		return
	}
	// Both ends report one cable: it is the same edge.
	e := &telemetry.Edge{From: n.port.entity, To: far, Relation: telemetry.Connects, Source: neighbourSource, Attrs: n.port.speedAttr()}
	if e.To.Compare(e.From) < 0 {
		e.From, e.To = e.To, e.From
	}
	switch {
	case n.edge != nil && slices.Equal(n.edge.Attrs, e.Attrs):
		return
	case n.edge != nil:
		e.Start = n.edge.Start
	case n.again:
		e.Start = r.batch.Source
	}
	e.Received = r.batch.Received
	n.edge, n.port.placed = e, true
	stated := *e
	r.pending = append(r.pending, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &stated})
}

// far returns the entity at the other end: a port if a switch is there, else a
// host's NIC.
func (r *reader) far(n *neighbourhood) (telemetry.Entity, bool) {
	system := strings.TrimSuffix(n.words["system"], "."+r.domain)
	name := n.words["port"]
	if d := n.words["description"]; usable(d) && r.names != "" || name == "" {
		name = d
	}
	if system == "" || name == "" {
		return telemetry.Entity{}, false
	}
	e := telemetry.Entity{Kind: telemetry.NIC, Name: telemetry.NamePart(system) + "/" + telemetry.NamePart(name)}
	if r.peer(system) || bridges(n.words["bridge"]) || bridges(n.words["router"]) {
		e.Kind = telemetry.Port
	}
	return e, e.Validate() == nil && n.port.entity.Validate() == nil
}

// bridges reads a capability: a boolean, or the octets of IEEE 802.1AB's bit map in
// hexadecimal, first bit first; bit 2 is a bridge, bit 4 a router.
func bridges(w string) bool {
	if len(w) >= 2 && w != "true" {
		if b, err := strconv.ParseUint(w[:2], 16, 8); err == nil {
			return b&0x28 != 0
		}
	}
	return w == "true"
}
