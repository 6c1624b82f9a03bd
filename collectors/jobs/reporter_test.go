package jobs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestReporter: what the reporter for PyTorch posts, the receiver takes: each
// step of each rank, and how much of it was waiting.
func TestReporter(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import urllib.request").Run(); err != nil {
		t.Skipf("no python3 that runs: %v", err)
	}
	r := receive.New(receive.Config{})
	e := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, e) }()
	defer func() {
		cancel()
		<-done
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/jobs/{job}/steps", r.Steps)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	reporter, err := filepath.Abs("../../deploy/reporter")
	if err != nil {
		t.Fatal(err)
	}
	for _, rank := range []string{"0", "1"} {
		c := exec.CommandContext(t.Context(), python, "-B", "train.py", srv.URL, rank)
		c.Dir = filepath.Join("testdata", "stub")
		c.Env = append(os.Environ(), "PYTHONPATH="+reporter+":.", "no_proxy=127.0.0.1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	counts := map[string]int{}
	for x, hs := range e.Series {
		counts[x.String()] = len(hs)
		for _, h := range hs {
			low := map[telemetry.MetricName]float64{"rank_compute_seconds": 0.09, "rank_comm_wait_seconds": 0.09, "job_step_seconds": 0.19}[x.Metric]
			if h.Float() < low {
				t.Errorf("%s: %v, want %v at least", x, h.Float(), low)
			}
		}
	}
	var all []string
	for k := range counts {
		all = append(all, k)
	}
	for _, want := range []string{"job:a%2Fb job_step_seconds", "job:a%2Fb job_tokens_per_second", "rank:a%2Fb/0 rank_compute_seconds", "rank:a%2Fb/1 rank_comm_wait_seconds"} {
		if counts[want] < 3 { // the two ran one after the other: a job's step may be told by each
			t.Errorf("%s: %d steps, want 3 at least, of %s", want, counts[want], strings.Join(all, ", "))
		}
	}
}
