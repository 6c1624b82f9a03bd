package correlate_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
)

// TestAHealthyJobIsNotItsLastStep: every 20th step writes a checkpoint of 6 s. At
// no moment is the job, which is healthy throughout, called three times as slow.
func TestAHealthyJobIsNotItsLastStep(t *testing.T) {
	long := 0
	_, incidents := played(t, seen(600, "(3x19 9)x*", ""), func(e *correlate.Engine) {
		for _, j := range e.Jobs() {
			if j.State != "healthy" || j.Slowdown == nil {
				continue
			}
			if j.Step != nil && *j.Step > 8 {
				long++
			}
			if math.Abs(*j.Slowdown-1) > 0.1 {
				t.Fatalf("slowdown %.2f while the last step took %.1f s of usually %.1f", *j.Slowdown, *j.Step, *j.Usual)
			}
		}
	})
	if len(incidents) > 0 || long == 0 {
		t.Errorf("%d incidents; the last step was a long one at %d ticks", len(incidents), long)
	}
}

// TestAStepWithACheckpointIsMarked: the checkpoint of 6 s in one step was reported, an equally long
// step later has none.
func TestAStepWithACheckpointIsMarked(t *testing.T) {
	marked := map[bool]int{}
	played(t, seen(300, "3x29 9 3x29 9 3x*", "91s checkpoint_started job:train\n96s checkpoint_ended job:train\n"), func(e *correlate.Engine) {
		for _, j := range e.Jobs() {
			if j.Step == nil || *j.Step < 8 {
				continue
			}
			if marked[j.Saved]++; !j.Recent[len(j.Recent)-1].Saved != !j.Saved {
				t.Fatalf("its last step is marked %v, the job %v", j.Recent[len(j.Recent)-1].Saved, j.Saved)
			}
		}
	})
	if marked[true] == 0 || marked[false] == 0 {
		t.Errorf("a long step was marked at %d ticks, and not at %d", marked[true], marked[false])
	}
}
