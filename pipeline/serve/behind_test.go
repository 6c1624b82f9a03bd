package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestBehind(t *testing.T) {
	now := time.Date(2026, 11, 27, 17, 22, 0, 0, time.UTC)
	ago := func(d time.Duration) *telemetry.Time {
		at := telemetry.Time(now.Add(-d).UnixNano())
		return &at
	}
	for _, c := range []struct {
		tick, log  *telemetry.Time
		speed      float64
		want       string
		catchingUp bool
	}{
		{nil, nil, 0, "no tick received", false},
		{nil, ago(time.Hour), 0, "catching up: no tick of the log is read yet", true},
		{ago(time.Second), ago(0), 1, "", false},
		{ago(30 * time.Second), ago(0), 1, "", false},
		{ago(200 * time.Minute), ago(0), 51, "catching up: judges 14:02:00, 3 h 20 min behind, present in about 4 min", true},
		{ago(200 * time.Minute), ago(0), 0, "catching up: judges 14:02:00, 3 h 20 min behind", true},
		{ago(10 * time.Minute), ago(10 * time.Minute), 10, "catching up: judges 17:12:00, 10 min behind, present in about 67 s", true},
		{ago(time.Hour), ago(time.Hour), 0, "the newest tick of the log is 1h0m0s old", false},
		{ago(time.Hour), nil, 1, "the newest tick of the log is 1h0m0s old", false},
	} {
		got := behind(&replica.Status{Tick: c.tick, Speed: c.speed, Log: replica.LogState{Tick: c.log}}, now)
		switch {
		case got == nil && c.want != "":
			t.Errorf("current; want %q", c.want)
		case got != nil && (got.Text != c.want || got.CatchingUp != c.catchingUp):
			t.Errorf("%+v; want %q, catching up: %v", *got, c.want, c.catchingUp)
		}
	}
}

// TestReadinessReportsAnEngineThatCatchesUp, and so does the state of the site.
func TestReadinessReportsAnEngineThatCatchesUp(t *testing.T) {
	s := newSite()
	at := func(d time.Duration) string { return noon.Add(-d).Format(time.RFC3339) }
	s.answers[replica.AskStatus] = func([]byte) ([]byte, error) {
		return []byte(`{"site":"lab","tick":"` + at(time.Hour) + `","speed":91,"log":{"tick":"` + at(0) + `"}}`), nil
	}
	for _, what := range []string{replica.AskJobs, replica.AskReach} {
		s.answers[what] = func([]byte) ([]byte, error) { return []byte(`{}`), nil }
	}
	r := run(t, s, Config{})
	const want = "catching up: judges 11:00:00, 60 min behind, present in about 40 s"
	if resp, body := r.get("/-/ready"); resp.StatusCode != 200 || body != "ready\n"+want+"\n" {
		t.Errorf("ready: %d %q", resp.StatusCode, body)
	}
	if _, body := r.get("/api/v1/status"); strings.Count(body, want) < 2 {
		t.Errorf("status: %s", body)
	}
}
