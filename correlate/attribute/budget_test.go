package attribute_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// filed is the budget of one job for an hour that was spent as the works state, one
// after the other.
func filed(t testing.TB, works ...attribute.Work) attribute.Budget {
	t.Helper()
	return budgets(t, works...).Jobs[0]
}

func budgets(t testing.TB, works ...attribute.Work) attribute.Budgets {
	t.Helper()
	var u attribute.Usage
	at := noon.Add(-hour)
	for i := range works {
		w := &works[i]
		end := at.Add(telemetry.Duration((w.Unreported + w.Down + w.Redone + w.Saving + w.Base + w.Excess) * 1e9))
		tally := attribute.Split(w)
		u.Add(train, at, end, &tally)
		at = end
	}
	return u.Budgets(window(t, hour, noon), telemetry.Entity{}, &attribute.Losses{}, func(telemetry.Entity) attribute.Described { return attribute.Described{} })
}

func part(t testing.TB, b attribute.Budget, p attribute.Part) *float64 {
	t.Helper()
	for _, x := range b.Parts {
		if x.Part == p.String() {
			return x.GPUSeconds
		}
	}
	t.Fatalf("no part %v", p)
	return nil
}

// is wants a part of a budget, in GPU-seconds; negative is not observed.
func is(t *testing.T, b attribute.Budget, p attribute.Part, want float64) {
	t.Helper()
	got := part(t, b, p)
	switch {
	case (got == nil) != (want < 0):
		t.Errorf("%v: %v, want %v", p, got, want)
	case got != nil:
		equal(t, p.String(), *got, want)
	}
}

// sums wants everything to add up to the whole.
func sums(t testing.TB, b attribute.Budget) {
	t.Helper()
	sum := b.Unexplained.GPUSeconds
	for _, x := range b.Parts {
		if x.GPUSeconds == nil {
			continue
		}
		if *x.GPUSeconds < 0 {
			t.Fatalf("%s takes %v", x.Part, *x.GPUSeconds)
		}
		sum += *x.GPUSeconds
	}
	if b.Achieved != nil {
		sum += b.Achieved.GPUSeconds
	}
	if d := sum - b.Whole; d > 1e-9*b.Whole || d < -1e-9*b.Whole {
		t.Fatalf("parts add up to %v of %v: %+v", sum, b.Whole, b)
	}
}

// seen is a job whose every part is seen: of a step, 5 % checkpoint, 5 %
// input, 10 % waiting, 20 % transfer, 60 % computing; clocks are low by 1 % by
// heat, 2 % by a brake, 7 % by the cap; tensor pipes are busy for half of the
// computing, memory for two fifths of the step.
func seen(mfu float64) attribute.Work {
	return attribute.Work{GPUs: 8, Base: 3000, Steps: 1000, MFU: mfu, Reported: mfu,
		Mix: attribute.Mix{Checkpoint: 0.05, Input: 0.05, Compute: 0.6, Wait: 0.1, Transfer: 0.2, Heat: 0.01, Brake: 0.02, Clock: 0.07, Tensor: 0.3, DRAM: 0.4}}
}

// TestABudgetOfAJobWhoseEveryPartIsSeen, by hand.
func TestABudgetOfAJobWhoseEveryPartIsSeen(t *testing.T) {
	b := filed(t, seen(0.3))
	sums(t, b)
	equal(t, "whole", b.Whole, 24000)
	for p, want := range map[attribute.Part]float64{
		attribute.Restarts: 0, attribute.Checkpoint: 1200, attribute.Input: 1200, attribute.Heat: 144, attribute.Power: 288,
		attribute.Stragglers: 2400, attribute.Communication: 4800, attribute.Clock: 1008,
		// 14,400 of computing, less 10 % of clocks, less 7,200 of arithmetic: 5,760.
		// Memory is busy for 9,600, for half of it without tensor pipes.
		attribute.Memory: 4800, attribute.Compute: 960,
	} {
		is(t, b, p, want)
	}
	equal(t, "achieved", b.Achieved.GPUSeconds, 7200)
	equal(t, "MFU", *b.MFU.PaLM, 0.3)
	equal(t, "unexplained", b.Unexplained.Share, 0)
}

// TestWhatAnIncidentTakesIsItsDomains: a fifth of each step is beyond the job's
// healthy past, by heat; then it fails for ten minutes.
func TestWhatAnIncidentTakesIsItsDomains(t *testing.T) {
	w := seen(0.24)
	w.Base, w.Excess, w.Cause, w.Down = 2400, 600, attribute.PartOf(attribute.Cause{Domain: telemetry.Cooling}), 600
	b := filed(t, w)
	sums(t, b)
	is(t, b, attribute.Restarts, 4800)
	is(t, b, attribute.Heat, 4800+0.6*0.01*2400*8)
	is(t, b, attribute.Stragglers, 1920)
	equal(t, "step", *b.Step, 3)
	equal(t, "expected", *b.Expected, 2.4)
	equal(t, "MFU", *b.MFU.PaLM, 0.24*3000/3600)
}

// TestTwoCausesShareTheExcess, a third of it to the network.
func TestTwoCausesShareTheExcess(t *testing.T) {
	w := seen(0.24)
	w.Base, w.Excess, w.Cause, w.Other, w.OtherShare = 2400, 600, attribute.Power, attribute.Communication, 1.0/3
	b := filed(t, w)
	sums(t, b)
	is(t, b, attribute.Power, 8*(400+0.6*0.02*2400))
	is(t, b, attribute.Communication, 8*(200+0.2*2400))
}

// TestStepsMadeAgainAreNothingAchieved: a fifth of them.
func TestStepsMadeAgainAreNothingAchieved(t *testing.T) {
	w := seen(0.3)
	w.Base, w.Redone = 2400, 600
	b := filed(t, w)
	sums(t, b)
	is(t, b, attribute.Restarts, 4800)
	is(t, b, attribute.Communication, 0.2*2400*8)
	equal(t, "achieved", b.Achieved.GPUSeconds, 0.3*2400*8)
	equal(t, "reported", *b.MFU.Reported, 0.3)
	equal(t, "MFU", *b.MFU.PaLM, 0.24)
	equal(t, "step", *b.Step, 3)
}

// TestWhatIsNotSeenIsUnexplained, part by part.
func TestWhatIsNotSeenIsUnexplained(t *testing.T) {
	whole := filed(t, seen(0.3))
	for name, c := range map[string]struct {
		hide func(*attribute.Work)
		null []attribute.Part
	}{
		"no ranks' times": {func(w *attribute.Work) { w.Mix.Compute, w.Mix.Wait, w.Mix.Transfer = -1, -1, -1 },
			[]attribute.Part{attribute.Heat, attribute.Power, attribute.Stragglers, attribute.Communication, attribute.Clock, attribute.Memory, attribute.Compute}},
		"no clocks":           {func(w *attribute.Work) { w.Mix.Heat, w.Mix.Brake, w.Mix.Clock = -1, -1, -1 }, []attribute.Part{attribute.Heat, attribute.Power, attribute.Clock, attribute.Compute}},
		"no pipes":            {func(w *attribute.Work) { w.Mix.Tensor, w.Mix.DRAM = -1, -1 }, []attribute.Part{attribute.Memory, attribute.Compute}},
		"no utilisation":      {func(w *attribute.Work) { w.MFU, w.Reported = -1, -1 }, []attribute.Part{attribute.Memory, attribute.Compute}},
		"no checkpoint timer": {func(w *attribute.Work) { w.Mix.Checkpoint = -1 }, []attribute.Part{attribute.Checkpoint}},
		"no input timer":      {func(w *attribute.Work) { w.Mix.Input = -1 }, []attribute.Part{attribute.Input}},
	} {
		w := seen(0.3)
		c.hide(&w)
		b := filed(t, w)
		sums(t, b)
		for _, p := range attribute.Parts() {
			hidden := false
			for _, n := range c.null {
				hidden = hidden || n == p
			}
			if p < attribute.Idle && hidden != (part(t, b, p) == nil) {
				t.Errorf("%s: %v is %v", name, p, part(t, b, p))
			}
		}
		if !(b.Unexplained.GPUSeconds > whole.Unexplained.GPUSeconds) {
			t.Errorf("%s: %v is unexplained", name, b.Unexplained.GPUSeconds)
		}
	}
	b := filed(t, attribute.Work{GPUs: 8, Unreported: 60, MFU: -1, Reported: -1, Mix: attribute.UnknownMix()})
	sums(t, b)
	equal(t, "nothing known", b.Unexplained.Share, 1)
	is(t, b, attribute.Restarts, -1)
	if b.MFU.PaLM != nil || b.Achieved != nil || b.Step != nil {
		t.Errorf("known of nothing: %+v", b)
	}
}

// anyWork is a work whose numbers need not fit each other.
func anyWork(rnd *rand.Rand) attribute.Work {
	x := func() float64 {
		if rnd.IntN(4) == 0 {
			return -1
		}
		return rnd.Float64()
	}
	return attribute.Work{GPUs: 1 + rnd.IntN(4096), Unreported: 60 * rnd.Float64(), Down: 60 * rnd.Float64(), Saving: 10 * rnd.Float64(), Redone: 20 * rnd.Float64(), Base: 600 * rnd.Float64(), Excess: float64(rnd.IntN(2)) * 100 * rnd.Float64(),
		Cause: attribute.Part(rnd.IntN(7)), Other: attribute.Part(rnd.IntN(7)), OtherShare: rnd.Float64(), MFU: x(), Reported: x(), Steps: 1,
		Mix: attribute.Mix{Checkpoint: x(), Input: x(), Compute: x(), Wait: x(), Transfer: x(), Heat: x(), Brake: x(), Clock: x(), Tensor: x(), DRAM: x()}}
}

// TestABudgetAddsUpWhateverIsReported, over numbers that contradict each other.
func TestABudgetAddsUpWhateverIsReported(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		all := budgets(t, anyWork(rnd), anyWork(rnd), anyWork(rnd))
		sums(t, all.Jobs[0])
		sums(t, all.Fleet)
	}
}

// TestTwiceTheGPUsTwiceTheBudget, part by part, with the same shares.
func TestTwiceTheGPUsTwiceTheBudget(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		w := anyWork(rnd)
		one := filed(t, w)
		w.GPUs *= 2
		two := filed(t, w)
		for i := range one.Parts {
			if (one.Parts[i].Share == nil) != (two.Parts[i].Share == nil) {
				t.Fatalf("%s is told of one alone", one.Parts[i].Part)
			}
			if one.Parts[i].Share != nil {
				equal(t, one.Parts[i].Part, *two.Parts[i].GPUSeconds, 2**one.Parts[i].GPUSeconds)
				equal(t, one.Parts[i].Part, *two.Parts[i].Share, *one.Parts[i].Share)
			}
		}
		equal(t, "unexplained", two.Unexplained.GPUSeconds, 2*one.Unexplained.GPUSeconds)
	}
}

// TestRemovingAPartNeverRaisesTheLoss: the same work without it takes less time,
// and less of that is lost.
func TestRemovingAPartNeverRaisesTheLoss(t *testing.T) {
	lost := func(b attribute.Budget) float64 { return b.Whole - b.Achieved.GPUSeconds }
	for name, remove := range map[string]func(*attribute.Work){
		"checkpoint":    func(w *attribute.Work) { w.Base -= 150; w.Mix.Checkpoint = 0 },
		"stragglers":    func(w *attribute.Work) { w.Base -= 300; w.Mix.Wait = 0 },
		"communication": func(w *attribute.Work) { w.Base -= 600; w.Mix.Transfer = 0 },
	} {
		w := seen(0.3)
		before := lost(filed(t, w))
		achieved := w.MFU * w.Base
		remove(&w)
		w.MFU = achieved / w.Base // the same work in less time
		if after := lost(filed(t, w)); !(after < before) {
			t.Errorf("without %s %v is lost, before %v", name, after, before)
		}
	}
}

// TestTheFleetHasItsIdleGPUs: one job of 8 for an hour, 8 idle, 4 drained.
func TestTheFleetHasItsIdleGPUs(t *testing.T) {
	var u attribute.Usage
	w := seen(0.3)
	w.Base = 3600
	tally := attribute.Split(&w)
	u.Add(train, noon.Add(-hour), noon, &tally)
	spare := attribute.Tally{Whole: 12 * 3600}
	spare.Taken[attribute.Idle], spare.Taken[attribute.Drained] = 8*3600, 4*3600
	for _, p := range []attribute.Part{attribute.Idle, attribute.Drained, attribute.Fragmented} {
		spare.Seen[p] = spare.Whole
	}
	u.Add(telemetry.Entity{}, noon.Add(-hour), noon, &spare)
	all := u.Budgets(window(t, hour, noon), telemetry.Entity{}, &attribute.Losses{}, func(telemetry.Entity) attribute.Described { return attribute.Described{} })
	sums(t, all.Fleet)
	equal(t, "all GPUs", all.Fleet.Whole, 20*3600)
	is(t, all.Fleet, attribute.Idle, 8*3600)
	is(t, all.Fleet, attribute.Drained, 4*3600)
	is(t, all.Fleet, attribute.Fragmented, 0)
	equal(t, "MFU of the fleet", *all.Fleet.MFU.PaLM, 0.3*8/20)
	if len(all.Jobs) != 1 || len(all.Jobs[0].Parts) != len(all.Fleet.Parts)-3 {
		t.Errorf("jobs: %+v", all.Jobs)
	}
}

// TestWhatIsHardlySeenHasNoScore: an incident shows what its excess went to, and
// nothing shows where the rest did.
func TestWhatIsHardlySeenHasNoScore(t *testing.T) {
	scores := func(w attribute.Work) attribute.Scores {
		var u attribute.Usage
		tally := attribute.Split(&w)
		u.Add(train, noon.Add(-hour), noon, &tally)
		b := u.Bottlenecks(window(t, hour, noon))
		if len(b.Jobs) != 1 || b.Jobs[0].Job != train {
			t.Fatalf("jobs: %+v", b.Jobs)
		}
		return b.Jobs[0].Scores
	}
	w := seen(0.27)
	w.Base, w.Excess, w.Cause = 2700, 300, attribute.Communication
	s := scores(w)
	equal(t, "communication", *s.Communication, 100*(300+0.2*2700)/3000)
	equal(t, "density cap", *s.DensityCap, 100*0.6*0.09*2700/3000)
	equal(t, "thermal", *s.Thermal, 100*0.6*0.01*2700/3000)
	// The pipes were busy for 810 s of a tenth less than the top clock; the model
	// needed 810 s at the top.
	equal(t, "redundant", *s.Redundant, 0)
	w.Mix = attribute.UnknownMix()
	s = scores(w)
	for what, x := range map[string]*float64{"communication": s.Communication, "density cap": s.DensityCap, "thermal": s.Thermal, "memory wall": s.MemoryWall, "low MFU": s.LowMFU, "redundant": s.Redundant} {
		if x != nil {
			t.Errorf("%s: %v of what is not seen", what, *x)
		}
	}
	w = seen(0.1)
	s = scores(w)
	equal(t, "more arithmetic than the model needs", *s.Redundant, 100*(0.3*0.9-0.1))
}

// TestALongSilenceIsFiledAtOnce: of what spans years only what is kept is filed,
// by its part.
func TestALongSilenceIsFiledAtOnce(t *testing.T) {
	var u attribute.Usage
	u.Add(train, 0, noon, &attribute.Tally{Whole: float64(noon) / 1e9})
	got := u.Tally(window(t, hour, noon), train)
	equal(t, "the last hour", got.Whole, 3600)
	got = u.Tally(window(t, attribute.LongestWindow, noon), train)
	equal(t, "the last month", got.Whole, 30.5*86400)
}

// TestUsageSurvivesItsSnapshot, and a job interval over midnight is in both days by
// its parts.
func TestUsageSurvivesItsSnapshot(t *testing.T) {
	var u, got attribute.Usage
	midnight := noon.Add(12 * hour)
	w := seen(0.3)
	tally := attribute.Split(&w)
	u.Add(train, midnight.Add(-15*minute), midnight.Add(5*minute), &tally)
	k := snapshot.NewWriter()
	u.Snapshot(k)
	r := snapshot.NewReader(k.Data())
	got.Snapshot(r)
	if r.Err() != nil || r.Remaining() != 0 {
		t.Fatalf("%v, %d bytes left over", r.Err(), r.Remaining())
	}
	before := got.Tally(window(t, 20*minute, midnight), train)
	after := got.Tally(window(t, 10*minute, midnight.Add(10*minute)), train)
	equal(t, "before midnight", before.Whole, 18000)
	equal(t, "after midnight", after.Whole, 6000)
	for cut := range k.Data() {
		r := snapshot.NewReader(k.Data()[:cut])
		new(attribute.Usage).Snapshot(r)
		if r.Err() == nil {
			t.Fatalf("%d of %d bytes were enough", cut, len(k.Data()))
		}
	}
}
