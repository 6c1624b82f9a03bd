package trainer

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestReportsAreTaken: what the trainers of a live site report, the receiver
// takes: every step of every job once, with each rank's share, none refused.
func TestReportsAreTaken(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	s, err := live.New(16, 3, now.Add(-60*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	r := receive.New(receive.Config{})
	h := collectorstest.Record(t, r)

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
			f.steps(t.Context(), j)
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
	h.Mu.Lock()
	defer h.Mu.Unlock()
	rank := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Rank, Name: job.Name + "/0"}, Metric: "rank_compute_seconds"}
	step := telemetry.Series{Entity: job, Metric: "job_step_seconds"}
	started := slices.ContainsFunc(h.Events, func(e telemetry.Event) bool { return e.Name == telemetry.EventJobStarted })
	if len(h.Series[rank]) == 0 || len(h.Series[step]) == 0 || !started {
		t.Errorf("%d readings of %v, %d of %v, started %v", len(h.Series[rank]), rank, len(h.Series[step]), step, started)
	}
}
