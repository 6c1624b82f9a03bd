package jobs_test

import "testing"

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
