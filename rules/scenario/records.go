package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// stream is one source: series that come at the same instants.
type stream struct {
	schema *telemetry.Schema
	loads  []*load // those of it
	at     []int   // their dense positions
	late   telemetry.Duration
	clock  *load // of steps: whose ends are its instants
}

// owner states what is read together: everything of one kind in one host,
// switch or job that comes at the same instants.
type owner struct {
	target, part string
}

func (s *Scenario) owner(l *load) owner {
	e := l.series.Entity
	target := e.Name
	if i := strings.IndexByte(target, '/'); i >= 0 {
		target = target[:i]
	}
	if l.every == 0 {
		clock := l.clock
		if clock.IsZero() {
			clock = e
		}
		return owner{target, fmt.Sprintf("%s steps of %s %s %d %d", e.Kind, clock, l.source, l.late, l.class)}
	}
	return owner{target, strings.TrimSpace(fmt.Sprintf("%s %v %v %v %d %s", e.Kind, l.every, l.from, l.late, l.class, l.source))}
}

// arrange makes the sources and their schemas.
func (s *Scenario) arrange() error {
	all := slices.Concat(s.loads, s.steps)
	slices.SortStableFunc(all, func(a, b *load) int {
		x, y := s.owner(a), s.owner(b)
		return cmp.Or(cmp.Compare(x.target, y.target), cmp.Compare(x.part, y.part),
			cmp.Compare(a.series.Metric, b.series.Metric), a.series.Entity.Compare(b.series.Entity))
	})
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && s.owner(all[j]) == s.owner(all[i]) {
			j++
		}
		for n, part := range parts(all[i:j]) {
			st, err := s.stream(part, n)
			if err != nil {
				return err
			}
			s.streams = append(s.streams, st)
		}
		i = j
	}
	return nil
}

// parts cuts the series of one owner, in order of metric and entity, so that
// none has more than a source may: metric by metric, long ones in pieces.
func parts(ls []*load) (out [][]*load) {
	begin := 0
	entities, metrics := map[telemetry.Entity]bool{}, map[telemetry.MetricName]bool{}
	for i, l := range ls {
		entities[l.series.Entity], metrics[l.series.Metric] = true, true
		if len(entities)*len(metrics) > telemetry.MaxSeriesPerSource {
			out, begin = append(out, ls[begin:i]), i
			entities, metrics = map[telemetry.Entity]bool{l.series.Entity: true}, map[telemetry.MetricName]bool{l.series.Metric: true}
		}
	}
	return append(out, ls[begin:])
}

// stream makes one source of series.
func (s *Scenario) stream(ls []*load, n int) (*stream, error) {
	first := ls[0]
	o := s.owner(first)
	if n > 0 {
		o.part = fmt.Sprintf("%s (%d)", o.part, n)
	}
	sc := &telemetry.Schema{Source: telemetry.Source{Collector: "scenario", Target: o.target, Part: o.part}, Class: first.class, Cadence: first.every}
	if first.source != "" {
		sc.Source.Collector = first.source
	}
	shapes := map[telemetry.MetricName]shape{}
	for _, l := range ls {
		sc.Entities = append(sc.Entities, l.series.Entity)
		shapes[l.series.Metric] = s.look(l, shapes[l.series.Metric])
	}
	slices.SortFunc(sc.Entities, telemetry.Entity.Compare)
	sc.Entities = slices.Compact(sc.Entities)
	st := &stream{schema: sc, loads: ls, late: first.late}
	for _, l := range ls {
		if k := len(sc.Columns); k == 0 || sc.Columns[k-1].Metric != l.series.Metric {
			sc.Columns = append(sc.Columns, shapes[l.series.Metric].column(l.series.Metric))
		}
		e, _ := slices.BinarySearchFunc(sc.Entities, l.series.Entity, telemetry.Entity.Compare)
		st.at = append(st.at, (len(sc.Columns)-1)*len(sc.Entities)+e)
	}
	if first.every == 0 {
		if st.clock = first; !first.clock.IsZero() {
			st.clock = s.clocks[first.clock]
		}
	}
	return st, sc.Validate()
}

// look adds a series to what is known of its column.
func (s *Scenario) look(l *load, c shape) shape {
	whole, small := true, true
	v := s.play(l)
	for range l.count {
		x, ok := v.next()
		if !ok {
			break
		}
		if x.state == telemetry.Present {
			whole = whole && x.v >= 0 && x.v == math.Trunc(x.v)
			small = small && math.Abs(x.v) < 9e9
		}
	}
	c.see(whole, small)
	return c
}

// shape is what the values of a column have in common.
type shape struct{ broken, large bool }

func (c *shape) see(whole, small bool) {
	c.broken = c.broken || !whole
	c.large = c.large || !small
}

func (c shape) column(m telemetry.MetricName) telemetry.Column {
	switch {
	case !c.broken:
		return telemetry.Column{Metric: m, Type: telemetry.Uint}
	case !c.large:
		return telemetry.Column{Metric: m, Type: telemetry.Decimal, Exp: 9}
	}
	return telemetry.Column{Metric: m, Type: telemetry.Float}
}

// Records returns the story as a log: configuration, edges, schemas, then frames
// and events by arrival with a tick at each grid, and ticks beyond the end until
// the jobs' last steps are judged. There is no data in grids beyond the last, where
// a step in progress would look overdue. Samples of slower classes from the last
// minute therefore do not arrive. Each call makes new records.
func (s *Scenario) Records() []*telemetry.Record {
	out := []*telemetry.Record{{Kind: telemetry.ConfigRecord, Config: s.Site.Record()}}
	for i := range s.Edges {
		e := s.Edges[i]
		out = append(out, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e})
	}
	var arrivals []arrival
	last := telemetry.Prompt
	for _, st := range s.streams {
		out = append(out, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: st.schema})
		arrivals = s.frames(arrivals, st)
		if st.clock != nil {
			last = max(last, st.schema.Class)
		}
	}
	for i := range s.Events {
		e := s.Events[i]
		arrivals = append(arrivals, arrival{e.At, &telemetry.Record{Kind: telemetry.EventRecord, Event: &e}})
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	end := s.Start.Add(s.last() + s.Site.Lateness[last])
	tick := s.Start
	for _, a := range arrivals {
		for ; tick < a.at; tick = tick.Add(s.Site.Grid) {
			out = append(out, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: tick}})
		}
		out = append(out, a.record)
	}
	for ; tick <= end; tick = tick.Add(s.Site.Grid) {
		out = append(out, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: tick}})
	}
	return out
}

// last is the end of the story's last grid.
func (s *Scenario) last() telemetry.Duration {
	g := s.Site.Grid
	return (s.Length + g - 1) / g * g
}

// arrival is a record and when it comes.
type arrival struct {
	at     telemetry.Time
	record *telemetry.Record
}

// frames appends a stream's frames, one an instant.
func (s *Scenario) frames(out []arrival, st *stream) []arrival {
	n := st.schema.Len()
	f := telemetry.Frame{Incarnation: 1, Words: make([]uint64, n), States: make([]telemetry.State, n)}
	var enc telemetry.Encoder
	series := make([]*values, len(st.loads))
	for i, l := range st.loads {
		series[i] = s.play(l)
	}
	st.instants(s, func(at telemetry.Duration) {
		if !st.fill(&f, series) {
			return
		}
		f.Sequence++
		t := s.Start.Add(at)
		f.Instants = append(f.Instants[:0], telemetry.Instant{Source: t})
		b, err := enc.AppendFrame(nil, st.schema, &f)
		if err != nil {
			panic(fmt.Sprintf("scenario: %s: %v", st.schema.Source, err)) // Parse has validated the schema; the frame is ours
		}
		out = append(out, arrival{t.Add(st.late), &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}})
	})
	return out
}

// instants calls do at every instant of a stream.
func (st *stream) instants(s *Scenario, do func(telemetry.Duration)) {
	if st.clock != nil {
		for at := range s.ends(st.clock, s.Length) {
			do(at)
		}
		return
	}
	for at := st.loads[0].from; at < s.Length; at += st.schema.Cadence {
		do(at)
	}
}

// fill takes the next sample of each series; false where none has one.
func (st *stream) fill(f *telemetry.Frame, series []*values) bool {
	clear(f.Words)
	clear(f.States)
	some := false
	entities := len(st.schema.Entities)
	for i, v := range series {
		x, ok := v.next()
		if !ok || x.state == telemetry.Absent {
			continue
		}
		some = true
		at := st.at[i]
		f.States[at] = x.state
		if x.state == telemetry.Present {
			f.Words[at] = st.schema.Columns[at/entities].Word(x.v)
		}
	}
	return some
}
