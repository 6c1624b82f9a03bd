package redfish

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	wire "github.com/quintet-dc/quintet/lab/wire/redfish"
	"github.com/quintet-dc/quintet/telemetry"
)

// settle walks a service and then reads every page once more.
func settle(t *testing.T, r *reader) {
	t.Helper()
	read := func(p *page) {
		a := r.c.client.get(t.Context(), p.target(), p.etag, r.wait(p))
		r.handle(p, a)
	}
	for p := r.unread(); p != nil; p = r.unread() {
		read(p)
	}
	for range 2 {
		for _, p := range sorted(r) {
			if r.pages[p.path] == p {
				read(p)
			}
		}
	}
	r.flush()
}

func sorted(r *reader) (out []*page) {
	for {
		var next *page
		for _, p := range r.pages {
			if (len(out) == 0 || p.path > out[len(out)-1].path) && (next == nil || p.path < next.path) {
				next = p
			}
		}
		if next == nil {
			return out
		}
		out = append(out, next)
	}
}

// TestWhatIsAskedForOften: of an HGX node with reports a score of requests in ten
// seconds, one for a list of fans, none for what the reports contain already, and
// none for a GPU's second path.
func TestWhatIsAskedForOften(t *testing.T) {
	often := func(c wire.Config) (list []string) {
		ctl := newController(t, c)
		ctl.cfg.Every, ctl.cfg.Slow, ctl.cfg.Walk = 10*time.Second, time.Minute, 15*time.Minute
		e := &ear{t: t, dropped: map[collectors.Reason]int{}}
		e.Board = newBoard()
		r := ctl.newReader(e)
		settle(t, r)
		defer ctl.client.logout()
		for _, p := range sorted(r) {
			if p.period < time.Minute {
				list = append(list, strings.TrimPrefix(p.target(), root+"/"))
			}
		}
		return list
	}
	var module []string
	for i := range 8 {
		module = append(module, fmt.Sprintf("Chassis/HGX_GPU_%d/Sensors/HGX_GPU_%d_TEMP_1", i, i))
	}
	want(t, often(wire.Config{}), append(append([]string{"Chassis/Chassis_0/EnvironmentMetrics", "Chassis/Chassis_0/ThermalSubsystem/Fans?$expand=.($levels=1)", "Chassis/Chassis_0/ThermalSubsystem/ThermalMetrics"}, module...),
		"TelemetryService/MetricReports/HGX_PlatformEnvironmentMetrics_0", "TelemetryService/MetricReports/HGX_ProcessorMetrics_0")...)
	if n := len(often(wire.Config{NoReports: true, NoExpand: true})); n != 2+6+8+3*8 {
		t.Errorf("%d pages without reports and expansion", n)
	}
}

// TestAnExpansionThatIsOnlyClaimed: lists are read member by member, but for
// ports, of which there are too many.
func TestAnExpansionThatIsOnlyClaimed(t *testing.T) {
	c := newController(t, wire.Config{})
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Literal})
	c.cfg.Every, c.cfg.Slow, c.cfg.Walk = 10*time.Second, time.Minute, 15*time.Minute
	e := &ear{Board: newBoard(), t: t, dropped: map[collectors.Reason]int{}}
	r := c.newReader(e)
	settle(t, r)
	defer c.client.logout()
	if got := e.value(telemetry.Entity{Kind: telemetry.Fan, Name: c.node.Name + "/fan1"}, "fan_speed_ratio"); !(got > 0) {
		t.Errorf("fan %v", got)
	}
	for _, p := range sorted(r) {
		if strings.Contains(p.path, "/Ports/") {
			t.Errorf("%s is asked for by itself", p.path)
		}
	}
}

// flood is a service of one page after the other.
func flood(pages map[string]string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := pages[strings.TrimSuffix(strings.TrimPrefix(r.URL.RequestURI(), root), "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
}

func oneOf(t *testing.T, entity string, pages map[string]string) (*ear, *reader) {
	t.Helper()
	srv := flood(pages)
	t.Cleanup(srv.Close)
	c, err := New(Config{Address: srv.URL, Entity: entityOf(entity)}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{Board: newBoard(), t: t, dropped: map[collectors.Reason]int{}}
	r := c.newReader(e)
	settle(t, r)
	c.client.logout()
	return e, r
}

// paced is a service in a time of its own: every answer takes as long as takes
// returns, and is given up after its timeout.
type paced struct {
	*reader
	now   time.Time
	takes func(*page) time.Duration
}

func newPaced(t *testing.T) *paced {
	t.Helper()
	c, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	p := &paced{now: time.Unix(1_700_000_000, 0)}
	c.clock = func() time.Time { return p.now }
	p.reader = c.newReader(&ear{Board: newBoard(), t: t, dropped: map[collectors.Reason]int{}})
	return p
}

// sensors plans n pages that are asked for in every sweep.
func (p *paced) sensors(n int) (last *page) {
	for i := range n {
		last = p.page(fmt.Sprintf("Chassis/1/Sensors/%d", i), nil)
		last.period = p.cfg.Every
	}
	return last
}

// ask asks for the page that comes next, and returns whether it answered.
func (p *paced) ask() (*page, bool) {
	next := p.next()
	for _, t := range []time.Time{next.due, p.resume} {
		if p.now.Before(t) {
			p.now = t
		}
	}
	a := answer{same: true, took: p.takes(next)}
	if wait := p.wait(next); a.took > wait {
		a = answer{reason: collectors.Unreadable, away: true, timeout: true, took: wait}
	}
	p.now = p.now.Add(a.took)
	a.received = p.now
	p.handle(next, a)
	return next, a.reason == ""
}

// TestTheOthersOfAPageThatTakesItsTime: of ten pages one takes three minutes,
// against a patience of one. It is given up twice, then answers, and always does
// from then on; between two answers the others have as long for themselves.
func TestTheOthersOfAPageThatTakesItsTime(t *testing.T) {
	p := newPaced(t)
	slow := p.sensors(10)
	p.takes = func(x *page) time.Duration {
		if x == slow {
			return 3 * time.Minute
		}
		return 50 * time.Millisecond
	}
	others, story := 0, ""
	for len(story) < 6 {
		x, answered := p.ask()
		switch {
		case x != slow:
			others++
			continue
		case !answered:
			story += "-"
		default:
			story += "+"
		}
		// Three minutes are eighteen periods of nine pages.
		if strings.HasSuffix(story, "++") && others < 9*17 {
			t.Errorf("between two answers the others were asked for %d times", others)
		}
		others = 0
	}
	if story != "--++++" {
		t.Errorf("given up and answered: %s", story)
	}
}

// TestAControllerIsLearntOnce: where every page takes three minutes, only the
// first one has to show it.
func TestAControllerIsLearntOnce(t *testing.T) {
	p := newPaced(t)
	p.takes = func(*page) time.Duration { return 3 * time.Minute }
	givenUp := 0
	for answered := false; !answered; givenUp++ {
		_, answered = p.ask()
	}
	p.sensors(30)
	for range 60 {
		if x, answered := p.ask(); !answered {
			t.Errorf("%s was given up", x.path)
		}
	}
	if givenUp != 3 {
		t.Errorf("the first page answered when asked for the %d. time", givenUp)
	}
}

// TestAListInParts is read to its end.
func TestAListInParts(t *testing.T) {
	fan := func(n int) string {
		return fmt.Sprintf(`{"@odata.id": "/redfish/v1/Chassis/1/ThermalSubsystem/Fans/%d", "@odata.type": "#Fan.v1_0_0.Fan", "SpeedPercent": {"Reading": %d}}`, n, 10*n)
	}
	e, _ := oneOf(t, "node:n1", map[string]string{
		"":                                 `{"Chassis": {"@odata.id": "/redfish/v1/Chassis"}}`,
		"/Chassis":                         `{"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]}`,
		"/Chassis/1":                       `{"ChassisType": "Sled", "ThermalSubsystem": {"@odata.id": "/redfish/v1/Chassis/1/ThermalSubsystem"}}`,
		"/Chassis/1/ThermalSubsystem":      `{"Fans": {"@odata.id": "/redfish/v1/Chassis/1/ThermalSubsystem/Fans"}}`,
		"/Chassis/1/ThermalSubsystem/Fans": `{"Members": [` + fan(1) + `, ` + fan(2) + `], "Members@odata.nextLink": "/redfish/v1/Chassis/1/ThermalSubsystem/Fans?$skip=2"}`,
		"/Chassis/1/ThermalSubsystem/Fans?$skip=2": `{"Members": [` + fan(3) + `], "Members@odata.nextLink": "/redfish/v1/Chassis/1/ThermalSubsystem/Fans?$skip=3"}`,
		"/Chassis/1/ThermalSubsystem/Fans?$skip=3": `{"Members": [` + fan(4) + `]}`,
	})
	for n := 1; n <= 4; n++ {
		if got := e.value(entityOf(fmt.Sprintf("fan:n1/%d", n)), "fan_speed_ratio"); got != float64(n)/10 {
			t.Errorf("fan %d: %v", n, got)
		}
	}
}

// TestTwoDetectorsOfOneThing: one of them wet is wet, whichever was read last.
func TestTwoDetectorsOfOneThing(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want float64
	}{"both dry": {"OK", "OK", 0}, "one wet": {"OK", "Critical", 1}, "the other wet": {"LeakDetected", "OK", 1}, "one unknown": {"Unavailable", "OK", 0}} {
		t.Run(name, func(t *testing.T) {
			e, _ := oneOf(t, "node:n1", map[string]string{
				"":                           `{"Chassis": {"@odata.id": "/redfish/v1/Chassis"}}`,
				"/Chassis":                   `{"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]}`,
				"/Chassis/1":                 `{"LeakDetectors": {"@odata.id": "/redfish/v1/Chassis/1/LeakDetectors"}}`,
				"/Chassis/1/LeakDetectors":   `{"Members": [{"@odata.id": "/redfish/v1/Chassis/1/LeakDetectors/a"}, {"@odata.id": "/redfish/v1/Chassis/1/LeakDetectors/b"}]}`,
				"/Chassis/1/LeakDetectors/a": `{"DetectorState": "` + c.a + `"}`,
				"/Chassis/1/LeakDetectors/b": `{"DetectorState": "` + c.b + `"}`,
			})
			if got := e.value(entityOf("node:n1"), "leak_detected"); got != c.want {
				t.Errorf("leak_detected %v, want %v", got, c.want)
			}
		})
	}
}

// TestLinksLeadNowhereElse: another host, another root, a path that climbs.
func TestLinksLeadNowhereElse(t *testing.T) {
	e, r := oneOf(t, "node:n1", map[string]string{
		"": `{"Chassis": {"@odata.id": "https://192.0.2.1/redfish/v1/Chassis"}, "Systems": {"@odata.id": "//192.0.2.1/redfish/v1/Systems"},
"Managers": {"@odata.id": "/redfish/v1/../../etc"}, "TelemetryService": {"@odata.id": "/other"}, "Links": {"Sessions": {"@odata.id": "https://192.0.2.1/x"}}, "EventService": {"@odata.id": ""}}`,
	})
	if e.count(collectors.Refused) == 0 || r.c.client.sessions != root+"/SessionService/Sessions" {
		t.Errorf("refused %d, sessions at %s", e.count(collectors.Refused), r.c.client.sessions)
	}
}

// TestAReportOfTheSensor: a report names a sensor whole; what it reads is known
// once the sensor was read.
func TestAReportOfTheSensor(t *testing.T) {
	stamp := time.Now().UTC().Format(time.RFC3339)
	e, _ := oneOf(t, "node:n1", map[string]string{
		"":                                  `{"TelemetryService": {"@odata.id": "/redfish/v1/TelemetryService"}}`,
		"/TelemetryService":                 `{"MetricReports": {"@odata.id": "/redfish/v1/TelemetryService/MetricReports"}}`,
		"/TelemetryService/MetricReports":   `{"Members": [{"@odata.id": "/redfish/v1/TelemetryService/MetricReports/R"}]}`,
		"/TelemetryService/MetricReports/R": `{"@odata.type": "#MetricReport.v1_4_2.MetricReport", "MetricValues": [{"MetricProperty": "/redfish/v1/Chassis/HGX_GPU_2/Sensors/T", "MetricValue": "61.5", "Timestamp": "` + stamp + `"}]}`,
		"/Chassis/HGX_GPU_2/Sensors/T":      `{"ReadingType": "Temperature", "ReadingUnits": "Cel", "PhysicalContext": "GPU", "ReadingBasis": "Headroom", "Reading": 60}`,
	})
	if got := e.value(telemetry.Entity{Kind: telemetry.GPU, Name: "n1/2"}, "gpu_temperature_margin_celsius"); got != 60 && got != 61.5 {
		t.Errorf("margin %v", got)
	}
	if got := e.value(telemetry.Entity{Kind: telemetry.GPU, Name: "n1/2"}, "gpu_temperature_celsius"); got != -1 {
		t.Errorf("temperature %v", got)
	}
}

// TestOldReportsAreHistory: by the service's own clock.
func TestOldReportsAreHistory(t *testing.T) {
	e, _ := oneOf(t, "node:n1", map[string]string{
		"":                                  `{"TelemetryService": {"@odata.id": "/redfish/v1/TelemetryService"}}`,
		"/TelemetryService":                 `{"MetricReports": {"@odata.id": "/redfish/v1/TelemetryService/MetricReports"}}`,
		"/TelemetryService/MetricReports":   `{"Members": [{"@odata.id": "/redfish/v1/TelemetryService/MetricReports/R"}]}`,
		"/TelemetryService/MetricReports/R": `{"@odata.type": "#MetricReport.v1_4_2.MetricReport", "MetricValues": [{"MetricProperty": "/redfish/v1/Systems/H/Processors/GPU_2/ProcessorMetrics#/OperatingSpeedMHz", "MetricValue": "61", "Timestamp": "2016-11-08T12:25:00-05:00"}]}`,
	})
	if got := e.value(telemetry.Entity{Kind: telemetry.GPU, Name: "n1/2"}, "gpu_sm_clock_hertz"); got != -1 || e.count(collectors.Stale) == 0 {
		t.Errorf("clock %v, stale %d", got, e.count(collectors.Stale))
	}
}
