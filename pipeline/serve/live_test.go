package serve

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// realBus is a site on a real server: for a client with all rights, and for the web
// role, which the server has in a process of its own.
func realBus(t *testing.T) (all, web *bus.Bus) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	join := func(role broker.Role) *bus.Bus {
		c, err := s.Connection(role)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: string(role), InProcess: c.InProcess, Credentials: c.Credentials})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	all = join(broker.All)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	return all, join(broker.Web)
}

func publish(t *testing.T, b *bus.Bus, in explain.Incident) {
	t.Helper()
	data, err := engine.Canonical(&in)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.PublishIncident(t.Context(), in.ID, in.Revision, data); err != nil {
		t.Fatal(err)
	}
}

// serveBus runs a server on a bus until the function it returns is called.
func serveBus(t *testing.T, b *bus.Bus) (r *running, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newServer(ctx, Config{Bus: b, Incidents: b.Incidents(), Firing: b.Alerts(), Site: "lab", Listener: l})
	if err != nil {
		t.Fatal(err)
	}
	r = &running{t: t, server: s, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	r.until("ready", func() bool { _, why := s.notes.bucket.Open(); return s.ledger.current() && why == nil })
	return r, func() {
		cancel()
		r.client.CloseIdleConnections()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// TestOnARealBus: incidents from the stream, their history, events that resume,
// questions without responders; and notes outlive the server.
func TestOnARealBus(t *testing.T) {
	b, web := realBus(t)
	for n := range 3 {
		publish(t, b, incident("inc-0000000000000001", n+1, 0))
	}
	publish(t, b, incident("inc-0000000000000002", 1, 60))
	r, stop := serveBus(t, web)
	_, body := r.get("/api/v1/incidents")
	if got := fmt.Sprint(ids(body)); got != "[inc-0000000000000002.1 inc-0000000000000001.3]" {
		t.Errorf("incidents %s", got)
	}
	_, body = r.get("/api/v1/incidents/inc-0000000000000001/revisions")
	if n := strings.Count(body, `"id":"inc-0000000000000001"`); n != 3 {
		t.Errorf("%d revisions: %s", n, body)
	}
	e := r.events("/api/v1/stream?after=2")
	if a, z := e.next(t, "incident"), e.next(t, "incident"); a.id != "3" || z.id != "4" {
		t.Errorf("events %s, %s", a.id, z.id)
	}
	if resp, body := r.get("/api/v1/jobs"); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "no engine answers") {
		t.Errorf("jobs of nobody: %d %s", resp.StatusCode, body)
	}
	if resp, body := r.get("/api/v1/status"); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"name":"no engine"`) {
		t.Errorf("status without an engine: %d %s", resp.StatusCode, body)
	}
	for _, c := range [][2]string{{"acknowledge", `{"by":"ann"}`}, {"verdict", `{"verdict":"right","by":"ben"}`}, {"acknowledge", `{"by":"cho"}`}} {
		if resp, body := r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000001/"+c[0], c[1]); resp.StatusCode != http.StatusOK {
			t.Errorf("%v: %d %s", c, resp.StatusCode, body)
		}
	}
	stop()

	r, stop = serveBus(t, web)
	defer stop()
	r.until("the note", func() bool { return r.server.notes.of("inc-0000000000000001") != note{} })
	_, body = r.get("/api/v1/incidents/inc-0000000000000001")
	_, said := r.get("/api/v1/incidents/inc-0000000000000001/notes")
	if !strings.Contains(body, `"verdict":"right"`) || !strings.Contains(said, `"by":"cho"`) {
		t.Errorf("after a restart: %s\n%s", said, body)
	}
}

// TestTwoServersAgreeOnNotes: a note on one server is seen at the other, and
// neither overwrites the other's notes.
func TestTwoServersAgreeOnNotes(t *testing.T) {
	b, web := realBus(t)
	publish(t, b, incident("inc-0000000000000001", 1, 0))
	one, stopOne := serveBus(t, web)
	defer stopOne()
	two, stopTwo := serveBus(t, web)
	defer stopTwo()
	one.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000001/acknowledge", `{"by":"ann"}`)
	two.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000001/verdict", `{"verdict":"wrong"}`)
	for _, r := range []*running{one, two} {
		r.until("both notes", func() bool {
			x := r.server.notes.of("inc-0000000000000001")
			return x.Acknowledged != nil && x.Verdict != nil && x.Verdict.Verdict == "wrong"
		})
	}
}

// TestNotesAgainstTheClock: another writer is faster, again and again.
func TestNotesAgainstTheClock(t *testing.T) {
	s := told()
	r := run(t, s, Config{})
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	const id = "inc-0000000000000002"
	rivals := 3
	s.kv.before = func() {
		s.kv.mu.Lock()
		defer s.kv.mu.Unlock()
		if rivals--; rivals >= 0 {
			s.kv.store(id, []byte(fmt.Sprintf(`{"acknowledged":{"by":"rival %d"}}`, rivals)))
		}
	}
	if resp, body := r.request(http.MethodPost, "/api/v1/incidents/"+id+"/verdict", `{"verdict":"right"}`); resp.StatusCode != 200 || !strings.Contains(body, `"by":"rival 0"`) || !strings.Contains(body, `"verdict":"right"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	rivals = 1 << 30
	if resp, body := r.request(http.MethodPost, "/api/v1/incidents/"+id+"/verdict", `{"verdict":"wrong"}`); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("for ever: %d %s", resp.StatusCode, body)
	}
}

// TestWithoutTheBucket: everything else works, and notes are refused rather than
// lost.
func TestWithoutTheBucket(t *testing.T) {
	s := told()
	s.kv = nil
	r := run(t, s, Config{})
	if resp, body := r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000002/acknowledge", ""); resp.StatusCode != 503 || !strings.Contains(body, "the note was not kept") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := r.get("/api/v1/incidents"); resp.StatusCode != 200 {
		t.Errorf("the list: %d", resp.StatusCode)
	}
}

// TestCapture: a trace over HTTP is the one that the recorder writes, and a capture
// that is not possible is refused before anything is sent.
func TestCapture(t *testing.T) {
	b, web := realBus(t)
	publish(t, b, incident("inc-0000000000000001", 1, 0))
	r, stop := serveBus(t, web)
	defer stop()
	if resp, body := r.get("/api/v1/capture?last=15m"); resp.StatusCode != 503 || !strings.Contains(body, "the log is empty") {
		t.Errorf("an empty log: %d %s", resp.StatusCode, body)
	}
	for i := range 100 {
		tick := &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: clock(float64(i))}}
		if err := b.Append(t.Context(), "", tick); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]uint64{"?last=10m": 100, "?last=15s": 19, "?incident=inc-0000000000000001": 100} {
		resp, body := r.get("/api/v1/capture" + path)
		tr, err := trace.Open(strings.NewReader(body), int64(len(body)))
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %d %v", path, resp.StatusCode, err)
			continue
		}
		if info := tr.Info(); !info.Complete || info.Entries != want || info.Last != clock(99) {
			t.Errorf("%s: %+v, want %d entries", path, info, want)
		}
	}
	for path, want := range map[string]int{"?last=1": 400, "?last=-1m": 400, "?last=1m&incident=x": 400, "?incident=inc-none": 404, "?from=now": 400} {
		if resp, body := r.get("/api/v1/capture" + path); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// TestCaptureFromNowOnEndsWithTheServer, whole.
func TestCaptureFromNowOnEndsWithTheServer(t *testing.T) {
	b, web := realBus(t)
	tick := func(i int) {
		if err := b.Append(t.Context(), "", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: clock(float64(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	tick(0)
	r, stop := serveBus(t, web)
	resp, err := r.client.Get(r.url + "/api/v1/capture")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := make(chan []byte, 1)
	grown := make(chan struct{})
	go func() {
		var all []byte
		chunk := make([]byte, 4096)
		for {
			n, err := resp.Body.Read(chunk)
			all = append(all, chunk[:n]...)
			if grown != nil && len(all) > 400 {
				close(grown)
				grown = nil
			}
			if err != nil {
				got <- all
				return
			}
		}
	}()
	wait := grown
	for i := 1; ; i++ {
		tick(i)
		select {
		case <-wait:
		default:
			continue
		}
		break
	}
	stop()
	all := <-got
	tr, err := trace.Open(bytes.NewReader(all), int64(len(all)))
	if err != nil || !tr.Info().Complete || tr.Info().Entries < 10 {
		t.Errorf("%v: %+v", err, tr.Info())
	}
}
