package redfish

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/lab/board"
	wire "github.com/quintet-dc/quintet/lab/wire/redfish"
	"github.com/quintet-dc/quintet/telemetry"
)

// ear is a sink that keeps what it receives.
type ear struct {
	*board.Board
	t       *testing.T
	mu      sync.Mutex
	dropped map[collectors.Reason]int
	frames  int
	ended   []telemetry.Edge
	err     error         // of the latest sweep
	away    int           // sweeps with an error
	wait    time.Duration // how much longer than usual things may take
}

func (e *ear) Emit(r *telemetry.Record) {
	collectorstest.Strict{T: e.t}.Emit(r)
	if err := e.Take(r); err != nil {
		e.t.Error(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Kind == telemetry.FrameRecord:
		e.frames++
	case r.Kind == telemetry.EdgeRecord && r.Edge.End != 0:
		e.ended = append(e.ended, *r.Edge)
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
	if e.err = s.Err; s.Err != nil {
		e.away++
	}
}

// count reads the drops that sweeps have reported.
func (e *ear) count(why collectors.Reason) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped[why]
}

func (e *ear) heard() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frames
}

func (e *ear) until(what string, so func() bool) {
	e.t.Helper()
	limit := time.After(30*time.Second + e.wait)
	for !so() {
		select {
		case <-limit:
			e.mu.Lock()
			defer e.mu.Unlock()
			e.t.Fatalf("waited in vain for %s: %d frames, dropped %v, last %v", what, e.frames, e.dropped, e.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// more waits for n more frames than now.
func (e *ear) more(n int) {
	e.t.Helper()
	before := e.heard()
	e.until("frames", func() bool { return e.heard() >= before+n })
}

// value is the latest sample of a series: NaN for a gap, -1 for none yet.
func (e *ear) value(x telemetry.Entity, m telemetry.MetricName) float64 {
	r, ok := e.Read(x, m)
	if !ok {
		return -1
	}
	return r.Float()
}

// listen runs a collector until the test or stop ends it.
func listen(t *testing.T, c *Collector) (*ear, func()) {
	t.Helper()
	e := &ear{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, e) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

func (c *controller) gpu(n string) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.GPU, Name: c.node.Name + "/" + n}
}

// TestOneRequestAtATime, one session, and none left behind.
func TestOneRequestAtATime(t *testing.T) {
	c := newController(t, wire.Config{})
	e, stop := listen(t, c.Collector)
	e.until("everything", func() bool {
		return e.value(c.gpu("7"), "gpu_power_watts") > 0 && e.value(c.node, "node_power_watts") > 0
	})
	e.more(20)
	e.until("the event stream", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
	if got := c.fleet.Tally(c.node); got.Most != 1 || got.Sessions != 1 || got.Logins != 1 {
		t.Errorf("%+v", got)
	}
	stop()
	if got := c.fleet.Tally(c.node); got.Sessions != 0 {
		t.Errorf("%d sessions are left", got.Sessions)
	}
}

// TestWhatHasNotChangedIsNotSentAgain: an unchanged page is still read, and its
// values are still reported.
func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	c := newController(t, wire.Config{NoReports: true})
	e, _ := listen(t, c.Collector)
	e.until("304", func() bool { return c.fleet.Tally(c.node).Same > 20 })
	e.more(20)
}

// TestASessionThatHasEnded: a new one, and nothing is lost.
func TestASessionThatHasEnded(t *testing.T) {
	c := newController(t, wire.Config{})
	e, _ := listen(t, c.Collector)
	for range 3 {
		e.more(10)
		before := c.fleet.Tally(c.node).Logins
		c.fleet.EndSessions(c.node)
		e.until("a login", func() bool { return c.fleet.Tally(c.node).Logins > before })
		e.more(5)
	}
	if n := e.count(collectors.Denied); n > 0 {
		t.Errorf("%d denied", n)
	}
}

// TestAServiceThatStartsAnewAHundredTimes: every time it is read again, with one
// login, and nothing is left of the times before.
func TestAServiceThatStartsAnewAHundredTimes(t *testing.T) {
	c := newController(t, wire.Config{})
	e, _ := listen(t, c.Collector)
	e.until("the event stream", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
	goroutines := runtime.NumGoroutine()
	for range 100 {
		before := c.fleet.Tally(c.node).Logins
		c.fleet.Restart(c.node)
		e.until("a login", func() bool { return c.fleet.Tally(c.node).Logins > before })
		e.more(1)
	}
	e.until("the event stream", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
	if got := c.fleet.Tally(c.node); got.Logins > 120 || got.Sessions > 1 || got.Connections > 2 {
		t.Errorf("%+v", got)
	}
	e.until("no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
	if r, _ := e.Read(c.gpu("0"), "gpu_energy_joules_total"); r.Gap {
		t.Error("the energy is a gap")
	}
}

// TestAWrongPasswordIsNotTriedOften: a service locks out who does. Once the
// file is right it is read again.
func TestAWrongPasswordIsNotTriedOften(t *testing.T) {
	c := newController(t, wire.Config{})
	right, err := os.ReadFile(c.cfg.BasicAuth.PasswordFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "password")
	write := func(b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("guess\n"))
	c.cfg.BasicAuth.PasswordFile = file
	e, stop := listen(t, c.Collector)
	e.until("word of it", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.away > 20 })
	if n := c.fleet.Tally(c.node).Logins; n != 1 || e.count(collectors.Denied) == 0 {
		t.Errorf("%d logins, %d denied", n, e.count(collectors.Denied))
	}
	stop()
	c.client.locked, c.client.refused, c.client.loginAt = 10*time.Millisecond, 0, time.Time{}
	e, _ = listen(t, c.Collector)
	e.until("a second try", func() bool { return c.fleet.Tally(c.node).Logins > 2 })
	write(right)
	e.more(3)
}

// TestEveryFlaw: what a controller may answer instead of a sound page. The rest
// is read meanwhile, and the page again once it is sound.
func TestEveryFlaw(t *testing.T) {
	const page = "Chassis/Chassis_0/EnvironmentMetrics"
	for _, f := range []struct {
		flaw wire.Flaw
		why  collectors.Reason
	}{
		{wire.Flaw{Fault: wire.Cut}, collectors.Malformed},
		{wire.Flaw{Fault: wire.Failing}, collectors.Unreadable},
		{wire.Flaw{Fault: wire.Hang}, collectors.Unreadable},
		{wire.Flaw{Fault: wire.Closed}, collectors.Unreadable},
		{wire.Flaw{Fault: wire.Vast}, collectors.OverLimit},
		{wire.Flaw{Fault: wire.Nulls}, collectors.Unsupported},
		{wire.Flaw{Fault: wire.Words}, collectors.Unsupported},
		{wire.Flaw{Fault: wire.Sentinels}, collectors.Unsupported},
		{wire.Flaw{Fault: wire.Elsewhere, To: "https://192.0.2.1"}, collectors.Refused},
		{wire.Flaw{Fault: wire.Busy}, collectors.Skipped},
	} {
		t.Run(string(f.flaw.Fault), func(t *testing.T) {
			t.Parallel()
			c := newController(t, wire.Config{})
			c.Collector.cfg.Timeout = 100 * time.Millisecond
			if f.flaw.Fault == wire.Vast {
				c.Collector.cfg.Timeout = 10 * time.Second
			}
			e, _ := listen(t, c.Collector)
			e.until("a sound page", func() bool { return e.value(c.node, "node_power_watts") > 0 })
			want := e.value(c.node, "node_power_watts")
			f.flaw.Path = page
			c.fleet.Flaw(c.node, f.flaw)
			e.until("a gap", func() bool { v := e.value(c.node, "node_power_watts"); return v != v })
			e.until("the reason", func() bool { return e.count(f.why) > 0 })
			e.more(5)
			c.fleet.Flaw(c.node)
			e.until("the page again", func() bool { return e.value(c.node, "node_power_watts") == want })
		})
	}
}

// TestAServiceThatIsBrokenFromTheRootOn: a service whose root is broken is down,
// and up again when it is repaired.
func TestAServiceThatIsBrokenFromTheRootOn(t *testing.T) {
	for _, fault := range []wire.Fault{wire.Cut, wire.Failing, wire.Busy, wire.Closed} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			c := newController(t, wire.Config{})
			c.fleet.Flaw(c.node, wire.Flaw{Fault: fault})
			e, _ := listen(t, c.Collector)
			e.until("word that it is away", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.away > 2 })
			c.fleet.Flaw(c.node)
			e.until("its readings", func() bool { return e.value(c.node, "node_power_watts") > 0 })
		})
	}
}

// TestFlawsThatDoNoHarm: other units, numbers in quotes, no names.
func TestFlawsThatDoNoHarm(t *testing.T) {
	for _, fault := range []wire.Fault{wire.Fahrenheit, wire.Texts, wire.Nameless} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			c := newController(t, wire.Config{NoReports: true})
			c.fleet.Flaw(c.node, wire.Flaw{Fault: fault, Path: "Chassis"})
			e, _ := listen(t, c.Collector)
			for m, x := range map[telemetry.MetricName]telemetry.Entity{"node_power_watts": c.node, "inlet_celsius": c.node, "gpu_temperature_celsius": c.gpu("0")} {
				r, _ := c.board.Read(x, m)
				e.until(string(m), func() bool { return e.value(x, m) == r.Float() })
			}
			temperature, _ := c.board.Read(c.gpu("0"), "gpu_temperature_celsius")
			e.until("the margin", func() bool {
				d := e.value(c.gpu("0"), "gpu_temperature_margin_celsius") - (87 - temperature.Float())
				return d < 1e-9 && d > -1e-9
			})
		})
	}
}

// slowAnswer is how long the slow controller takes: what a test may, or the value
// of QUINTET_SLOW (make slow-bmc sets 3m, with a timeout of a minute).
func slowAnswer(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("QUINTET_SLOW"), "300ms"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAPageThatTakesItsTime: a page takes longer than the first timeout, but the
// timeout is extended each time, and the others are read meanwhile.
// TestTheOthersOfAPageThatTakesItsTime checks the number of requests, and that it
// stays so.
func TestAPageThatTakesItsTime(t *testing.T) {
	c := newController(t, wire.Config{})
	wait := slowAnswer(t)
	c.Collector.cfg.Timeout = wait / 3
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Slow, Path: "Chassis/Chassis_0/EnvironmentMetrics", Wait: wait})
	e, _ := listen(t, c.Collector)
	began := time.Now()
	e.wait = 10 * wait
	e.until("the others", func() bool { return e.value(c.gpu("3"), "gpu_power_watts") > 0 })
	others := time.Since(began)
	e.until("the slow one", func() bool { return e.value(c.node, "node_power_watts") > 0 })
	first := time.Since(began)
	e.more(10)
	// What was given up is under way for a moment until the controller sees it.
	if got := c.fleet.Tally(c.node); got.Most > 2 {
		t.Errorf("%d requests in flight at a time", got.Most)
	}
	if e.count(collectors.Unreadable) == 0 {
		t.Error("what came too late was not counted")
	}
	t.Logf("an answer takes %v: the others after %v, it after %v", wait, others.Round(time.Millisecond), first.Round(time.Millisecond))
}

// TestAControllerThatTakesItsTime: every answer takes longer than one waits at
// first. It is read all the same, one request at a time, and no login is left.
func TestAControllerThatTakesItsTime(t *testing.T) {
	if os.Getenv("QUINTET_SLOW") != "" {
		t.Skip("some twenty answers of that length")
	}
	c := newController(t, wire.Config{})
	wait := slowAnswer(t)
	c.Collector.cfg.Timeout = wait / 3
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Slow, Wait: wait})
	e, stop := listen(t, c.Collector)
	e.wait = 200 * wait
	e.until("a reading", func() bool { return e.value(c.node, "node_power_watts") > 0 })
	// What was given up is under way for a moment until the controller sees it.
	if got := c.fleet.Tally(c.node); got.Most > 3 || got.Sessions != 1 || got.Logins != 1 {
		t.Errorf("%+v", got)
	}
	stop()
}

// TestABusyServiceIsLeftAlone for as long as it asks.
func TestABusyServiceIsLeftAlone(t *testing.T) {
	c := newController(t, wire.Config{})
	e, _ := listen(t, c.Collector)
	e.more(5)
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Busy, Wait: time.Hour})
	e.until("word of it", func() bool { return e.count(collectors.Skipped) > 0 })
	asked := c.fleet.Tally(c.node).Asked
	e.until("sweeps", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.away > 10 })
	if got := c.fleet.Tally(c.node).Asked; got > asked+1 {
		t.Errorf("asked %d times more", got-asked)
	}
}

// TestAnXID: an XID comes over the event stream and is in the log; both report the
// same, so that it counts once. What was in the log before is history.
func TestAnXID(t *testing.T) {
	c := newController(t, wire.Config{})
	strike := func(text string, at telemetry.Time) {
		for _, r := range []*telemetry.Record{
			{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: c.gpu("2"), At: at, Name: telemetry.EventXID, Text: text}},
			{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}},
		} {
			if err := c.board.Take(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := telemetry.Time(time.Now().UnixNano())
	strike("31 before", at-2)
	e, _ := listen(t, c.Collector)
	e.until("the event stream", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
	e.more(30)
	strike("79 GPU has fallen off the bus", at)
	xids := func() (out []telemetry.Event) {
		all, _ := e.Events(0)
		for _, x := range all {
			if x.Name == telemetry.EventXID {
				out = append(out, x)
			}
		}
		return out
	}
	e.until("both", func() bool { return len(xids()) == 2 })
	got := xids()
	if got[0].Compare(got[1]) != 0 || got[0].Entity != c.gpu("2") || got[0].At != at || !strings.HasPrefix(got[0].Text, "79 XID 79: ") {
		t.Errorf("%+v\n%+v", got[0], got[1])
	}
}

// TestTheStreamIsAskedForAgain after it broke, and after it was refused.
func TestTheStreamIsAskedForAgain(t *testing.T) {
	c := newController(t, wire.Config{})
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Closed, Path: "EventService/SSE"})
	e, _ := listen(t, c.Collector)
	e.more(10)
	if n := c.fleet.Tally(c.node).Listeners; n != 0 {
		t.Fatalf("%d listeners", n)
	}
	c.fleet.Flaw(c.node)
	e.until("a listener", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Failing, Path: "EventService/SSE"})
	c.fleet.HangUp(c.node)
	e.until("the end of it", func() bool { return c.fleet.Tally(c.node).Listeners == 0 })
	c.fleet.Flaw(c.node)
	e.until("a listener again", func() bool { return c.fleet.Tally(c.node).Listeners == 1 })
}

// TestMessagesOfTheStream: reports come over it too, and what is broken in it is
// counted.
func TestMessagesOfTheStream(t *testing.T) {
	c, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}}
	r := c.newReader(e)
	at := time.Now().UTC().Truncate(time.Millisecond)
	hear := func(format string, args ...any) { r.receive(message{data: fmt.Appendf(nil, format, args...)}) }
	hear(`{"@odata.type": "#MetricReport.v1_4_2.MetricReport", "Id": "Live", "MetricValues": [{"MetricProperty": "/redfish/v1/Systems/H/Processors/GPU_5/ProcessorMetrics#/OperatingSpeedMHz", "MetricValue": "1410", "Timestamp": %q}]}`, at.Format(time.RFC3339Nano))
	hear(`{"Events": [{"EventId": "1", "Severity": "OK", "Message": "all is well"}, {"EventId": "2", "Severity": "Critical", "Message": "Fan  lost", "OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/C/ThermalSubsystem/Fans/F2"}, "EventTimestamp": %q},
{"EventId": "3", "MessageSeverity": "Warning", "MessageId": "Vendor.1.0.Odd", "MessageArgs": ["XID: 94, contained", "GPU_5"]}, 7]}`, at.Format(time.RFC3339Nano))
	hear(`{"Events": `)
	r.receive(message{long: true})
	r.flush()
	if got, _ := e.Read(entityOf("gpu:n1/5"), "gpu_sm_clock_hertz"); got.Float() != 1.41e9 || got.At != telemetry.Time(at.UnixNano()) {
		t.Errorf("%+v", got)
	}
	all, _ := e.Events(0)
	var told []string
	for _, x := range all {
		told = append(told, fmt.Sprintf("%s %s %s %v", x.Entity, x.Name, x.Text, x.At == telemetry.Time(at.UnixNano())))
	}
	want(t, told, "fan:n1/F2 bmc_alert Fan lost true", "gpu:n1/5 xid 94 XID: 94: Vendor.1.0.Odd XID: 94, contained GPU_5 false")
	if e.count(collectors.Malformed) != 1 || e.count(collectors.OverLimit) != 1 || e.count(collectors.Skipped) != 1 {
		t.Errorf("%v", e.dropped)
	}
}

// TestAStormOfEvents fills no log.
func TestAStormOfEvents(t *testing.T) {
	c, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}}
	r := c.newReader(e)
	for i := range 1000 {
		r.receive(message{data: fmt.Appendf(nil, `{"Events": [{"EventId": "%d", "Severity": "Critical", "Message": "lost %d"}]}`, i, i)})
	}
	r.flush()
	if all, _ := e.Events(0); len(all) != maxStorm || e.count(collectors.OverLimit) != 1000-maxStorm {
		t.Errorf("%d events, %v", len(all), e.dropped)
	}
}

// TestChangesOfConfiguration: changes are reported once, as events and as
// membership.
func TestChangesOfConfiguration(t *testing.T) {
	c := newController(t, wire.Config{})
	c.cfg.Groups = true
	e, stop := listen(t, c.Collector)
	e.until("the firmware", func() bool {
		return slices.ContainsFunc(e.Edges(telemetry.Member), func(x telemetry.Edge) bool { return x.To.Name == "firmware/1.4.2" })
	})
	c.fleet.Set(c.node, "Managers/BMC_0", "FirmwareVersion", "1.5.0")
	changes := func() (out []string) {
		all, _ := e.Events(0)
		for _, x := range all {
			if x.Name == telemetry.EventConfigChanged {
				out = append(out, x.Entity.String()+" "+x.Text)
			}
		}
		return out
	}
	e.until("the change", func() bool { return len(changes()) > 0 })
	e.until("the end of the old", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.ContainsFunc(e.ended, func(x telemetry.Edge) bool { return x.To.Name == "firmware/1.4.2" })
	})
	// The board's other controller keeps its own firmware: no going to and fro.
	e.more(20)
	want(t, changes(), c.node.String()+" Managers/BMC_0 FirmwareVersion 1.4.2 -> 1.5.0")
	stop()
	// A change while no collector ran is one too.
	c.fleet.Set(c.node, "Systems/HGX_Baseboard_0/Processors/GPU_1", "PartNumber", "900-OTHER")
	e, _ = listen(t, c.Collector)
	e.until("the part", func() bool { return len(changes()) > 0 })
	want(t, changes(), "gpu:"+c.node.Name+"/1 Systems/HGX_Baseboard_0/Processors/GPU_1 PartNumber 900-LAB -> 900-OTHER")
}

// TestWhatIsPulledIsGone: a fan that is no longer listed is a gap, no zero and
// no last value; when it is back, so are its readings.
func TestWhatIsPulledIsGone(t *testing.T) {
	c := newController(t, wire.Config{})
	fan := telemetry.Entity{Kind: telemetry.Fan, Name: c.node.Name + "/fan3"}
	e, _ := listen(t, c.Collector)
	e.until("the fan", func() bool { return e.value(fan, "fan_speed_ratio") > 0 })
	c.fleet.Pull(c.node, "Chassis/Chassis_0/ThermalSubsystem/Fans/fan3", true)
	e.until("a gap", func() bool { v := e.value(fan, "fan_speed_ratio"); return v != v })
	e.until("the end of its edge", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.ContainsFunc(e.ended, func(x telemetry.Edge) bool { return x.To == fan })
	})
	c.fleet.Pull(c.node, "Chassis/Chassis_0/ThermalSubsystem/Fans/fan3", false)
	e.until("the fan again", func() bool { return e.value(fan, "fan_speed_ratio") > 0 })
	for _, x := range e.Edges(telemetry.Contains) {
		if again := x.To == fan && x.Start != 0; x.End == 0 && again != (x.To == fan && x.Received > e.endOf(fan)) {
			t.Errorf("%+v", x)
		}
	}
}

// endOf is when an edge to an entity ended.
func (e *ear) endOf(to telemetry.Entity) telemetry.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.ended {
		if x.To == to {
			return x.End
		}
	}
	return 0
}

// TestReportsGoBeforeResources while they come, and resources step in when they
// do not.
func TestReportsGoBeforeResources(t *testing.T) {
	c := newController(t, wire.Config{})
	e, _ := listen(t, c.Collector)
	e.until("the GPU", func() bool { return e.value(c.gpu("0"), "gpu_power_watts") > 0 })
	if r, _ := e.Read(c.gpu("0"), "gpu_power_watts"); r.At != c.board.Now() {
		t.Errorf("at %s, the controller says %s", r.At, c.board.Now())
	}
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Failing, Path: "TelemetryService"})
	e.until("the resource", func() bool {
		r, _ := e.Read(c.gpu("0"), "gpu_power_watts")
		return !r.Gap && r.At > c.board.Now()
	})
}

// TestARedirectIsNotFollowedElsewhere: a token would go with it.
func TestARedirectIsNotFollowedElsewhere(t *testing.T) {
	reached := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case reached <- r.Header.Get("X-Auth-Token"):
		default:
		}
	}))
	defer other.Close()
	c := newController(t, wire.Config{})
	c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Elsewhere, Path: "Chassis/Chassis_0", To: other.URL})
	e, _ := listen(t, c.Collector)
	e.until("the refusal", func() bool { return e.count(collectors.Refused) > 0 })
	e.more(5)
	select {
	case token := <-reached:
		t.Errorf("the other host was asked, with token %q", token)
	default:
	}
}

// TestOffTheManagementNetwork nothing is dialled.
func TestOffTheManagementNetwork(t *testing.T) {
	c, err := New(Config{Address: "https://192.0.2.7", Entity: entityOf("node:n1"), TLS: dial.TLS{Unverified: true}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.Every = 20 * time.Millisecond
	e, _ := listen(t, c)
	e.until("the refusal", func() bool { return e.count(collectors.Refused) > 0 })
}

func newBoard() *board.Board { return board.New() }
