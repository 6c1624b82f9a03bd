package correlate

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

func second(n int) telemetry.Time { return telemetry.Time(n) * 1e9 }

// settledCase names a GPU, as last judged in the second 130.
func settledCase() *incidentCase {
	c := &incidentCase{judged: second(130)}
	c.incident.Root = explain.Root{Entity: gpuOf("n1/0"), Signature: "gpu-slow", Confidence: 0.99}
	return c
}

func gpuOf(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.GPU, Name: name} }

// TestTheEndOfADegradationIsNotLookedAtForItsCause: thirty seconds after the last slow
// step all sources have reported, and the window moves away from the degradation.
func TestTheEndOfADegradationIsNotLookedAtForItsCause(t *testing.T) {
	c := &incidentCase{judged: second(110)}
	for name, x := range map[string]struct {
		degradation jobs.Degradation
		want        bool
	}{
		"a slow step a moment ago": {jobs.Degradation{State: jobs.Slow, LastSlow: second(115)}, false},
		"usual ones since":         {jobs.Degradation{State: jobs.Slow, LastSlow: second(105)}, true},
		"one that is overdue":      {jobs.Degradation{State: jobs.Slow, LastSlow: second(105), Overdue: 9}, false},
		"a job that stands":        {jobs.Degradation{State: jobs.Stalled, LastSlow: second(105)}, false},
	} {
		if got := c.recovers(&x.degradation, second(140)); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAGrownLossHasASecondRoot: what a job loses beyond what it lost when the case settled
// on a root is the second one's, though no instrument sees how much that explains. A loss
// that has not grown is shared by what is measured.
func TestAGrownLossHasASecondRoot(t *testing.T) {
	measured := explain.Answer{Signature: &explain.Signature{Domain: telemetry.Cooling, Features: []explain.Feature{{Measure: explain.Explained}}},
		Values: explain.Values{explain.Explained: 0.01}}
	for name, x := range map[string]struct{ step, first, second float64 }{
		"as it was": {4, 1, 0.01}, "four times as long": {7, 0.25, 0.75},
	} {
		ev := &explain.Evidence{Degradation: &jobs.Degradation{State: jobs.Slow, Expected: 3, Steps: 10, Sum: 10 * x.step}}
		c := &incidentCase{pinned: pinnedRoot{times: stableAfter, then: 1, loss: 1}}
		first := c.pinned.explains(3, ev)
		second := c.explainedBy(&measured, ev, ev, first).Explains
		if math.Abs(first-x.first) > 1e-9 || math.Abs(second-x.second) > 1e-9 {
			t.Errorf("%s: %v and %v, want %v and %v", name, first, second, x.first, x.second)
		}
	}
}

// TestOneLongStepIsNoGrowth: a step that held a checkpoint makes the mean of a degradation
// longer, and not its last minute.
func TestOneLongStepIsNoGrowth(t *testing.T) {
	evidence := func(step float64) *explain.Evidence {
		return &explain.Evidence{Degradation: &jobs.Degradation{State: jobs.Slow, Expected: 3, Steps: 10, Sum: 10 * step}}
	}
	h := pinnedRoot{times: stableAfter, then: 1, loss: 1}
	for name, x := range map[string]struct {
		all, lately float64
		want        bool
	}{
		"as it was": {4, 4, false}, "one long step long ago": {4.5, 4, false}, "one a moment ago": {4.1, 5, false}, "all are longer": {5, 6, true},
	} {
		if got := h.grows(evidence(x.all), evidence(x.lately)); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhatAJobSaysOfItsWorkIsReadByTheStep: of a job whose every third step is
// long, two in three report the rate that they always did. All hold the same work.
func TestWhatAJobSaysOfItsWorkIsReadByTheStep(t *testing.T) {
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	for name, x := range map[string]struct{ tokens, want float64 }{"the same work": {1200, 1}, "a tenth more": {1320, 1.1}} {
		e := assemble(Config{})
		step := func(at int, length, tokens float64) {
			e.sight.perStep.Observe(telemetry.Series{Entity: job, Metric: metricStep}, second(at), length)
			e.sight.perStep.Observe(telemetry.Series{Entity: job, Metric: metricTokens}, second(at), tokens/length)
		}
		for i := range 20 {
			step(3*i, 3, 1200)
		}
		c := &incidentCase{job: job, reportedWork: e.examiner.reportedWorkBefore(job, second(57))}
		for i := range 12 {
			step(60+4*i, 3+float64(i%3/2), x.tokens)
		}
		degradation := &jobs.Degradation{Onset: telemetry.Interval{Earliest: second(57), Latest: second(60)}, LastSlow: second(104)}
		if got, _ := e.examiner.reportedWork(c, degradation, second(105)); math.Abs(got-x.want) > 1e-6 {
			t.Errorf("%s: it says that it does %.3f times as much", name, got)
		}
	}
}

// TestOneEntityIsOneRoot: a nic may make the one job wait for heat and the other
// for credit; a job may flood others and do more itself.
func TestOneEntityIsOneRoot(t *testing.T) {
	named := func(x telemetry.Entity, signature string) *explain.Incident {
		return &explain.Incident{Root: explain.Root{Entity: x, Signature: signature, Confidence: 0.9}}
	}
	nic, job := telemetry.Entity{Kind: telemetry.NIC, Name: "n1/mlx5_0"}, telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	if !oneRoot(named(nic, "nic-hot"), named(nic, "credit-stall")) {
		t.Error("one nic is two roots")
	}
	if oneRoot(named(job, "noisy-neighbour"), named(job, "workload-change")) {
		t.Error("what a job does to others is what it does itself")
	}
	if oneRoot(named(nic, "nic-hot"), named(nic, explain.Unknown)) {
		t.Error("what has no name is the same")
	}
}

// TestACaseDoesNotSplitForTheRootOfItsIncident: the incident is described by
// the job that loses most, whatever its primary finds by itself.
func TestACaseDoesNotSplitForTheRootOfItsIncident(t *testing.T) {
	lead, c := settledCase(), settledCase()
	lead.job, c.job = telemetry.Entity{Kind: telemetry.Job, Name: "a"}, telemetry.Entity{Kind: telemetry.Job, Name: "b"}
	lead.incident.Root.Entity, lead.published.Root = gpuOf("n2/0"), c.incident.Root
	e := assemble(Config{})
	for range divergedAfter + 1 {
		if e.incidents.diverges(c, lead) {
			t.Fatal("it leaves")
		}
	}
}

// TestWhatIsLikelyBenignIsWatchedForLonger: a change of a job's work becomes its usual a
// minute after it began where that is sure, and five minutes after where it is likely.
func TestWhatIsLikelyBenignIsWatchedForLonger(t *testing.T) {
	e := &caseBook{sight: &sight{cfg: Config{Signatures: []explain.Signature{{Name: "workload-change", Expect: explain.ExpectBenign}}}}}
	for name, x := range map[string]struct {
		confidence float64
		seconds    int
		want       bool
	}{
		"sure, for half a minute": {0.95, 30, false}, "sure, for a minute": {0.95, 60, true},
		"likely, for a minute": {0.7, 60, false}, "likely, for five": {0.7, 300, true}, "unlikely": {0.4, 300, false},
	} {
		c := &incidentCase{judged: second(1)}
		c.incident.Root = explain.Root{Signature: "workload-change", Confidence: x.confidence}
		j := &jobs.Job{LastEnd: second(x.seconds), Degradation: &jobs.Degradation{Steps: acceptAfter}}
		if got := e.accepted(c, j); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhichJobDescribesAnIncident: of two jobs on a slow storage the larger one may take
// its checkpoints for its own trouble, and of two on one fabric the smaller one its
// recovery for a change of its work.
func TestWhichJobDescribesAnIncident(t *testing.T) {
	e := assemble(Config{Signatures: []explain.Signature{{Name: "checkpoint-stall", Expect: explain.ExpectIncident}, {Name: "workload-change", Expect: explain.ExpectBenign}}})
	large, small := settledCase(), settledCase()
	large.job, large.impact.GPUSecondsLost = telemetry.Entity{Kind: telemetry.Job, Name: "a"}, 1000
	small.job, small.impact.GPUSecondsLost = telemetry.Entity{Kind: telemetry.Job, Name: "b"}, 10
	describes := func(what string, c, o *incidentCase) {
		t.Helper()
		if !e.incidents.ranksBefore(c, o) || e.incidents.ranksBefore(o, c) {
			t.Error(what)
		}
	}
	describes("of two that know the root, not the one that loses more", large, small)
	known := large.incident.Root
	large.incident.Root = explain.Root{Entity: large.job, Signature: "checkpoint-stall", Confidence: 0.99}
	describes("one that knows only itself", small, large)
	small.incident.Root.Confidence = 0.3
	describes("one that is sure of nothing", large, small)
	large.incident.Root = known
	large.incident.Root.Confidence = 0.3
	small.incident.Root = explain.Root{Entity: small.job, Signature: "workload-change", Confidence: 0.9}
	describes("one whose work has changed", large, small)
}

// TestWhatHasStoppedDoesNotLoseMore: the age of a step in progress grows by itself,
// and what explains all of it at first is no fault beside what does so later.
func TestWhatHasStoppedDoesNotLoseMore(t *testing.T) {
	slow := &jobs.Degradation{State: jobs.Slow, Expected: 10, Steps: 4, Sum: 60}
	slower := &jobs.Degradation{State: jobs.Slow, Expected: 10, Steps: 4, Sum: 100}
	first := &jobs.Degradation{State: jobs.Slow, Expected: 10, Overdue: 20}
	longer := &jobs.Degradation{State: jobs.Slow, Expected: 10, Overdue: 90}
	stopped := &jobs.Degradation{State: jobs.Stalled, Expected: 10, Steps: 4, Sum: 60, Overdue: 200}
	for name, x := range map[string]struct {
		then, now *jobs.Degradation
		want      bool
	}{
		"loses as much":                 {slow, slow, false},
		"loses more":                    {slow, slower, true},
		"was slow and has stopped":      {slow, stopped, true},
		"the first step is in progress": {first, longer, false},
		"and it has stopped":            {first, stopped, false},
	} {
		e := assemble(Config{})
		c := settledCase()
		c.pinned = pinnedRoot{root: gpuOf("n1/0"), signature: "gpu-slow", times: stableAfter, then: lost(&explain.Evidence{Degradation: x.then}), loss: lost(&explain.Evidence{Degradation: x.then})}
		best := &explain.Answer{Entity: gpuOf("n2/0"), Values: explain.Values{explain.ClockExplained: 1},
			Signature: &explain.Signature{Name: "cold-plate", Features: []explain.Feature{{Name: "slower-clock", Measure: explain.ClockExplained}}}}
		next := &explain.Incident{Root: explain.Root{Entity: best.Entity, Signature: "cold-plate", Confidence: 0.999}}
		if got := e.incidents.both(c, &explain.Evidence{Degradation: x.now}, best, next); got != x.want {
			t.Errorf("%s: two faults: %v", name, got)
		}
	}
}
