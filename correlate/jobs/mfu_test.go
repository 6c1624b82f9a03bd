package jobs_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestMFUFallsWithSlowSteps: reports that came before the trouble was noticed are
// none of the job as it was, and those of usual steps, while it is still open, none
// of the trouble.
func TestMFUFallsWithSlowSteps(t *testing.T) {
	p := newLife(t)
	steps := func(n int, length float64) {
		for range n {
			p.steps(1, length)
			p.b.ObserveMFU(played, 1.2/length)
		}
	}
	steps(8, 3) // a young job: a few slow steps would be half of its past
	p.steps(6, 3)
	for p.b.Job(played).Degradation == nil && p.now < epoch.Add(telemetry.Duration(300e9)) {
		steps(1, 6)
	}
	steps(6, 6)
	h := p.b.Job(played).Degradation
	if h == nil || h.State != jobs.Slow {
		t.Fatalf("the job is twice as slow: %v", h)
	}
	steps(2, 3) // well again, and not yet believed
	j := p.b.Job(played)
	if j.Degradation == nil {
		t.Fatal("two usual steps end nothing")
	}
	before, now, ok := j.MFU()
	if !ok || math.Abs(before-0.4) > 1e-9 || math.Abs(now-0.2) > 0.034 {
		t.Errorf("MFU %v before and %v in the slowdown (%v), want 0.4 and 0.2", before, now, ok)
	}
	if last, ok := j.Utilisation(); !ok || math.Abs(last-0.4) > 1e-9 {
		t.Errorf("the last report is %v (%v), want 0.4", last, ok)
	}
}
