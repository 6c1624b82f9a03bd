package jobs_test

import (
	"math"
	"testing"
)

// writing plays reports of two steps of 5 s each. Every fifth report includes a checkpoint,
// and written is called with its length when it ends, within the report.
func (p *life) writing(checkpoints int, took float64, written func(seconds float64)) {
	for range checkpoints {
		for i := range 5 {
			if i < 4 {
				p.quiet(10)
				p.b.Observe(played, p.now, 5, 0)
				continue
			}
			p.quiet(3 + took)
			written(took)
			p.quiet(7)
			p.b.Observe(played, p.now, 5+took/2, 0)
		}
	}
}

// TestACheckpointIsPartOfTheReportInWhichItEnded: many trainers report a checkpoint when it
// is written, and not with its steps. When checkpoints take twice as long, the job is
// degraded by the difference.
func TestACheckpointIsPartOfTheReportInWhichItEnded(t *testing.T) {
	p := newLife(t)
	written := func(seconds float64) { p.b.ObserveCheckpoint(played, p.now, seconds) }
	p.writing(12, 5, written)
	p.wants("usual checkpoints")
	p.writing(4, 10, written)
	p.wants("checkpoints of twice the length", "slow")
	if h := p.b.Job(played).Degradation; math.Abs(h.Lost-4*5) > 2 {
		t.Errorf("%.1f s lost in four, want 20", h.Lost)
	}
	p.writing(4, 5, written)
	p.wants("usual ones again", "well")
}

// TestPeriodicLongStepsThatGrowAreADegradation: a job that reports no checkpoints has
// periodic long steps. One that is longer may be anything; two in a row that take twice as
// long are a degradation, and cost what they take beyond the usual.
func TestPeriodicLongStepsThatGrowAreADegradation(t *testing.T) {
	p := newLife(t)
	written := func(float64) {}
	p.writing(12, 5, written)
	p.writing(1, 10, written)
	p.writing(8, 5, written)
	p.wants("one that is longer")
	p.writing(4, 10, written)
	p.wants("longer in a row", "slow")
	if h := p.b.Job(played).Degradation; math.Abs(h.Lost-4*5) > 2 || math.Abs(h.Periodic-2.5) > 0.1 {
		t.Errorf("%.1f s lost in four beside %.2f s a step, want 20 and 2.5", h.Lost, h.Periodic)
	}
	p.writing(6, 5, written)
	p.wants("usual ones again", "well")
}

// TestPeriodicLongStepsThatGrowALotAreADegradation: one that is three times as long is no
// part of the period, and is known to be single only some reports later.
func TestPeriodicLongStepsThatGrowALotAreADegradation(t *testing.T) {
	p := newLife(t)
	p.writing(12, 5, func(float64) {})
	p.writing(3, 15, func(float64) {})
	p.wants("three times as long", "slow")
}
