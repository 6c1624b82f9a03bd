package attribute_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

var train = telemetry.Entity{Kind: telemetry.Job, Name: "train"}

func never(*jobs.Job, telemetry.Time) (telemetry.Time, bool) { return 0, false }

// degradation plays steps of the given lengths, in seconds, and returns the degradation in
// which they end.
func degradation(t *testing.T, lengths ...float64) *jobs.Degradation {
	t.Helper()
	var b jobs.Book
	var at telemetry.Time
	for _, l := range lengths {
		end := at.Add(telemetry.Duration(l * 1e9))
		for g := at.Add(1e9); g < end; g = g.Add(1e9) {
			b.Close(g, jobs.Senses{Working: never})
		}
		b.Observe(train, end, l, 0)
		b.Close(end, jobs.Senses{Working: never})
		at = end
	}
	h := b.Job(train).Degradation
	if h == nil {
		t.Fatalf("steps %v: no degradation", lengths)
	}
	return h
}

func repeat(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// TestLossIsWhatTheStepsLostAgainstTheCounterfactual: 4 GPUs, steps of 2 s that
// become 5 s: each costs 3 s on each GPU, three fifths of the time.
func TestLossIsWhatTheStepsLostAgainstTheCounterfactual(t *testing.T) {
	l := attribute.Of(degradation(t, append(repeat(2, 20), repeat(5, 6)...)...), 4)
	near(t, "step", l.Step, 5)
	near(t, "expected", l.Expected, 2)
	near(t, "excess", l.Excess(), 3)
	near(t, "share", l.Share, 0.6)
	near(t, "GPU-seconds", l.GPUSeconds, 4*6*3)
	near(t, "rate", l.Rate(), 2.4)
	if s, ok := l.Slowdown(); !ok || math.Abs(s-2.5) > 1e-9 {
		t.Errorf("slowdown %v, %v: want 2.5", s, ok)
	}
}

// TestQuickStepsBetweenSlowOnesLowerTheMeanNotTheLoss: a fault that makes each
// second step slow costs the slow ones' excess, and its mean is that of both.
func TestQuickStepsBetweenSlowOnesLowerTheMeanNotTheLoss(t *testing.T) {
	steps := repeat(2, 20)
	for range 4 {
		steps = append(steps, 6, 2)
	}
	l := attribute.Of(degradation(t, append(steps, 6)...), 1)
	near(t, "GPU-seconds", l.GPUSeconds, 5*4)
	near(t, "step", l.Step, (5*6+4*2)/9.0)
}

func TestNothingExpectedHasNoSlowdown(t *testing.T) {
	if s, ok := attribute.Of(&jobs.Degradation{}, 8).Slowdown(); ok {
		t.Errorf("slowdown %v of nothing", s)
	}
}

// TestSeverityFollowsTheContract holds the thresholds of severity.
func TestSeverityFollowsTheContract(t *testing.T) {
	loss := func(gpus int, step, expected float64) attribute.Loss {
		return attribute.Loss{GPUs: gpus, Step: step, Expected: expected, Share: 1 - expected/step}
	}
	for _, c := range []struct {
		name  string
		state jobs.State
		loss  attribute.Loss
		want  attribute.Severity
	}{
		{"a stalled job, however small", jobs.Stalled, loss(1, 1, 1), attribute.Critical},
		{"a failed job", jobs.Failed, loss(1, 1, 1), attribute.Critical},
		{"100 GPU-hours an hour: 200 GPUs at half speed", jobs.Slow, loss(200, 2, 1), attribute.Critical},
		{"just below", jobs.Slow, loss(199, 2, 1), attribute.Warning},
		{"5 % of a small job", jobs.Slow, loss(4, 1.05, 1), attribute.Warning},
		{"4 % of a small job", jobs.Slow, loss(4, 1.04, 1), attribute.Info},
		{"4 % of 260 GPUs is 10 an hour", jobs.Slow, loss(260, 1.04, 1), attribute.Warning},
	} {
		if got := attribute.SeverityOf(c.state, c.loss); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
