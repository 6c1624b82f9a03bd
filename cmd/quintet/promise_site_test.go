package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// The site of the promises of restart: the log in one process, engine,
// notifier and page in another, a recording as the input, a receiver that keeps
// what it receives. The processes are this program, so that they can be killed.
type site struct {
	t        testing.TB
	ctx      context.Context // is over when the test has to be
	end      context.CancelFunc
	what     string // it waits for, last
	dir      string
	program  string
	log      string // address of the log's server
	receiver *hookEar
	random   *rand.Rand
	state    *play.State // of the recording that is played
}

func newSite(t testing.TB, seed uint64) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	if test, ok := t.(*testing.T); ok {
		test.Parallel() // each waits most of its time
	}
	s := &site{t: t, end: func() {}, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)), receiver: newHookEar(t)}
	s.within(siteLasts)
	t.Cleanup(func() {
		if errors.Is(s.ctx.Err(), context.DeadlineExceeded) {
			t.Logf("%v; it waited for: %s", context.Cause(s.ctx), s.what)
		}
		s.end()
	})
	s.program = programIn(t, s.dir)
	s.log = wiretest.FreeAddress(t)
	s.write("store.yaml", "data: "+s.path("data")+"\nnats: {listen: \""+s.log+"\"}\n")
	s.write("engine.yaml", "listen: \""+wiretest.FreeAddress(t)+"\"\ndata: "+s.path("engine")+"\n"+s.elsewhere(s.log)+
		"notify:\n  receivers:\n    - name: ear\n      figures: true\n      webhook: {url: \""+s.receiver.url+"\", timeout: 5s}\n")
	return s
}

// siteLasts is how long a test of a site may take: several times what it takes on
// two cores that have nothing else to do.
const siteLasts = 5 * time.Minute

// within limits how long the test may take from now on.
func (s *site) within(most time.Duration) {
	s.end()
	s.ctx, s.end = context.WithTimeoutCause(s.t.Context(), most, fmt.Errorf("the test is not over after %s", most))
}

// programIn puts the program into a folder: by its name the test binary is it.
func programIn(t testing.TB, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "quintet")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// elsewhere is the part of a configuration that names the address of the log.
func (s *site) elsewhere(address string) string {
	return "nats: {urls: [\"tls://" + address + "\"], credentials_file: " + s.path("all.creds") + ", process: " + "engine" + "}\n"
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// process is a running quintet.
type process struct {
	cmd    *exec.Cmd
	said   *lockedBuffer
	exited chan struct{}
}

// lockedBuffer is the output of a process so far.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a process; it is killed at the end of the test at the latest.
func (s *site) start(args ...string) *process {
	s.t.Helper()
	p := &process{cmd: exec.Command(s.program, args...), said: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	p.cmd.WaitDelay = 10 * time.Second // of what it has started and left
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", strings.Join(args, " "), tail(p.said.String(), 3000))
		}
	})
	return p
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// kill ends a process without a shutdown, as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (s *site) startStore() *process {
	return s.start("serve", "--config", s.path("store.yaml"), "--role", "store")
}

func (s *site) startEngine(config string) *process {
	return s.start("serve", "--config", s.path(config), "--role", "engine,notify,web", "--log-level", "warn")
}

// enroll writes the credentials that every process of the test uses.
func (s *site) enroll() {
	s.t.Helper()
	s.what = "credentials"
	out, err := exec.CommandContext(s.ctx, s.program, "enroll", "tests", "--role", "all", "--config", s.path("store.yaml"), "-o", s.path("all.creds")).CombinedOutput()
	if err != nil {
		s.t.Fatalf("enroll: %v: %s", err, out)
	}
}

// connect connects the test itself to the log, at an address.
func (s *site) connect(address string) *bus.Bus {
	s.t.Helper()
	b := s.connectTo("site", address)
	s.t.Cleanup(b.Close)
	return b
}

// connectTo connects to the log of a site of some name; who calls it closes it.
func (s *site) connectTo(name, address string) *bus.Bus {
	s.t.Helper()
	creds, err := os.ReadFile(s.path("all.creds"))
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := bus.Connect(s.ctx, bus.Config{Site: name, Name: "test", Servers: []string{"tls://" + address}, Credentials: creds})
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// await waits until something is so, or fails after a while.
func (s *site) await(what string, so func() bool) {
	s.t.Helper()
	s.patiently(time.Minute, what, so)
}

// patiently waits longer than await does.
func (s *site) patiently(most time.Duration, what string, so func() bool) {
	s.t.Helper()
	s.what = what
	ctx, stop := context.WithTimeout(s.ctx, most)
	defer stop()
	for began := time.Now(); !so(); {
		pause(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			s.t.Fatalf("waited %s in vain: %s", time.Since(began).Round(time.Second), what)
		}
	}
}

// client asks a service that has to answer.
func (s *site) client() *http.Client { return &http.Client{Timeout: 20 * time.Second} }

// pause waits for a time or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// recording plays the recorded run with a trouble into a log.
func (s *site) recording(ctx context.Context, into play.Log, c play.Config) error {
	rec, err := replay.Open("../../testdata/roce/slownic-2", replay.OpenConfig{})
	if err != nil {
		return err
	}
	defer rec.Close()
	c.Recording, c.Into, c.Collector, c.Site = rec, into, "recording", "site"
	c.Now = now
	return play.Run(ctx, c)
}

func now() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }

// entries reads the whole log back.
func (s *site) entries(b *bus.Bus) (out []bus.Entry) {
	s.t.Helper()
	if err := b.Slice(s.ctx, bus.Span{}, func(e bus.Entry) error {
		out = append(out, e)
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// published are revisions by "id.revision", as bytes.
type published map[string]string

// wanted replays the log and returns what must have been published.
func (s *site) wanted(entries []bus.Entry) published {
	s.t.Helper()
	config, err := engineConfig(1)
	if err != nil {
		s.t.Fatal(err)
	}
	config.Correlate.Site = "site"
	r, err := engine.New(config)
	if err != nil {
		s.t.Fatal(err)
	}
	out := published{}
	for _, e := range entries {
		changed, err := r.Apply(e.Position, e.Record)
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range changed {
			b, err := engine.Canonical(&changed[i])
			if err != nil {
				s.t.Fatal(err)
			}
			out[fmt.Sprintf("%s.%d", changed[i].ID, changed[i].Revision)] = string(b)
		}
	}
	return out
}

// told reads the stream of incidents.
func (s *site) told(b *bus.Bus) published {
	s.t.Helper()
	out := published{}
	_, last, err := b.IncidentBounds(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	done := fmt.Errorf("read")
	if last == 0 {
		return out
	}
	err = b.FollowIncidents(s.ctx, 0, func(r bus.Revision) error {
		out[fmt.Sprintf("%s.%d", r.ID, r.Number)] = string(r.Data)
		if r.Sequence >= last {
			return done
		}
		return nil
	})
	if err != done {
		s.t.Fatal(err)
	}
	return out
}

// same fails where two sets of revisions differ.
func (s *site) same(got, want published) {
	s.t.Helper()
	for id, b := range want {
		if got[id] == "" {
			s.t.Errorf("%s is missing", id)
		} else if got[id] != b {
			s.t.Errorf("%s is\n%s\nwant\n%s", id, got[id], b)
		}
	}
	for id, b := range got {
		if want[id] == "" {
			s.t.Errorf("%s should not be: %.300s", id, b)
		}
	}
	if len(want) == 0 {
		s.t.Error("nothing was to be published: the test shows nothing")
	}
}

// hookEar is a receiver of webhooks that keeps every body by id.
type hookEar struct {
	url   string
	takes time.Duration // for an answer

	mu      sync.Mutex
	bodies  map[string][]string // by webhook-id, one for each attempt that arrived
	answers func(n int) int     // status of the n-th request
	n       int
}

func newHookEar(t testing.TB) *hookEar {
	h := &hookEar{bodies: map[string][]string{}, answers: func(int) int { return http.StatusNoContent }}
	server := httptest.NewServer(http.HandlerFunc(h.hear))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hookEar) hear(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	pause(r.Context(), h.takes)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	id := r.Header.Get("webhook-id")
	h.bodies[id] = append(h.bodies[id], string(body))
	w.WriteHeader(h.answers(h.n))
}

// complete reports whether the newest revision of each incident has come.
func (h *hookEar) complete(want published) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range newestOf(want) {
		if len(h.bodies[id+".ear"]) == 0 {
			return false
		}
	}
	return true
}

// newestOf keeps the newest revision of each incident.
func newestOf(all published) published {
	newest := map[string]int{}
	for key := range all {
		id, n := revisionOf(key)
		newest[id] = max(newest[id], n)
	}
	out := published{}
	for id, n := range newest {
		key := fmt.Sprintf("%s.%d", id, n)
		out[key] = all[key]
	}
	return out
}

func revisionOf(key string) (id string, n int) {
	id, number, _ := strings.Cut(key, ".")
	_, _ = fmt.Sscan(number, &n)
	return id, n
}

// judge checks what was received: nothing that was not published, the data of each
// body as published, one body under one id, repeats at most as many as trouble
// allows. It returns the number of repeats.
func (h *hookEar) judge(t testing.TB, want published, trouble int) int {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	repeats := 0
	for id, bodies := range h.bodies {
		data, ok := want[strings.TrimSuffix(id, ".ear")]
		if !ok {
			t.Errorf("told of %s, which was never published", id)
		}
		if len(slices.Compact(slices.Clone(bodies))) > 1 {
			t.Errorf("%s came with different bodies", id)
		}
		var said struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(bodies[0]), &said); err != nil || string(said.Data) != data {
			t.Errorf("%s: body %.200s, want the revision as published (%v)", id, bodies[0], err)
		}
		repeats += len(bodies) - 1
	}
	if repeats > trouble {
		t.Errorf("%d repeats, more than %d kills and timeouts", repeats, trouble)
	}
	return repeats
}

// settled waits until the engine has published what the log comes to, checks
// that it is just that, and returns it.
func (s *site) settled(log *bus.Bus) published {
	s.t.Helper()
	var want published
	s.await("everything is published", func() bool {
		want = s.wanted(s.entries(log))
		return len(s.told(log)) >= len(want)
	})
	s.same(s.told(log), want)
	return want
}

// tape is a log in memory: records by their bytes.
type tape struct{ records []string }

func (p *tape) Append(_ context.Context, _ string, rs ...*telemetry.Record) error {
	for _, r := range rs {
		b, err := telemetry.AppendRecord(nil, r)
		if err != nil {
			return err
		}
		p.records = append(p.records, string(b))
	}
	return nil
}

// sameRecords fails unless the log holds just the records of the tape, whatever
// order and repetition lie between two ticks.
func (s *site) sameRecords(got []bus.Entry, want *tape) {
	s.t.Helper()
	held := map[string]bool{}
	for _, e := range got {
		if e.Record.Kind == telemetry.ConfigRecord {
			continue // claims of the engine, and what the site is set to
		}
		b, err := telemetry.AppendRecord(nil, e.Record)
		if err != nil {
			s.t.Fatal(err)
		}
		held[string(b)] = true
	}
	missing, stated := 0, map[string]bool{}
	for _, b := range want.records {
		r, err := telemetry.ParseRecord([]byte(b))
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Kind == telemetry.ConfigRecord || stated[b] {
			continue
		}
		stated[b] = true
		if !held[b] {
			missing++
		}
		delete(held, b)
	}
	if missing > 0 || len(held) > 0 {
		s.t.Errorf("of %d records %d are missing in the log, and %d others are there", len(stated), missing, len(held))
	}
}
