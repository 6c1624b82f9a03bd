package frames

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// MaxNodes is how many Grafana's node graph draws.
const MaxNodes = 1500

// Topology returns a node graph of at most MaxNodes. If there are more entities,
// parts are replaced by their device; if that is not enough, devices by their kind.
// A notice then reports it.
func Topology(t *client.Topology, centre string) []*data.Frame {
	all := entitiesOf(t)
	levels := []func(string) string{
		func(e string) string { return e },
		device,
		func(e string) string { return kindOf(e) + ":" },
	}
	level := 0
	members := grouped(all, centre, levels[0])
	for len(members) > MaxNodes && level+1 < len(levels) {
		level++
		members = grouped(all, centre, levels[level])
	}
	of := func(e string) string {
		if e == centre {
			return e
		}
		return levels[level](e)
	}
	g := newGraph(detail{"entity", "Entity"}, detail{"members", "Stands for"})
	for id, n := range members {
		g.node(topologyNode(id, n, id == centre))
	}
	links(g, t.Edges, of)
	g.inOrder()
	out := g.frames()
	if level > 0 {
		Say(out[0], fmt.Sprintf("%d entities are drawn as %d groups: ask for fewer hops, or around another entity, to see them one by one", len(all), len(members)))
	}
	if t.Truncated || centre == "" && len(t.Edges) >= 5000 {
		Say(out[0], "this is a part: Quintet returns at most 5,000 edges at a time")
	}
	return out
}

// entitiesOf returns the listed entities and those at the ends of edges.
func entitiesOf(t *client.Topology) map[string]bool {
	all := make(map[string]bool, len(t.Entities))
	for _, e := range t.Entities {
		all[e.ID] = true
	}
	for _, e := range t.Edges {
		all[e.From], all[e.To] = true, true
	}
	return all
}

// grouped counts the members of each group. The centre stays apart.
func grouped(all map[string]bool, centre string, group func(string) string) map[string]int {
	out := map[string]int{}
	for e := range all {
		if e == centre {
			out[e]++
			continue
		}
		out[group(e)]++
	}
	return out
}

// device returns the entity of which an entity is a part: "nic:h9/nic0" is of
// "node:h9", "port:leaf1/p2" of "switch:leaf1". Other entities are returned
// unchanged.
func device(entity string) string {
	kind, name, ok := strings.Cut(entity, ":")
	first, _, part := strings.Cut(name, "/")
	if !ok || !part {
		return entity
	}
	switch kind {
	case "nic", "gpu", "nvlink", "nvswitch":
		return "node:" + first
	case "port", "queue", "optic":
		return "switch:" + first
	case "rank":
		return "job:" + first
	}
	return kind + ":" + first
}

func topologyNode(id string, members int, centre bool) node {
	kind := kindOf(id)
	n := node{id: id, title: short(id), sub: kind, icon: iconOf(kind), domain: domainOfKind(kind), root: centre,
		details: map[string]string{"entity": id}}
	if n.title == "" { // a kind stands for all of it
		n.title, n.sub = kind, "all of the kind"
	}
	if members > 1 {
		n.main = strconv.Itoa(members)
		n.details["members"] = fmt.Sprintf("%d entities", members)
	}
	return n
}

// domainOfKind returns the domain of a kind of entity.
func domainOfKind(kind string) string {
	switch kind {
	case "job", "rank", "tenant", "storage":
		return "software"
	case "node", "gpu", "nvlink", "nvswitch":
		return "computing"
	case "nic", "port", "switch", "queue", "optic", "plane", "rail", "sm":
		return "network"
	case "psu", "pdu", "feed", "shelf", "ups", "battery", "breaker":
		return "power"
	case "cdu", "crah", "loop", "fan", "pump", "valve":
		return "cooling"
	}
	return ""
}

// links draws the edges between groups, each pair and relation once.
func links(g *graph, edges []client.Edge, of func(string) string) {
	type key struct{ from, to, rel string }
	n, stale := map[key]int{}, map[key]bool{}
	for _, e := range edges {
		k := key{of(e.From), of(e.To), e.Rel}
		if k.from == k.to {
			continue
		}
		stale[k] = e.Stale && (n[k] == 0 || stale[k])
		n[k]++
	}
	for k, count := range n {
		e := edge{from: k.from, to: k.to, main: k.rel, dashed: stale[k]}
		if count > 1 {
			e.second, e.thick = strconv.Itoa(count), min(1+float64(count)/8, 8)
		}
		if stale[k] {
			e.second = strings.TrimSpace(e.second + " stale")
		}
		g.edge(e)
	}
}
