package jobs_test

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestABreakThatEndedByItselfIsNoStopAgain: an evaluation of which nothing is reported looks
// like a stop the first time. The next one is waited for as long, and not much longer.
func TestABreakThatEndedByItselfIsNoStopAgain(t *testing.T) {
	p := newLife(t)
	p.steps(60, 1)
	p.quiet(40)
	p.steps(20, 1)
	p.wants("the first", "stalled", "to slow", "well")
	p.steps(100, 1)
	p.quiet(40)
	p.steps(20, 1)
	p.wants("one more")
	p.steps(100, 1)
	p.quiet(80)
	p.wants("twice as long", "stalled")
}

// TestTheFirstCheckpointIsLearned: it may look like a stop until it is reported. The next
// one that is due may take as long.
func TestTheFirstCheckpointIsLearned(t *testing.T) {
	p := newLife(t)
	p.steps(100, 1)
	p.save(40, 41)
	p.steps(20, 1)
	p.wants("the first", "stalled", "to slow", "well")
	p.steps(80, 1)
	p.save(40, 41)
	p.steps(20, 1)
	p.wants("the next")
}

// TestOneReportOfSeveralSteps: what made all of them longer in the mean may be a pause in one
// of them, until another report is long, too.
func TestOneReportOfSeveralSteps(t *testing.T) {
	p := newLife(t)
	p.tens(40, 0.4)
	var one []bool
	p.corroborates = func(j *jobs.Job, h *jobs.Degradation, _ telemetry.Time) bool {
		if h.Steps > 0 {
			one = append(one, j.OneReport(h))
		}
		return false
	}
	p.tens(1, 0.44)
	p.quiet(2)
	if len(one) == 0 || slices.Contains(one, false) {
		t.Fatalf("after one: %v", one)
	}
	p.tens(1, 0.44)
	p.quiet(2)
	h := &jobs.Degradation{Steps: 20}
	if p.b.Job(played).OneReport(h) {
		t.Error("twenty steps are two reports")
	}
}

// TestReportsThatEachHoldACheckpoint: of a job that saves as often as it reports, such a
// report is the usual one. It is judged, or nothing would be known of the job.
func TestReportsThatEachHoldACheckpoint(t *testing.T) {
	p := newLife(t)
	saved := func(n int, length float64) {
		for range n {
			p.quiet(9)
			p.event("checkpoint_started", "")
			p.quiet(1)
			p.event("checkpoint_ended", "")
			p.quiet(0.5)
			p.b.Observe(played, p.now, length, 0)
		}
	}
	saved(40, 1)
	saved(12, 1.5)
	p.wants("half as long again", "slow")
	saved(12, 1)
	p.wants("as before", "well")
}

// TestAllStepsLongerByLessThanSingleOnes: long steps now and then make a job's steps vary by
// more than what all of them are longer by later. That they all are is certain all the same.
func TestAllStepsLongerByLessThanSingleOnes(t *testing.T) {
	p := newLife(t)
	for _, x := range []struct {
		long  float64
		usual int
	}{{1.03, 0}, {1.09, 1}, {1.13, 6}, {1.23, 9}, {1.085, 7}} {
		p.tens(1, x.long)
		p.tens(x.usual, 1)
	}
	p.tens(12, 1.066)
	p.wants("a fifteenth longer", "slow")
}
