package cases

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

var job = telemetry.Entity{Kind: telemetry.Job, Name: "t"}

// run is a job whose steps take so long each, one behind the other.
func run(seconds ...float64) *track {
	t := &track{entity: job}
	end := 0.0
	for i, s := range seconds {
		end += s
		t.steps = append(t.steps, step{number: i, end: end, seconds: s})
	}
	return t
}

func repeated(n int, s float64) (out []float64) {
	for range n {
		out = append(out, s)
	}
	return out
}

// TestLossIsTheExcessOverTheSameSteps: ten steps of 4 s, then ten of 5 s, where
// 4 s were due.
func TestLossIsTheExcessOverTheSameSteps(t *testing.T) {
	without := run(repeated(30, 4)...)
	with := run(append(repeated(10, 4), repeated(10, 5)...)...)
	h := compare(with, without, 40, 90)
	if h.steps != 10 || math.Abs(h.loss-0.25) > 1e-12 || math.Abs(h.excess-1) > 1e-12 || h.degraded != 45 || h.stopped {
		t.Errorf("%+v; want 10 steps a quarter longer, hurt at 45 s", h)
	}
	if h := compare(without, without, 40, 90); h.degrades(false, stage{}) || h.degraded != 0 {
		t.Errorf("a run against itself: %+v", h)
	}
}

// TestStepsBeforeTheDegradationAreNoLoss: a fault that is felt late costs what it costs
// from then on.
func TestStepsBeforeTheDegradationAreNoLoss(t *testing.T) {
	without := run(repeated(40, 4)...)
	with := run(append(repeated(20, 4), repeated(10, 6)...)...)
	if h := compare(with, without, 40, 140); h.steps != 10 || h.loss != 0.5 || h.degraded != 86 {
		t.Errorf("%+v; want 10 steps half as long again from 86 s on", h)
	}
}

// TestAJobThatEndsNoStepIsStalled: it is degraded from when the step was due.
func TestAJobThatEndsNoStepIsStalled(t *testing.T) {
	without := run(repeated(40, 4)...)
	if h := compare(run(repeated(10, 4)...), without, 41, 120); !h.stopped || h.degraded != 44 || h.loss != stalledLoss {
		t.Errorf("%+v; want it to stand still, hurt at 44 s", h)
	}
	if h := compare(run(repeated(28, 4)...), without, 41, 120); h.stopped {
		t.Errorf("%+v: two steps late is no stall", h)
	}
	failed := run(repeated(40, 4)...)
	failed.failed = 60
	if h := compare(failed, without, 41, 120); !h.stopped {
		t.Errorf("%+v: it failed", h)
	}
}

func TestServingIsComparedByTheSecond(t *testing.T) {
	with, without := &track{entity: job}, &track{entity: job}
	for s := range 60 {
		without.served = append(without.served, served{0.2, 0.02})
		x := served{0.2, 0.02}
		if s >= 30 {
			x.itl = 0.03
		}
		with.served = append(with.served, x)
	}
	if h := compare(with, without, 20, 40); math.Abs(h.loss-0.25) > 1e-6 || h.degraded != 31 || !h.degrades(true, stage{}) {
		t.Errorf("%+v; want half as slow again for half of the time, hurt from second 30", h)
	}
}

func built(t *testing.T, c Case) *Build {
	t.Helper()
	r := &runner{}
	b, err := r.ready(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// played returns the digest of all records up to a second, and the history.
func played(t *testing.T, b *Build, until int) (uint64, *history) {
	t.Helper()
	h := fnv.New64a()
	cut := *b
	cut.Until = until
	past, err := cut.play(context.Background(), func(r *telemetry.Record) error {
		_, err := h.Write(r.Frame)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return h.Sum64(), past
}

// TestNothingDiffersBeforeTheOnset: with the fault and without it, the records
// are the same bytes until it begins, and then they are not.
func TestNothingDiffersBeforeTheOnset(t *testing.T) {
	b := built(t, Case{Class: "gpu-slow", Severity: Loud, GPUs: 16, Seed: 2})
	well := *b
	well.Faults = nil
	onset := int(b.Faults[0].Onset)
	with, _ := played(t, b, onset)
	without, _ := played(t, &well, onset)
	if with != without {
		t.Error("records differ before the onset")
	}
	with, _ = played(t, b, onset+60)
	without, _ = played(t, &well, onset+60)
	if with == without {
		t.Error("the fault changes nothing")
	}
}

// TestSeveritiesLieInTheirBands, and the truth says so.
func TestSeveritiesLieInTheirBands(t *testing.T) {
	for _, class := range []string{"gpu-slow", "slow-receiver", "input-stall"} {
		for _, s := range []Severity{Loud, Quiet} {
			b := built(t, Case{Class: class, Severity: s, GPUs: 64, Seed: 3})
			_, h := played(t, b, b.Until)
			truth := b.truth(h)
			if err := truth.Validate(); err != nil {
				t.Fatal(err)
			}
			f := &truth.Faults[0]
			low, high := s.band()
			if x := worst(b.harms(h, 0)); x < low || x > high {
				t.Errorf("%s %s costs %.3f, want %.2f to %.2f", class, s, x, low, high)
			}
			if f.Degraded <= f.Onset || f.Degraded >= f.End || len(f.Jobs) == 0 || f.StepsInFault < slowSteps-2 || f.Slowdown < 1+low/2 {
				t.Errorf("%s %s: %+v", class, s, f)
			}
		}
	}
}

// TestEveryClassHasACase at 64 GPUs with some seed, but for what needs a server.
func TestEveryClassHasACase(t *testing.T) {
	var m maker
	for _, class := range Classes() {
		placed := false
		for seed := range uint64(4) {
			_, err := m.build(Case{Class: class, Severity: Severities(class)[0], GPUs: 64, Seed: seed + 1})
			var none *NoCaseError
			if err != nil && !errors.As(err, &none) {
				t.Fatalf("%s: %v", class, err)
			}
			placed = placed || err == nil
		}
		if placed == (class == "serving-overload" || class == "load-rise") {
			t.Errorf("%s: a case is there %v", class, placed)
		}
	}
	if _, err := m.build(Case{Class: "gremlins", GPUs: 64, Seed: 1}); err == nil {
		t.Error("a class of no kind")
	}
}

// TestTheTruthIsTheFaultsOwn: name, entity, who else is right, what it is.
func TestTheTruthIsTheFaultsOwn(t *testing.T) {
	b := built(t, Case{Class: "node-down", Severity: Loud, GPUs: 64, Seed: 1})
	_, h := played(t, b, b.Until)
	f := b.truth(h).Faults[0]
	if f.Signature != "node-down" || f.Entity != b.Faults[0].Entity || f.Domain != telemetry.Computing || f.Expect != score.ExpectIncident {
		t.Errorf("%+v", f)
	}
	if f.Slowdown != 0 || f.Degraded.Sub(f.Onset).Seconds() > 15 {
		t.Errorf("a dead node's job: slowdown %v, degraded %v after the onset", f.Slowdown, f.Degraded.Sub(f.Onset))
	}
	benign := built(t, Case{Class: "job-stop", GPUs: 64, Seed: 1})
	_, h = played(t, benign, benign.Until)
	if f := benign.truth(h).Faults[0]; f.Expect != score.ExpectBenign || f.Degraded != 0 {
		t.Errorf("a job that ends: %+v", f)
	}
}

// TestTwoFaultsAreDistinguished: each has its own degraded jobs and loss, as if it were
// alone.
func TestTwoFaultsAreDistinguished(t *testing.T) {
	b := built(t, Case{Class: "gpu-slow", Second: "link-degraded", Severity: Loud, GPUs: 64, Seed: 1})
	if len(b.Faults) != 2 || b.Faults[1].Onset <= b.Faults[0].Onset || b.Faults[1].Onset >= b.Faults[0].End {
		t.Fatalf("%+v; want one inside the other's window", b.Faults)
	}
	_, h := played(t, b, b.Until)
	truth := b.truth(h)
	for i := range truth.Faults {
		one := b.only(i)
		one.alone = nil
		_, alone := played(t, one, b.Until)
		want := one.truth(alone).Faults[0]
		if got := truth.Faults[i]; got.Slowdown != want.Slowdown || got.Degraded != want.Degraded || len(got.Jobs) != len(want.Jobs) {
			t.Errorf("fault %d: slowdown %v, degraded %v, %d jobs; alone %v, %v, %d", i, got.Slowdown, got.Degraded, len(got.Jobs), want.Slowdown, want.Degraded, len(want.Jobs))
		}
	}
}

// TestReportedSeedsAreApart from those that anything may be tuned on.
func TestReportedSeedsAreApart(t *testing.T) {
	tuning, reported := Seeds(200, true), Seeds(200, false)
	if tuning[0] != 1 || tuning[len(tuning)-1] != 99 || reported[0] != 1001 || len(reported) != 200 {
		t.Errorf("tuning %d to %d, reported from %d", tuning[0], tuning[len(tuning)-1], reported[0])
	}
	n := len(Wanted{GPUs: 64, Seeds: reported[:3]}.Cases())
	few := len(Wanted{GPUs: 64, Seeds: reported[:3], FewSeeds: reported[:1], Apart: true, Doubles: true}.Cases())
	one := len(Wanted{GPUs: 64, Seeds: reported[:1], Apart: true, Doubles: true}.Cases())
	if single := len(Wanted{GPUs: 64, Seeds: reported[:1]}.Cases()); few-n != one-single {
		t.Errorf("%d cases apart and of two at once of one seed, want %d", few-n, one-single)
	}
	want := 0
	for _, k := range fault.Kinds() {
		want += 3 * len(Severities(k.Name))
	}
	if n != want+3 {
		t.Errorf("%d cases of three seeds, want %d and three healthy runs", n, want)
	}
}
