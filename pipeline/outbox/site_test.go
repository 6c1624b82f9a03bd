package outbox

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// plant is a few sources that emit random samples, and remembers them.
type plant struct {
	t       *testing.T
	rand    *rand.Rand
	feeds   []*collectors.Feed
	words   [][]uint64
	kinds   []telemetry.MetricType // by column
	records [][]byte               // everything emitted, encoded
	to      func(*telemetry.Record)
}

func schemaOf(source int, series int) *telemetry.Schema {
	s := &telemetry.Schema{
		Source: telemetry.Source{Collector: "sysfs", Target: fmt.Sprintf("h%d", source)}, Cadence: time.Second,
		Columns: []telemetry.Column{
			{Metric: "port_rx_bytes_total", Type: telemetry.Uint},
			{Metric: "port_queue_bytes", Type: telemetry.Uint},
			{Metric: "port_up", Type: telemetry.Uint},
			{Metric: "inlet_celsius", Type: telemetry.Decimal, Exp: 2},
			{Metric: "port_pre_fec_ber", Type: telemetry.Float},
			{Metric: "of_nobody_total", Type: telemetry.Decimal, Exp: 3},
		},
	}
	for i := range max(1, series/len(s.Columns)) {
		s.Entities = append(s.Entities, telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprintf("leaf%d/eth%d", source, i)})
	}
	return s
}

// kindsOf returns what must survive of each column.
func kindsOf(s *telemetry.Schema) (kinds []telemetry.MetricType) {
	catalogue := telemetry.DefaultCatalogue()
	for _, c := range s.Columns {
		m, ok := catalogue.Lookup(c.Metric)
		switch {
		case ok:
			kinds = append(kinds, m.Type)
		case strings.HasSuffix(string(c.Metric), "_total"):
			kinds = append(kinds, telemetry.Counter)
		default:
			kinds = append(kinds, telemetry.Gauge)
		}
	}
	return kinds
}

// less orders words of a column.
func less(t telemetry.ValueType, a, b uint64) bool {
	c := telemetry.Column{Metric: "x", Type: t}
	return c.Float(a) < c.Float(b)
}

// newPlant makes sources with about so many series each and states their
// schemas.
func newPlant(t *testing.T, seed uint64, sources, series int, emit func(*telemetry.Record)) *plant {
	p := &plant{t: t, rand: rand.New(rand.NewPCG(seed, 1)), to: emit}
	for i := range sources {
		s := schemaOf(i, series)
		f, err := collectors.NewFeed(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			p.kinds = kindsOf(s)
		}
		p.feeds = append(p.feeds, f)
		p.words = append(p.words, make([]uint64, s.Len()))
		p.emit(f.Schema())
	}
	return p
}

// emit emits a record and remembers it.
func (p *plant) emit(r *telemetry.Record) {
	b, err := telemetry.AppendRecord(nil, r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.records = append(p.records, b)
	p.to(r)
}

// sweep emits one instant of source i.
func (p *plant) sweep(i int, at telemetry.Time) {
	s, words := p.feeds[i].Schema().Schema, p.words[i]
	states := make([]telemetry.State, len(words))
	out := make([]uint64, len(words))
	n := len(s.Entities)
	for j := range words {
		p.step(&words[j], s.Columns[j/n], p.kinds[j/n])
		states[j] = telemetry.Present
		switch p.rand.IntN(40) {
		case 0:
			states[j] = telemetry.Gap
		case 1:
			states[j] = telemetry.Absent
		default:
			out[j] = words[j]
		}
	}
	in := telemetry.Instant{Source: at, Received: at + telemetry.Time(p.rand.IntN(1e6))}
	r, err := p.feeds[i].Frame(in, out, states)
	if err != nil {
		p.t.Fatal(err)
	}
	p.emit(r)
}

func (p *plant) step(w *uint64, c telemetry.Column, how telemetry.MetricType) {
	switch {
	case how == telemetry.Counter:
		if p.rand.IntN(500) == 0 {
			*w = 0
		}
		*w += uint64(p.rand.IntN(3000))
	case c.Type == telemetry.Float:
		*w = math.Float64bits(p.rand.Float64())
	case c.Metric == "port_up":
		if p.rand.IntN(20) == 0 {
			*w ^= 1
		}
	case c.Type == telemetry.Decimal:
		*w = uint64(int64(p.rand.IntN(2000) - 1000))
	default:
		*w = uint64(p.rand.IntN(100000))
	}
}

func (p *plant) event(i int, at telemetry.Time) {
	p.emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: p.feeds[i].Schema().Schema.Entities[0], At: at, Received: at, Name: telemetry.EventLinkDown, Text: fmt.Sprint(len(p.records)),
		Source: telemetry.Source{Collector: "logs", Target: "h"},
	}})
}

// compare holds what the log has against what was emitted and what was counted.
func (p *plant) compare(o *Outbox, log *fakeLog) {
	t := p.t
	t.Helper()
	in, out := read(t, p.records, false), read(t, log.stored, log.mixed)
	removed := removedOf(o, "samples") - (o.carrier.report.frame.Sequence*uint64(o.carrier.report.schema.Len()) - out.own)
	if len(out.samples)+int(removed) != len(in.samples) {
		t.Errorf("samples: %d stored and %d removed, %d emitted", len(out.samples), removed, len(in.samples))
	}
	if gaps := removedOf(o, "gaps"); len(out.gaps)+int(gaps) != len(in.gaps) {
		t.Errorf("gaps: %d stored and %d removed, %d emitted", len(out.gaps), gaps, len(in.gaps))
	}
	if n := removedOf(o, "events"); len(out.events)+int(n) != len(in.events) {
		t.Errorf("events: %d stored and %d removed, %d emitted", len(out.events), n, len(in.events))
	}
	p.compareSeries(in, out)
}

// compareSeries: the last value of every series survives, and the lowest and
// the highest of a gauge.
func (p *plant) compareSeries(in, out contents) {
	a, b := p.ends(in), p.ends(out)
	wrong := 0
	for s, want := range a {
		got := b[s]
		if p.kind(s) == telemetry.Counter {
			want.lowest, want.highest, got.lowest, got.highest = 0, 0, 0, 0
		}
		got.at, want.at = 0, 0
		if got == want {
			continue
		}
		if wrong++; wrong <= 3 {
			p.t.Errorf("series %d of %s: %+v survived of %+v", s.position, s.schema, got, want)
		}
	}
}

// ends are the extremes of a series.
type ends struct {
	lowest, highest, last uint64
	at                    telemetry.Time
}

func (p *plant) ends(c contents) map[seriesKey]ends {
	m := map[seriesKey]ends{}
	for k, w := range c.samples {
		ty := p.column(k.series).Type
		e, ok := m[k.series]
		if !ok {
			e = ends{w, w, w, k.at}
		}
		if less(ty, w, e.lowest) {
			e.lowest = w
		}
		if less(ty, e.highest, w) {
			e.highest = w
		}
		if k.at > e.at {
			e.last, e.at = w, k.at
		}
		m[k.series] = e
	}
	return m
}

// All sources have the same columns and as many entities.
func (p *plant) column(s seriesKey) telemetry.Column {
	schema := p.feeds[0].Schema().Schema
	return schema.Columns[s.position/len(schema.Entities)]
}

func (p *plant) kind(s seriesKey) telemetry.MetricType {
	return p.kinds[s.position/len(p.feeds[0].Schema().Schema.Entities)]
}
