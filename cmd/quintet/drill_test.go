package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestWhatADrillSays: each possible report about a fault has its verdict, and where
// the service cannot be reached the truth is printed all the same.
func TestWhatADrillSays(t *testing.T) {
	site, err := live.New(16, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	gpu := telemetry.Entity{Kind: telemetry.GPU, Name: "n0001/2"}
	f, err := site.Strike("gpu-slow", gpu, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	told := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"incidents":[` + told + `]}`))
	}))
	d := &drill{wired: &wiredSite{site: site}, url: srv.URL + "/"}
	incident := func(after time.Duration, signature, entity string) string {
		return `{"id":"inc-` + signature + `","opened":"` + began.Add(after).UTC().Format(time.RFC3339Nano) + `","root":{"entity":"` + entity + `","signature":"` + signature + `","confidence":0.9}}`
	}
	says := func(incidents string, want ...string) {
		t.Helper()
		told = incidents
		got := d.verdict(t.Context())
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s\nsays nothing of %q", got, w)
			}
		}
	}
	says("", "the drill is over", "nothing was struck yet")
	d.note(struckFault{due{name: "gpu-slow", lasts: time.Minute}, began, f, nil})
	says("", "gpu-slow at gpu:n0001/2 for 1m0s", "not reported")
	says(incident(14*time.Second, "gpu-slow", "gpu:n0001/2"), "right, 14 s after it was struck: gpu-slow at gpu:n0001/2, confidence 90 %")
	says(incident(14*time.Second, "gpu-slow", "gpu:n0001/3"), "right fault, wrong place")
	says(incident(14*time.Second, "power-cap", "gpu:n0001/2"), "right place, wrong fault")
	says(incident(14*time.Second, "slow-rank", "node:n0000"), "wrong, 14 s")
	says(incident(20*time.Second, "gpu-slow", "gpu:n0001/2")+","+incident(10*time.Second, "slow-rank", "node:n0000"), "right, 20 s", "also reported: slow-rank")
	says(incident(-time.Hour, "gpu-slow", "gpu:n0001/2"), "not reported")
	srv.Close()
	says("", "gpu-slow at gpu:n0001/2", "the incidents cannot be read")
}

// TestASurprise: what is drawn for a drill can be injected, and comes from every
// domain.
func TestASurprise(t *testing.T) {
	now := time.Now()
	site, err := live.New(16, 3, now)
	if err != nil {
		t.Fatal(err)
	}
	w := &wiredSite{site: site}
	domains := map[string]bool{}
	for i := range 200 {
		d, err := w.surprise(time.Minute, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if d.at < time.Minute || d.at >= 2*time.Minute {
			t.Fatalf("after %v", d.at)
		}
		domains[fault.Find(d.name).Domain] = true
		if i%20 > 0 {
			continue
		}
		if _, err := site.Strike(d.name, d.where, time.Second); err != nil {
			t.Errorf("%s at %s: %v", d.name, d.where, err)
		}
		now = now.Add(30 * time.Second) // it is over before the next
		if err := site.Advance(now); err != nil {
			t.Fatal(err)
		}
	}
	if len(domains) != 5 {
		t.Errorf("only %v", domains)
	}
}
