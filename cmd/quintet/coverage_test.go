package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
)

// aService answers what a site with a silent switch would.
func aService(t *testing.T, silent string) string {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	before := func(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"/api/v1/coverage/report": `{"at":"` + before(0) + `","domains":[{"domain":"network","metrics":3,"series":40,"latest":"` + before(2*time.Second) + `"}],
			"requirements":[{"id":"OBS07","what":"counters between the GPUs","state":"stale","latest":"` + before(time.Hour) + `","by":["gnmi: 2 metrics of 4 ports"],"do":"read its switches"}],
			"faults":[{"signature":"slow-receiver","domain":"network","sight":"confused","missing":[{"metric":"pcie_link_width","on":"nic","entities":1,"of":4,"would_tell":"slow-receiver from pcie-downgrade"}]},
				{"signature":"incast","domain":"network","sight":"clear","missing":[]}]}`,
		"/api/v1/coverage": `{"sources":[{"collector":"gnmi","target":"leaf1","part":"port","series":40,"latest":"` + before(10*time.Minute) + `","silent":` + silent + `,"cadence_seconds":1,"clock_offset_seconds":0.1}],"gaps":[]}`,
		"/api/v1/status":   `{"site":"hall-2","tick":"` + before(0) + `","replicas":[],"alarms":[]}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// said runs a command line and returns its output and its exit code.
func said(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := app().Run(&cli.Shell{Ctx: context.Background(), Out: &out, Err: &out}, args)
	return out.String(), code
}

func TestCoverageSaysWhatIsHidden(t *testing.T) {
	out, code := said(t, "coverage", "--server", aService(t, "true"))
	if code != cli.Sound {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"1 source, 1 stale", "gnmi leaf1 port", "10m0s ago", "OBS07", "stale", "1h0m0s", "gnmi: 2 metrics of 4 ports -> read its switches",
		"pcie_link_width of nic (1 of 4)", "slow-receiver from pcie-downgrade", "1 of 2 faults"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out, code = said(t, "coverage", "--json", "--server", aService(t, "false")); code != cli.Sound || !strings.HasPrefix(out, `{"at":`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

func TestDoctorSaysWhySilent(t *testing.T) {
	out, code := said(t, "doctor", "--server", aService(t, "true"))
	if code != cli.Wrong || !strings.Contains(out, "gnmi leaf1 port has no data for 10m0s: ") || !strings.Contains(out, "is the switch up") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code = said(t, "doctor", "--server", aService(t, "false")); code != cli.Sound || !strings.Contains(out, "hall-2: 1 source, no gaps, 0 findings") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"sources":[{"collector":"gnmi"}],"gaps":[]}`
		if r.URL.Path == "/api/v1/status" {
			body = `{"site":"hall-2","tick":"2026-11-27T14:02:00Z","behind":{"text":"catching up: judges 14:02:00, 3 h 20 min behind","seconds":12000,"catching_up":true}}`
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(late.Close)
	if out, code = said(t, "doctor", "--server", late.URL); code != cli.Wrong || !strings.Contains(out, "\ncatching up: judges 14:02:00, 3 h 20 min behind\n") {
		t.Errorf("of one that catches up: exit code %d\n%s", code, out)
	}
	if out, code = said(t, "doctor", "--server", "http://127.0.0.1:1"); code != cli.Wrong || !strings.Contains(out, "doctor:") {
		t.Errorf("of nobody: exit code %d\n%s", code, out)
	}
}
