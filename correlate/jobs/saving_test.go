package jobs_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestACheckpointThatTheJobReportsIsNoLoss: a slow job's step that holds a reported
// checkpoint of 8 s counts without it; one without such a report counts whole.
func TestACheckpointThatTheJobReportsIsNoLoss(t *testing.T) {
	for _, told := range []bool{true, false} {
		p := newLife(t)
		p.steps(40, 4)
		p.steps(10, 5)
		p.quiet(13)
		if told {
			p.b.ObserveCheckpoint(played, p.now, 8)
		}
		p.b.Observe(played, p.now, 13, 0)
		p.steps(9, 5)
		h := p.b.Job(played).Degradation
		if h == nil {
			t.Fatal("not degraded")
		}
		want := 5.0
		if !told {
			want = 5.4
		}
		if now, ok := h.Now(); !ok || math.Abs(now-want) > 0.03 {
			t.Errorf("told of %v: a step takes %.3f s, want %.2f", told, now, want)
		}
	}
}

// TestACheckpointReportedAfterItsStepExcusesNoOther: its end is reported a moment
// after the step whose last part it was. Neither the steps that follow nor the
// checkpoint itself change the reported cost of a slow step.
func TestACheckpointReportedAfterItsStepExcusesNoOther(t *testing.T) {
	for _, itself := range []bool{true, false} {
		p := newLife(t)
		turn := func(n int, length float64) {
			for range n {
				p.steps(9, length)
				p.quiet(length)
				p.event(telemetry.EventCheckpointStarted, "")
				p.quiet(6)
				if itself {
					p.b.ObserveCheckpoint(played, p.now, 6)
				}
				p.b.Observe(played, p.now, length+6, 0)
				p.event(telemetry.EventCheckpointEnded, "")
			}
		}
		turn(4, 4)
		turn(2, 4.4)
		h := p.b.Job(played).Degradation
		if h == nil {
			t.Fatal("not degraded")
		}
		if now, ok := h.Now(); !ok || math.Abs(now-4.4) > 0.01 || math.Abs(h.Expected-4) > 0.01 {
			t.Errorf("told by the step itself %v: a step takes %.3f s and %.3f without, want 4.4 and 4", itself, now, h.Expected)
		}
	}
}

// TestACheckpointIsNoHabitOfTheSteps: a job that reports every fifth step has eight
// reports behind it when it becomes slower by a third. A checkpoint in one of them,
// whichever it is, changes neither what is usual nor when that is found.
func TestACheckpointIsNoHabitOfTheSteps(t *testing.T) {
	const each, length = 5, 5.4
	for held := range 9 { // in the last turn none holds one
		p := newLife(t)
		report := func(x float64) {
			p.quiet(each * x)
			p.b.Observe(played, p.now, x, 0)
		}
		for i := range 8 {
			if i == held {
				p.quiet(7)
				p.b.ObserveCheckpoint(played, p.now.Add(telemetry.Duration(each*length*1e9)), 7.0/each)
				p.quiet(each * length)
				p.b.Observe(played, p.now, length+7.0/each, 0)
				continue
			}
			report(length)
		}
		if usual, ok := p.b.Job(played).Usual(); !ok || math.Abs(usual-length) > 1e-6 {
			t.Errorf("a checkpoint in report %d: a usual step is %.3f s", held, usual)
		}
		report(1.31 * length)
		report(1.31 * length)
		p.quiet(1)
		if h := p.b.Job(played).Degradation; h == nil || h.State != jobs.Slow {
			t.Errorf("a checkpoint in report %d: not slow after two reports", held)
		}
	}
}

// TestADegradationDoesNotBeginWithAUsualCheckpoint: the second reported checkpoint comes
// four steps before the steps become longer.
func TestADegradationDoesNotBeginWithAUsualCheckpoint(t *testing.T) {
	p := newLife(t)
	p.steps(25, 4)
	p.save(10, 14)
	p.steps(25, 4)
	p.save(10, 14)
	p.steps(1, 4)
	began := p.now
	p.steps(10, 4.4)
	h := p.b.Job(played).Degradation
	if h == nil {
		t.Fatal("not degraded")
	}
	if h.Onset.Earliest != began {
		t.Errorf("it began %s after the last usual step", h.Onset.Earliest.Sub(began))
	}
}

// TestACheckpointInProgressIsNotOverdue: a slow job writes one more, as long as
// those before; while it does, its steps are as slow as they were.
func TestACheckpointInProgressIsNotOverdue(t *testing.T) {
	p := newLife(t)
	for range 3 {
		p.steps(19, 4)
		p.save(10, 14)
	}
	p.steps(19, 5)
	h := p.b.Job(played).Degradation
	if h == nil {
		t.Fatal("not degraded")
	}
	p.quiet(14)
	if now, ok := h.Now(); !ok || math.Abs(now-5) > 0.01 {
		t.Errorf("while it writes, a step takes %.3f s, want 5", now)
	}
	p.quiet(40)
	if now, ok := h.Now(); !ok || now < 7 || h.State != jobs.Stalled {
		t.Errorf("after 54 s without a step, it is %s at %.3f s a step", h.State, now)
	}
}

// TestShortCheckpointsThatGrowAreALoss: each step holds one of a fifth of a second,
// without a visible effect; then they take two seconds.
func TestShortCheckpointsThatGrowAreALoss(t *testing.T) {
	p := newLife(t)
	save := func(n int, took, step float64) {
		for range n {
			p.save(took, step)
		}
	}
	save(40, 0.2, 4)
	save(10, 2.2, 6)
	h := p.b.Job(played).Degradation
	if h == nil {
		t.Fatal("not degraded")
	}
	if now, ok := h.Now(); !ok || math.Abs(now-6) > 0.3 {
		t.Errorf("a step takes %.3f s, want 6", now)
	}
}

// TestACheckpointThatTakesManyTimesAsLongDegrades: one every 20 steps takes 5 s,
// then 40. It is found with the first, lasts through the usual steps between
// them, and ends with one that is as it was. One and a half times as long is no
// trouble.
func TestACheckpointThatTakesManyTimesAsLongDegrades(t *testing.T) {
	for _, c := range []struct{ took, mean float64 }{{40, 4 + 35.0/20}, {7.5, 0}} {
		p := newLife(t)
		turn := func(n int, took float64) {
			for range n {
				p.turns(1, 19, took)
				p.quiet(1)
			}
		}
		turn(4, 5)
		turn(1, c.took)
		if h := p.b.Job(played).Degradation; (h != nil) != (c.mean > 0) {
			t.Fatalf("%g s: degraded %v with the first", c.took, h != nil)
		}
		turn(3, c.took)
		h := p.b.Job(played).Degradation
		if (h != nil) != (c.mean > 0) {
			t.Fatalf("%g s: degraded %v after four", c.took, h != nil)
		}
		if h == nil {
			continue
		}
		if now, ok := h.Now(); !ok || math.Abs(now-c.mean) > 1 {
			t.Errorf("%g s: a step takes %.2f s in the mean, want about %.2f", c.took, now, c.mean)
		}
		turn(1, 5)
		p.steps(8, 4)
		if p.b.Job(played).Degradation != nil {
			t.Errorf("%g s: not well with a usual one", c.took)
		}
	}
}

// TestCheckpointsBetweenStepsThatGrowAreALoss: the trainer stops its clock while it saves,
// so that every step is reported as usual: only the time between two shows what a
// checkpoint took. One every 20 steps takes 5 s, then 12.
func TestCheckpointsBetweenStepsThatGrowAreALoss(t *testing.T) {
	p := newLife(t)
	turn := func(n int, took float64) {
		for range n {
			p.quiet(took)
			p.b.ObserveCheckpoint(played, p.now, took)
			p.steps(20, 4)
		}
	}
	turn(6, 5)
	if p.b.Job(played).Degradation != nil {
		t.Fatal("degraded by usual checkpoints")
	}
	turn(4, 12)
	h := p.b.Job(played).Degradation
	if h == nil {
		t.Fatal("not degraded")
	}
	if now, ok := h.Now(); !ok || math.Abs(now-(4+28.0/61)) > 0.02 {
		t.Errorf("a step takes %.3f s in the mean, want 4.46 up to the last of them", now)
	}
	turn(1, 5)
	p.steps(8, 4)
	if p.b.Job(played).Degradation != nil {
		t.Error("not well with a usual one")
	}
}

// TestAStallIsNoCheckpointThatIsNotDue: the first came after 25 steps, so none is
// looked for five steps later.
func TestAStallIsNoCheckpointThatIsNotDue(t *testing.T) {
	p := newLife(t)
	p.steps(25, 4)
	p.save(10, 14)
	p.steps(5, 4)
	p.quiet(16.5)
	if h := p.b.Job(played).Degradation; h == nil || h.State != jobs.Stalled {
		t.Errorf("after 16 s without a step: %+v", h)
	}
}

// TestCheckpointsOfAJobThatReportsEverySecondStep: its turn and what it must do
// to be well again are counted in the same steps.
func TestCheckpointsOfAJobThatReportsEverySecondStep(t *testing.T) {
	p := newLife(t)
	turn := func(n int, took float64) {
		for range n {
			for i := range 10 {
				length := 4.0
				if i == 9 {
					length += took / 2
				}
				p.quiet(2 * length)
				if i == 9 {
					p.b.ObserveCheckpoint(played, p.now, took/2)
				}
				p.b.Observe(played, p.now, length, 0)
			}
		}
	}
	turn(4, 8)
	turn(4, 40)
	if slices.Contains(p.changes, "well") {
		t.Errorf("well between two checkpoints: %q", p.changes)
	}
	// From the first of the four to the last, 62 steps.
	if now, ok := p.b.Job(played).Degradation.Now(); !ok || math.Abs(now-4-4*32.0/62) > 0.01 {
		t.Errorf("a step takes %.3f s in the mean, want %.3f", now, 4+4*32.0/62)
	}
}

// TestACheckpointThatGrewALittleDegradesWithEvidence: a third longer is no trouble,
// but where something it is written to answers more slowly.
func TestACheckpointThatGrewALittleDegradesWithEvidence(t *testing.T) {
	for _, slow := range []bool{true, false} {
		p := newLife(t)
		p.corroborates = func(_ *jobs.Job, h *jobs.Degradation, _ telemetry.Time) bool {
			now, _ := h.Now()
			return slow && math.Abs(now-7) < 1e-9 // the 3 s more are the degradation
		}
		p.turns(3, 19, 9)
		p.turns(2, 19, 12)
		p.steps(1, 4)
		if got := p.b.Job(played).Degradation != nil; got != slow {
			t.Errorf("a corroboration %v: degraded %v", slow, got)
		}
	}
}

// TestACheckpointAfterABreak: every 47 steps a job writes a checkpoint of eight
// seconds; five in 163 are an unreported evaluation. Now and then one follows the
// other, and the checkpoint comes after fewer steps than usual.
func TestACheckpointAfterABreak(t *testing.T) {
	p := newLife(t)
	for i := 1; i <= 1000; i++ {
		length := 5.0
		switch {
		case i%168 == 163:
			p.quiet(9)
			fallthrough
		case i%168 > 163 || i%168 == 0:
			continue
		case i%47 == 42:
			length = 13
		}
		p.steps(1, length)
		if length > 5 {
			p.b.ObserveCheckpoint(played, p.now, 8)
		}
	}
	p.wants("breaks and checkpoints")
}

// TestIdlenessCorroboratesNothingWhereACheckpointIsDue: two steps take a little longer
// after a break, and the next one begins with a checkpoint. Idle GPUs meanwhile are
// no evidence; the length of the step will be.
func TestIdlenessCorroboratesNothingWhereACheckpointIsDue(t *testing.T) {
	p := newLife(t)
	for range 5 {
		p.steps(46, 4)
		p.save(9, 13)
	}
	p.steps(44, 4)
	p.steps(1, 4.1)
	p.steps(1, 4.7)
	p.corroborates = func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }
	p.idle = func(*jobs.Job, telemetry.Time) bool { return true }
	p.save(9, 13)
	p.idle, p.corroborates = nil, nil
	p.steps(10, 4)
	p.wants("a slow step before a checkpoint")
}

// TestACheckpointThatIsDueMayTakeLongerOnce: two and a half times as long as those before,
// while the GPUs launch nothing; where none is due, that is a stall.
func TestACheckpointThatIsDueMayTakeLongerOnce(t *testing.T) {
	for _, c := range []struct {
		after int
		found bool
	}{{46, false}, {10, true}} {
		p := newLife(t)
		for range 4 {
			p.steps(46, 4)
			p.save(9, 13)
		}
		p.steps(c.after, 4)
		p.idle = func(*jobs.Job, telemetry.Time) bool { return true }
		p.quiet(26)
		if found := p.b.Job(played).Degradation != nil; found != c.found {
			t.Errorf("after %d steps: degraded %v, want %v", c.after, found, c.found)
		}
	}
}

// TestACheckpointDueAtIrregularTurns: an evaluation now and then takes the place of
// some steps, so that checkpoints are five steps early after it, and its length is
// two steps'. The first step after it takes a little longer; the checkpoint that
// is due next is as long as ever.
func TestACheckpointDueAtIrregularTurns(t *testing.T) {
	p := newLife(t)
	for range 3 {
		for range 3 {
			p.steps(52, 4)
			p.save(9, 13)
		}
		p.steps(30, 4)
		p.quiet(8)
		p.steps(17, 4)
		p.save(9, 13)
	}
	p.steps(46, 4)
	p.quiet(8)
	p.steps(1, 4.5)
	p.save(9, 13)
	p.steps(10, 4)
	p.wants("a slow step before a checkpoint that may be due")
}

// TestTheNextCheckpointMayTakeABitLonger: a job writes its second checkpoint, which takes
// a twelfth longer than the first, in a step in progress that is then the longest of all.
// Whatever corroborates it, nothing is slow: from one checkpoint it is not known what they
// take. One that takes twice as long is.
func TestTheNextCheckpointMayTakeABitLonger(t *testing.T) {
	for _, c := range []struct {
		second float64
		want   bool
	}{{10.9, false}, {20, true}} {
		p := newLife(t)
		for _, save := range []float64{10, c.second} {
			for i := range 14 {
				p.steps(1, 12+0.1*float64(i%3))
			}
			p.quiet(12.1 + save - 1)
			if got := p.b.Job(played).Degradation != nil; save == c.second && got != c.want {
				t.Errorf("a checkpoint of %g s after one of 10: degraded before it ends: %v", save, got)
			}
			p.quiet(1)
			p.b.ObserveCheckpoint(played, p.now, save)
			p.b.Observe(played, p.now, 12.1+save, 0)
			p.corroborates = func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }
		}
	}
}

// TestACheckpointIsWeighedAgainstItsTurn: one every 100 steps of 4 s takes 2 s, then 3.6, and
// 3.6 again: 0.4 % is not worth an incident. One that takes 30 s costs 7 %.
func TestACheckpointIsWeighedAgainstItsTurn(t *testing.T) {
	for took, degrades := range map[float64]bool{3.6: false, 30: true} {
		p := newLife(t)
		p.turns(4, 99, 2)
		p.turns(3, 99, took)
		p.quiet(1)
		if h := p.b.Job(played).Degradation; (h != nil) != degrades {
			t.Errorf("%g s: degraded %v, want %v", took, h != nil, degrades)
		}
	}
}
