package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	topologyFile = "topology.json"
	edgeSource   = "file"
	maxEdges     = 8 << 20
)

// topology is what topology.json states.
type topology struct {
	known     map[telemetry.Entity]int // line
	container map[telemetry.Entity]telemetry.Entity
	edges     []telemetry.Edge
	places    []int // line of each edge, while reading
	scratch   []byte
}

// readTopology reads topology.json.
func readTopology(files fs.FS, r *report) *topology {
	t := &topology{known: map[telemetry.Entity]int{}, container: map[telemetry.Entity]telemetry.Entity{}}
	doc, err := readDocument(files, topologyFile)
	if err != nil {
		r.fail(place{file: topologyFile}, "", err)
		return t
	}
	doc.object(r, map[string]any{
		"entities": func(d *document) { d.array(r, func(i int, e *document) bool { return t.entity(r, i, e) }) },
		"edges":    func(d *document) { d.array(r, func(i int, e *document) bool { return t.edge(r, i, e) }) },
	})
	t.check(r)
	return t
}

// add puts things where the edges state that they are, unless the file has put
// them somewhere. The edges come out sorted.
func (t *topology) add(contains []telemetry.Edge) {
	for _, e := range contains {
		if _, stated := t.container[e.To]; !stated {
			t.container[e.To] = e.From
			t.edges = append(t.edges, e)
		}
	}
	slices.SortStableFunc(t.edges, func(a, b telemetry.Edge) int { return a.Compare(&b) })
}

func (t *topology) entity(r *report, i int, d *document) bool {
	var id string
	var attrs []telemetry.Attr
	d.object(r, map[string]any{"id": &id, "attrs": func(a *document) { attrs = readAttrs(r, fmt.Sprintf("entities[%d].attrs", i), a) }})
	e, err := telemetry.ParseEntity(id)
	if err != nil {
		return !r.fail(d.at(0), fmt.Sprintf("entities[%d].id", i), err)
	}
	if line, twice := t.known[e]; twice {
		return !r.fail(d.at(0), fmt.Sprintf("entities[%d].id", i), fmt.Errorf("%s is also in line %d", e, line))
	}
	t.known[e] = d.at(0).line
	for _, a := range attrs {
		g := telemetry.Entity{Kind: telemetry.Group, Name: telemetry.NamePart(a.Key) + "/" + telemetry.NamePart(a.Value)}
		if err := g.Validate(); err != nil || a.Value == "" {
			r.warn(d.at(0), "entities[%d].attrs.%s: %.60q makes no group, ignored", i, a.Key, a.Value)
			continue
		}
		t.edges = append(t.edges, telemetry.Edge{From: e, To: g, Relation: telemetry.Member, Source: edgeSource})
		t.places = append(t.places, d.at(0).line)
	}
	return true
}

func (t *topology) edge(r *report, i int, d *document) bool {
	var from, to, rel string
	var start, end *int64
	e := telemetry.Edge{Source: edgeSource}
	ok := d.object(r, map[string]any{"from": &from, "to": &to, "rel": &rel, "start_ns": &start, "end_ns": &end,
		"attrs": func(a *document) { e.Attrs = readAttrs(r, fmt.Sprintf("edges[%d].attrs", i), a) }})
	if !ok {
		return len(r.errs) < maxErrors
	}
	fail := func(field string, err error) bool {
		return !r.fail(d.at(0), fmt.Sprintf("edges[%d].%s", i, field), err)
	}
	var err error
	if e.From, err = telemetry.ParseEntity(from); err != nil {
		return fail("from", err)
	}
	if e.To, err = telemetry.ParseEntity(to); err != nil {
		return fail("to", err)
	}
	if e.Relation, err = telemetry.ParseRelation(rel); err != nil {
		return fail("rel", err)
	}
	if start != nil {
		e.Start = telemetry.Time(*start)
	}
	if end != nil {
		e.End = telemetry.Time(*end)
	}
	switch {
	case e.From == e.To:
		return fail("to", fmt.Errorf("%s is related to itself", e.To))
	case e.Start < 0 || e.End < 0:
		return fail("start_ns", errors.New("a negative time"))
	case end != nil && e.End <= e.Start:
		return fail("end_ns", fmt.Errorf("%d is not after start_ns %d", e.End, e.Start))
	case len(t.edges) >= maxEdges:
		r.fail(d.at(0), "edges", fmt.Errorf("more than %d", maxEdges))
		return false
	}
	if t.scratch, err = telemetry.AppendRecord(t.scratch[:0], &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}); err != nil {
		return fail("attrs", err) // what the log would refuse later is refused here, with its place
	}
	t.edges = append(t.edges, e)
	t.places = append(t.places, d.at(0).line)
	return true
}

// readAttrs reads an object of strings, numbers and booleans, as strings,
// ordered by key.
func readAttrs(r *report, field string, d *document) []telemetry.Attr {
	dec := json.NewDecoder(bytes.NewReader(d.text))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		r.fail(d.where(dec, err), field, jsonError(err))
		return nil
	}
	out := make([]telemetry.Attr, 0, len(m))
	for k, v := range m {
		switch v.(type) {
		case nil:
			continue
		case string, json.Number, bool:
			out = append(out, telemetry.Attr{Key: k, Value: fmt.Sprint(v)})
		default:
			r.fail(d.at(0), field+"."+k, errors.New("want a string, a number or a boolean"))
		}
	}
	slices.SortFunc(out, func(a, b telemetry.Attr) int { return strings.Compare(a.Key, b.Key) })
	return out
}
