package survey

import (
	"cmp"
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Limits of a census. Names beyond them are counted in Lost.
const (
	maxSchemas = 1 << 16
	maxNames   = 1 << 12 // of events, of relations
	maxHosts   = 1 << 16
	// Every frame of a schema is read for its contents until its time has moved by
	// lookClosely: values that are reported on change arrive again within that, as
	// a heartbeat. Then one is read each time it has moved by lookAgain.
	lookClosely = telemetry.Duration(150e9)
	lookAgain   = telemetry.Duration(60e9)
	// forgetAfter is how long a schema without frames is remembered.
	forgetAfter = telemetry.Duration(24 * 3600e9)
)

// Census reads a site's records and remembers what was stated, by which source and
// when last: kinds and names, no values. It is not safe for concurrent use. Make
// one with NewCensus.
type Census struct {
	position uint64
	since    telemetry.Time
	lost     uint64

	schemas map[telemetry.Fingerprint]*listing
	events  map[eventKey]*Event
	links   map[linkKey]*Relation
	hosts   map[string]struct{}

	decoder telemetry.Decoder
	frame   telemetry.Frame
}

// listing is the state of one schema.
type listing struct {
	schema *telemetry.Schema
	kinds  []telemetry.Kind // of its entities, each once
	of     []uint8          // for each entity, its kind's place in kinds
	latest telemetry.Time   // of its frames
	first  telemetry.Time   // of the first
	looked telemetry.Time   // when one was read
	cells  []cell           // by kind and column
	seen   []uint64         // a bit for each series that has had a value
}

// cell is one column of one kind of entity.
type cell struct {
	entities int // that have had a value
	latest   telemetry.Time
}

type eventKey struct {
	collector string
	kind      telemetry.Kind
	name      telemetry.EventName
}

type linkKey struct {
	source   string
	relation telemetry.Relation
	from, to telemetry.Kind
}

// NewCensus returns a Census without records.
func NewCensus() *Census {
	return &Census{schemas: map[telemetry.Fingerprint]*listing{}, events: map[eventKey]*Event{}, links: map[linkKey]*Relation{}, hosts: map[string]struct{}{}}
}

// Take takes the record at a position of the log. What it has taken before it
// leaves out.
func (c *Census) Take(position uint64, r *telemetry.Record) {
	if position <= c.position || r == nil {
		return
	}
	c.position = position
	switch r.Kind {
	case telemetry.SchemaRecord:
		c.list(r.Schema)
	case telemetry.FrameRecord:
		c.handle(r.Frame)
	case telemetry.EventRecord:
		c.happened(r.Event)
	case telemetry.EdgeRecord:
		c.linked(r.Edge)
	case telemetry.TickRecord:
		if c.since == 0 {
			c.since = r.Tick.At
		}
	}
}

func (c *Census) list(s *telemetry.Schema) {
	print := s.Fingerprint()
	if c.schemas[print] != nil {
		return
	}
	if len(c.schemas) >= maxSchemas {
		c.lost++
		return
	}
	l := &listing{schema: s, of: make([]uint8, len(s.Entities))}
	for i, e := range s.Entities {
		k := slices.Index(l.kinds, e.Kind)
		if k < 0 && len(l.kinds) < 255 {
			k, l.kinds = len(l.kinds), append(l.kinds, e.Kind)
		}
		l.of[i] = uint8(max(k, 0))
		c.host(e)
	}
	l.cells, l.seen = make([]cell, len(l.kinds)*len(s.Columns)), make([]uint64, (s.Len()+63)/64)
	c.schemas[print] = l
}

// host remembers the names of nodes, so that a host's log is known for one.
func (c *Census) host(e telemetry.Entity) {
	name := e.Prefix()
	switch e.Kind {
	case telemetry.Node:
		name = e.Name
	case telemetry.GPU, telemetry.NIC:
	default:
		return
	}
	if len(c.hosts) < maxHosts {
		c.hosts[name] = struct{}{}
	}
}

func (c *Census) handle(b telemetry.EncodedFrame) {
	h, err := b.Header()
	if err != nil {
		return // the engine counts it
	}
	l := c.schemas[h.Fingerprint]
	if l == nil {
		return // its schema is sent again within minutes
	}
	l.latest = max(l.latest, h.Last)
	if l.first == 0 {
		l.first = h.Last
	}
	if h.Last.Sub(l.first) > lookClosely && h.Last.Sub(l.looked) < lookAgain || c.decoder.Decode(b, l.schema, &c.frame) != nil {
		return
	}
	l.looked = h.Last
	l.look(&c.frame)
}

// look reads which columns hold anything, at any of the frame's instants.
func (l *listing) look(f *telemetry.Frame) {
	n, entities := l.schema.Len(), len(l.schema.Entities)
	for i := range n {
		at := telemetry.Time(0)
		for k := range f.Instants {
			if f.States == nil || f.States[k*n+i] == telemetry.Present {
				at = f.Time(k)
			}
		}
		if at != 0 {
			x := &l.cells[int(l.of[i%entities])*len(l.schema.Columns)+i/entities]
			if bit := uint64(1) << (i % 64); l.seen[i/64]&bit == 0 {
				l.seen[i/64] |= bit
				x.entities++
			}
			x.latest = max(x.latest, at)
		}
	}
}

func (c *Census) happened(e *telemetry.Event) {
	k := eventKey{e.Source.Collector, e.Entity.Kind, e.Name}
	x := c.events[k]
	if x == nil {
		if len(c.events) >= maxNames {
			c.lost++
			return
		}
		x = &Event{Collector: k.collector, Kind: k.kind, Name: k.name}
		c.events[k] = x
	}
	x.Count++
	x.Latest = max(x.Latest, e.At)
}

func (c *Census) linked(e *telemetry.Edge) {
	k := linkKey{e.Source, e.Relation, e.From.Kind, e.To.Kind}
	x := c.links[k]
	if x == nil {
		if len(c.links) >= maxNames {
			c.lost++
			return
		}
		x = &Relation{Source: k.source, Relation: k.relation, From: k.from, To: k.to}
		c.links[k] = x
	}
	x.Latest = max(x.Latest, e.Received)
}

// Facts returns what was received, in the order of names. at is the newest tick:
// schemas without data for a day before it are forgotten.
func (c *Census) Facts(at telemetry.Time) Facts {
	f := Facts{At: at, Since: c.since, Lost: c.lost, Metrics: []Metric{}, Events: []Event{}, Relations: []Relation{}, Receivers: -1}
	listed := map[sourceMetric]Metric{}
	for print, l := range c.schemas {
		if l.latest != 0 && at.Sub(l.latest) > forgetAfter {
			delete(c.schemas, print)
			continue
		}
		l.add(listed)
		f.logs(l, c.hosts)
	}
	f.Metrics = together(listed)
	for _, e := range c.events {
		f.Events = append(f.Events, *e)
	}
	for _, r := range c.links {
		f.Relations = append(f.Relations, *r)
	}
	slices.SortFunc(f.Events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Collector, b.Collector), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(f.Relations, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Source, b.Source))
	})
	return f
}

// sourceMetric is a metric of a kind as one source states it.
type sourceMetric struct {
	source telemetry.Source
	kind   telemetry.Kind
	metric telemetry.MetricName
}

// add adds the metrics that a schema states. A source that grows has one schema
// after another, of the same entities: the fullest counts.
func (l *listing) add(listed map[sourceMetric]Metric) {
	columns := len(l.schema.Columns)
	for k, kind := range l.kinds {
		for i, x := range l.cells[k*columns : (k+1)*columns] {
			if x.entities == 0 {
				continue
			}
			key := sourceMetric{l.schema.Source, kind, l.schema.Columns[i].Metric}
			m := listed[key]
			listed[key] = Metric{Entities: max(m.Entities, x.entities), Latest: max(m.Latest, min(x.latest.Add(lookAgain), l.latest))}
		}
	}
}

// together adds up the sources of each collector.
func together(listed map[sourceMetric]Metric) []Metric {
	all := map[sourceMetric]Metric{}
	for k, one := range listed {
		key := sourceMetric{telemetry.Source{Collector: k.source.Collector}, k.kind, k.metric}
		m := all[key]
		all[key] = Metric{k.source.Collector, k.kind, k.metric, m.Entities + one.Entities, max(m.Latest, one.Latest)}
	}
	out := slices.AppendSeq([]Metric{}, maps.Values(all))
	slices.SortFunc(out, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(a.Collector, b.Collector), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// logs records whose logs are read.
func (f *Facts) logs(l *listing, hosts map[string]struct{}) {
	if l.schema.Source.Collector != logCollector || l.latest == 0 {
		return
	}
	if _, ok := hosts[l.schema.Source.Target]; ok {
		f.hostLogs, f.hostLogged = f.hostLogs+1, max(f.hostLogged, l.latest)
		return
	}
	f.otherLogs, f.otherLogged = f.otherLogs+1, max(f.otherLogged, l.latest)
}
