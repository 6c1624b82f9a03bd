package receive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// edgeSource is the source of an edge whose request states none.
const edgeSource = "api"

// edgeList is a request of edges that was found right.
type edgeList []*telemetry.Edge

// edges reads POST /api/v1/edges: a list of edges in the shape of a bundle's
// topology.json, or an object that has it under "edges", next to "entities" whose
// attributes become groups. So a topology.json is a request.
func (d *document) edges(now telemetry.Time) (edgeList, error) {
	var out edgeList
	err := d.listOrObject("edges", func(place string, _ int) error {
		e, err := d.edge(place, now)
		out = append(out, e)
		return err
	}, fields{"entities": func(place string) error {
		return d.array(place, false, func(place string, _ int) error {
			groups, err := d.groups(place, now)
			out = append(out, groups...)
			return err
		})
	}})
	if err == nil && len(out) == 0 {
		err = faultf("", "no edges")
	}
	return out, err
}

func (d *document) edge(place string, now telemetry.Time) (*telemetry.Edge, error) {
	var relation string
	var startNs, endNs telemetry.Time
	e := &telemetry.Edge{Received: now, Source: edgeSource}
	err := d.object(place, false, fields{
		"from": d.entity(&e.From), "to": d.entity(&e.To), "rel": d.text(&relation), "source": d.text(&e.Source), "attrs": d.attrs(&e.Attrs),
		"start": d.instant(&e.Start), "end": d.instant(&e.End), "start_ns": d.nanoseconds(&startNs), "end_ns": d.nanoseconds(&endNs)})
	if err != nil {
		return nil, err
	}
	switch {
	case e.From.IsZero():
		return nil, faultf(under(place, "from"), "missing")
	case e.To.IsZero():
		return nil, faultf(under(place, "to"), "missing")
	case e.Start != 0 && startNs != 0:
		return nil, faultf(under(place, "start_ns"), "start is stated, too")
	case e.End != 0 && endNs != 0:
		return nil, faultf(under(place, "end_ns"), "end is stated, too")
	}
	if e.Relation, err = telemetry.ParseRelation(relation); err != nil {
		return nil, &fault{field: under(place, "rel"), err: err}
	}
	e.Start, e.End = max(e.Start, startNs), max(e.End, endNs)
	if e.End != 0 && e.End <= e.Start {
		return nil, faultf(under(place, "end"), "%s is not after the start, %s", e.End, e.Start)
	}
	return e, fit(place, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
}

// attrs reads an object of strings, numbers and booleans, as strings, by key.
func (d *document) attrs(into *[]telemetry.Attr) func(string) error {
	return func(place string) error {
		t, err := d.next(place)
		if err != nil || t == nil {
			return err
		}
		if t != json.Delim('{') {
			return faultf(place, "%s: want an object", describe(t))
		}
		for d.dec.More() {
			if err := d.attr(place, into); err != nil {
				return err
			}
		}
		slices.SortFunc(*into, func(a, b telemetry.Attr) int { return strings.Compare(a.Key, b.Key) })
		_, err = d.next(place)
		return err
	}
}

func (d *document) attr(place string, into *[]telemetry.Attr) error {
	t, err := d.next(place)
	if err != nil {
		return err
	}
	key, _ := t.(string)
	at := under(place, key)
	v, err := d.next(at)
	if err != nil {
		return err
	}
	switch v.(type) {
	case nil:
		return nil
	case string, bool, json.Number:
	default:
		return faultf(at, "%s: want a string, a number or a boolean", describe(v))
	}
	if len(*into) >= telemetry.MaxEdgeAttrs {
		return faultf(at, "more than %d attributes", telemetry.MaxEdgeAttrs)
	}
	*into = append(*into, telemetry.Attr{Key: key, Value: fmt.Sprint(v)})
	return nil
}

// groups reads an entity with its attributes: each makes it a member of a
// group, group:<key>/<value>, as in a bundle.
func (d *document) groups(place string, now telemetry.Time) (edgeList, error) {
	var e telemetry.Entity
	var attrs []telemetry.Attr
	if err := d.object(place, false, fields{"id": d.entity(&e), "attrs": d.attrs(&attrs)}); err != nil {
		return nil, err
	}
	if e.IsZero() {
		return nil, faultf(under(place, "id"), "missing")
	}
	var out edgeList
	for _, a := range attrs {
		at := under(place, "attrs."+a.Key)
		if a.Key == "" || a.Value == "" {
			return nil, &fault{field: at, err: errors.New("an empty name or value makes no group")}
		}
		g := &telemetry.Edge{From: e, To: telemetry.Entity{Kind: telemetry.Group, Name: telemetry.NamePart(a.Key) + "/" + telemetry.NamePart(a.Value)},
			Relation: telemetry.Member, Received: now, Source: edgeSource}
		if err := fit(at, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: g}); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// emit implements accepted.
func (l edgeList) emit(_ *Receiver, sink collectors.Sink) (receipt, error) {
	for _, e := range l {
		sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
	}
	return receipt{Edges: len(l)}, nil
}
