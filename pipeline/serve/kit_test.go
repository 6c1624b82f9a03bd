package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// noon is the clock of the tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// site is a bus in memory.
type site struct {
	mu      sync.Mutex
	stream  []bus.Revision
	first   uint64 // what lies before it is forgotten
	more    chan struct{}
	answers map[string]func(req []byte) ([]byte, error)
	asked   map[string]int
	follows int
	kv      *bucket            // of notes
	others  map[string]*bucket // by name
	gone    bool               // not connected
}

func newSite() *site {
	return &site{first: 1, more: make(chan struct{}), answers: map[string]func([]byte) ([]byte, error){}, asked: map[string]int{}, kv: newBucket(), others: map[string]*bucket{}}
}

func (s *site) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone
}

func (s *site) Bounds(context.Context) (first, last uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, uint64(len(s.stream)), nil
}

func (s *site) Follow(ctx context.Context, after uint64, fn func(bus.Revision) error) error {
	s.mu.Lock()
	s.follows++
	after = max(after, s.first-1)
	s.mu.Unlock()
	for {
		s.mu.Lock()
		var fresh []bus.Revision
		if after < uint64(len(s.stream)) {
			fresh = s.stream[after:len(s.stream):len(s.stream)]
		}
		more := s.more
		s.mu.Unlock()
		for _, r := range fresh {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := fn(r); err != nil {
				return err
			}
			after = r.Sequence
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}

// publish puts a revision into the stream.
func (s *site) publish(in explain.Incident) uint64 {
	data, err := engine.Canonical(&in)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := uint64(len(s.stream)) + 1
	s.stream = append(s.stream, bus.Revision{Sequence: n, ID: in.ID, Number: in.Revision, Data: data})
	close(s.more)
	s.more = make(chan struct{})
	return n
}

func (s *site) Ask(ctx context.Context, what string, req []byte) ([]byte, error) {
	s.mu.Lock()
	s.asked[what]++
	fn := s.answers[what]
	s.mu.Unlock()
	if fn == nil {
		return nil, fmt.Errorf("ask %s: %w", what, bus.ErrNoResponders)
	}
	return fn(req)
}

// says sets the engine's answer to a question.
func (s *site) says(what, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[what] = func([]byte) ([]byte, error) { return []byte(text), nil }
}

func (s *site) KeyValue(_ context.Context, name string) (jetstream.KeyValue, error) {
	if s.kv == nil {
		return nil, jetstream.ErrBucketNotFound
	}
	if name == Notes {
		return s.kv, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others[name] == nil {
		s.others[name] = newBucket()
	}
	return s.others[name], nil
}

// bucket is a key-value bucket in memory, as far as notes need one.
type bucket struct {
	jetstream.KeyValue
	mu       sync.Mutex
	entries  map[string]entry
	revision uint64
	watchers []chan jetstream.KeyValueEntry
	before   func() // called before each change
	watched  bool   // nobody reads what watchers are sent
}

type entry struct {
	jetstream.KeyValueEntry
	key      string
	value    []byte
	revision uint64
}

func (e entry) Key() string                     { return e.key }
func (e entry) Value() []byte                   { return e.value }
func (e entry) Revision() uint64                { return e.revision }
func (e entry) Operation() jetstream.KeyValueOp { return jetstream.KeyValuePut }
func newBucket() *bucket                        { return &bucket{entries: map[string]entry{}} }

func (b *bucket) store(key string, v []byte) entry {
	b.revision++
	e := entry{key: key, value: v, revision: b.revision}
	b.entries[key] = e
	for _, w := range b.watchers {
		w <- e
	}
	return e
}

func (b *bucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.entries[key]; ok {
		return e, nil
	}
	return nil, jetstream.ErrKeyNotFound
}

func (b *bucket) Create(_ context.Context, key string, v []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.change(key, v, 0)
}

func (b *bucket) Update(_ context.Context, key string, v []byte, revision uint64) (uint64, error) {
	return b.change(key, v, revision)
}

func (b *bucket) Put(_ context.Context, key string, v []byte) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.store(key, v).revision, nil
}

func (b *bucket) Watch(ctx context.Context, _ string, _ ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return b.WatchAll(ctx)
}

func (b *bucket) change(key string, v []byte, revision uint64) (uint64, error) {
	if b.before != nil {
		b.before()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[key].revision != revision {
		return 0, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence, Description: "wrong last sequence"}
	}
	return b.store(key, v).revision, nil
}

func (b *bucket) WatchAll(context.Context, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := make(chan jetstream.KeyValueEntry, 1024)
	for _, k := range slices.Sorted(maps.Keys(b.entries)) {
		w <- b.entries[k]
	}
	w <- nil
	b.watchers = append(b.watchers, w)
	return watcher{updates: w}, nil
}

type watcher struct {
	jetstream.KeyWatcher
	updates chan jetstream.KeyValueEntry
}

func (w watcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }
func (w watcher) Stop() error                             { return nil }

// clock returns an instant so many seconds from noon.
func clock(s float64) telemetry.Time {
	return telemetry.Time(noon.UnixNano()).Add(telemetry.Duration(s * 1e9))
}

func entity(s string) telemetry.Entity {
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		panic(err)
	}
	return e
}

// incident is one with its lists empty, opened so many seconds from noon.
func incident(id string, revision int, opened float64) explain.Incident {
	return explain.Incident{ID: id, State: explain.StateOpen, Kind: explain.KindIncident, Severity: explain.SeverityWarning, Title: "train is slower",
		Opened: clock(opened), Updated: clock(opened + float64(revision)), Revision: revision,
		Onset:        telemetry.Interval{Earliest: clock(opened - 4), Latest: clock(opened - 2)},
		Root:         explain.Root{Entity: entity("nic:h9/nic0"), Domain: telemetry.Network, Signature: "slow-receiver", Confidence: 0.93},
		Alternatives: []explain.Alternative{}, Contributors: []explain.Contributor{}, Chain: []explain.Link{}, RuledOut: []explain.RuledOut{},
		BlindSpots: []explain.BlindSpot{}, Actions: []explain.Action{}, Site: "lab", Engine: "1", Rules: "r",
		Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: entity("job:train"), State: "slow", Measure: "job_step_seconds"}}, Entities: []telemetry.Entity{}}}
}

func resolved(in explain.Incident, at float64) explain.Incident {
	t, how := clock(at), "recovered"
	in.State, in.Updated, in.Resolved, in.Resolution = explain.StateResolved, t, &t, &how
	return in
}

// running is a server on loopback.
type running struct {
	*site
	t      *testing.T
	server *server
	url    string
	client *http.Client
	stop   context.CancelFunc
	done   chan error
}

// run starts a server on a site; set changes it before it runs.
func run(t *testing.T, s *site, c Config, set ...func(*server)) *running {
	t.Helper()
	c.Bus, c.Incidents, c.Site = s, s, "lab"
	if c.Listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Listener = l
	}
	ctx, cancel := context.WithCancel(t.Context())
	srv, err := newServer(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	srv.now = func() time.Time { return noon }
	srv.started = noon
	for _, f := range set {
		f(srv)
	}
	scheme := "http://"
	if c.CertFile != "" {
		scheme = "https://"
	}
	r := &running{site: s, t: t, server: srv, url: scheme + c.Listener.Addr().String(), client: &http.Client{Transport: &http.Transport{DisableCompression: true}},
		stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- srv.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		r.client.CloseIdleConnections()
		if err := <-r.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.done <- nil
	})
	r.until("the incidents", func() bool { return srv.ledger.current() || !s.Connected() })
	return r
}

// until waits for a condition.
func (r *running) until(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-ctx.Done():
			r.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// request asks and returns the answer with its body.
func (r *running) request(method, path, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(b)
}

func (r *running) get(path string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	return r.request(http.MethodGet, path, "", headers...)
}

// ids are the incidents of a list.
func ids(body string) (out []string) {
	var list struct{ Incidents []explain.Incident }
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return []string{err.Error()}
	}
	for _, in := range list.Incidents {
		out = append(out, fmt.Sprintf("%s.%d", in.ID, in.Revision))
	}
	return out
}

// event is one server-sent event.
type event struct {
	name, id, data string
}

// events reads a stream of events until its context ends.
type events struct {
	resp *http.Response
	in   chan event
	err  error
	stop context.CancelFunc
}

func (r *running) events(path string, headers ...string) *events {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		if k, v, ok := strings.Cut(h, ": "); ok {
			req.Header.Set(k, v)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	e := &events{resp: resp, in: make(chan event), stop: cancel}
	go e.read(ctx)
	r.t.Cleanup(cancel)
	return e
}

func (e *events) read(ctx context.Context) {
	defer close(e.in)
	defer e.resp.Body.Close()
	var ev event
	body := bufio.NewReaderSize(e.resp.Body, 256<<10)
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			e.err = err
			return
		}
		switch k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case k == "event":
			ev.name = v
		case k == "id":
			ev.id = v
		case k == "data":
			ev.data = v
		case line == "\n" && ev.name != "":
			select {
			case e.in <- ev:
			case <-ctx.Done():
				return
			}
			ev = event{}
		}
	}
}

// reader reads incidents and comes back when it is cut, as a browser does.
type reader struct {
	*running
	e    *events
	last int
}

// next requires the revision that follows.
func (r *reader) next() {
	r.t.Helper()
	for {
		if r.e == nil {
			r.e = r.events("/api/v1/stream", "Last-Event-ID: "+strconv.Itoa(r.last))
		}
		select {
		case ev, ok := <-r.e.in:
			switch {
			case !ok:
				r.e = nil
			case ev.name != "incident":
			case ev.id != strconv.Itoa(r.last+1):
				r.t.Fatalf("event %s after %d", ev.id, r.last)
			default:
				r.last++
				return
			}
		case <-time.After(20 * time.Second):
			r.t.Fatalf("nothing came after %d", r.last)
		}
	}
}

// any returns the next event.
func (e *events) any(t *testing.T) event {
	t.Helper()
	select {
	case ev, ok := <-e.in:
		if !ok {
			t.Fatalf("the stream ended: %v", e.err)
		}
		return ev
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return event{}
}

// next returns the next event of a name.
func (e *events) next(t *testing.T, name string) event {
	t.Helper()
	for {
		if ev := e.any(t); ev.name == name {
			return ev
		}
	}
}
