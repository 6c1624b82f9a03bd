package correlate_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// seldomReported is a job whose steps take 70 s, of which the one that begins at 980 s
// is the first that takes longer: a GPU lowers its clock. Two such steps later the
// window no longer holds the clock before.
const seldomReported = `Long steps; a GPU lowers its clock.
-- site --
for 1400s
-- edges --
job:train runs gpu:n{i=0..3}/0 rank={i}
job:train runs gpu:n{i=0..3}/1 rank={i+4}
-- load --
1s gpu:n{0..3}/{0..1} gpu_sm_clock_hertz 1.9e9~1%x*
1s gpu:n{0..3}/{0..1} gpu_engine_active_ratio 0.99~1%x*
1s gpu:n{0..3}/{0..1} gpu_clock_event_reasons 0x*
1s gpu:n{0..3}/{0..1} gpu_power_watts 600~1%x*
but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x980 1.7e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x980 450~1%x*
-- steps --
job:train job_step_seconds 70~2%x14 75~2%x*
-- want --
no incident
`

func TestWhatWasBeforeALateKnownHurtIsKept(t *testing.T) {
	_, all := play(t, seldomReported)
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

// relapsed is a job that a GPU slows twice, 24 s apart: what was before the second time
// is the first one.
const relapsed = `A GPU lowers its clock, is well for some seconds, and lowers it again.
-- site --
for 700s
-- edges --
job:train runs gpu:n{i=0..3}/0 rank={i}
job:train runs gpu:n{i=0..3}/1 rank={i+4}
-- load --
1s gpu:n{0..3}/{0..1} gpu_sm_clock_hertz 1.9e9~1%x*
1s gpu:n{0..3}/{0..1} gpu_engine_active_ratio 0.99~1%x*
1s gpu:n{0..3}/{0..1} gpu_clock_event_reasons 0x*
1s gpu:n{0..3}/{0..1} gpu_power_watts 600~1%x*
but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x300 1.6e9~1%x140 1.9e9~1%x40 1.6e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x300 420~1%x140 600~1%x40 420~1%x*
-- steps --
job:train job_step_seconds 3~1%x100 3.5~1%x40 3~1%x13 3.5~1%x*
-- want --
no incident
`

func TestARelapseIsNotComparedWithTheTroubleBefore(t *testing.T) {
	_, all := play(t, relapsed)
	last := all[len(all)-1]
	if last.Onset.Earliest < all[0].Onset.Latest.Add(60e9) || last.Root.Entity.String() != "gpu:n1/0" {
		t.Fatalf("no relapse is named: %s", last.Title)
	}
	if !strings.Contains(last.Title, "runs at 85 % of its clock") {
		t.Errorf("before the relapse it is said to have run otherwise than before the first time: %s", last.Title)
	}
}

// threeFaults are of one host within ten minutes, each of another GPU than the one
// before, and the last costs least.
const threeFaults = `GPUs of one host lower their clocks in turn.
-- site --
for 900s
-- edges --
job:train runs gpu:n{i=0..3}/0 rank={i}
job:train runs gpu:n{i=0..3}/1 rank={i+4}
-- load --
1s gpu:n{0..3}/{0..1} gpu_sm_clock_hertz 1.9e9~1%x*
1s gpu:n{0..3}/{0..1} gpu_engine_active_ratio 0.99~1%x*
1s gpu:n{0..3}/{0..1} gpu_clock_event_reasons 0x*
1s gpu:n{0..3}/{0..1} gpu_power_watts 600~1%x*
but 1s gpu:n1/0 gpu_sm_clock_hertz 1.9e9~1%x300 1.2e9~1%x120 1.9e9~1%x360 1.6e9~1%x*
but 1s gpu:n1/0 gpu_power_watts 600~1%x300 300~1%x120 600~1%x360 450~1%x*
but 1s gpu:n1/1 gpu_sm_clock_hertz 1.9e9~1%x540 1.2e9~1%x120 1.9e9~1%x*
but 1s gpu:n1/1 gpu_power_watts 600~1%x540 300~1%x120 600~1%x*
-- steps --
job:train job_step_seconds 3~1%x100 4~1%x30 3~1%x40 4~1%x30 3~1%x40 3.4~1%x*
-- want --
no incident
`

func TestFaultsThatWereExplainedAreNotHowAJobVaries(t *testing.T) {
	_, all := play(t, threeFaults)
	last := all[len(all)-1]
	if last.Onset.Latest.Sub(all[0].Onset.Earliest) < 450e9 || last.Root.Entity.String() != "gpu:n1/0" || last.State != explain.StateOpen {
		t.Errorf("the third fault is not told: %s", last.Title)
	}
}
