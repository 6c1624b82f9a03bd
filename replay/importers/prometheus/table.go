package prometheus

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// lookback is how long the sender of a series may be without data before another
// may replace it: the lookback of a Prometheus query.
const lookback = telemetry.Time(5 * 60 * 1e9)

// The labels of an entity as the history names it (docs/history.md), and those
// of who was asked for a series.
const (
	kindLabel, nameLabel = "kind", "name"
	jobLabel, instance   = "job", "instance"
)

// table writes rows of samples.csv. Every target has an intake of its own: what
// a histogram's interval is, and which of two names of one thing counts, is a
// matter of one page.
type table struct {
	c       Config
	result  *Result
	csv     *csv.Writer
	targets map[string]*target
	owners  map[telemetry.Series]*owner
	row     [4]string
	err     error
}

// target is who stated series to the server.
type target struct {
	table   *table
	intake  *mapping.Intake
	waits   bool // something was taken and not emitted
	samples telemetry.SampleReader
}

// owner is who states a series of ours, and when last.
type owner struct {
	who  *target
	last telemetry.Time
}

func newTable(c Config, out io.Writer, result *Result) *table {
	t := &table{c: c, result: result, csv: csv.NewWriter(out), targets: map[string]*target{}, owners: map[telemetry.Series]*owner{}}
	t.fail(t.csv.Write([]string{"time_ns", "entity", "metric", "value"}))
	return t
}

// fail keeps the first thing that went wrong.
func (t *table) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *table) close() error {
	t.csv.Flush()
	t.fail(t.csv.Error())
	return t.err
}

// meant is a series of the server's as it is here: of whom, and where it is named
// as the history names it, which of ours.
type meant struct {
	*series
	from *target
	ours telemetry.Series
	own  bool
}

// take writes a window, instant by instant: what a page states at one time is
// understood together.
func (t *table) take(w *window) error {
	points := w.inOrder()
	all := make([]meant, len(w.series))
	for i := range w.series {
		s := &w.series[i]
		ours, own := t.ours(s.labels)
		all[i] = meant{s, t.target(s.labels), ours, own}
	}
	for lo := 0; lo < len(points) && t.err == nil; {
		hi := lo
		for hi < len(points) && points[hi].at == points[lo].at {
			hi++
		}
		t.instant(all, points[lo:hi])
		lo = hi
	}
	return t.err
}

// instant takes the points of one time.
func (t *table) instant(all []meant, points []point) {
	at := telemetry.Time(points[0].at) * 1e6
	var asked []*target
	for _, p := range points {
		s := &all[p.series]
		if s.own {
			t.write(s.from, s.ours, at, strconv.FormatFloat(p.value, 'g', -1, 64))
			continue
		}
		s.from.takeForeign(s.series, at, p.value)
		if !s.from.waits {
			s.from.waits = true
			asked = append(asked, s.from)
		}
	}
	for _, x := range asked {
		x.waits = false
		x.emit(at)
	}
}

// target is whose a series states that it is.
func (t *table) target(labels model.Metric) *target {
	name := collectors.Part(string(labels[jobLabel])) + "/" + collectors.Part(string(labels[instance]))
	x := t.targets[name]
	if x == nil {
		x = &target{table: t}
		x.intake = mapping.NewIntake(mapping.IntakeConfig{
			Mapper: t.c.Mapper, Foreign: collectors.Entity("import", name), MaxForeign: -1,
			Book: book.Config{Collector: "import", Target: name},
		})
		t.targets[name] = x
	}
	return x
}

// ours is the series that labels name as the history does.
func (t *table) ours(labels model.Metric) (telemetry.Series, bool) {
	s := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Kind(labels[kindLabel]), Name: string(labels[nameLabel])},
		Metric: telemetry.MetricName(labels[model.MetricNameLabel])}
	_, declared := t.c.Catalogue.Lookup(s.Metric)
	return s, declared && s.Entity.Validate() == nil
}

// write writes one row, unless another target states the series.
func (t *table) write(from *target, s telemetry.Series, at telemetry.Time, value string) {
	o := t.owners[s]
	switch {
	case o == nil:
		o = &owner{who: from}
		t.owners[s] = o
	case o.who != from && at-o.last < lookback:
		t.result.Dropped[collectors.Duplicate]++
		return
	}
	o.who, o.last = from, at
	if value == "NaN" {
		value = "" // a gap
	}
	t.row = [...]string{strconv.FormatInt(int64(at), 10), s.Entity.String(), string(s.Metric), value}
	t.fail(t.csv.Write(t.row[:]))
	t.result.Samples++
}

// takeForeign notes a sample of a series that a mapping file may know.
func (x *target) takeForeign(s *series, at telemetry.Time, v float64) {
	n := mapping.FloatNumber(v)
	e := x.intake.Known([]byte(s.text))
	if e == nil {
		f := mapping.Series{Name: string(s.labels[model.MetricNameLabel]), First: n}
		for name, value := range s.labels {
			if name != model.MetricNameLabel {
				f.Labels = append(f.Labels, mapping.Label{Name: string(name), Value: string(value)})
			}
		}
		slices.SortFunc(f.Labels, func(a, b mapping.Label) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
		e = x.intake.Understand(s.text, f)
	}
	x.intake.Take(e, at, n)
}

// emit has what was taken at one time written.
func (x *target) emit(at telemetry.Time) {
	got, err := x.intake.Emit(x, telemetry.Instant{Source: at, Received: at}, false)
	x.table.fail(err)
	for why, n := range got.Dropped {
		x.table.result.Dropped[why] += n
	}
}

// Emit writes what the intake made of a page.
func (x *target) Emit(r *telemetry.Record) {
	switch r.Kind {
	case telemetry.SchemaRecord:
		x.samples.Learn(r.Schema)
	case telemetry.EdgeRecord:
		x.table.result.Contains = append(x.table.result.Contains, telemetry.Edge{From: r.Edge.From, To: r.Edge.To, Relation: r.Edge.Relation, Source: r.Edge.Source})
	case telemetry.FrameRecord:
		x.table.fail(x.rows(r.Frame))
	}
}

// rows writes what a frame carries.
func (x *target) rows(b telemetry.EncodedFrame) error {
	samples, err := x.samples.Read(b)
	if err != nil {
		return err
	}
	for s := range samples {
		value := "" // a gap
		if s.State == telemetry.Present {
			value = text(s.Column, s.Word)
		}
		x.table.write(x, s.Series, s.At, value)
	}
	return nil
}

// text writes a word so that a bundle reads the same number.
func text(c telemetry.Column, word uint64) string {
	if c.Type == telemetry.Uint {
		return strconv.FormatUint(word, 10)
	}
	return strconv.FormatFloat(c.Float(word), 'g', -1, 64)
}
