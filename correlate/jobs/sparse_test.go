package jobs_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// pairs plays n reports of two steps each.
func (p *life) pairs(n int, length float64) {
	for range n {
		p.quiet(2 * length)
		p.b.Observe(played, p.now, length, 0)
	}
}

// saves plays a report of two steps of five seconds and a checkpoint of thirteen,
// which that report contains, on GPUs that are idle meanwhile.
func (p *life) saves() {
	p.quiet(10)
	p.idle = func(*jobs.Job, telemetry.Time) bool { return true }
	p.quiet(13)
	p.idle = nil
	p.b.ObserveCheckpoint(played, p.now, 6.5)
	p.b.Observe(played, p.now, 11.5, 0)
}

// TestACheckpointOfAJobThatReportsEverySecondStepComesEarly: an unreported
// evaluation took the place of four steps before it.
func TestACheckpointOfAJobThatReportsEverySecondStepComesEarly(t *testing.T) {
	p := newLife(t)
	for range 6 {
		p.pairs(11, 5)
		p.saves()
	}
	p.pairs(7, 5)
	p.quiet(8)
	p.pairs(1, 5.5)
	p.saves()
	p.pairs(10, 5)
	p.wants("a break, and a checkpoint two reports early")

	p.idle = func(*jobs.Job, telemetry.Time) bool { return true }
	p.quiet(60)
	p.wants("idle for a minute", "stalled")
}

// TestTheFirstReportAfterABreakProvesNothing, of two steps as of one: without a
// break before it the same report is a slow one.
func TestTheFirstReportAfterABreakProvesNothing(t *testing.T) {
	after := func(between float64) *life {
		p := newLife(t)
		p.pairs(40, 5)
		p.quiet(between)
		p.pairs(1, 6)
		p.corroborates = func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }
		p.pairs(1, 5)
		p.corroborates = nil
		p.pairs(10, 5)
		return p
	}
	after(7).wants("after a break")
	after(0).wants("with no break before it", "slow", "well")
}

// TestAFewReportsOfManyStepsShowWhatIsUsual: six means of nine steps are of fifty-four.
// Of six single steps it is not known how much they vary.
func TestAFewReportsOfManyStepsShowWhatIsUsual(t *testing.T) {
	after := func(each int) *life {
		p := newLife(t)
		for k := range 11 {
			length := 10.0 + 0.02*float64(k%3)
			if k >= 6 {
				length = 10.8
			}
			p.quiet(float64(each) * length)
			p.b.Observe(played, p.now, length, 0)
		}
		return p
	}
	after(9).wants("reports of nine steps", "slow")
	after(1).wants("of one")
}
