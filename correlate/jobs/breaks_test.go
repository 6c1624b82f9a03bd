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
