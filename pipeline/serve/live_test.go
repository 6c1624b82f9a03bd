package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// realBus is a site on a real server, with the bucket for notes.
func realBus(t *testing.T) *bus.Bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.KeyValue(ctx, Notes); err != nil {
		makeBucket(ctx, t, c)
	}
	return b
}

func makeBucket(ctx context.Context, t *testing.T, c broker.Connection) {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+publicKey(t, c.Credentials)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	names, err := bus.NamesOf("lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: names.Bucket(Notes), History: 1}); err != nil {
		t.Fatal(err)
	}
}

// publicKey is that of a credentials file: permissions are for inboxes below it.
func publicKey(t *testing.T, credentials []byte) string {
	t.Helper()
	pair, err := nkeys.ParseDecoratedUserNKey(credentials)
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
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
	s, err := newServer(ctx, Config{Bus: b, Site: "lab", Listener: l})
	if err != nil {
		t.Fatal(err)
	}
	r = &running{t: t, server: s, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	r.until("ready", func() bool { _, why := s.notes.bucket(); return s.ledger.current() && why == nil })
	return r, func() {
		cancel()
		r.client.CloseIdleConnections()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// TestOnARealBus: incidents from the stream, their history, events that resume,
// questions that nobody answers; and what people said outlives the server.
func TestOnARealBus(t *testing.T) {
	b := realBus(t)
	for n := range 3 {
		publish(t, b, incident("inc-0000000000000001", n+1, 0))
	}
	publish(t, b, incident("inc-0000000000000002", 1, 60))
	r, stop := serveBus(t, b)
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

	r, stop = serveBus(t, b)
	defer stop()
	r.until("the note", func() bool { return r.server.notes.of("inc-0000000000000001") != note{} })
	_, body = r.get("/api/v1/incidents/inc-0000000000000001")
	_, said := r.get("/api/v1/incidents/inc-0000000000000001/notes")
	if !strings.Contains(body, `"verdict":"right"`) || !strings.Contains(said, `"by":"cho"`) {
		t.Errorf("after a restart: %s\n%s", said, body)
	}
}

// TestTwoServersAgreeOnNotes: what is said to one is seen at the other, and
// neither overwrites what the other keeps.
func TestTwoServersAgreeOnNotes(t *testing.T) {
	b := realBus(t)
	publish(t, b, incident("inc-0000000000000001", 1, 0))
	one, stopOne := serveBus(t, b)
	defer stopOne()
	two, stopTwo := serveBus(t, b)
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

// TestNotesAgainstTheClock: somebody else is faster, again and again.
func TestNotesAgainstTheClock(t *testing.T) {
	s := told()
	r := run(t, s, Config{})
	r.until("notes", func() bool { _, why := r.server.notes.bucket(); return why == nil })
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

// TestWithoutTheBucket: everything else works, and what is said is refused
// rather than lost.
func TestWithoutTheBucket(t *testing.T) {
	s := told()
	s.kv = nil
	r := run(t, s, Config{})
	if resp, body := r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000002/acknowledge", ""); resp.StatusCode != 503 || !strings.Contains(body, "notes cannot be kept") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := r.get("/api/v1/incidents"); resp.StatusCode != 200 {
		t.Errorf("the list: %d", resp.StatusCode)
	}
}
