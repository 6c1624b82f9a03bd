package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Snapshot writes the graph, or replaces it by what was written. What is
// written is keyed by identity and in order, so two graphs that answer alike
// from here on write the same bytes (I5). Only statements are written; every
// index is built again.
//
//	"topo"  at  generation  overflow
//	entities: known, kind, name                        in order, each known or named by an edge
//	sources:  name                                     in order
//	edges:    relation, from, to, source (numbers of the lists above),
//	          start, end, received, first, attributes  in order
//	refused:  fault, edge
//	pending:  edge                                     in order
//	knowing:  forget, entity                           as filed
func (g *Graph) Snapshot(c *snapshot.Codec) {
	var im image
	if c.Writing() {
		im = g.image()
	}
	im.snapshot(c)
	if c.Writing() || c.Err() != nil {
		return
	}
	restored, err := im.graph()
	if err != nil {
		c.Fail(fmt.Errorf("topology: %w", err))
		return
	}
	*g = *restored
}

// image is what a snapshot holds.
type image struct {
	at         telemetry.Time
	generation uint64
	overflow   uint64
	entities   []imageEntity
	sources    []string
	edges      []imageEdge
	refused    []Contradiction
	pending    []telemetry.Edge
	knowing    []knowledge
}

type imageEntity struct {
	known  bool
	entity telemetry.Entity
}

type imageEdge struct {
	relation                    uint8
	from, to, source            uint32
	start, end, received, first telemetry.Time
	attrs                       []telemetry.Attr
}

func (e imageEdge) compare(o imageEdge) int {
	for _, c := range [...]int{cmp.Compare(e.relation, o.relation), cmp.Compare(e.from, o.from), cmp.Compare(e.to, o.to),
		cmp.Compare(e.source, o.source), cmp.Compare(e.start, o.start)} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// snapshot names the fields in order. Sizes are the least an item takes.
func (im *image) snapshot(c *snapshot.Codec) {
	c.Tag("topo")
	c.Time(&im.at)
	c.U64(&im.generation)
	c.U64(&im.overflow)
	snapshot.List(c, &im.entities, 17, func(c *snapshot.Codec, e *imageEntity) {
		c.Bool(&e.known)
		c.Entity(&e.entity)
	})
	snapshot.List(c, &im.sources, 8, func(c *snapshot.Codec, s *string) { c.String(s) })
	snapshot.List(c, &im.edges, 53, func(c *snapshot.Codec, e *imageEdge) {
		c.U8(&e.relation)
		c.U32(&e.from)
		c.U32(&e.to)
		c.U32(&e.source)
		c.Time(&e.start)
		c.Time(&e.end)
		c.Time(&e.received)
		c.Time(&e.first)
		attrs(c, &e.attrs)
	})
	snapshot.List(c, &im.refused, 80, func(c *snapshot.Codec, r *Contradiction) {
		c.String((*string)(&r.Fault))
		edge(c, &r.Lost)
	})
	snapshot.List(c, &im.pending, 72, edge)
	snapshot.List(c, &im.knowing, 17, func(c *snapshot.Codec, k *knowledge) {
		c.Bool(&k.forget)
		c.Entity(&k.entity)
	})
}

func edge(c *snapshot.Codec, e *telemetry.Edge) {
	c.Entity(&e.From)
	c.Entity(&e.To)
	c.String((*string)(&e.Relation))
	c.Time(&e.Start)
	c.Time(&e.End)
	c.Time(&e.Received)
	c.String(&e.Source)
	attrs(c, &e.Attrs)
}

func attrs(c *snapshot.Codec, as *[]telemetry.Attr) {
	snapshot.List(c, as, 16, func(c *snapshot.Codec, a *telemetry.Attr) {
		c.String(&a.Key)
		c.String(&a.Value)
	})
}

// image takes the statements out of the graph.
func (g *Graph) image() image {
	im := image{at: g.at, generation: g.generation, overflow: g.overflow, refused: g.refused, knowing: g.knowing}
	im.pending = slices.Clone(g.pending)
	slices.SortFunc(im.pending, compareStatement)
	rank := make([]uint32, len(g.verts)) // the number of each vertex among the entities
	for _, id := range g.identified() {
		rank[id] = uint32(len(im.entities))
		im.entities = append(im.entities, imageEntity{g.verts[id].known, g.verts[id].entity})
	}
	for id := range g.facts {
		if g.facts[id].used {
			im.sources = append(im.sources, g.facts[id].source)
		}
	}
	slices.Sort(im.sources)
	im.sources = slices.Compact(im.sources)
	for id := range g.facts {
		f := &g.facts[id]
		if !f.used {
			continue
		}
		source, _ := slices.BinarySearch(im.sources, f.source)
		im.edges = append(im.edges, imageEdge{uint8(f.relation), rank[f.from], rank[f.to], uint32(source),
			f.start, f.end, f.received, f.first, f.attrs})
	}
	slices.SortFunc(im.edges, imageEdge.compare)
	return im
}

// identified returns, in identity order, every vertex that is known or that a fact
// names; the others follow from names.
func (g *Graph) identified() []int32 {
	var ids []int32
	for id := range g.verts {
		if v := &g.verts[id]; v.used && (v.known || len(v.facts) > 0) {
			ids = append(ids, int32(id))
		}
	}
	g.sortIDs(ids)
	return ids
}

// compareStatement orders pending edges; telemetry.Edge.Compare leaves the
// receipt out.
func compareStatement(a, b telemetry.Edge) int {
	if c := a.Compare(&b); c != 0 {
		return c
	}
	return cmp.Compare(a.Received, b.Received)
}

// graph builds a graph from an image; it trusts nothing in it.
func (im *image) graph() (*Graph, error) {
	if err := im.validate(); err != nil {
		return nil, err
	}
	g := New()
	g.at, g.overflow = im.at, im.overflow
	ids := make([]int32, len(im.entities))
	for i, e := range im.entities {
		ids[i] = g.intern(e.entity)
		g.verts[ids[i]].known = e.known
		g.mark(ids[i], markHome)
	}
	for _, e := range im.edges {
		k := key{ids[e.from], ids[e.to], relation(e.relation), e.start, im.sources[e.source]}
		g.create(k, &telemetry.Edge{End: e.end, Received: e.received, Attrs: e.attrs})
		g.facts[g.keys[k]].first = e.first
	}
	g.update()
	g.refused, g.pending, g.knowing = im.refused, im.pending, im.knowing
	for i := range g.pending {
		g.due = min(g.due, dueAt(&g.pending[i]))
	}
	g.generation, g.changed = im.generation, false
	return g, nil
}

// validate finds what a writer never writes.
func (im *image) validate() error {
	if im.at < 0 || len(im.edges) > MaxEdges || len(im.pending) > MaxEdges || len(im.refused) > maxRefused {
		return errors.New("more than a graph can hold")
	}
	if err := im.validateTables(); err != nil {
		return err
	}
	named := make([]bool, len(im.entities))
	for i, e := range im.edges {
		if err := im.validateEdge(e); err != nil {
			return fmt.Errorf("edge %d: %w", i, err)
		}
		if i > 0 && im.edges[i-1].compare(e) >= 0 {
			return fmt.Errorf("edge %d: out of order", i)
		}
		named[e.from], named[e.to] = true, true
	}
	for i, e := range im.entities {
		if !e.known && !named[i] {
			return fmt.Errorf("entity %s: named by nothing", e.entity)
		}
	}
	return im.validateWaiting()
}

func (im *image) validateTables() error {
	for i, e := range im.entities {
		if err := e.entity.Validate(); err != nil {
			return err
		}
		if i > 0 && im.entities[i-1].entity.Compare(e.entity) >= 0 {
			return fmt.Errorf("entity %s: out of order", e.entity)
		}
	}
	for i := 1; i < len(im.sources); i++ {
		if im.sources[i-1] >= im.sources[i] {
			return fmt.Errorf("source %q: out of order", im.sources[i])
		}
	}
	return nil
}

func (im *image) validateEdge(e imageEdge) error {
	switch {
	case int(e.relation) >= int(relations), int(e.from) >= len(im.entities), int(e.to) >= len(im.entities), int(e.source) >= len(im.sources):
		return errors.New("number out of range")
	case e.from == e.to, e.start < 0, e.start > im.at, e.end != 0 && e.end < e.start, e.received < 0, e.first < 0, e.first > e.received:
		return errors.New("times or ends that cannot be")
	}
	return nil
}

func (im *image) validateWaiting() error {
	for i := range im.refused {
		if o := judge(&im.refused[i].Lost); o != SelfLoop && o != EndBeforeStart {
			return fmt.Errorf("refused edge %d: %s", i, o)
		}
		im.refused[i].Entity = im.refused[i].Lost.From
	}
	for i := range im.pending {
		if o := judge(&im.pending[i]); o == Invalid {
			return fmt.Errorf("pending edge %d: %s", i, o)
		}
	}
	for _, k := range im.knowing {
		if err := k.entity.Validate(); err != nil {
			return err
		}
	}
	return nil
}
