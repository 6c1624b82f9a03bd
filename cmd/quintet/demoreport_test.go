package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestDemoReport injects one fault that is found, corrected and over, and one
// incident that no fault explains.
func TestDemoReport(t *testing.T) {
	var out bytes.Buffer
	gpu, nic := telemetry.Entity{Kind: telemetry.GPU, Name: "n1/3"}, telemetry.Entity{Kind: telemetry.NIC, Name: "n2/mlx0"}
	f := fault.Fault{Name: "gpu-slow", Entity: gpu}
	r := &demoReport{sh: &cli.Shell{Out: &out}, known: map[string]*reported{}, truth: func(s struckFault) (faultAnswer, error) {
		return func(x *opened) string { return judged(s.fault, fault.Answer{}, x) }, nil
	}}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	early := opened{ID: "inc-0", State: "open", Title: "early", Opened: at.Add(-time.Minute)}
	r.take(at.Add(-time.Minute), early)
	r.strike(struckFault{due: due{name: "gpu-slow", lasts: 3 * time.Minute}, at: at, fault: f})
	x := opened{ID: "inc-1", State: "open", Title: "train-a is slower", Opened: at.Add(18 * time.Second)}
	x.Root.Entity, x.Root.Signature, x.Root.Confidence = nic, "slow-receiver", 0.5
	r.take(at.Add(20*time.Second), x)
	x.Root.Confidence = 0.6 // no correction: only figures changed
	r.take(at.Add(21*time.Second), x)
	x.Root.Entity, x.Root.Signature, x.Root.Confidence = gpu, "gpu-slow", 0.9
	r.take(at.Add(30*time.Second), x)
	x.State, x.Resolved = "resolved", at.Add(78*time.Second)
	r.take(at.Add(80*time.Second), x)
	r.take(at.Add(81*time.Second), x)
	want := `11:59:00  reported   early
12:00:00  struck     gpu-slow at gpu:n1/3 for 3m0s
12:00:20  reported   20 s after the strike: train-a is slower
12:00:30  corrected  gpu-slow at gpu:n1/3 (90 %) instead of slow-receiver at nic:n2/mlx0 (60 %)
12:01:20  ended      gpu-slow at gpu:n1/3 (90 %), after 1m0s
12:01:20  score      1 struck, 1 reported, 1 with the right cause, median 30 s to the right cause, 1 reports without a fault
`
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}

func TestSuggestion(t *testing.T) {
	for words, want := range map[string]string{"replya": `did you mean "replay"`, "sevre": `"serve"`, "replay x --jsno": `did you mean "--json"`, "frobnicate": ""} {
		var out, errs bytes.Buffer
		if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: &errs}, strings.Fields(words)); code != cli.Usage {
			t.Errorf("%s: exit code %d", words, code)
		}
		if said := errs.String(); want == "" && strings.Contains(said, "did you mean") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", words, said)
		}
	}
}
