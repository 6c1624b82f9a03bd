package replica

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

const site = "lab"

// recording is a recorded run and what a replay of it publishes.
type recording struct {
	log    []*telemetry.Record
	config engine.Config
	want   []string // revisions, as published
	digest string
}

// slownic is a slow NIC that degrades a job for two of seven minutes.
var slownic = sync.OnceValues(func() (*recording, error) {
	rec, err := replay.Open(filepath.Join("..", "..", "testdata", "roce", "slownic-2"), replay.OpenConfig{})
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	set, err := rules.Standard()
	if err != nil {
		return nil, err
	}
	out := &recording{config: engine.Config{Correlate: correlate.Config{Site: site, Signatures: set.Signatures, Rules: set.Digest}}}
	var failed error
	result, err := replay.Run(context.Background(), rec, replay.RunConfig{Engine: out.config, Publish: func(in explain.Incident) {
		b, err := engine.Canonical(&in)
		failed = errors.Join(failed, err)
		out.want = append(out.want, string(b))
	}})
	if err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	out.digest = result.Digest
	err = rec.Each(func(_ uint64, r *telemetry.Record) error {
		out.log = append(out.log, r)
		return nil
	})
	return out, err
})

func recorded(t *testing.T) *recording {
	t.Helper()
	rec, err := slownic()
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.want) < 3 {
		t.Fatalf("the recording gives %d revisions", len(rec.want))
	}
	return rec
}

// world is a server with a site's log.
type world struct {
	t      *testing.T
	cfg    broker.Config
	server *broker.Server
	bus    *bus.Bus
	rec    *recording
}

func newWorld(t *testing.T, set ...func(*bus.Config)) *world {
	t.Helper()
	t.Parallel() // they wait more than they work
	w := &world{t: t, rec: recorded(t), cfg: broker.Config{Dir: t.TempDir(), Site: site, Listen: wiretest.FreeAddress(t)}}
	w.serve()
	t.Cleanup(func() { w.server.Close() })
	w.bus = w.join(broker.All, set...)
	if err := w.bus.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) serve() {
	w.t.Helper()
	s, err := broker.Start(within(w.t, 20*time.Second), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = s
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func (w *world) join(role broker.Role, set ...func(*bus.Config)) *bus.Bus {
	w.t.Helper()
	credentials, err := w.server.EnrollAs(role)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := bus.Config{Site: site, Name: "test", Servers: []string{w.server.URL()}, Credentials: credentials}
	for _, f := range set {
		f(&cfg)
	}
	b, err := bus.Connect(within(w.t, 10*time.Second), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(b.Close)
	return b
}

// feed appends records of the recording.
func (w *world) feed(from, to int) {
	w.t.Helper()
	if err := w.bus.Append(within(w.t, 60*time.Second), "import", w.rec.log[from:to]...); err != nil {
		w.t.Fatal(err)
	}
}

// running is a replica under way.
type running struct {
	w       *world
	name    string
	metrics *metrics.Set
	log     *journal
	cancel  context.CancelFunc
	done    chan error
}

// journal keeps what a replica logs, for tests that fail.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (w *world) start(name string, set ...func(*Config)) *running {
	w.t.Helper()
	r := &running{w: w, name: name, metrics: metrics.NewSet(), log: &journal{}, done: make(chan error, 1)}
	cfg := Config{Bus: w.join(broker.Engine), Engine: w.rec.config, Name: name, Beat: time.Second, Metrics: r.metrics,
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range set {
		f(&cfg)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	r.cancel = cancel
	go func() { r.done <- Run(ctx, cfg) }()
	w.t.Cleanup(func() {
		cancel()
		if w.t.Failed() {
			w.t.Logf("replica %s:\n%s", name, r.log)
		}
	})
	return r
}

// stop ends a replica and waits for all it started.
func (r *running) stop() {
	r.w.t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			r.w.t.Fatalf("replica %s: %v", r.name, err)
		}
	case <-time.After(20 * time.Second):
		r.w.t.Fatalf("replica %s does not end", r.name)
	}
}

// presence returns what a replica reports about itself.
func (r *running) presence() (p Presence, ok bool) {
	r.w.t.Helper()
	kv, err := r.w.bus.KeyValue(r.w.t.Context(), bus.Replicas)
	if err != nil {
		r.w.t.Fatal(err)
	}
	e, err := kv.Get(r.w.t.Context(), bus.Token(r.name))
	if err != nil || json.Unmarshal(e.Value(), &p) != nil {
		return Presence{}, false
	}
	return p, true
}

// until waits for a condition.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	ctx := within(w.t, 30*time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-ctx.Done():
			w.t.Fatalf("never: %s", what)
		}
	}
}

// read waits until a replica has read the log to its end.
func (r *running) read() {
	r.w.t.Helper()
	_, last, err := r.w.bus.Bounds(r.w.t.Context())
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.w.until(r.name+" has read all", func() bool { return r.gauge("quintet_replica_position") >= float64(last) })
}

func (r *running) publishes() {
	r.w.t.Helper()
	r.w.until(r.name+" publishes", func() bool {
		p, ok := r.presence()
		return ok && p.Publishing
	})
}

// stream is every revision published, in order.
func (w *world) stream() (out []string) {
	w.t.Helper()
	first, last, err := w.bus.IncidentBounds(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if last < first {
		return nil
	}
	all := errors.New("all")
	err = w.bus.FollowIncidents(within(w.t, 20*time.Second), 0, func(r bus.Revision) error {
		out = append(out, string(r.Data))
		if r.Sequence >= last {
			return all
		}
		return nil
	})
	if !errors.Is(err, all) {
		w.t.Fatal(err)
	}
	return out
}

// same waits until the stream holds what a replay publishes, byte by byte, and
// nothing else.
func (w *world) same() {
	w.t.Helper()
	var got []string
	w.until("the stream is as long as the replay's", func() bool {
		got = w.stream()
		return len(got) >= len(w.rec.want)
	})
	if !slices.Equal(got, w.rec.want) {
		w.t.Errorf("the stream is not the replay's:\n%s\nwant\n%s", outline(w.t, got), outline(w.t, w.rec.want))
	}
}

func incidents(t *testing.T, stream []string) (out []explain.Incident) {
	t.Helper()
	for _, line := range stream {
		var in explain.Incident
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		out = append(out, in)
	}
	return out
}

func outline(t *testing.T, stream []string) string {
	var b bytes.Buffer
	for _, in := range incidents(t, stream) {
		fmt.Fprintf(&b, "%s.%d %s %v rules %s\n", in.ID, in.Revision, in.State, in.Updated, short(in.Rules))
	}
	return b.String()
}

func (w *world) ask(what string, req string, into any) {
	w.t.Helper()
	b, err := w.bus.Ask(within(w.t, 10*time.Second), what, []byte(req))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		w.t.Fatalf("%s: %v: %.300s", what, err, b)
	}
}

func (r *running) count(name string) int { return int(r.metrics.GetOrCreateCounter(name).Get()) }

// gauge reads one; to ask for it before the replica has made it would make
// another one.
func (r *running) gauge(name string) float64 {
	if !slices.Contains(r.metrics.ListMetricNames(), name) {
		return -1
	}
	return r.metrics.GetOrCreateGauge(name, nil).Get()
}

// forgetLog creates the log again, empty.
func (w *world) forgetLog() {
	w.t.Helper()
	w.onServer(func(js jetstream.JetStream, log string) error { return js.DeleteStream(w.t.Context(), log) })
	if err := w.bus.Create(within(w.t, 10*time.Second)); err != nil {
		w.t.Fatal(err)
	}
}

// expire removes all entries of the log by their age.
func (w *world) expire() {
	w.t.Helper()
	w.onServer(func(js jetstream.JetStream, log string) error {
		s, err := js.Stream(w.t.Context(), log)
		if err != nil {
			return err
		}
		short := s.CachedInfo().Config
		short.MaxAge, short.Duplicates = 100*time.Millisecond, 100*time.Millisecond
		if _, err := js.UpdateStream(w.t.Context(), short); err != nil {
			return err
		}
		w.until("the log is empty", func() bool {
			st, err := w.bus.State(w.t.Context())
			return err == nil && st.Entries == 0
		})
		_, err = js.UpdateStream(w.t.Context(), s.CachedInfo().Config)
		return err
	})
}

// onServer calls f with all rights on the server.
func (w *world) onServer(f func(js jetstream.JetStream, log string) error) {
	w.t.Helper()
	c, err := w.server.Connection(broker.All)
	if err != nil {
		w.t.Fatal(err)
	}
	token, err := jwt.ParseDecoratedJWT(c.Credentials)
	if err != nil {
		w.t.Fatal(err)
	}
	user, err := jwt.DecodeUserClaims(token)
	if err != nil {
		w.t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+user.Subject))
	if err != nil {
		w.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	names, err := bus.NamesOf(site)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := f(js, names.Log()); err != nil {
		w.t.Fatal(err)
	}
}
