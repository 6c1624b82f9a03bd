package notify_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// within bounds what a test over real sockets waits for.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// serve starts a site's server over a directory.
func serve(t testing.TB, dir string) *broker.Server {
	t.Helper()
	s, err := broker.Start(within(t, 20*time.Second), broker.Config{Dir: dir, Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// join connects in a role; the real bus with what that role may do.
func join(t testing.TB, s *broker.Server, r broker.Role) *bus.Bus {
	t.Helper()
	c, err := s.Connection(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(within(t, 10*time.Second), bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// listener is an HTTP server that records requests and answers in turn.
type listener struct {
	*httptest.Server
	mu      sync.Mutex
	heard   []hearing
	changed chan struct{}
	wild    bool
}

// answers are what the listener does with the requests, over and over.
var answers = []func(http.ResponseWriter, *http.Request){
	func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) },
	func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) },
	func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) },
	func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) },
	func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
	},
	func(w http.ResponseWriter, r *http.Request) { // the status, and then a body that does not end
		w.Header().Set("Content-Length", "9")
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
}

// listen starts a listener; wild, it answers in every way.
func listen(t *testing.T, wild bool) *listener {
	l := &listener{changed: make(chan struct{}, 1), wild: wild}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		l.mu.Lock()
		n := len(l.heard) % len(answers)
		if !wild {
			n = 0
		}
		taken := n == 0 || n == 1 || n == 3 || n == 8
		l.heard = append(l.heard, hearing{id: r.Header.Get("webhook-id"), body: string(body), answer: notify.Answer{Verdict: map[bool]notify.Verdict{true: notify.Taken}[taken]}})
		l.mu.Unlock()
		answers[n](w, r)
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// wait waits until every id has been taken, and returns how often each was.
func (l *listener) wait(t *testing.T, ids ...string) map[string]int {
	t.Helper()
	ctx := within(t, 30*time.Second)
	for {
		taken := map[string]int{}
		l.mu.Lock()
		for _, h := range l.heard {
			if h.answer.Verdict == notify.Taken {
				taken[h.id]++
			}
		}
		l.mu.Unlock()
		if !slices.ContainsFunc(ids, func(id string) bool { return taken[id] == 0 }) {
			return taken
		}
		select {
		case <-ctx.Done():
			t.Fatalf("taken: %v", taken)
		case <-l.changed:
		}
	}
}

// hasty is a configuration whose schedule fits into a test.
func hasty(t *testing.T, b *bus.Bus, l *listener) notify.Config {
	t.Helper()
	hook, err := webhook.New(webhook.Config{URL: l.URL, SecretFile: notifytest.Secret(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")})
	if err != nil {
		t.Fatal(err)
	}
	timeout := 5 * time.Second
	if l.wild {
		timeout = 300 * time.Millisecond // it hangs on purpose
	}
	return notify.Config{Bus: b, Incidents: b.Incidents(), Name: "test", Retries: slices.Repeat([]time.Duration{5 * time.Millisecond}, 200),
		Receivers: []notify.Receiver{{Name: "ops", Notifier: hook, Timeout: timeout}}}
}

// publish stores the next revision of an incident.
func (in *incident) publish(t testing.TB, b *bus.Bus, state string) string {
	t.Helper()
	n, data := in.revise(t, state)
	if o, _, err := b.PublishIncident(within(t, 20*time.Second), in.id, n, data); err != nil || o != bus.Stored {
		t.Fatal(o, err)
	}
	return fmt.Sprintf("%s.%d.ops", in.id, n)
}

// begun waits until a notifier serves a receiver: what is published after that is
// sent.
func begun(t testing.TB, b *bus.Bus) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	kv, err := b.KeyValue(ctx, bus.Deliveries)
	if err != nil {
		t.Fatal(err)
	}
	w, err := kv.Watch(ctx, "receiver.ops", jetstream.IgnoreDeletes())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop() }()
	for e := range w.Updates() {
		if e != nil {
			return
		}
	}
	t.Fatal("no notifier begins")
}

func TestOverARealSite(t *testing.T) {
	s := serve(t, t.TempDir())
	engine := join(t, s, broker.All)
	if err := engine.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	l := listen(t, true)
	stops := []func(){start(t, hasty(t, join(t, s, broker.Notify), l)), start(t, hasty(t, join(t, s, broker.Notify), l))}
	begun(t, engine)
	var last []string
	for i := range 6 {
		in := incident{id: fmt.Sprintf("inc-%d", i)}
		for _, state := range []string{opened, opened, resolved, opened, resolved} {
			if id := in.publish(t, engine, state); state == resolved {
				last = append(last, id)
			}
		}
	}
	taken := l.wait(t, last...)
	for _, stop := range stops {
		stop()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bodies := map[string]string{}
	for _, h := range l.heard {
		if b := bodies[h.id]; b != "" && b != h.body {
			t.Errorf("two bodies under %s", h.id)
		}
		bodies[h.id] = h.body
	}
	all, err := notify.Deliveries(within(t, 10*time.Second), join(t, s, broker.Web))
	if err != nil || len(all) != 6 {
		t.Fatal(len(all), err)
	}
	repeats, twice := 0, -len(taken)
	for _, n := range taken {
		twice += n
	}
	for _, d := range all {
		repeats += d.Repeats
		if d.State != notify.StateDone || d.Done != 5 || d.Outcome != notify.OutcomeDelivered || d.Status/100 != 2 {
			t.Errorf("%+v", d)
		}
	}
	if twice > repeats || repeats == 0 {
		t.Errorf("%d messages were taken twice, %d repeats are known", twice, repeats)
	}
}

// serverNow leads to whichever server runs now.
type serverNow struct {
	mu     sync.Mutex
	server nats.InProcessConnProvider
}

func (s *serverNow) set(to nats.InProcessConnProvider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = to
}

func (s *serverNow) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil, errKilled
	}
	return s.server.InProcessConn()
}

func TestTheServerGoesAwayAndComesBack(t *testing.T) {
	dir, now := t.TempDir(), &serverNow{}
	s := serve(t, dir)
	connect := func(r broker.Role) *bus.Bus {
		c, err := s.Connection(r)
		if err != nil {
			t.Fatal(err)
		}
		now.set(c.InProcess)
		b, err := bus.Connect(within(t, 10*time.Second), bus.Config{Site: "lab", Name: t.Name(), InProcess: now, Credentials: c.Credentials})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	engine := connect(broker.All)
	if err := engine.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	l := listen(t, false)
	stop := start(t, hasty(t, connect(broker.Notify), l))
	begun(t, engine)
	in := incident{id: "inc-a"}
	ids := []string{in.publish(t, engine, opened)}
	l.wait(t, ids...)
	for range 2 {
		now.set(nil)
		s.Close()
		s = serve(t, dir)
		c, err := s.Connection(broker.All)
		if err != nil {
			t.Fatal(err)
		}
		now.set(c.InProcess)
		ids = append(ids, in.publish(t, engine, opened), in.publish(t, engine, resolved))
		l.wait(t, ids...)
	}
	stop()
	for id, n := range l.wait(t, ids...) {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
}
