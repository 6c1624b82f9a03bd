package jobs_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// writes plays a reported checkpoint that takes so many seconds.
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

// TestAJobHangsAfterItsFirstCheckpoint: one that has ended excuses the rest of its step,
// and not thirty more, though no other was there to compare it with.
func TestAJobHangsAfterItsFirstCheckpoint(t *testing.T) {
	p := newLife(t)
	p.steps(30, 5)
	p.writes(6)
	p.steps(1, 4)
	p.wants("its first checkpoint")
	p.writes(6)
	p.quiet(6)
	p.wants("the rest of its step")
	p.quiet(40)
	p.wants("no step for 46 s after it", "stalled")
}

// TestACheckpointOfAJobThatReportsRarely: its time is reported as a part of each
// step of the report, and is as many times longer in all.
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

// TestADegradedJobSavesAsBefore: that it is slow does not make a stall of its checkpoint.
func TestADegradedJobSavesAsBefore(t *testing.T) {
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

// TestTheFirstStepAfterABreakProvesNothing, with corroborating evidence or without.
// Where a break comes before each, they are steps like any other.
func TestTheFirstStepAfterABreakProvesNothing(t *testing.T) {
	always := func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }
	p := newLife(t)
	p.steps(100, 4)
	p.event(jobs.EventPhase, "eval")
	p.quiet(500)
	p.event(jobs.EventPhase, "train")
	p.steps(1, 4.8)
	p.corroborates = always
	p.steps(1, 4)
	p.corroborates = nil
	p.steps(60, 4)
	p.quiet(9)
	p.steps(1, 4.8)
	p.corroborates = always
	p.steps(1, 4)
	p.corroborates = nil
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

// tens plays n reports of ten steps each.
func (p *life) tens(n int, length float64) {
	for range n {
		p.quiet(10 * length)
		p.b.Observe(played, p.now, length, 0)
	}
}

// TestACheckpointThatBeginsWithTheEndOfAStep is after that step, though its
// beginning was reported some milliseconds before, by another clock.
func TestACheckpointThatBeginsWithTheEndOfAStep(t *testing.T) {
	p := newLife(t)
	p.tens(30, 0.4)
	p.quiet(4)
	for _, c := range p.b.Event(&telemetry.Event{Entity: played, At: p.now.Add(-4e6), Name: telemetry.EventCheckpointStarted}, p.now) {
		p.note(c)
	}
	p.b.Observe(played, p.now, 0.4, 0)
	p.quiet(19)
	p.event(telemetry.EventCheckpointEnded, "")
	p.tens(5, 0.4)
	p.wants("a checkpoint told of")
}

// TestLongCheckpointsOfAQuickJob are no stalls: neither the first, whose length is
// not known, nor those after it, which are between two reports.
func TestLongCheckpointsOfAQuickJob(t *testing.T) {
	p := newLife(t)
	for range 5 {
		p.tens(20, 0.1)
		p.quiet(0.2)
		p.writes(19)
		p.quiet(0.8)
		p.b.Observe(played, p.now, 0.1, 0)
	}
	p.tens(5, 0.1)
	p.wants("checkpoints of nineteen seconds")
}

// TestACheckpointBetweenStepsExcusesNone: the steps of a report that do not fill the
// time since the one before held no checkpoint, and are slow if they are long; those
// that do may have held it.
func TestACheckpointBetweenStepsExcusesNone(t *testing.T) {
	after := func(slow float64, between bool) *life {
		p := newLife(t)
		p.tens(30, 4)
		p.writes(12)
		p.tens(30, 4)
		p.tens(1, slow)
		p.writes(12)
		if !between {
			p.quiet(10*slow - 12)
			p.b.Observe(played, p.now, slow, 0)
		} else {
			p.tens(1, slow)
		}
		p.quiet(2)
		return p
	}
	after(7, true).wants("between steps that are long", "slow")
	after(4, true).wants("between usual steps")
	after(5, false).wants("in steps that are longer for it")
}

// TestAnEvaluationIsNoCheckpoint: checkpoints of 2 s do not bound evaluations of 20 s, and
// the clock of what reports these is 0.4 s behind that of the steps.
func TestAnEvaluationIsNoCheckpoint(t *testing.T) {
	p := newLife(t)
	for range 4 {
		p.steps(20, 3.6)
		p.writes(2)
	}
	for range 3 {
		p.steps(19, 3.6)
		p.quiet(3.2)
		p.event(telemetry.EventCheckpointStarted, "phase eval")
		p.quiet(0.4)
		p.b.Observe(played, p.now, 3.6, 0)
		p.quiet(20)
		p.event(telemetry.EventCheckpointEnded, "phase eval")
	}
	p.steps(5, 3.6)
	p.wants("evaluations")
}
