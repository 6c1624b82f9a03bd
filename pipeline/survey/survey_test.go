package survey_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(time.Second)

var began = telemetry.Time(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixNano())

// site is a census that is fed by hand.
type site struct {
	t        *testing.T
	census   *survey.Census
	position uint64
}

func newSite(t *testing.T) *site {
	s := &site{t: t, census: survey.NewCensus()}
	s.take(telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: began}})
	return s
}

func (s *site) take(r telemetry.Record) {
	s.position++
	s.census.Take(s.position, &r)
}

// schema states one of a collector's, with one uint column a metric.
func (s *site) schema(collector, target string, entities []string, metrics ...string) *telemetry.Schema {
	s.t.Helper()
	x := &telemetry.Schema{Source: telemetry.Source{Collector: collector, Target: target}, Cadence: second}
	for _, e := range entities {
		x.Entities = append(x.Entities, entity(s.t, e))
	}
	for _, m := range metrics {
		x.Columns = append(x.Columns, telemetry.Column{Metric: telemetry.MetricName(m), Type: telemetry.Uint})
	}
	s.take(telemetry.Record{Kind: telemetry.SchemaRecord, Schema: x})
	return x
}

// frame states samples of a schema; of those in absent there is none.
func (s *site) frame(x *telemetry.Schema, after telemetry.Duration, absent ...int) {
	s.t.Helper()
	f := telemetry.Frame{Fingerprint: x.Fingerprint(), Incarnation: 1, Sequence: s.position, Instants: []telemetry.Instant{{Source: began.Add(after)}},
		Words: make([]uint64, x.Len()), States: slices.Repeat([]telemetry.State{telemetry.Present}, x.Len())}
	for _, i := range absent {
		f.States[i] = telemetry.Absent
	}
	var e telemetry.Encoder
	b, err := e.AppendFrame(nil, x, &f)
	if err != nil {
		s.t.Fatal(err)
	}
	s.take(telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

func (s *site) event(collector, of, name string, after telemetry.Duration) {
	s.take(telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: entity(s.t, of), At: began.Add(after), Name: telemetry.EventName(name),
		Source: telemetry.Source{Collector: collector}}})
}

func entity(t *testing.T, name string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCensusListsWhoStatesWhat: metrics are counted by collector, kind and name,
// only where there is a value, and each source once, however its schema grows.
func TestCensusListsWhoStatesWhat(t *testing.T) {
	s := newSite(t)
	small := s.schema("sysfs", "h1", []string{"nic:h1/a", "nic:h1/b"}, "port_tx_bytes_total", "pcie_link_width")
	s.frame(small, 1*second, 3) // the width of the second is not told
	grown := s.schema("sysfs", "h1", []string{"nic:h1/a", "nic:h1/b", "node:h1"}, "port_tx_bytes_total", "pcie_link_width")
	s.frame(grown, 2*second, 2, 4, 5)
	other := s.schema("sysfs", "h2", []string{"nic:h2/a"}, "port_tx_bytes_total")
	s.frame(other, 200*second)
	s.frame(other, 260*second)
	f := s.census.Facts(began.Add(300 * second))
	want := []survey.Metric{
		{Collector: "sysfs", Kind: telemetry.NIC, Name: "pcie_link_width", Entities: 1, Latest: began.Add(2 * second)},
		{Collector: "sysfs", Kind: telemetry.NIC, Name: "port_tx_bytes_total", Entities: 3, Latest: began.Add(260 * second)},
	}
	if !slices.Equal(f.Metrics, want) {
		t.Errorf("metrics %+v, want %+v", f.Metrics, want)
	}
	if f.Since != began {
		t.Errorf("since %v, want %v", f.Since, began)
	}
	if f = s.census.Facts(began.Add(30 * 3600 * second)); len(f.Metrics) != 0 {
		t.Errorf("after a day of silence there are still %+v", f.Metrics)
	}
}

// TestCensusCountsWhatIsSentOnChange: values that arrive in a frame of their own now
// and then are counted all the same, and stay.
func TestCensusCountsWhatIsSentOnChange(t *testing.T) {
	s := newSite(t)
	x := s.schema("gnmi", "leaf1", []string{"port:leaf1/1", "port:leaf1/2"}, "port_tx_bytes_total", "port_up")
	for i := range 400 {
		absent := []int{2, 3}
		if i == 20 {
			absent = []int{0, 1, 3}
		}
		if i == 140 {
			absent = []int{0, 1, 2}
		}
		s.frame(x, telemetry.Duration(i+1)*second, absent...)
	}
	for _, m := range s.census.Facts(began.Add(400 * second)).Metrics {
		if m.Entities != 2 {
			t.Errorf("%s of %d ports, want 2", m.Name, m.Entities)
		}
	}
}

// TestCensusTakesEachRecordOnce: a log that is read again counts nothing twice.
func TestCensusTakesEachRecordOnce(t *testing.T) {
	s := newSite(t)
	s.event("logs", "gpu:h1/0", "xid", 5*second)
	s.event("logs", "gpu:h1/0", "xid", 6*second)
	s.position = 0
	s.event("logs", "gpu:h1/0", "xid", 7*second)
	f := s.census.Facts(began)
	want := []survey.Event{{Collector: "logs", Kind: telemetry.GPU, Name: "xid", Count: 2, Latest: began.Add(6 * second)}}
	if !slices.Equal(f.Events, want) {
		t.Errorf("events %+v, want %+v", f.Events, want)
	}
}

// states are the requirements' by id.
func states(r survey.Report) map[string]survey.State {
	out := map[string]survey.State{}
	for _, x := range r.Requirements {
		out[x.ID] = x.State
	}
	return out
}

// TestRequirementsFollowWhatIsStated: nothing is met on a site without data;
// received data meets its requirements, and grows stale; devices that the site does
// not have are not required; what telemetry cannot show is reported as such.
func TestRequirementsFollowWhatIsStated(t *testing.T) {
	s := newSite(t)
	silent := states(survey.Make(s.census.Facts(began), telemetry.DefaultCatalogue(), nil))
	for id, state := range silent {
		if state == survey.Met || state == survey.Partly || state == survey.Stale {
			t.Errorf("on a silent site %s is %s", id, state)
		}
	}
	s.frame(s.schema("gnmi", "leaf1", []string{"port:leaf1/1"}, "port_tx_bytes_total"), 1*second)
	s.frame(s.schema("sysfs", "h1", []string{"nic:h1/a"}, "port_tx_bytes_total"), 1*second)
	s.frame(s.schema("logs", "h1", []string{"collector:logs/h1"}, "log_lines_total"), 1*second)
	s.event("redfish", "node:h1", "fan_failed", 1*second)
	s.take(telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: entity(t, "nic:h1/a"), To: entity(t, "port:leaf1/1"), Relation: telemetry.Connects, Source: "lldp"}})
	facts := s.census.Facts(began.Add(10 * second))
	facts.Kinds = map[telemetry.Kind]int{telemetry.Switch: 1, telemetry.Port: 1, telemetry.NIC: 1, telemetry.Node: 1, telemetry.GPU: 8}
	facts.Groups, facts.Receivers, facts.Delay = []string{"oob/1"}, 2, 300*second
	got := states(survey.Make(facts, telemetry.DefaultCatalogue(), nil))
	want := map[string]survey.State{
		"OBS01": survey.Missing, "OBS04": survey.Met, "OBS05": survey.Partly, "OBS06": survey.Missing, "OBS07": survey.Met, "OBS08": survey.Met, "OBS09": survey.Absent, "OBS10": survey.Met,
		"OBS03": survey.Met, "OBS11": survey.Absent, "OBS14": survey.Missing, "OBS17": survey.Met, "OBS18": survey.Met, "NET01": survey.Met, "TELEM04": survey.Missing, "TELEM07": survey.Absent, "SEC08": survey.Unobservable,
	}
	for id, state := range want {
		if got[id] != state {
			t.Errorf("%s is %s, want %s", id, got[id], state)
		}
	}
	facts.At = began.Add(3600 * second)
	later := states(survey.Make(facts, telemetry.DefaultCatalogue(), nil))
	for id, state := range map[string]survey.State{"OBS07": survey.Stale, "OBS18": survey.Stale, "NET01": survey.Met} {
		if later[id] != state {
			t.Errorf("an hour later %s is %s, want %s", id, later[id], state)
		}
	}
}

// TestEveryRequirementSaysWhatToDo: a line that is not met is of no use without
// what would meet it.
func TestEveryRequirementSaysWhatToDo(t *testing.T) {
	r := survey.Make(newSite(t).census.Facts(began), telemetry.DefaultCatalogue(), nil)
	seen := map[string]bool{}
	for _, x := range r.Requirements {
		if x.What == "" || x.Area == "" || seen[x.ID] || (x.State == survey.Missing || x.State == survey.Unobservable) && x.Do == "" {
			t.Errorf("%+v", x)
		}
		seen[x.ID] = true
	}
	if len(seen) < 25 {
		t.Errorf("%d requirements", len(seen))
	}
}

// TestFaultsThatCannotBeDistinguished: a fault lacks what its signature needs, or
// what it must show; what the site cannot have is not asked.
func TestFaultsThatCannotBeDistinguished(t *testing.T) {
	signatures := []explain.Signature{
		{Name: "slow-receiver", Domain: telemetry.Network, Roots: []telemetry.Kind{telemetry.NIC}, Needs: []explain.Need{{Metric: "pcie_link_width", On: telemetry.NIC, WouldTell: "slow-receiver from pcie-downgrade"}}},
		{Name: "nic-hot", Domain: telemetry.Cooling, Roots: []telemetry.Kind{telemetry.NIC}, Features: []explain.Feature{{Name: "hot", Required: true, Reading: &explain.Reading{Metric: "nic_temperature_celsius", Of: explain.OfRoot}}}},
		{Name: "sm-failover", Domain: telemetry.Network, Roots: []telemetry.Kind{telemetry.SM}},
	}
	s := newSite(t)
	see := func(n int, m string) map[string]survey.Fault {
		names := []string{"nic:h1/a", "nic:h1/b", "nic:h1/c", "nic:h1/d"}[:n]
		if n > 0 {
			s.frame(s.schema("sysfs", "h1", names, m), 1*second)
		}
		f := s.census.Facts(began.Add(second))
		f.Kinds = map[telemetry.Kind]int{telemetry.NIC: 4}
		out := map[string]survey.Fault{}
		for _, x := range survey.Make(f, telemetry.DefaultCatalogue(), signatures).Faults {
			out[x.Signature] = x
		}
		return out
	}
	got := see(0, "")
	if got["slow-receiver"].Sight != survey.Confused || got["nic-hot"].Sight != survey.Blind || got["sm-failover"].Sight != survey.Nowhere {
		t.Errorf("of a silent site: %+v", got)
	}
	if m := got["slow-receiver"].Missing; len(m) != 1 || m[0].Of != 4 || m[0].Entities != 0 || m[0].WouldTell != "slow-receiver from pcie-downgrade" {
		t.Errorf("missing %+v", m)
	}
	if got = see(1, "pcie_link_width"); got["slow-receiver"].Sight != survey.Confused || got["slow-receiver"].Missing[0].Entities != 1 {
		t.Errorf("one of four tells it: %+v", got["slow-receiver"])
	}
	see(4, "pcie_link_width")
	if got = see(4, "nic_temperature_celsius"); got["slow-receiver"].Sight != survey.Clear || got["nic-hot"].Sight != survey.Clear {
		t.Errorf("all of them tell it: %+v", got)
	}
}

// TestReportHasNoNulls: lists are lists for readers of the JSON.
func TestReportHasNoNulls(t *testing.T) {
	b, err := json.Marshal(survey.Make(survey.NewCensus().Facts(0), telemetry.DefaultCatalogue(), nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"domains", "requirements", "faults", "metrics", "events", "relations", "by"} {
		if strings.Contains(string(b), `"`+list+`":null`) {
			t.Errorf("%s is null", list)
		}
	}
}
