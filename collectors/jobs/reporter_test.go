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

// trained runs a training of three steps with the reporter in it, on a device or on
// none, and returns how many steps could not be reported.
func trained(t *testing.T, url, rank string, device bool) int {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import urllib.request").Run(); err != nil {
		t.Skipf("no python3 that runs: %v", err)
	}
	reporter, err := filepath.Abs("../../deploy/reporter")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, "-B", "train.py", url, rank)
	c.Dir = filepath.Join("testdata", "stub")
	c.Env = append(os.Environ(), "PYTHONPATH="+reporter+":.", "no_proxy=127.0.0.1")
	if device {
		c.Env = append(c.Env, "STUB_CUDA=1")
	}
	out, err := c.CombinedOutput()
	if len(out) > 0 || err != nil && c.ProcessState.ExitCode() > 3 {
		t.Fatalf("%v: %s", err, out)
	}
	return c.ProcessState.ExitCode()
}

// TestReporter: the receiver accepts what the reporter for PyTorch posts: each step
// of each rank, and how much of it was waiting and how much was not, by the clock
// of the device or of the host.
func TestReporter(t *testing.T) {
	for name, device := range map[string]bool{"on a device": true, "on none": false} {
		t.Run(name, func(t *testing.T) { reported(t, device) })
	}
}

func reported(t *testing.T, device bool) {
	t.Helper()
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
	for _, rank := range []string{"0", "1"} {
		if n := trained(t, srv.URL, rank, device); n > 0 {
			t.Errorf("%d steps of rank %s were not told", n, rank)
		}
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	for x, low := range map[string]float64{"job:a%2Fb job_step_seconds": 0.23, "job:a%2Fb job_tokens_per_second": 100, "rank:a%2Fb/0 rank_compute_seconds": 0.1,
		"rank:a%2Fb/1 rank_compute_seconds": 0.1, "rank:a%2Fb/1 rank_comm_wait_seconds": 0.13, "rank:a%2Fb/1 rank_step_seconds": 0.23} {
		n := 0
		for series, hs := range e.Series {
			if series.String() != x {
				continue
			}
			for _, h := range hs {
				n++
				if h.Float() < low {
					t.Errorf("%s: %v, want %v at least", x, h.Float(), low)
				}
			}
		}
		if n != 3 {
			t.Errorf("%s: %d steps, want 3", x, n)
		}
	}
	parts(t, e)
}

// parts: what computed and what waited make the step; what a collective is made of
// is counted once.
func parts(t *testing.T, e ear) {
	t.Helper()
	rank := telemetry.Entity{Kind: telemetry.Rank, Name: "a%2Fb/1"}
	steps, compute, wait := e.Series[telemetry.Series{Entity: rank, Metric: "rank_step_seconds"}], e.Series[telemetry.Series{Entity: rank, Metric: "rank_compute_seconds"}],
		e.Series[telemetry.Series{Entity: rank, Metric: "rank_comm_wait_seconds"}]
	for i := range steps {
		if d := steps[i].Float() - compute[i].Float() - wait[i].Float(); d > 1e-6 || d < -1e-6 {
			t.Errorf("step %d: %v is not %v and %v", i, steps[i].Float(), compute[i].Float(), wait[i].Float())
		}
	}
}

// TestNobodyListens: training goes on, to the end, and steps that were not reported
// are counted.
func TestNobodyListens(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	if n := trained(t, srv.URL, "0", true); n != 3 {
		t.Errorf("%d steps were not told to a server without the page, want 3", n)
	}
	srv.Close()
	if n := trained(t, srv.URL, "0", false); n != 3 {
		t.Errorf("%d steps were not told to a server that is gone, want 3", n)
	}
}

// TestTheReporterIsShort: it is read before it is put into a training.
func TestTheReporterIsShort(t *testing.T) {
	text, err := os.ReadFile("../../deploy/reporter/quintet_reporter.py")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(string(text), `"""`, 3)
	n := 0
	for line := range strings.Lines(parts[len(parts)-1]) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	if n > 30 {
		t.Errorf("%d lines", n)
	}
}
