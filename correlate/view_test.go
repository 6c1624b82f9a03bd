package correlate_test

import (
	"math"
	"strings"
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

// TestAStepWithACheckpointIsMarked: a checkpoint is reported in one of two long steps, and one that
// costs nothing in a step between them.
func TestAStepWithACheckpointIsMarked(t *testing.T) {
	scene := strings.Replace(seen(300, "3x29 9 3x29 9 3x*", ""), "job:train          job_checkpoint_seconds      0.15x*\n", "", 1) + `
-- events --
91s checkpoint_started job:train
96s checkpoint_ended job:train
150s checkpoint_started job:train
151s checkpoint_ended job:train
`
	marked := map[float64]bool{}
	played(t, scene, func(e *correlate.Engine) {
		for _, j := range e.Jobs() {
			for _, s := range j.Recent {
				if s.Saved {
					marked[s.Seconds] = true
				}
			}
			if j.Step != nil && j.Saved != j.Recent[len(j.Recent)-1].Saved {
				t.Fatalf("its last step of %.1f s is marked %v, the job %v", *j.Step, !j.Saved, j.Saved)
			}
			if n := len(j.Recent); n > 60 && j.Recent[59].Saved {
				t.Fatal("a long step without a checkpoint is marked")
			}
		}
	})
	if len(marked) != 1 || !marked[9] {
		t.Errorf("steps of %v s are marked, want one of 9 s", marked)
	}
}
