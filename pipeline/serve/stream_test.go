package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate/explain"
)

func TestAStreamBeginsWithWhatIsNew(t *testing.T) {
	r := run(t, told(), Config{})
	e := r.events("/api/v1/stream")
	if ct := e.resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("Content-Type %s", ct)
	}
	state := e.next(t, "state")
	const before = `{"tick":"2026-11-21T12:00:00Z","jobs":[{"job":"job:train","state":"slow"}],"fleet":null,"incidents":[{"id":"inc-0000000000000002","state":"open"`
	if state.id != "" || !strings.HasPrefix(state.data, before) || !strings.Contains(state.data, `}],"alarms":[],"health":{"state":"degraded","reason":"train slow; 2 incidents; not receiving power, cooling"`) || !strings.Contains(state.data, `"gpu_seconds_lost":812`) {
		t.Errorf("state %+v", state)
	}
	n := r.publish(incident("inc-0000000000000004", 1, -1))
	got := e.next(t, "incident")
	if got.id != fmt.Sprint(n) || !strings.HasPrefix(got.data, `{"id":"inc-0000000000000004","state":"open"`) {
		t.Errorf("incident %+v", got)
	}
}

func TestAStreamResumes(t *testing.T) {
	for _, c := range []struct {
		path   string
		header string
		want   []string
	}{
		{"/api/v1/stream", "Last-Event-ID: 2", []string{"3", "4", "5", "6"}},
		{"/api/v1/stream", "Last-Event-ID: 0", []string{"1", "2", "3", "4", "5", "6"}},
		{"/api/v1/stream?after=3", "", []string{"4", "5", "6"}},
		{"/api/v1/stream?after=3", "Last-Event-ID: 4", []string{"5", "6"}},
		{"/api/v1/stream", "Last-Event-ID: 900", []string{"6"}},       // another stream's
		{"/api/v1/stream", "Last-Event-ID: something", []string{"6"}}, // another server's
		{"/api/v1/stream", "", []string{"6"}},
	} {
		t.Run(c.path+c.header, func(t *testing.T) {
			r := run(t, told(), Config{})
			e := r.events(c.path, c.header)
			var got []string
			for len(got) < len(c.want) {
				switch ev := e.any(t); ev.name {
				case "state": // the stream has begun, with what there was
					r.publish(incident("inc-000000000000000a", 1, 0))
				case "incident":
					got = append(got, ev.id)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	r := run(t, told(), Config{})
	if resp, body := r.get("/api/v1/stream?after=x"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"field":"after"`) {
		t.Errorf("a bad place: %d %s", resp.StatusCode, body)
	}
}

// flood publishes n revisions of fifty incidents, padded to some size.
func (r *running) flood(n, size int) {
	for i := range n {
		in := incident(fmt.Sprintf("inc-%016x", i%50), i/50+1, float64(i%50))
		in.Title = strings.Repeat("x", size)
		r.publish(in)
	}
}

// TestResumeUnderLoad: clients connect and disconnect while revisions arrive at a
// high rate, and each sees every one, once and in order; so does one that connects
// when the ring no longer has the first.
func TestResumeUnderLoad(t *testing.T) {
	const total = 4000
	r := run(t, newSite(), Config{})
	var wg sync.WaitGroup
	wg.Go(func() { r.flood(total, 100) })
	for seed := range 4 {
		wg.Go(func() { r.wander(seed, total) })
	}
	wg.Wait()
	r.wander(99, total)
	if r.server.count.backlogs.Get() == 0 {
		t.Error("nobody fell behind the ring: the test proves little")
	}
}

// wander reads all revisions with breaks between.
func (r *running) wander(seed, total int) {
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	last, seen := "0", 0
	for seen < total {
		e := r.events("/api/v1/stream", "Last-Event-ID: "+last)
		for range min(1+rng.IntN(400), total-seen) {
			ev := e.next(r.t, "incident")
			if seen++; ev.id != strconv.Itoa(seen) {
				r.t.Errorf("client %d: event %s after %d", seed, ev.id, seen-1)
				e.stop()
				return
			}
			last = ev.id
		}
		e.stop()
	}
}

// TestASlowClientIsCutAndLosesNothing: it does not read, and others do not
// notice; when it comes back it gets what it missed.
func TestASlowClientIsCutAndLosesNothing(t *testing.T) {
	r := run(t, newSite(), Config{}, func(s *server) { s.writeTimeout = 250 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET /api/v1/stream?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r.until("the slow stream", func() bool { return r.server.streams.count() == 1 })
	quick := &reader{running: r}
	for r.server.count.streamsCut.Get() == 0 {
		r.flood(50, 64<<10)
		for range 50 {
			quick.next()
		}
		if quick.last > 5000 {
			t.Fatal("the slow client is not cut")
		}
	}
	again := &reader{running: r, last: 1}
	for again.last < quick.last {
		again.next()
	}
}

func TestTooManyStreams(t *testing.T) {
	r := run(t, told(), Config{})
	for range maxStreams {
		if _, ok := r.server.streams.enter(); !ok {
			t.Fatal("refused too early")
		}
	}
	resp, body := r.get("/api/v1/stream")
	if resp.StatusCode != http.StatusServiceUnavailable || r.server.count.streamsRefused.Get() != 1 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestAVerdictIsSeenByWhoLooks: the incident comes again, without an id.
func TestAVerdictIsSeenByWhoLooks(t *testing.T) {
	r := run(t, told(), Config{})
	e := r.events("/api/v1/stream")
	e.next(t, "state")
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000002/verdict", `{"verdict":"wrong"}`)
	got := e.next(t, "incident")
	if got.id != "" || !strings.Contains(got.data, `"verdict":"wrong"`) || !strings.Contains(got.data, `"id":"inc-0000000000000002"`) {
		t.Errorf("%+v", got)
	}
	// Later revisions carry it, too.
	n := r.publish(incident("inc-0000000000000002", 3, -60))
	if got := e.next(t, "incident"); got.id != fmt.Sprint(n) || !strings.Contains(got.data, `"verdict":"wrong"`) {
		t.Errorf("%+v", got)
	}
}

// TestDraining: streams end, and so does Run.
func TestDraining(t *testing.T) {
	r := run(t, told(), Config{})
	e := r.events("/api/v1/stream")
	e.next(t, "state")
	r.stop()
	for range e.in { // until it ends
	}
	if err := <-r.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	r.done <- nil
	if _, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		t.Error("it still listens")
	}
}

// TestStatesAreAskedForWhileSomebodyLooks: once a second, and not at all while no
// client watches.
func TestStatesAreAskedForWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told()
		n := 0
		s.answers["status"] = func([]byte) ([]byte, error) {
			n++
			return []byte(fmt.Sprintf(`{"tick":"2026-11-21T12:00:%02dZ","alarms":[]}`, n%60)), nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		q := &questions{asker: s, closing: t.Context()}
		l := &live{questions: q, now: time.Now}
		st := newStates(&server{ledger: newLedger(metrics.NewSet(), "incidents", 1, 0), alerts: newLedger(metrics.NewSet(), "alerts", 1, 0), now: time.Now, cfg: Config{Bus: s}, questions: q, live: l, notes: newNotebook(s, nil, func(string) {}), noEngine: &absence{}})
		done := make(chan struct{})
		go func() { st.run(ctx); close(done) }()
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		pass(time.Minute)
		if n != 0 {
			t.Errorf("asked %d times while nobody looked", n)
		}
		leave, leaveToo := st.look(), st.look()
		synctest.Wait()
		if data, _ := st.newest(); data == nil {
			t.Error("no state at once")
		}
		pass(60 * time.Second)
		if n < 55 || n > 62 {
			t.Errorf("asked %d times in a minute", n)
		}
		if s.asked["incidents"] > n || s.asked["jobs"] != n {
			t.Errorf("asked %v", s.asked)
		}
		leave()
		leaveToo()
		pass(2 * time.Second)
		before := n
		pass(time.Minute)
		if n != before {
			t.Errorf("asked %d times when nobody looked any more", n-before)
		}
		if data, _ := st.newest(); data != nil {
			t.Error("an old state is kept for who comes next")
		}
		cancel()
		<-done
	})
}

// TestAStateWithoutAnEngine checks that the state reports the missing engine, and
// what is known.
func TestAStateWithoutAnEngine(t *testing.T) {
	s := newSite()
	q := &questions{asker: s, closing: t.Context()}
	l := &live{questions: q, now: time.Now}
	b := newStates(&server{ledger: newLedger(metrics.NewSet(), "incidents", 1, 0), alerts: newLedger(metrics.NewSet(), "alerts", 1, 0), now: time.Now, cfg: Config{Bus: s}, questions: q, live: l, notes: newNotebook(s, nil, func(string) {}), noEngine: &absence{}}).compose(t.Context())
	var got struct {
		Tick   *string
		Jobs   []any
		Alarms []struct{ Name, Text string }
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Tick != nil || got.Jobs == nil || len(got.Alarms) != 1 || got.Alarms[0].Name != "no engine" {
		t.Errorf("%s: %v", b, err)
	}
}

func TestTheLedgerIsBounded(t *testing.T) {
	r := run(t, newSite(), Config{})
	open := incident("inc-ffffffffffffffff", 1, -1e6) // opened first of all, and still open
	r.publish(open)
	for i := range maxIncidents + 10 {
		r.publish(resolved(incident(fmt.Sprintf("inc-%016x", i), 1, float64(i)), float64(i)+5))
	}
	r.until("all read", func() bool { l := r.server.ledger; _, head := l.list(); return head == maxIncidents+11 })
	if n := r.server.ledger.size(); n != maxIncidents {
		t.Errorf("%d incidents are held", n)
	}
	if r.server.ledger.dropped.Get() != 11 {
		t.Errorf("%d were dropped", r.server.ledger.dropped.Get())
	}
	if _, ok := r.server.ledger.get(open.ID); !ok {
		t.Error("an open incident was dropped for resolved ones")
	}
	if _, ok := r.server.ledger.get("inc-0000000000000000"); ok {
		t.Error("the oldest resolved one is still held")
	}
	all, _ := r.server.ledger.list()
	if !slices.IsSortedFunc(all, newestFirst) {
		t.Error("the list is out of order")
	}
}

func TestOldRevisionsDoNotReplaceNewOnes(t *testing.T) {
	r := run(t, newSite(), Config{})
	r.publish(incident("inc-0000000000000001", 2, 0))
	r.publish(incident("inc-0000000000000001", 1, 0))
	r.mu.Lock()
	bad := r.stream[0]
	bad.Sequence, bad.Data = 3, []byte(`{"id":`)
	r.stream = append(r.stream, bad)
	close(r.more)
	r.more = make(chan struct{})
	r.mu.Unlock()
	r.until("all read", func() bool { _, head := r.server.ledger.list(); return head == 3 })
	if k, _ := r.server.ledger.get("inc-0000000000000001"); k.revision != 2 || r.server.ledger.malformed.Get() != 1 {
		t.Errorf("revision %d, %d malformed", k.revision, r.server.ledger.malformed.Get())
	}
}

// TestWhileTheIncidentsAreRead: nothing is answered that is not whole.
func TestWhileTheIncidentsAreRead(t *testing.T) {
	s := told()
	s.gone = true
	r := run(t, s, Config{}, func(s *server) { s.ledger.wanted = -1 })
	if resp, body := r.get("/-/ready"); resp.StatusCode != 503 || !strings.Contains(body, errDisconnected.Error()) {
		t.Errorf("not connected: %d %s", resp.StatusCode, body)
	}
	s.mu.Lock()
	s.gone = false
	s.mu.Unlock()
	r.until("all read", r.server.ledger.current)
	r.server.ledger.mu.Lock()
	r.server.ledger.wanted = 100
	r.server.ledger.mu.Unlock()
	for _, path := range []string{"/-/ready", "/api/v1/incidents", "/api/v1/incidents/inc-0000000000000001"} {
		if resp, body := r.get(path); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, errReplaying.Error()) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// TestLiveFieldsStopWithTheIncident: the engine's earlier fields of it do not come
// back once it is resolved.
func TestLiveFieldsStopWithTheIncident(t *testing.T) {
	k := &kept{id: "a", state: explain.StateOpen, revision: 2, data: []byte("published")}
	for _, c := range []struct {
		state    string
		revision int
		want     string
	}{{explain.StateOpen, 2, "live"}, {explain.StateOpen, 3, "live"}, {explain.StateOpen, 1, "published"}, {explain.StateResolved, 2, "published"}} {
		k.state = c.state
		if got := newest(k, map[string]refreshed{"a": {c.revision, []byte("live")}}); string(got) != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
