package window

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(1e9)

// sec returns the instant s seconds after the epoch of the tests, which is a
// multiple of any grid used here.
func sec(s float64) telemetry.Time {
	return telemetry.Time(1_700_000_000e9) + telemetry.Time(math.Round(s*1e9))
}

// The metrics of the tests.
const (
	bytesTotal = "bytes_total" // 64 bits
	drops32    = "drops_total" // 32 bits, wraps
	waitTicks  = "wait_total"  // 32 bits, sticks
	pauseSecs  = "pause_seconds_total"
	temp       = "temp_celsius"
	up         = "up"
	stepSecs   = "step_seconds"
	unknown    = "nobody_declared_this"
)

func catalogue(t testing.TB) *telemetry.Catalogue {
	t.Helper()
	port := []telemetry.Kind{telemetry.Port}
	m := func(name telemetry.MetricName, typ telemetry.MetricType, width uint8) telemetry.Metric {
		return telemetry.Metric{Name: name, Domain: telemetry.Network, Kinds: port, Unit: "1", Type: typ, Width: width, Evidence: true, Help: "of tests", Origin: "tests"}
	}
	sticks := m(waitTicks, telemetry.Counter, 32)
	sticks.Overflow = telemetry.Sticks
	step := m(stepSecs, telemetry.Gauge, 0)
	step.PerStep, step.Evidence, step.Kinds, step.Domain = true, false, []telemetry.Kind{telemetry.Job}, telemetry.Software
	heat := m(temp, telemetry.Gauge, 0)
	heat.Unit = "celsius"
	cat, err := telemetry.NewCatalogue([]telemetry.Metric{
		m(bytesTotal, telemetry.Counter, 64), m(drops32, telemetry.Counter, 32), sticks, m(pauseSecs, telemetry.Counter, 64),
		heat, m(up, telemetry.StateOf, 0), step,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

var ether1 = telemetry.Entity{Kind: telemetry.Port, Name: "leaf0/eth1"}
var ether2 = telemetry.Entity{Kind: telemetry.Port, Name: "leaf0/eth2"}
var train = telemetry.Entity{Kind: telemetry.Job, Name: "train"}

// uints returns Uint columns.
func uints(names ...telemetry.MetricName) (cs []telemetry.Column) {
	for _, n := range names {
		cs = append(cs, telemetry.Column{Metric: n, Type: telemetry.Uint})
	}
	return cs
}

// site is a Window and what is needed to talk to it.
type site struct {
	t   testing.TB
	w   *Window
	enc telemetry.Encoder
	seq uint64
}

func newSite(t testing.TB, cfg Config) *site {
	cfg.Catalogue = catalogue(t)
	return &site{t: t, w: New(cfg)}
}

// schema makes a schema of one source.
func (s *site) schema(target string, class telemetry.LatenessClass, cols []telemetry.Column, es ...telemetry.Entity) *telemetry.Schema {
	return &telemetry.Schema{Source: telemetry.Source{Collector: "test", Target: target}, Class: class, Entities: es, Columns: cols}
}

// add makes the schema known and returns it.
func (s *site) add(target string, cols []telemetry.Column, es ...telemetry.Entity) *telemetry.Schema {
	s.t.Helper()
	sc := s.schema(target, telemetry.Prompt, cols, es...)
	if o := s.w.AddSchema(sc); o != Accepted {
		s.t.Fatalf("schema of %s: %v", target, o)
	}
	return sc
}

// gap marks an explicit gap in the words of frame.
const gap = math.MaxUint64 - 1

// absent marks a sample that is not there.
const absent = math.MaxUint64 - 2

// frame encodes one instant.
func (s *site) frame(sc *telemetry.Schema, at float64, words ...uint64) telemetry.EncodedFrame {
	s.t.Helper()
	return s.instants(sc, []float64{at}, words)
}

// instants encodes several instants; words are instant by instant.
func (s *site) instants(sc *telemetry.Schema, at []float64, words []uint64) telemetry.EncodedFrame {
	s.t.Helper()
	s.seq++
	f := telemetry.Frame{Sequence: s.seq, Words: slices.Clone(words), States: make([]telemetry.State, len(words))}
	for _, t := range at {
		f.Instants = append(f.Instants, telemetry.Instant{Source: sec(t)})
	}
	for i, w := range words {
		switch w {
		case gap:
			f.Words[i], f.States[i] = 0, telemetry.Gap
		case absent:
			f.Words[i], f.States[i] = 0, telemetry.Absent
		default:
			f.States[i] = telemetry.Present
		}
	}
	b, err := s.enc.AppendFrame(nil, sc, &f)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// say adds one instant, which must be accepted.
func (s *site) say(sc *telemetry.Schema, at float64, words ...uint64) {
	s.t.Helper()
	if o := s.w.AddFrame(s.frame(sc, at, words...)); o != Accepted {
		s.t.Fatalf("frame at %v: %v", at, o)
	}
}

// close closes the prompt grids up to that second, one by one, from second 0.
func (s *site) close(until float64) Closed {
	from, ok := s.w.Closed(telemetry.Prompt)
	if !ok {
		from = sec(0).Add(-s.w.cfg.Grid)
	}
	var c Closed
	for g := from.Add(s.w.cfg.Grid); g <= sec(until); g = g.Add(s.w.cfg.Grid) {
		c = s.w.Close(telemetry.Prompt, g, Serial)
	}
	return c
}

func (s *site) slot(e telemetry.Entity, m telemetry.MetricName) int {
	s.t.Helper()
	slot, ok := s.w.Slot(telemetry.Series{Entity: e, Metric: m})
	if !ok {
		s.t.Fatalf("no slot for %s %s", e, m)
	}
	return slot
}

// want checks a value; NaN means any flag without a value.
func (s *site) want(e telemetry.Entity, m telemetry.MetricName, v float64, f Flag) {
	s.t.Helper()
	got, flag := s.w.Value(s.slot(e, m))
	same := math.IsNaN(v) && math.IsNaN(float64(got)) || math.Abs(float64(got)-v) <= 1e-5*math.Abs(v)
	if !same || flag != f {
		s.t.Errorf("%s %s is %v %v, want %v %v", e, m, got, flag, v, f)
	}
}

// wantAt checks a cell of the past; NaN means nothing is known.
func (s *site) wantAt(e telemetry.Entity, m telemetry.MetricName, at, v float64) {
	s.t.Helper()
	got, ok := s.w.At(s.slot(e, m), sec(at))
	if !ok {
		got = math.NaN()
	}
	if !(math.IsNaN(v) && !ok) && !(math.Abs(got-v) <= 1e-5*math.Abs(v)) {
		s.t.Errorf("%s %s at %v is %v, want %v", e, m, at, got, v)
	}
}

var nan = math.NaN()
