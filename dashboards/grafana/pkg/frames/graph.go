package frames

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// node and edge are the elements of a node graph.
type node struct {
	id, title, sub string
	main, second   string // the two figures within
	domain         string // gives the colour
	icon           string
	root           bool
	details        map[string]string
}

type edge struct {
	from, to     string
	main, second string
	thick        float64
	dashed       bool
}

// graph gathers nodes and edges, each once.
type graph struct {
	nodes   []node
	edges   []edge
	known   map[string]int
	details []detail // the columns of details, in the order of Grafana's list
}

// detail is one line of a node's context menu.
type detail struct{ name, title string }

func newGraph(details ...detail) *graph {
	return &graph{known: map[string]int{}, details: details}
}

// node adds one, unless it is known.
func (g *graph) node(n node) {
	if _, ok := g.known[n.id]; ok {
		return
	}
	g.known[n.id] = len(g.nodes)
	g.nodes = append(g.nodes, n)
}

func (g *graph) edge(e edge) { g.edges = append(g.edges, e) }

// frames makes the two frames that Grafana's node graph reads.
func (g *graph) frames() []*data.Frame {
	return []*data.Frame{g.nodeFrame(), g.edgeFrame()}
}

func (g *graph) nodeFrame() *data.Frame {
	n := len(g.nodes)
	id, title, sub := text("id", n), text("title", n).called("Entity"), text("subtitle", n).called("Kind")
	main, second := text("mainstat", n), text("secondarystat", n)
	paint, radius, icon := text("color", n), count("nodeRadius", n), optionalText("icon", n)
	columns := []column{id, title, sub, main, second, paint, radius, icon}
	for r, k := range g.nodes {
		id.Set(r, k.id)
		title.Set(r, k.title)
		sub.Set(r, k.sub)
		main.Set(r, k.main)
		second.Set(r, k.second)
		paint.Set(r, colour(k.domain))
		radius.Set(r, int64(40))
		if k.root {
			radius.Set(r, int64(60))
		}
		icon.Set(r, unless(k.icon))
	}
	for _, d := range g.details {
		c := text("detail__"+d.name, n).called(d.title)
		for r, k := range g.nodes {
			c.Set(r, k.details[d.name])
		}
		columns = append(columns, c)
	}
	return graphFrame("nodes", columns...)
}

func (g *graph) edgeFrame() *data.Frame {
	n := len(g.edges)
	id, from, to := text("id", n), text("source", n), text("target", n)
	main, second := text("mainstat", n), text("secondarystat", n)
	thick, dash := exact("thickness", n), optionalText("strokeDasharray", n)
	for r, e := range g.edges {
		id.Set(r, fmt.Sprintf("%s→%s#%d", e.from, e.to, r))
		from.Set(r, e.from)
		to.Set(r, e.to)
		main.Set(r, e.main)
		second.Set(r, e.second)
		thick.Set(r, max(e.thick, 1))
		if e.dashed {
			dash.Set(r, unless("6 4"))
		}
	}
	return graphFrame("edges", id, from, to, main, second, thick, dash)
}

func graphFrame(name string, columns ...column) *data.Frame {
	f := table(name, columns...)
	f.Meta = &data.FrameMeta{PreferredVisualization: data.VisTypeNodeGraph}
	return f
}

// inOrder sorts what was collected in maps.
func (g *graph) inOrder() {
	slices.SortFunc(g.nodes, func(a, b node) int { return cmp.Compare(a.id, b.id) })
	slices.SortFunc(g.edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.main, b.main))
	})
}
