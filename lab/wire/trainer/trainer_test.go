package trainer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// heard is a sink that notes which entities steps were stated of.
type heard struct {
	mu      sync.Mutex
	columns map[telemetry.Kind]map[telemetry.MetricName]int
	frames  int
	events  map[telemetry.EventName]int
}

func (h *heard) Emit(r *telemetry.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r.Kind {
	case telemetry.SchemaRecord:
		for _, e := range r.Schema.Entities {
			if h.columns[e.Kind] == nil {
				h.columns[e.Kind] = map[telemetry.MetricName]int{}
			}
			for _, c := range r.Schema.Columns {
				h.columns[e.Kind][c.Metric]++
			}
		}
	case telemetry.FrameRecord:
		h.frames++
	case telemetry.EventRecord:
		h.events[r.Event.Name]++
	}
}

func (h *heard) Swept(collectors.Sweep) {}

// TestReportsAreTaken: what the trainers of a live site report, the receiver
// takes: every step of every job once, with each rank's share, none refused.
func TestReportsAreTaken(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	s, err := live.New(16, 3, now.Add(-60*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{columns: map[telemetry.Kind]map[telemetry.MetricName]int{}, events: map[telemetry.EventName]int{}}
	r := receive.New(receive.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = r.Run(ctx, h) })

	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/jobs/{job}/steps", r.Steps)
	mux.HandleFunc("POST /api/v1/events", r.Events)
	steps := map[string]int{}
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		var x report
		if strings.HasSuffix(q.URL.Path, "/steps") && json.Unmarshal(b, &x) == nil && x.Rank == nil {
			mu.Lock()
			steps[q.URL.Path]++
			mu.Unlock()
		}
		q.Body = io.NopCloser(strings.NewReader(string(b)))
		mux.ServeHTTP(w, q)
	}))
	defer srv.Close()

	f := New(s.Board(), Config{URL: srv.URL})
	want := 0
	job := s.Board().Entities(telemetry.Job)[0]
	last := telemetry.Time(0)
	for sec := range 30 {
		if err := s.Advance(now.Add(time.Duration(sec-59) * time.Second)); err != nil {
			t.Fatal(err)
		}
		if x, ok := s.Board().Read(job, "job_step_seconds"); ok && x.At > last {
			last = x.At
			want++
		}
		for _, j := range s.Board().Entities(telemetry.Job) {
			f.steps(ctx, j)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := steps["/api/v1/jobs/"+job.Name+"/steps"]; got != want || want < 3 {
		t.Errorf("%d reports of %s, want %d", got, job, want)
	}
	if f.Refused() > 0 {
		t.Errorf("%d reports were refused", f.Refused())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.columns[telemetry.Rank]["rank_compute_seconds"] == 0 || h.columns[telemetry.Job]["job_step_seconds"] == 0 || h.frames == 0 || h.events[telemetry.EventJobStarted] == 0 {
		t.Errorf("%+v", h)
	}
}
