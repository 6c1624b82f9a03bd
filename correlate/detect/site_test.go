package detect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// The metrics of the tests, each judged by what it is named for.
const (
	temp     = "temp_celsius"     // shift
	traffic  = "traffic_total"    // shift, of a rate
	errs     = "errors_total"     // burst
	limit    = "limit_watts"      // level; a rise is better
	up       = "up"               // level, a state; a rise is better
	waits    = "waits_total"      // stuck; sticks at 2^32-1
	flow     = "flow_liters"      // stuck
	power    = "power_watts"      // peer
	alive    = "alive_ratio"      // silence
	mixed    = "mixed_ratio"      // shift, peer, stuck, silence
	ber      = "port_pre_fec_ber" // drift
	steps    = "step_seconds"     // nothing: each is a job's step
	unjudged = "unjudged"         // declared, for nothing
	unknown  = "not_in_catalogue" // not declared
)

func catalogue(t testing.TB) *telemetry.Catalogue {
	t.Helper()
	m := func(name telemetry.MetricName, typ telemetry.MetricType, shapes ...telemetry.Shape) telemetry.Metric {
		x := telemetry.Metric{Name: name, Domain: telemetry.Network, Kinds: []telemetry.Kind{telemetry.Port}, Unit: "1", Type: typ, Detectors: shapes, Help: "of tests", Origin: "tests"}
		if typ == telemetry.Counter {
			x.Width = 64
		}
		return x
	}
	sticks := m(waits, telemetry.Counter, telemetry.ShapeStuck)
	sticks.Width, sticks.Overflow = 32, telemetry.Sticks
	step := m(steps, telemetry.Gauge)
	step.PerStep = true
	better, state := m(limit, telemetry.Gauge, telemetry.ShapeLevel), m(up, telemetry.StateOf, telemetry.ShapeLevel)
	better.Rise, state.Rise = telemetry.Better, telemetry.Better
	cat, err := telemetry.NewCatalogue([]telemetry.Metric{
		m(temp, telemetry.Gauge, telemetry.ShapeShift), m(traffic, telemetry.Counter, telemetry.ShapeShift),
		m(errs, telemetry.Counter, telemetry.ShapeBurst), better, state, sticks, step,
		m(flow, telemetry.Gauge, telemetry.ShapeStuck), m(power, telemetry.Gauge, telemetry.ShapePeer),
		m(alive, telemetry.Gauge, telemetry.ShapeSilence), m(unjudged, telemetry.Gauge),
		m(ber, telemetry.Gauge, telemetry.ShapeDrift),
		m(mixed, telemetry.Gauge, telemetry.ShapeShift, telemetry.ShapePeer, telemetry.ShapeStuck, telemetry.ShapeSilence),
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// site is a window and a detector, and who talks to them.
type site struct {
	t     testing.TB
	cat   *telemetry.Catalogue
	w     *window.Window
	d     *detect.Detector
	each  window.ForEach
	enc   telemetry.Encoder
	now   int              // grids closed
	found []detect.Finding // since the test looked last
}

func newSite(t testing.TB) *site {
	s := &site{t: t, cat: catalogue(t), each: window.Serial, d: detect.New(detect.Config{})}
	s.w = window.New(window.Config{Catalogue: s.cat})
	return s
}

// at returns the end of grid n.
func at(n int) telemetry.Time { return start.Add(telemetry.Duration(n) * second) }

// device is one source; its counters are reported as rates.
type device struct {
	schema *telemetry.Schema
	total  []uint64
	frame  telemetry.Frame
}

// device makes a source known that states those metrics of so many ports.
func (s *site) device(target string, ports int, metrics ...telemetry.MetricName) *device {
	s.t.Helper()
	d := s.unknownDevice(target, ports, metrics...)
	s.know(d)
	return d
}

func (s *site) unknownDevice(target string, ports int, metrics ...telemetry.MetricName) *device {
	d := &device{schema: &telemetry.Schema{Source: telemetry.Source{Collector: "test", Target: target}, Cadence: second}}
	for _, m := range metrics {
		c := telemetry.Column{Metric: m, Type: telemetry.Decimal, Exp: 6}
		switch {
		case m == ber:
			c = telemetry.Column{Metric: m, Type: telemetry.Float}
		case s.counter(m):
			c = telemetry.Column{Metric: m, Type: telemetry.Uint}
		}
		d.schema.Columns = append(d.schema.Columns, c)
	}
	for i := range ports {
		d.schema.Entities = append(d.schema.Entities, port(i))
	}
	d.total = make([]uint64, d.schema.Len())
	return d
}

func (s *site) know(d *device) {
	s.t.Helper()
	if o := s.w.AddSchema(d.schema); o != window.Accepted {
		s.t.Fatalf("schema of %s: %v", d.schema.Source, o)
	}
}

func (s *site) counter(m telemetry.MetricName) bool {
	x, ok := s.cat.Lookup(m)
	return ok && x.Type == telemetry.Counter
}

// port names ports so that their order by name is that by number.
func port(i int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprintf("leaf/eth%02d", i)}
}

// lost is a value that does not come.
var lost = math.NaN()

// say states one value a series at the end of the grid that closes next.
func (s *site) say(d *device, values ...float64) {
	s.t.Helper()
	if len(values) != d.schema.Len() {
		s.t.Fatalf("%d values for %d series", len(values), d.schema.Len())
	}
	f := &d.frame
	f.Sequence++
	f.Instants = append(f.Instants[:0], telemetry.Instant{Source: at(s.now + 1)})
	f.Words, f.States = f.Words[:0], f.States[:0]
	for i, v := range values {
		c := d.schema.Columns[i/len(d.schema.Entities)]
		word, state := uint64(0), telemetry.Present
		switch {
		case v != v:
			state = telemetry.Absent
		case s.counter(c.Metric):
			d.total[i] += uint64(v)
			word = d.total[i]
		default:
			word = c.Word(v)
		}
		f.Words, f.States = append(f.Words, word), append(f.States, state)
	}
	b, err := s.enc.AppendFrame(nil, d.schema, f)
	if err != nil {
		s.t.Fatal(err)
	}
	if o := s.w.AddFrame(b); o != window.Accepted {
		s.t.Fatalf("frame of %s: %v", d.schema.Source, o)
	}
}

// close closes the next grid and judges it.
func (s *site) close() []detect.Finding {
	s.now++
	g := at(s.now)
	s.w.Close(telemetry.Prompt, g, s.each)
	found := s.d.Run(s.w, telemetry.Prompt, s.each)
	s.found = append(s.found, found...)
	return found
}

// feed states the values of a device with one series, a second each.
func (s *site) feed(d *device, values ...float64) {
	s.t.Helper()
	for _, v := range values {
		s.say(d, v)
		s.close()
	}
}

// feedAll states the values of a device with several series, a second each.
func (s *site) feedAll(d *device, seconds int, value func(second, series int) float64) {
	s.t.Helper()
	row := make([]float64, d.schema.Len())
	for n := range seconds {
		for i := range row {
			row[i] = value(n, i)
		}
		s.say(d, row...)
		s.close()
	}
}

// wants checks what was found since the last look: "shift begins" or "burst
// ends", in order.
func (s *site) wants(want ...string) {
	s.t.Helper()
	var got []string
	for i := range s.found {
		got = append(got, told(&s.found[i]))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("second %d: found %q, want %q", s.now, got, want)
	}
	s.found = s.found[:0]
}

func told(f *detect.Finding) string {
	if f.Ended != 0 {
		return f.Shape.String() + " ends"
	}
	return f.Shape.String() + " begins"
}

// only returns the one thing found since the last look, and what is wrong
// otherwise.
func (s *site) only(want string) detect.Finding {
	s.t.Helper()
	if len(s.found) != 1 || told(&s.found[0]) != want {
		s.t.Fatalf("second %d: found %+v, want only %q", s.now, s.found, want)
	}
	f := s.found[0]
	s.found = s.found[:0]
	return f
}

// lasting counts the findings that last.
func (s *site) lasting() (n int) {
	s.d.Active(s.w, func(*detect.Finding) { n++ })
	return n
}

// line is a finding as a line of text, without its slot: that is no identity.
func line(f *detect.Finding) string {
	g := *f
	g.Slot = 0
	return fmt.Sprintf("%+v", g)
}

// hold is n times v.
func hold(n int, v float64) []float64 { return around(n, v, 0) }

// around is n values around v, up to a share of it away.
func around(n int, v, share float64) (out []float64) {
	random := rand.New(rand.NewPCG(uint64(n), math.Float64bits(v)))
	for range n {
		out = append(out, v*(1+share*(2*random.Float64()-1)))
	}
	return out
}
