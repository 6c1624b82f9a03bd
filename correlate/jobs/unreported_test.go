package jobs_test

import (
	"math"
	"testing"
)

// writing plays reports of two steps of 5 s each, of which every fifth holds a checkpoint
// as well, and calls told with how long that took where it ended: within the report.
func (p *life) writing(turns int, took float64, told func(seconds float64)) {
	for range turns {
		for i := range 5 {
			if i < 4 {
				p.quiet(10)
				p.b.Observe(played, p.now, 5, 0)
				continue
			}
			p.quiet(3 + took)
			told(took)
			p.quiet(7)
			p.b.Observe(played, p.now, 5+took/2, 0)
		}
	}
}

// TestACheckpointIsPartOfTheReportInWhichItEnded: many trainers state a checkpoint when it
// is written, and not with the report of its steps. When it takes twice as long, a tenth
// of it is lost in each of ten steps.
func TestACheckpointIsPartOfTheReportInWhichItEnded(t *testing.T) {
	p := newLife(t)
	told := func(seconds float64) { p.b.ObserveCheckpoint(played, p.now, seconds) }
	p.writing(12, 5, told)
	p.wants("usual checkpoints")
	p.writing(4, 10, told)
	p.wants("checkpoints of twice the length", "slow")
	if h := p.b.Job(played).Hurt; math.Abs(h.Lost-4*5) > 2 {
		t.Errorf("%.1f s lost in four, want 20", h.Lost)
	}
	p.writing(4, 5, told)
	p.wants("usual ones again", "well")
}

// TestWhatComesInTurnMayGrow: a job that reports no checkpoint has long steps that come in
// turn. One that is longer may be anything; two in turn that take twice as long are slow,
// and cost what they take beyond the usual.
func TestWhatComesInTurnMayGrow(t *testing.T) {
	p := newLife(t)
	told := func(float64) {}
	p.writing(12, 5, told)
	p.writing(1, 10, told)
	p.writing(8, 5, told)
	p.wants("one that is longer")
	p.writing(4, 10, told)
	p.wants("longer in turn", "slow")
	if h := p.b.Job(played).Hurt; math.Abs(h.Lost-4*5) > 2 || math.Abs(h.Turn-2.5) > 0.1 {
		t.Errorf("%.1f s lost in four beside %.2f s a step, want 20 and 2.5", h.Lost, h.Turn)
	}
	p.writing(6, 5, told)
	p.wants("usual ones again", "well")
}
