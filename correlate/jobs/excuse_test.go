package jobs_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// writes plays a checkpoint told of that takes so many seconds.
func (p *life) writes(seconds float64) {
	p.event(telemetry.EventCheckpointStarted, "")
	p.quiet(seconds)
	p.event(telemetry.EventCheckpointEnded, "")
}

// TestACheckpointAfterABreakIsNoStall: the break before it is no part of it.
func TestACheckpointAfterABreakIsNoStall(t *testing.T) {
	p := newLife(t)
	for range 4 {
		p.steps(30, 5)
		p.writes(6)
		p.steps(1, 5)
	}
	p.steps(24, 5)
	p.quiet(9)
	p.writes(6)
	p.steps(5, 5)
	p.wants("a break before a checkpoint")

	p.event(telemetry.EventCheckpointStarted, "")
	p.quiet(40)
	p.wants("a checkpoint that does not end", "stalled")
}

// TestACheckpointOfAJobThatReportsRarely: what it took is told as a part of each
// step of the report, and is as much longer in all.
func TestACheckpointOfAJobThatReportsRarely(t *testing.T) {
	p := newLife(t)
	for range 4 {
		p.pairs(30, 4)
		p.writes(14)
		p.quiet(8)
		p.b.Observe(played, p.now, 11, 0)
	}
	p.pairs(10, 4)
	p.quiet(2)
	p.writes(14)
	p.quiet(7)
	p.b.Observe(played, p.now, 11.5, 0)
	p.pairs(3, 4)
	p.wants("a checkpoint before it is due")
}

// TestAHurtJobSavesAsBefore: that it is slow does not make a stall of its checkpoint.
func TestAHurtJobSavesAsBefore(t *testing.T) {
	p := newLife(t)
	for range 4 {
		p.steps(30, 3)
		p.writes(20)
		p.steps(1, 3)
	}
	p.steps(10, 3.6)
	p.wants("a fifth longer", "slow")
	p.writes(20)
	p.steps(10, 3.6)
	p.wants("its checkpoint")

	p.event(telemetry.EventCheckpointStarted, "")
	p.quiet(60)
	p.wants("one that does not end", "to stalled")
}

// TestTheFirstStepAfterABreakProvesNothing, be there a witness or not. Where
// a break comes before each, they are steps like any other.
func TestTheFirstStepAfterABreakProvesNothing(t *testing.T) {
	always := func(*jobs.Job, *jobs.Hurt, telemetry.Time) bool { return true }
	p := newLife(t)
	p.steps(100, 4)
	p.event(jobs.EventPhase, "eval")
	p.quiet(500)
	p.event(jobs.EventPhase, "train")
	p.steps(1, 4.8)
	p.witness = always
	p.steps(1, 4)
	p.witness = nil
	p.steps(60, 4)
	p.quiet(9)
	p.steps(1, 4.8)
	p.witness = always
	p.steps(1, 4)
	p.witness = nil
	p.steps(20, 4)
	p.wants("the first step after a break")

	p = newLife(t)
	p.steps(100, 4)
	for range 10 {
		p.quiet(2)
		p.steps(1, 8)
	}
	p.wants("a break before each", "slow")
}
