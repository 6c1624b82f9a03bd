package jobs_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// life is a job's life in steps and events, judged each second.
type life struct {
	t            *testing.T
	b            jobs.Book
	now          telemetry.Time
	grid         telemetry.Time
	changes      []string
	tokens       float64 // per step; none reported if zero
	corroborates func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool
	idle         func(*jobs.Job, telemetry.Time) bool
}

var played = telemetry.Entity{Kind: telemetry.Job, Name: "j"}

func newLife(t *testing.T) *life { return &life{t: t, now: epoch, grid: epoch} }

func (p *life) judge() {
	for ; p.grid.Add(1e9) <= p.now; p.grid = p.grid.Add(1e9) {
		for _, c := range p.b.Close(p.grid.Add(1e9), jobs.Senses{Working: notWorking, Corroborates: p.corroborates, Idle: p.idle}) {
			p.note(c)
		}
	}
}

func (p *life) note(c jobs.Changed) {
	switch c.Change {
	case jobs.Began:
		p.changes = append(p.changes, c.Job.Degradation.State.String())
	case jobs.Turned:
		p.changes = append(p.changes, "to "+c.Job.Degradation.State.String())
	case jobs.Ended:
		p.changes = append(p.changes, "well")
		c.Job.Forget(false, 0)
	}
}

func (p *life) steps(n int, length float64) {
	for range n {
		p.quiet(length)
		if p.tokens > 0 {
			p.b.ObserveTokens(played, p.now, p.tokens/length)
		}
		p.b.Observe(played, p.now, length, 0)
	}
}

// save lets a step of so many seconds pass in which a checkpoint took took seconds.
func (p *life) save(took, length float64) {
	p.quiet(length)
	p.b.ObserveCheckpoint(played, p.now, took)
	p.b.Observe(played, p.now, length, 0)
}

// turns plays n times so many steps of 4 s, and one that holds a checkpoint of took seconds.
func (p *life) turns(n, steps int, took float64) {
	for range n {
		p.steps(steps, 4)
		p.save(took, 4+took)
	}
}

// quiet lets time pass without any report.
func (p *life) quiet(seconds float64) {
	p.now = p.now.Add(telemetry.Duration(seconds * 1e9))
	p.judge()
}

func (p *life) event(name telemetry.EventName, text string) {
	for _, c := range p.b.Event(&telemetry.Event{Entity: played, At: p.now, Name: name, Text: text}, p.now) {
		p.note(c)
	}
}

func (p *life) wants(what string, want ...string) {
	p.t.Helper()
	if len(p.changes) != len(want) {
		p.t.Fatalf("%s: %q, want %q", what, p.changes, want)
	}
	for i := range want {
		if p.changes[i] != want[i] {
			p.t.Fatalf("%s: %q, want %q", what, p.changes, want)
		}
	}
	p.changes = nil
}

// breaksBesideAWitness requires that a break of five seconds is not reported,
// although there is corroborating evidence for any degradation of the job.
func (p *life) breaksBesideAWitness(what string) {
	p.t.Helper()
	p.corroborates = func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }
	p.quiet(5)
	p.steps(10, 3)
	p.wants(what)
}

// TestAnEvaluationOpensNothing: it takes ten steps' time, and its own steps are
// of another length.
func TestAnEvaluationOpensNothing(t *testing.T) {
	p := newLife(t)
	p.steps(40, 3)
	p.event(jobs.EventPhase, "eval")
	p.quiet(30)
	p.steps(6, 7)
	p.event(jobs.EventPhase, "train")
	p.steps(1, 5) // the rest of the evaluation is in it
	p.steps(20, 3)
	p.wants("with a reported evaluation")
	if j := p.b.Job(played); j.Phase() != "" || j.Degradation != nil {
		t.Errorf("phase %q, degradation %v", j.Phase(), j.Degradation)
	}
	p.event(jobs.EventPhase, "eval")
	p.quiet(3000)
	p.wants("an evaluation that never ends", "stalled")
}

// TestASlowdownAfterAnEvaluationIsFound: the evaluation is no expected activity for
// what follows it.
func TestASlowdownAfterAnEvaluationIsFound(t *testing.T) {
	p := newLife(t)
	p.steps(40, 3)
	p.event(jobs.EventPhase, "eval")
	p.steps(5, 6)
	p.event(jobs.EventPhase, "train")
	p.steps(10, 4)
	p.wants("slower by a third", "slow")
}

// TestMoreWorkInAStepIsNoDegradation: a third more tokens in a third more time; and a
// fault after it is found against the new usual.
func TestMoreWorkInAStepIsNoDegradation(t *testing.T) {
	p := newLife(t)
	p.tokens = 4e6
	p.steps(40, 3)
	p.tokens = 5.4e6
	p.steps(20, 4.05)
	p.wants("more work")
	p.steps(10, 4.6)
	p.wants("slower at the same work", "slow")
	if h := p.b.Job(played).Degradation; math.Abs(h.Expected-4.05) > 0.05 {
		t.Errorf("expected %v", h.Expected)
	}
}

// TestOnlyAPartOfAStepIsWork: what else it takes stays as it was, so that a step
// takes less of the time than it holds of the work, on the way up and back.
func TestOnlyAPartOfAStepIsWork(t *testing.T) {
	p := newLife(t)
	p.tokens = 4e6
	p.steps(40, 3)
	p.tokens = 5.4e6
	p.steps(100, 3.8)
	p.tokens = 4e6
	p.steps(40, 3)
	p.wants("more work for a while")
	p.steps(10, 3.3)
	p.wants("slower at the first work", "slow")
}

// TestTheWorkChangesWithinAReport: the first report of a job that reports every
// fourth step after the change contains some of the old work and some of the new,
// with a checkpoint among them.
func TestTheWorkChangesWithinAReport(t *testing.T) {
	p := newLife(t)
	report := func(n int, tokens, length, saved float64) {
		for range n {
			p.quiet(4 * length)
			p.b.ObserveCheckpoint(played, p.now, saved)
			p.b.ObserveTokens(played, p.now, tokens/length)
			p.b.Observe(played, p.now, length, 0)
		}
	}
	for range 4 {
		report(6, 4e6, 4, 0)
		report(1, 4e6, 6.7, 2.7)
	}
	report(6, 4e6, 4, 0)
	report(1, 4.6e6, 7.1, 2.7)
	report(6, 4.8e6, 4.5, 0)
	p.wants("a fifth more work")
	report(6, 4.8e6, 5.2, 0)
	p.wants("slower at the same work", "slow")
}

// TestTheWorkOfADegradedJobChanges: it is as slow as before, and well when its steps
// are again what their work makes of the usual.
func TestTheWorkOfADegradedJobChanges(t *testing.T) {
	p := newLife(t)
	p.tokens = 4e6
	p.steps(40, 3)
	p.steps(10, 4)
	p.tokens = 6e6
	p.steps(10, 6)
	p.wants("slower by a third", "slow")
	now, _ := p.b.Job(played).Degradation.Now()
	if h := p.b.Job(played).Degradation; math.Abs(h.Expected-4.5) > 0.05 || math.Abs(now-6) > 0.05 {
		t.Errorf("expected %v, now %v", h.Expected, now)
	}
	p.steps(20, 4.5)
	p.wants("usual for this work", "well")
}

// TestBreaksThatComeInTurn: every forty steps a job does for five seconds what it
// does not report. When the next is due, not even corroborating evidence makes the
// job slow; a step as late at another time does.
func TestBreaksThatComeInTurn(t *testing.T) {
	p := newLife(t)
	for range 5 {
		p.steps(40, 3)
		p.quiet(5)
	}
	p.steps(40, 3)
	p.breaksBesideAWitness("a break when it is due")
	p.quiet(5)
	p.steps(1, 3)
	p.wants("one long before the next", "slow")
}

// TestALongStepAfterABreak: every seventieth step takes seven seconds longer,
// before every fiftieth there is a break. Where the two meet it is no trouble, not
// even where the break is as long as two steps, so that it could be two reports
// that were lost.
func TestALongStepAfterABreak(t *testing.T) {
	for _, pause := range []float64{7, 8} {
		p := newLife(t)
		for i := 1; i <= 360; i++ {
			length := 4.0
			if i%50 == 0 {
				p.quiet(pause)
			}
			if i%70 == 0 {
				length = 11
			}
			p.steps(1, length)
		}
		p.wants("both at once")
		p.quiet(pause)
		p.steps(1, 11)
		p.wants("both when none is due", "stalled")
	}
}

// TestABreakBesideACheckpoint: a break that coincides with a reported checkpoint
// still counts for its periodic pattern.
func TestABreakBesideACheckpoint(t *testing.T) {
	p := newLife(t)
	saves := func() {
		p.event(telemetry.EventCheckpointStarted, "")
		p.quiet(12)
		p.event(telemetry.EventCheckpointEnded, "")
	}
	for i := range 150 {
		switch i {
		case 20, 40, 60:
			saves()
		case 50:
			p.quiet(5)
		case 100:
			saves()
			p.quiet(5)
		}
		p.steps(1, 3)
	}
	p.breaksBesideAWitness("the third break")
}

// TestAPauseIsNoHabit: a job that was away for some minutes once keeps the periodic
// pattern of breaks that it had.
func TestAPauseIsNoHabit(t *testing.T) {
	p := newLife(t)
	p.steps(40, 3)
	for i := range 8 {
		p.quiet(5)
		p.steps(20, 3)
		if i == 5 {
			p.event(jobs.EventPhase, "eval")
			p.quiet(400)
			p.event(jobs.EventPhase, "train")
		}
		p.steps(20, 3)
	}
	p.breaksBesideAWitness("the ninth break")
}

// TestTheLastStepEndsAMomentAfterTheJob: by the scheduler's clock, which reports
// whole seconds. The job is over all the same; one that goes on is not.
func TestTheLastStepEndsAMomentAfterTheJob(t *testing.T) {
	p := newLife(t)
	p.steps(40, 3)
	p.event(telemetry.EventJobEnded, "")
	p.quiet(1)
	p.b.Observe(played, p.now, 3, 0)
	p.quiet(900)
	p.wants("after the end")
	p.event(telemetry.EventJobStarted, "")
	p.steps(40, 3)
	p.quiet(60)
	p.wants("stands still after it went on", "stalled")
}

// TestSlowStepsOfTheSameWorkAreADegradation: the tokens reported of a step go with its length,
// whatever the noise.
func TestSlowStepsOfTheSameWorkAreADegradation(t *testing.T) {
	p := newLife(t)
	p.tokens = 4e6
	p.steps(40, 3)
	p.steps(10, 4)
	p.wants("the same work", "slow")
}

// TestTokensThatAreNotCountedExcuseNothing: a rate that is a constant of the
// configuration would make every slow step one of more work.
func TestTokensThatAreNotCountedExcuseNothing(t *testing.T) {
	p := newLife(t)
	r := rand.New(rand.NewPCG(1, 2))
	step := func(x float64) {
		p.tokens = 1e6 * x
		p.steps(1, x)
	}
	for range 40 {
		step(3 * (1 + 0.01*r.NormFloat64()))
	}
	for range 10 {
		step(3.8 * (1 + 0.01*r.NormFloat64()))
	}
	p.wants("a constant rate", "slow")
}

// TestGoodputIsUsefulTimeOverTime: 100 steps of 3 s with a checkpoint after the
// 60th, a failure, 300 s until it runs again, and 60 steps: of 780 s, 480 were
// worked and 120 of them were lost.
func TestGoodputIsUsefulTimeOverTime(t *testing.T) {
	p := newLife(t)
	p.event(telemetry.EventJobStarted, "")
	p.steps(60, 3)
	p.event(telemetry.EventCheckpointEnded, "")
	p.steps(40, 3)
	p.event(telemetry.EventJobFailed, "")
	p.quiet(150)
	p.event(telemetry.EventJobRestarted, "")
	p.quiet(147)
	p.steps(61, 3)
	p.wants("a failure", "failed", "to restarted", "well")
	good := p.b.Job(played).Goodput()
	if good.Failures != 1 || math.Abs(good.Redone-120) > 3.1 {
		t.Errorf("%d failures, redone %v s", good.Failures, good.Redone)
	}
	ratio := goodput(&good, 0, p.now)
	if want := (161*3.0 - 120) / (100*3 + 150 + 147 + 61*3); math.Abs(ratio-want) > 0.01 {
		t.Errorf("goodput %v, want %v", ratio, want)
	}
	p.event(telemetry.EventJobEnded, "")
	p.quiet(1000)
	good = p.b.Job(played).Goodput()
	if after := goodput(&good, 0, p.now); math.Abs(after-ratio) > 1e-9 {
		t.Errorf("goodput %v a while after the end, %v at it", after, ratio)
	}
}

// TestSpentCountsFromWhenTheJobIsWatched: a healthy job that ran for a day before the
// log began has not wasted that day.
func TestSpentCountsFromWhenTheJobIsWatched(t *testing.T) {
	p := newLife(t)
	watched := p.now
	p.b.Event(&telemetry.Event{Entity: played, At: p.now.Add(-86400e9), Name: telemetry.EventJobStarted}, p.now)
	p.steps(60, 3)
	good := p.b.Job(played).Goodput()
	if ratio := goodput(&good, watched, p.now); ratio < 0.99 {
		t.Errorf("goodput %v of a job that has only made steps since it was watched", ratio)
	}
}

// TestAStepInProgressIsNotLost: it is neither productive nor lost until it takes longer
// than the job's steps do.
func TestAStepInProgressIsNotLost(t *testing.T) {
	p := newLife(t)
	p.steps(20, 30)
	j := p.b.Job(played)
	spent := func(after float64) float64 {
		good := j.Goodput()
		return goodput(&good, 0, j.Accounted(j.LastEnd.Add(telemetry.Duration(after*1e9))))
	}
	if begun, nearly := spent(0), spent(29); math.Abs(begun-1) > 1e-9 || math.Abs(nearly-1) > 1e-9 {
		t.Errorf("goodput %v at the end of a step, %v before the end of the next", begun, nearly)
	}
	if late, want := spent(90), 600/660.0; math.Abs(late-want) > 0.01 {
		t.Errorf("goodput %v when a step is late by two steps, want %v", late, want)
	}
}

func goodput(g *jobs.Goodput, watched, now telemetry.Time) float64 {
	productive, wall := g.Spent(watched, now)
	return productive / wall
}

// TestWhatAFailureCostsIsNotKnownWithoutCheckpoints: nothing is made up.
func TestWhatAFailureCostsIsNotKnownWithoutCheckpoints(t *testing.T) {
	p := newLife(t)
	p.steps(60, 3)
	p.event(telemetry.EventJobFailed, "")
	if good := p.b.Job(played).Goodput(); good.Redone != 0 || good.Failures != 1 {
		t.Errorf("%+v", good)
	}
}

// TestACheckpointThatGrewIsReported: the reported checkpoints take twelve seconds, and
// then forty; the first two of them show how long they take.
func TestACheckpointThatGrewIsReported(t *testing.T) {
	p := newLife(t)
	save := func(extra float64) {
		p.steps(12, 4)
		p.event(telemetry.EventCheckpointStarted, "")
		p.quiet(extra)
		p.event(telemetry.EventCheckpointEnded, "")
		p.quiet(4)
		p.b.Observe(played, p.now, extra+4, 0)
	}
	for _, extra := range []float64{12, 12.5, 11.5, 13, 12} {
		save(extra)
	}
	p.wants("checkpoints as ever")
	save(40)
	if len(p.changes) == 0 || p.changes[0] != "slow" && p.changes[0] != "stalled" {
		t.Fatalf("a checkpoint of 40 s: %q", p.changes)
	}
	if h := p.b.Job(played).Degradation; h == nil || math.Abs(h.Lost-28) > 2 {
		t.Errorf("degradation %+v, want 28 s lost", h)
	}
}
