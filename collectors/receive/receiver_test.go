package receive

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestNothingIsReceivedWhileItDoesNotRun(t *testing.T) {
	r := New(Config{})
	w := httptest.NewRecorder()
	r.Events(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`[]`)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
}

// A client that does not send the rest of its request does not delay the stop; when
// it sends it, the response asks it to retry.
func TestASlowClientDoesNotHoldUpTheEnd(t *testing.T) {
	r, sink := New(Config{}), &readySink{keeper: &keeper{t: t}, ready: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, sink) }()
	<-sink.ready
	body, rest := io.Pipe()
	w, answered := httptest.NewRecorder(), make(chan struct{})
	go func() {
		r.Events(w, httptest.NewRequest(http.MethodPost, "/", body))
		close(answered)
	}()
	if _, err := rest.Write([]byte(`[`)); err != nil {
		t.Fatal(err)
	}
	stop()
	late, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-late.Done():
		t.Error("it waits for a client")
	}
	_, _ = rest.Write([]byte(`{"entity":"job:train","time":"2026-11-21T12:00:00Z","name":"x"}]`))
	rest.Close()
	<-answered
	if w.Code != http.StatusServiceUnavailable || len(sink.drain()) != 0 {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	p := open(t, Config{MaxBody: 100})
	p.send("/api/v1/events", `[`)
	p.send("/api/v1/events", `[{"entity":"job:train","time":"2026-11-21T12:00:00Z","name":"job_started"}]`)
	status, answer := p.send("/api/v1/events", `[`+strings.Repeat(" ", 200)+`]`)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "longer than 100 bytes") {
		t.Errorf("too long: %d %s", status, answer)
	}
	req := httptest.NewRequest(http.MethodPost, "/api/v1/events", strings.NewReader(`[]`))
	req.Header.Set("Content-Encoding", "gzip")
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, req)
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("gzip: %d", w.Code)
	}
	got := map[collectors.Reason]int{}
	read := 0
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sweeps {
		read += s.Read
		for reason, n := range s.Dropped {
			got[reason] += n
		}
	}
	if read != 1 || got[collectors.Malformed] != 1 || got[collectors.OverLimit] != 1 || got[collectors.Unsupported] != 1 {
		t.Errorf("read %d, dropped %v", read, got)
	}
}

func TestTooManyItems(t *testing.T) {
	p := open(t, Config{MaxItems: 2})
	one := `{"entity":"job:train","time":"2026-11-21T12:00:00Z","name":"x"}`
	if status, answer := p.send("/api/v1/events", "["+one+","+one+","+one+"]"); status != http.StatusRequestEntityTooLarge || len(p.drain()) != 0 {
		t.Errorf("%d %s", status, answer)
	}
	var steps strings.Builder
	for i := range maxSteps + 1 {
		fmt.Fprintf(&steps, `,{"end":"%s","seconds":1}`, noon.Add(-time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	p = open(t, Config{})
	body := `{"steps":[` + steps.String()[1:] + `]}`
	if status, answer := p.send("/api/v1/jobs/a/steps", body); status != http.StatusRequestEntityTooLarge || len(p.drain()) != 0 {
		t.Errorf("%d %s", status, answer)
	}
}

func TestAJobThatIsSilentForAnHourMakesRoom(t *testing.T) {
	now := noon
	p := open(t, Config{MaxJobs: 1, Now: func() time.Time { return now }})
	body := `{"steps":[{"end":"2026-11-21T12:00:00Z","seconds":1}]}`
	for _, c := range []struct {
		after time.Duration
		job   string
		want  int
	}{{0, "a", 202}, {time.Minute, "b", 429}, {time.Minute, "a", 202}, {61 * time.Minute, "b", 202}, {0, "a", 429}} {
		now = now.Add(c.after)
		if status, answer := p.send("/api/v1/jobs/"+c.job+"/steps", body); status != c.want {
			t.Errorf("%v: %d %s", c, status, answer)
		}
	}
}

// TestASourceThatComesBackRises: incarnations rise even within one instant of
// the clock.
func TestASourceThatComesBackRises(t *testing.T) {
	p := open(t, Config{})
	last := uint64(0)
	for range 3 {
		p.send("/api/v1/jobs/a/steps", `{"steps":[{"end":"2026-11-21T12:00:00Z","seconds":1}]}`)
		p.mu.Lock()
		for _, r := range p.records {
			if r.Kind != telemetry.FrameRecord {
				continue
			}
			if h, err := r.Frame.Header(); err != nil || h.Incarnation <= last {
				t.Errorf("incarnation %d after %d: %v", h.Incarnation, last, err)
			} else {
				last = h.Incarnation
			}
		}
		p.records = nil
		p.mu.Unlock()
		p.send("/api/v1/events", `[{"entity":"job:a","time":"2026-11-21T12:00:00Z","name":"job_ended"}]`)
	}
}

// TestNothingIsEmittedAfterRun: requests race with the end of Run; a sink is
// not used once Run has returned.
func TestNothingIsEmittedAfterRun(t *testing.T) {
	r := New(Config{})
	s := &closing{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, s) }()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				w := httptest.NewRecorder()
				r.Events(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`[{"entity":"job:a","time":"2026-11-21T12:00:00Z","name":"x"}]`)))
				if i == 100 {
					cancel()
				}
				if i > 100 && w.Code == http.StatusServiceUnavailable {
					return
				}
			}
		})
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	wg.Wait()
	if err := r.Run(ctx, s); err != nil { // and it may run again; ctx is done already
		t.Error(err)
	}
}

// closing is a sink that must not be used once it is closed.
type closing struct {
	t      *testing.T
	mu     sync.Mutex
	closed bool
}

func (c *closing) Emit(*telemetry.Record) { c.use() }

// Logger implements collectors.Sink.
func (c *closing) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (c *closing) Swept(s collectors.Sweep) {
	if s.Read > 0 {
		c.use()
	}
}

func (c *closing) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.t.Error("used after Run had returned")
	}
}
