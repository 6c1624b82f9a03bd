package recorder

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// lead and trail are what is drawn before an onset and after an end.
	lead  = telemetry.Duration(120e9)
	trail = telemetry.Duration(60e9)
	// warmUp is how much more is read before the first point: a rate needs two
	// samples, a gap three cadences.
	warmUp      = telemetry.Duration(60e9)
	maxWarmUp   = telemetry.Duration(600e9)
	warmCadence = 4
	// maxJump is how far one tick may move time, as in the engine.
	maxJump = telemetry.Duration(24 * 3600e9)
	// pendingBytes bounds the frames that wait in a picture's window.
	pendingBytes = 64 << 20
)

// reel is a picture being drawn: its window, and its place in the log.
type reel struct {
	id         string
	key        string // what it was made for
	generation int    // of the log
	wanted     []wanted
	from       telemetry.Time
	to         telemetry.Time // zero while the incident is open
	curves     []points
	drawn      []telemetry.Time // the last closed grid of each, by wanted

	catalogue  *telemetry.Catalogue
	site       telemetry.SiteConfig
	win        *window.Window // nil once everything is drawn
	added      map[statementKey]bool
	prints     map[telemetry.Fingerprint]bool
	collectors []string
	classes    [telemetry.LatenessClasses]bool
	warm       telemetry.Duration

	position uint64 // of the last entry taken
	stored   telemetry.Time
	at       telemetry.Time // up to which grids were closed
	missing  string         // what the log did not hold
}

// keyOf identifies what a reel of an incident is made for; when it changes, the
// picture is drawn again.
func keyOf(in *explain.Incident, ws []wanted) string {
	var b strings.Builder
	b.WriteString(fromOf(in).String())
	for _, w := range ws {
		b.WriteByte('\n')
		b.WriteString(w.series.String())
		b.WriteString(string(w.role))
	}
	return b.String()
}

// fromOf is where the picture of an incident begins.
func fromOf(in *explain.Incident) telemetry.Time { return max(in.Onset.Earliest.Add(-lead), 1) }

// toOf is where it ends, zero while the incident is open.
func toOf(in *explain.Incident) telemetry.Time {
	if in.Resolved == nil {
		return 0
	}
	return in.Resolved.Add(trail)
}

func newReel(in *explain.Incident, v *view, c *telemetry.Catalogue) *reel {
	r := &reel{id: in.ID, generation: v.generation, wanted: seriesOf(in), from: fromOf(in), catalogue: c, site: v.site,
		added: map[statementKey]bool{}, prints: map[telemetry.Fingerprint]bool{}, warm: warmUp}
	r.key = keyOf(in, r.wanted)
	r.curves, r.drawn = make([]points, len(r.wanted)), make([]telemetry.Time, len(r.wanted))
	r.win = window.New(window.Config{Grid: r.site.Grid, Lateness: r.site.Lateness, Catalogue: c, History: 2, MaxPending: pendingBytes})
	return r
}

// read reads the log's entries for the picture that have not been read yet.
func (r *reel) read(ctx context.Context, v *view) error {
	if r.done() {
		r.win = nil
	}
	if r.win == nil {
		return nil
	}
	if err := r.meet(ctx, v); err != nil || len(r.collectors) == 0 {
		return err
	}
	if r.position == 0 {
		if err := r.begin(v); err != nil {
			return err
		}
	}
	span := bus.Span{From: r.stored, Collectors: r.collectors, Kinds: []telemetry.RecordKind{telemetry.FrameRecord, telemetry.TickRecord}}
	if r.to != 0 {
		if m, ok := v.marks.behind(r.to.Add(r.slowest() + r.site.Grid)); ok {
			span.To = m.stored
		}
	}
	err := v.log.Slice(ctx, span, func(e bus.Entry) error {
		if e.Position > r.position {
			r.position, r.stored = e.Position, e.Stored
			r.take(e.Record)
		}
		return nil
	})
	if err == nil && r.done() {
		r.win = nil
	}
	return err
}

// meet adds the schemas that state what is wanted.
func (r *reel) meet(ctx context.Context, v *view) error {
	for key, position := range v.stating {
		if r.added[key] {
			continue
		}
		e, err := v.log.Entry(ctx, position)
		switch {
		case errors.Is(err, bus.ErrNotRetained):
			continue // forgotten meanwhile
		case err != nil:
			return err
		}
		r.added[key] = true
		if e.Record == nil || e.Record.Kind != telemetry.SchemaRecord || !r.wants(e.Record.Schema) {
			continue
		}
		s := e.Record.Schema
		r.win.AddSchema(s)
		r.prints[key.fingerprint] = true
		r.classes[s.Class] = true
		r.warm = min(max(r.warm, warmCadence*s.Cadence), maxWarmUp)
		if !slices.Contains(r.collectors, key.collector) {
			r.collectors = append(r.collectors, key.collector)
			slices.Sort(r.collectors)
		}
	}
	return nil
}

// wants reports whether a schema has one of the series.
func (r *reel) wants(s *telemetry.Schema) bool {
	for _, w := range r.wanted {
		if slices.Contains(s.Entities, w.series.Entity) &&
			slices.ContainsFunc(s.Columns, func(c telemetry.Column) bool { return c.Metric == w.series.Metric }) {
			return true
		}
	}
	return false
}

// begin finds where in the log to begin.
func (r *reel) begin(v *view) error {
	if len(v.marks) == 0 {
		return ErrForgotten
	}
	oldest := v.marks[0].at
	switch m, ok := v.marks.before(r.from.Add(-r.warm)); {
	case ok:
		r.stored = m.stored
	case r.to != 0 && r.to < oldest:
		return ErrForgotten
	case r.from < oldest:
		r.missing = "the log begins at " + oldest.String() + ": what came before is gone"
	}
	return nil
}

// slowest is the longest lateness of what is drawn.
func (r *reel) slowest() (d telemetry.Duration) {
	for class, has := range r.classes {
		if has {
			d = max(d, r.site.Lateness[class])
		}
	}
	return d
}

// fits reports whether a reel can go on: the log is the one it read, and it has
// not passed over what is wanted now (a reopened incident has no end again).
func (r *reel) fits(v *view, to telemetry.Time) bool {
	return r.generation == v.generation && (r.win != nil || r.to == to) && (to == 0 || r.at <= to || r.to == to)
}

// done reports whether everything that will be drawn is drawn.
func (r *reel) done() bool { return r.to != 0 && r.at != 0 && r.at >= r.to.Add(r.slowest()) }

func (r *reel) take(rec *telemetry.Record) {
	switch {
	case rec == nil:
	case rec.Kind == telemetry.FrameRecord:
		if h, err := rec.Frame.Header(); err == nil && r.prints[h.Fingerprint] {
			r.win.AddFrame(rec.Frame)
		}
	case rec.Kind == telemetry.TickRecord:
		r.advance(rec.Tick.At)
	}
}

// advance closes the grids that a tick closes in the engine, one by one.
func (r *reel) advance(tick telemetry.Time) {
	grid := r.site.Grid
	end := tick - tick%telemetry.Time(grid)
	if r.at == 0 {
		r.at = end.Add(-grid)
	}
	if end <= r.at || end.Sub(r.at) > maxJump {
		return
	}
	for r.at < end {
		r.at = r.at.Add(grid)
		for class := range telemetry.LatenessClasses {
			if r.classes[class] {
				r.win.Advance(class, r.at.Add(-r.site.Lateness[class]), window.Serial, r.drawClosed)
			}
		}
	}
}

// drawClosed draws what closed grids brought. Sources of one class close their
// grids at different times: as soon as their own samples need.
func (r *reel) drawClosed(closed *window.Closed) {
	for _, s := range closed.Steps {
		for i, w := range r.wanted {
			if w.series == s.Series {
				r.draw(i, s.At, s.Value)
			}
		}
	}
	for i, w := range r.wanted {
		slot, ok := r.win.Slot(w.series)
		if !ok || r.win.Class(slot) != closed.Class {
			continue
		}
		g, any := r.win.ClosedOf(slot)
		if m := r.win.Metric(slot); !any || g <= r.drawn[i] || m != nil && m.PerStep {
			continue
		}
		r.drawn[i] = g
		if x, flag := r.win.Value(slot); flag != window.Held {
			r.draw(i, g, float64(x))
		}
	}
}

// draw adds a point that is within the picture.
func (r *reel) draw(i int, at telemetry.Time, v float64) {
	if at < r.from || r.to != 0 && at > r.to {
		return
	}
	r.curves[i].add(point{at: at, seen: r.at, v: v})
}

// picture is what became visible after since.
func (r *reel) picture(since telemetry.Time, limit int) *Picture {
	p := &Picture{ID: r.id, From: r.from, To: r.to, Note: r.missing, Curves: []Curve{}}
	if at := r.at; at != 0 {
		p.Tick = &at
	}
	if p.To == 0 || p.To > r.at {
		p.To = max(r.at, r.from)
	}
	for i, w := range r.wanted {
		if w.role == Corroborating && len(r.curves[i].list) == 0 {
			continue
		}
		m, _ := r.catalogue.Lookup(w.series.Metric)
		c := Curve{Entity: w.series.Entity, Metric: w.series.Metric, Role: w.role, Times: []int64{}, Values: Values{}}
		c.Unit, c.Rate = unitOf(m)
		var ps []point
		ps, c.Thinned = r.curves[i].since(since, limit)
		for _, x := range ps {
			c.Times = append(c.Times, int64(math.Floor(float64(x.at)/1e6)))
			c.Values = append(c.Values, x.v)
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}
