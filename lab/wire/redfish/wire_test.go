package redfish_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	collector "github.com/quintet-dc/quintet/collectors/redfish"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/wire/redfish"
	"github.com/quintet-dc/quintet/telemetry"
)

// ear is a sink that keeps what it receives as a board does.
type ear struct {
	*board.Board
	t       *testing.T
	mu      sync.Mutex
	dropped map[collectors.Reason]int
	latest  collectors.Sweep
	sweeps  int
}

func newEar(t *testing.T) *ear {
	return &ear{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}}
}

func (e *ear) Emit(r *telemetry.Record) {
	if err := e.Take(r); err != nil {
		e.t.Error(err)
	}
}

// Logger implements collectors.Sink.
func (e *ear) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (e *ear) Swept(s collectors.Sweep) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for why, n := range s.Dropped {
		e.dropped[why] += n
	}
	e.latest, e.sweeps = s, e.sweeps+1
}

// until waits for something to be so.
func (e *ear) until(what string, so func() bool) {
	e.t.Helper()
	limit := time.After(20 * time.Second)
	for !so() {
		select {
		case <-limit:
			e.mu.Lock()
			defer e.mu.Unlock()
			e.t.Fatalf("waited in vain for %s: %d sweeps, dropped %v, last %+v", what, e.sweeps, e.dropped, e.latest)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// site is a site that stands still, with its controllers.
func site(t *testing.T, gpus int, c redfish.Config) (*live.Site, *redfish.Fleet) {
	t.Helper()
	s, err := live.New(gpus, 5, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s, fleet(t, s.Board(), c)
}

func fleet(t *testing.T, b *board.Board, c redfish.Config) *redfish.Fleet {
	t.Helper()
	f, err := redfish.New(b, c)
	if err != nil {
		t.Fatal(err)
	}
	collectorstest.Start(t, f.Run)
	return f
}

// readers makes a collector for every entry, by way of the text of a
// configuration file.
func readers(t *testing.T, f *redfish.Fleet) (out []*collector.Collector) {
	t.Helper()
	for _, e := range f.Entries() {
		out = append(out, reader(t, e))
	}
	return out
}

func reader(t *testing.T, e map[string]any) *collector.Collector {
	t.Helper()
	c, err := collector.DecodeConfig(collectorstest.Entry(t, e))
	if err != nil {
		t.Fatal(err)
	}
	r, err := collector.New(c[0], dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// carried is what the lab's controllers show of each kind of entity. What the
// board does not have (a margin to a limit) is beside it.
var carried = map[telemetry.Kind]string{
	"node": "inlet_celsius node_power_limit_watts node_power_watts",
	"fan":  "fan_speed_ratio",
	"gpu": "gpu_ecc_correctable_errors_total gpu_ecc_uncorrectable_errors_total gpu_energy_joules_total gpu_engine_active_ratio gpu_memory_temperature_celsius gpu_pcie_replays_total " +
		"gpu_power_limit_watts gpu_power_watts gpu_remapped_rows_uncorrectable_total gpu_sm_active_ratio gpu_sm_clock_hertz gpu_temperature_celsius gpu_tensor_active_ratio " +
		"gpu_throttle_power_seconds_total gpu_throttle_thermal_seconds_total",
	"nvlink": "nvlink_up",
	"shelf":  "rack_power_limit_watts rack_power_watts",
	"psu":    "psu_up",
	"pdu":    "feed_up rack_power_limit_watts rack_power_watts",
	"cdu":    "coolant_flow_liters_per_minute coolant_pressure_pascals coolant_return_celsius coolant_supply_celsius",
	"loop":   "coolant_flow_liters_per_minute coolant_pressure_pascals coolant_return_celsius coolant_supply_celsius leak_detected",
	"pump":   "coolant_flow_liters_per_minute",
	"ups":    "battery_charge_ratio feed_up",
	"crah":   "fan_speed_ratio inlet_celsius",
	"row":    "inlet_celsius",
}

// rounding is what the schema's type takes: clocks are whole megahertz.
var rounding = map[telemetry.MetricName]float64{"gpu_sm_clock_hertz": 0.5e6}

// same compares the received values with those of the site's board.
func same(t *testing.T, b *board.Board, heard *ear) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(carried)) {
		entities := b.Entities(kind)
		if len(entities) == 0 {
			t.Errorf("the site has no %s", kind)
		}
		for _, e := range entities {
			for _, m := range strings.Fields(carried[kind]) {
				metric := telemetry.MetricName(m)
				want, shown := b.Read(e, metric)
				got, ok := heard.Read(e, metric)
				switch {
				case !shown:
				case !ok:
					t.Errorf("%s %s was not heard", e, m)
				case want.Gap != got.Gap:
					t.Errorf("%s %s: gap is %v, want %v", e, m, got.Gap, want.Gap)
				case !want.Gap && math.Abs(got.Float()-want.Float()) > max(rounding[metric], 1e-12*math.Abs(want.Float())):
					t.Errorf("%s %s: %v, want %v", e, m, got.Float(), want.Float())
				}
			}
		}
		for _, e := range heard.Entities(kind) {
			if !slices.Contains(entities, e) {
				t.Errorf("%s was heard of, and the site has none", e)
			}
			for _, m := range heard.Metrics(e) {
				if _, ok := b.Read(e, m); !ok && m != "gpu_temperature_margin_celsius" {
					t.Errorf("%s %s was heard, and the site does not show it", e, m)
				}
			}
		}
	}
}

// TestTheCollectorReadsWhatTheLabStates: lab, device, collector, frames; every series
// under the same name, with the same value.
func TestTheCollectorReadsWhatTheLabStates(t *testing.T) {
	for name, c := range map[string]redfish.Config{"an HGX": {}, "one without reports and expansion": {NoReports: true, NoExpand: true}, "basic authentication": {Basic: true}} {
		t.Run(name, func(t *testing.T) {
			s, f := site(t, 64, c)
			heard := newEar(t)
			for _, r := range readers(t, f) {
				if err := r.Once(t.Context(), heard); err != nil {
					t.Error(err)
				}
			}
			if c.NoExpand {
				for _, e := range s.Board().Entities(telemetry.NVLink) {
					if _, ok := heard.Read(e, "nvlink_up"); ok {
						t.Fatal("ports were asked for one by one")
					}
				}
				return
			}
			same(t, s.Board(), heard)
			for _, why := range []collectors.Reason{collectors.Malformed, collectors.Unknown, collectors.OutOfRange, collectors.OverLimit, collectors.Unreadable, collectors.Denied, collectors.Vanished} {
				if n := heard.dropped[why]; n > 0 {
					t.Errorf("%d %s", n, why)
				}
			}
			edges(t, s.Board(), heard)
		})
	}
}

// edges: what a controller contains lies where the site says.
func edges(t *testing.T, b *board.Board, heard *ear) {
	t.Helper()
	type edge struct {
		from, to telemetry.Entity
		relation telemetry.Relation
	}
	known := map[edge]bool{}
	for _, r := range []telemetry.Relation{telemetry.Contains, telemetry.Feeds, telemetry.Cools} {
		for _, e := range b.Edges(r) {
			known[edge{e.From, e.To, r}] = true
		}
	}
	n := 0
	for _, r := range []telemetry.Relation{telemetry.Contains, telemetry.Feeds, telemetry.Cools} {
		for _, e := range heard.Edges(r) {
			n++
			if !known[edge{e.From, e.To, r}] {
				t.Errorf("%s %s %s is not so", e.From, r, e.To)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d edges", n)
	}
}

// TestTheCollectorReadsWhatIsBroken: every state turned over, true zeros, and readings
// that a device has lost.
func TestTheCollectorReadsWhatIsBroken(t *testing.T) {
	s, _ := site(t, 16, redfish.Config{Entities: []telemetry.Entity{}})
	b := s.Board()
	feed := book.New(book.Config{Collector: "test", Target: "t"})
	set := func(k telemetry.Kind, m telemetry.MetricName, value float64) {
		t.Helper()
		e := b.Entities(k)[0]
		r, ok := b.Read(e, m)
		c, room := feed.Cell(e, r.Column)
		if !ok || !room {
			t.Fatalf("%s has no %s", e, m)
		}
		if math.IsNaN(value) {
			feed.Gap(c)
			return
		}
		feed.Set(c, r.Column.Word(value))
	}
	lost := math.NaN()
	set("psu", "psu_up", 0)
	set("loop", "leak_detected", 1)
	set("loop", "coolant_flow_liters_per_minute", 0)
	set("loop", "coolant_supply_celsius", lost)
	set("pdu", "feed_up", 0)
	set("pdu", "rack_power_watts", 0)
	set("ups", "feed_up", 0)
	set("ups", "battery_charge_ratio", 0.37)
	set("nvlink", "nvlink_up", 0)
	set("fan", "fan_speed_ratio", lost)
	set("gpu", "gpu_power_watts", lost)
	set("gpu", "gpu_throttle_thermal_seconds_total", lost)
	set("node", "node_power_limit_watts", 5000)
	set("node", "inlet_celsius", -3.5)
	set("crah", "fan_speed_ratio", 0)
	heard := newEar(t)
	to := newEar(t)
	to.Board = b
	if _, err := feed.Emit(to, telemetry.Instant{Source: b.Now(), Received: b.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, r := range readers(t, fleet(t, b, redfish.Config{})) {
		if err := r.Once(t.Context(), heard); err != nil {
			t.Error(err)
		}
	}
	same(t, b, heard)
}

// TestASiteThatRuns: values that change are received as changed, with the
// controllers' own time.
func TestASiteThatRuns(t *testing.T) {
	s, f := site(t, 16, redfish.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	heard := newEar(t)
	for _, e := range f.Entries() {
		e["interval"] = "1s"
		r := reader(t, e)
		group.Go(func() {
			if err := r.Run(ctx, heard); err != nil {
				t.Error(err)
			}
		})
	}
	gpu := s.Board().Entities(telemetry.GPU)[0]
	times := map[telemetry.Time]bool{}
	heard.until("the energy to rise", func() bool {
		if r, ok := heard.Read(gpu, "gpu_energy_joules_total"); ok && !r.Gap {
			times[r.At] = true
		}
		return len(times) >= 3
	})
	for _, e := range f.Entries() {
		kind, name, _ := strings.Cut(e["targets"].([]any)[0].(map[string]any)["entity"].(string), ":")
		x := telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
		heard.until("the end of its first walk: "+x.String(), func() bool { return f.Tally(x).Asked > 5 })
		if n := f.Tally(x).Most; n > 1 {
			t.Errorf("%s: %d requests at a moment", x, n)
		}
	}
}

// TestAnOlderClientFindsItsWay: from a system by its links to chassis, power and
// thermal resources of the old form, numbers in the types that it wants.
func TestAnOlderClientFindsItsWay(t *testing.T) {
	s, f := site(t, 16, redfish.Config{})
	node := s.Board().Entities(telemetry.Node)[0]
	var address string
	for _, line := range f.Addresses() {
		if name, at, _ := strings.Cut(line, " "); name == node.String() {
			address = at
		}
	}
	password, err := os.ReadFile(f.PasswordFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(f.CAFile())
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	get := func(path string, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth(redfish.User, strings.TrimSpace(string(password)))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
	}
	type ref struct {
		ID string `json:"@odata.id"`
	}
	var system struct {
		HostName string
		Links    struct{ Chassis []ref }
	}
	get("/redfish/v1/Systems/System_0", &system)
	var chassis struct{ Power, Thermal ref }
	get(system.Links.Chassis[0].ID, &chassis)
	var power struct {
		PowerControl []struct{ PowerConsumedWatts *float64 }
	}
	get(chassis.Power.ID, &power)
	var thermal struct {
		Fans         []struct{ Reading *int64 }
		Temperatures []struct{ ReadingCelsius *float64 }
	}
	get(chassis.Thermal.ID, &thermal)
	watts, _ := s.Board().Read(node, "node_power_watts")
	if system.HostName != node.Name || *power.PowerControl[0].PowerConsumedWatts != watts.Float() || len(thermal.Fans) == 0 || *thermal.Fans[0].Reading < 1 || *thermal.Temperatures[0].ReadingCelsius < 1 {
		t.Errorf("%+v %+v %+v", system, power, thermal)
	}
}
