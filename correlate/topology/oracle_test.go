package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// naive answers from a list of statements by the definitions in doc.go, with
// no index and no memory of how it came about.
type naive struct {
	at    telemetry.Time
	edges []telemetry.Edge // in force, one for each identity
	first []telemetry.Time
	known []telemetry.Entity
	holds []bool // edge i answers
}

func newNaive(statements []telemetry.Edge, known []telemetry.Entity, at telemetry.Time) *naive {
	n := &naive{at: at, known: known}
	due := slices.Clone(statements)
	slices.SortFunc(due, func(a, b telemetry.Edge) int { // the statement that counts comes last
		ended := func(e telemetry.Edge) int { return cmp.Compare(min(e.End, 1), 0) }
		return cmp.Or(cmp.Compare(a.Received, b.Received), cmp.Compare(ended(a), ended(b)), cmp.Compare(a.End, b.End),
			slices.CompareFunc(a.Attrs, b.Attrs, compareAttr))
	})
	for _, s := range due {
		if s.From == s.To || s.End != 0 && s.End < s.Start || s.Start > at || s.Received > at {
			continue
		}
		i := slices.IndexFunc(n.edges, func(e telemetry.Edge) bool {
			return e.From == s.From && e.To == s.To && e.Relation == s.Relation && e.Source == s.Source && e.Start == s.Start
		})
		if i < 0 {
			n.edges, n.first = append(n.edges, s), append(n.first, s.Received)
			continue
		}
		n.edges[i] = s
	}
	for i := len(n.edges) - 1; i >= 0; i-- {
		if e := n.edges[i]; e.End != 0 && e.End <= at {
			n.edges, n.first = slices.Delete(n.edges, i, i+1), slices.Delete(n.first, i, i+1)
		}
	}
	n.decide()
	return n
}

// order lists the edges, the preferred one first.
func (n *naive) order() []int {
	var is []int
	for i := range n.edges {
		is = append(is, i)
	}
	stale := func(e telemetry.Edge) int {
		if e.Received != 0 && n.at.Sub(e.Received) >= StaleAfter {
			return 1
		}
		return 0
	}
	slices.SortFunc(is, func(i, j int) int {
		a, b := n.edges[i], n.edges[j]
		return cmp.Or(cmp.Compare(Rank(b.Source), Rank(a.Source)), cmp.Compare(stale(a), stale(b)), cmp.Compare(b.Start, a.Start),
			cmp.Compare(n.first[j], n.first[i]), a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Source, b.Source))
	})
	return is
}

// decide takes edges one by one, the best first, if they fit to those taken.
func (n *naive) decide() {
	n.holds = make([]bool, len(n.edges))
	for _, i := range n.order() {
		e := n.edges[i]
		fits := true
		for j, o := range n.edges {
			if !n.holds[j] || o.Relation != e.Relation {
				continue
			}
			switch e.Relation {
			case telemetry.Connects:
				same := e.From == o.From && e.To == o.To || e.From == o.To && e.To == o.From
				shares := e.From == o.From || e.From == o.To || e.To == o.From || e.To == o.To
				fits = fits && (same || !shares)
			case telemetry.Contains:
				fits = fits && !(o.To == e.To && o.From != e.From && o.From.Kind == e.From.Kind)
			}
		}
		if e.Relation == telemetry.Contains && n.liesIn(e.From, e.To) {
			fits = false
		}
		n.holds[i] = fits
	}
}

// liesIn reports whether a is or is contained in b by the containments taken.
func (n *naive) liesIn(a, b telemetry.Entity) bool {
	if a == b {
		return true
	}
	for i, e := range n.edges {
		if n.holds[i] && e.Relation == telemetry.Contains && e.To == a && n.liesIn(e.From, b) {
			return true
		}
	}
	return false
}

func (n *naive) stated(e telemetry.Entity) bool {
	return slices.Contains(n.known, e) ||
		slices.ContainsFunc(n.edges, func(x telemetry.Edge) bool { return x.From == e || x.To == e })
}

// outers lists what e is contained in, innermost first, without regard to whether e
// exists; loops in names included.
func (n *naive) outers(e telemetry.Entity) (out []telemetry.Entity, byName bool) {
	for i, x := range n.edges {
		if n.holds[i] && x.Relation == telemetry.Contains && x.To == e {
			out = append(out, x.From)
		}
	}
	if len(out) > 0 {
		slices.SortFunc(out, compareInner)
		return slices.Compact(out), false
	}
	kinds := map[telemetry.Kind]string{"gpu": "node", "nic": "node", "nvlink": "gpu nvswitch", "rank": "job",
		"port": "switch nic node", "queue": "port nic"}[e.Kind]
	i := strings.LastIndexByte(e.Name, '/')
	if kinds == "" || i < 0 {
		return nil, false
	}
	for k := range strings.FieldsSeq(kinds) {
		if h := (telemetry.Entity{Kind: telemetry.Kind(k), Name: e.Name[:i]}); n.stated(h) {
			return []telemetry.Entity{h}, true
		}
	}
	return []telemetry.Entity{{Kind: telemetry.Kind(strings.Fields(kinds)[0]), Name: e.Name[:i]}}, true
}

// containers is outers without names that would close a loop.
func (n *naive) containers(e telemetry.Entity) []telemetry.Entity {
	out, byName := n.outers(e)
	if byName && n.climbs(out[0], e, nil) {
		return nil
	}
	return out
}

func (n *naive) climbs(from, to telemetry.Entity, seen []telemetry.Entity) bool {
	if from == to {
		return true
	}
	if slices.Contains(seen, from) {
		return false
	}
	out, _ := n.outers(from)
	for _, o := range out {
		if n.climbs(o, to, append(seen, from)) {
			return true
		}
	}
	return false
}

// universe lists everything that exists, in order.
func (n *naive) universe() []telemetry.Entity {
	all := slices.Clone(n.known)
	for _, e := range n.edges {
		all = append(all, e.From, e.To)
	}
	for i := 0; i < len(all); i++ {
		for _, c := range n.containers(all[i]) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return sorted(all)
}

func (n *naive) contents(e telemetry.Entity) (out []telemetry.Entity) {
	for _, c := range n.universe() {
		if slices.Contains(n.containers(c), e) {
			out = append(out, c)
		}
	}
	return out
}

func (n *naive) peer(e telemetry.Entity) (peer telemetry.Entity, speed float64) {
	for _, i := range n.order() {
		x := n.edges[i]
		if !n.holds[i] || x.Relation != telemetry.Connects || x.From != e && x.To != e {
			continue
		}
		peer = x.To
		if x.To == e {
			peer = x.From
		}
		if speed == 0 {
			speed = speedOf(x.Attrs)
		}
	}
	return peer, speed
}

func (n *naive) nodeOf(e telemetry.Entity) telemetry.Entity {
	for e.Kind != telemetry.Node {
		in := n.containers(e)
		if len(in) == 0 {
			return telemetry.Entity{}
		}
		e = in[0]
	}
	return e
}

// jobsOn finds every job with a rank or itself on a node.
func (n *naive) jobsOn(node telemetry.Entity) (out []telemetry.Entity) {
	for _, e := range n.edges {
		if e.Relation != telemetry.Runs || n.nodeOf(e.To) != node {
			continue
		}
		if e.From.Kind == telemetry.Job {
			out = append(out, e.From)
		} else if e.From.Kind == telemetry.Rank {
			out = append(out, slices.DeleteFunc(slices.Clone(n.containers(e.From)), func(c telemetry.Entity) bool { return c.Kind != telemetry.Job })...)
		}
	}
	return sorted(out)
}

func (n *naive) uplinks(sw telemetry.Entity) (up, down []telemetry.Entity) {
	for _, p := range n.contents(sw) {
		if p.Kind != telemetry.Port {
			continue
		}
		far, _ := n.peer(p)
		other := slices.DeleteFunc(slices.Clone(n.containers(far)), func(c telemetry.Entity) bool { return c.Kind != telemetry.Switch })
		in := n.containers(far)
		switch {
		case far.Kind == telemetry.NIC || len(in) > 0 && in[0].Kind == telemetry.NIC:
			down = append(down, p)
		case far.Kind == telemetry.Port && len(other) > 0 && other[0] != sw:
			up = append(up, p)
		}
	}
	return up, down
}

func (n *naive) neighbours(e telemetry.Entity) (out []Neighbour) {
	if !slices.Contains(n.universe(), e) {
		return nil
	}
	for _, x := range n.edges {
		if x.Relation == telemetry.Contains || x.Relation == telemetry.Connects {
			continue
		}
		if x.From == e {
			out = append(out, Neighbour{x.Relation, x.To, true})
		}
		if x.To == e {
			out = append(out, Neighbour{x.Relation, x.From, false})
		}
	}
	if p, _ := n.peer(e); !p.IsZero() {
		out = append(out, Neighbour{telemetry.Connects, p, true})
	}
	for _, c := range n.contents(e) {
		out = append(out, Neighbour{telemetry.Contains, c, true})
	}
	for _, c := range n.containers(e) {
		out = append(out, Neighbour{telemetry.Contains, c, false})
	}
	slices.SortFunc(out, Neighbour.compare)
	return slices.Compact(out)
}

// lost lists the edges that answer nothing.
func (n *naive) lost() (out []telemetry.Edge) {
	for i, e := range n.edges {
		if !n.holds[i] {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, compareStatement)
	return out
}

// above is what contains, feeds or cools an entity, without what is contained in it.
func (n *naive) above(e telemetry.Entity) (out []telemetry.Entity) {
	for _, x := range n.neighbours(e) {
		in := append(n.containers(x.Entity), telemetry.Entity{})[0]
		if !x.Out && in != e && (x.Relation == telemetry.Contains || x.Relation == telemetry.Feeds || x.Relation == telemetry.Cools) {
			out = append(out, x.Entity)
		}
	}
	return out
}
