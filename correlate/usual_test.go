package correlate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// slowedGPUs is a scenario of so many seconds: a job on eight GPUs of four hosts, with
// what some of the GPUs do otherwise and the lengths of the job's steps.
func slowedGPUs(seconds int, otherwise, steps string) string {
	return fmt.Sprintf(`GPUs lower their clocks.
-- site --
for %ds
-- edges --
job:train runs gpu:n{i=0..3}/0 rank={i}
job:train runs gpu:n{i=0..3}/1 rank={i+4}
-- load --
1s gpu:n{0..3}/{0..1} gpu_sm_clock_hertz 1.9e9~1%%x*
1s gpu:n{0..3}/{0..1} gpu_engine_active_ratio 0.99~1%%x*
1s gpu:n{0..3}/{0..1} gpu_clock_event_reasons 0x*
1s gpu:n{0..3}/{0..1} gpu_power_watts 600~1%%x*
%s
-- steps --
job:train job_step_seconds %s
-- want --
no incident
`, seconds, otherwise, steps)
}

// TestWhatWasBeforeALateKnownDegradationIsKept: a job takes steps of 70 s, of which the one
// that begins at 980 s is the first that takes longer, because a GPU lowers its clock.
// Two such steps later the window no longer holds the clock before.
func TestWhatWasBeforeALateKnownDegradationIsKept(t *testing.T) {
	_, all := play(t, slowedGPUs(1400, `but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x980 1.7e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x980 450~1%x*`, "70~2%x14 75~2%x*"))
	if len(all) == 0 {
		t.Fatal("no incident is published")
	}
	last := all[len(all)-1]
	if late := last.Opened.Sub(last.Onset.Earliest); late < 190e9 {
		t.Fatalf("known %v after its onset: the window still holds what was before", late)
	}
	if last.Root.Entity.String() != "gpu:n1/0" || !strings.Contains(last.Title, "clock") {
		t.Errorf("%s at %s: %s", last.Root.Signature, last.Root.Entity, last.Title)
	}
}

// TestARelapseIsNotComparedWithTheTroubleBefore: a GPU slows its job twice, 40 s apart.
func TestARelapseIsNotComparedWithTheTroubleBefore(t *testing.T) {
	_, all := play(t, slowedGPUs(700, `but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x300 1.6e9~1%x140 1.9e9~1%x40 1.6e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x300 420~1%x140 600~1%x40 420~1%x*`, "3~1%x100 3.5~1%x40 3~1%x13 3.5~1%x*"))
	last := all[len(all)-1]
	if last.Onset.Earliest < all[0].Onset.Latest.Add(60e9) || last.Root.Entity.String() != "gpu:n1/0" {
		t.Fatalf("no relapse is named: %s", last.Title)
	}
	if !strings.Contains(last.Title, "runs at 85 % of its clock") {
		t.Errorf("before the relapse it is said to have run otherwise than before the first time: %s", last.Title)
	}
}

// TestFaultsThatWereExplainedAreNotHowAJobVaries: three faults of one host within ten
// minutes, each of another GPU than the one before, and the last costs least.
func TestFaultsThatWereExplainedAreNotHowAJobVaries(t *testing.T) {
	_, all := play(t, slowedGPUs(900, `but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x300 1.2e9~1%x120 1.9e9~1%x360 1.6e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x300 300~1%x120 600~1%x360 450~1%x*
but 1s gpu:n1/1 gpu_sm_clock_hertz 1.9e9~1%x540 1.2e9~1%x120 1.9e9~1%x*
but 1s gpu:n1/1 gpu_power_watts 600~1%x540 300~1%x120 600~1%x*`, "3~1%x100 4~1%x30 3~1%x40 4~1%x30 3~1%x40 3.4~1%x*"))
	last := all[len(all)-1]
	if last.Onset.Latest.Sub(all[0].Onset.Earliest) < 450e9 || last.Root.Entity.String() != "gpu:n1/0" || last.State != explain.StateOpen {
		t.Errorf("the third fault is not reported: %s", last.Title)
	}
}

// TestWhatIsAtRiskIsComparedWithWhatItWasBefore: a GPU gets hot and lowers its clock, and for
// two minutes its job takes no longer: what is just before its first slow step is no
// baseline of that GPU.
func TestWhatIsAtRiskIsComparedWithWhatItWasBefore(t *testing.T) {
	oneHost := strings.NewReplacer("gpu:n{i=0..3}/0", "gpu:n0/{i=0..3}", "gpu:n{i=0..3}/1 rank={i+4}", "gpu:n0/{i=4..7} rank={i}", "gpu:n{0..3}/{0..1}", "gpu:n0/{0..7}")
	_, all := play(t, oneHost.Replace(slowedGPUs(700, `1s gpu:n{0..3}/{0..1} gpu_temperature_celsius 60~1x*
but 1s gpu:n0/2 gpu_temperature_celsius 60~1x300 66 71 76 80 83 86 87~1x*
but 1s gpu:n0/2 gpu_clock_event_reasons 0x305 32x*
but 1s gpu:n0/2 gpu_sm_clock_hertz 1.9e9~1%x305 1.7e9~1%x*`, "3~1%x150 3.3~1%x*")))
	if len(all) < 2 || all[0].Kind != explain.KindRisk || all[0].Root.Entity.String() != "gpu:n0/2" {
		t.Fatalf("no risk was reported: %d revisions", len(all))
	}
	last := all[len(all)-1]
	if last.Onset.Earliest.Sub(all[0].Onset.Latest) < 60e9 {
		t.Fatalf("the job is said to be slow since the risk began: %v", last.Onset)
	}
	if last.Root.Entity.String() != "gpu:n0/2" || last.Root.Signature != "cold-plate" || last.ID != all[0].ID {
		t.Errorf("%s at %s: %s", last.Root.Signature, last.Root.Entity, last.Title)
	}
}
