package correlate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/telemetry"
)

// seen is a job of four ranks on two of three nodes with two GPUs each, whose
// every part is stated: of a step of 3 s, 0.15 s checkpoint, 0.15 s input,
// 0.3 s waiting, 0.6 s transfer, 1.8 s computing, at an MFU of 0.3. Clocks are at
// nine tenths of the top by the power cap, tensor pipes busy for 30 % of the
// time, memory for 40 %. steps are those of the job.
func seen(seconds int, steps, more string) string {
	return fmt.Sprintf(`A job whose every part is stated.

-- site --
seed 3
for %ds

-- edges --
job:train runs node:h{i=0..1}
rank:train/{i=0..3} runs gpu:h{i/2}/{i%%2} rank={i}

-- load --
1s gpu:h{0..2}/{0..1} gpu_tensor_active_ratio             0.3x*
1s gpu:h{0..2}/{0..1} gpu_dram_active_ratio               0.4x*
1s gpu:h{0..2}/{0..1} gpu_sm_clock_hertz                  2000e6x30 1800e6x*
1s gpu:h{0..2}/{0..1} gpu_throttle_power_seconds_total    0x30 +1x*
1s gpu:h{0..2}/{0..1} gpu_throttle_thermal_seconds_total  0x*
1s gpu:h{0..2}/{0..1} gpu_throttle_brake_seconds_total    0x*

-- steps --
job:train          job_step_seconds            %s
job:train          job_mfu_ratio               0.3x*
job:train          job_data_wait_seconds       0.15x*
job:train          job_checkpoint_seconds      0.15x*
rank:train/{0..3}  rank_compute_seconds        1.8x*
rank:train/{0..3}  rank_comm_wait_seconds      0.3x*
rank:train/{0..3}  rank_comm_transfer_seconds  0.6x*
%s
-- want --
no incident degrades=job:other
others allowed
`, seconds, steps, more)
}

func budgetsOf(t *testing.T, e *correlate.Engine, length telemetry.Duration) attribute.Budgets {
	t.Helper()
	all, err := e.Budgets(length, telemetry.Entity{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shares are a budget's parts by name; what is not observed is not there.
func shares(t *testing.T, b *attribute.Budget) map[string]float64 {
	t.Helper()
	out := map[string]float64{"unexplained": b.Unexplained.Share}
	sum := b.Unexplained.GPUSeconds
	for _, p := range b.Parts {
		if p.Share != nil {
			out[p.Part] = *p.Share
			sum += *p.GPUSeconds
		}
	}
	if b.Achieved != nil {
		out["achieved"] = b.Achieved.Share
		sum += b.Achieved.GPUSeconds
	}
	near(t, "the sum of all parts", sum, b.Whole)
	return out
}

// TestTheBudgetOfAJobByItsSeries: the whole way from series to shares.
func TestTheBudgetOfAJobByItsSeries(t *testing.T) {
	e, _ := played(t, seen(900, "3x*", ""), nil)
	all := budgetsOf(t, e, 10*60e9) // of the last ten minutes and what their first cell holds
	if len(all.Jobs) != 1 {
		t.Fatalf("%d jobs", len(all.Jobs))
	}
	b := &all.Jobs[0]
	got := shares(t, b)
	for part, want := range map[string]float64{"restarts": 0, "checkpoint": 0.05, "input": 0.05, "heat": 0, "power": 0, "stragglers": 0.1, "communication": 0.2,
		"clock": 0.06, "memory": 0.2, "compute": 0.04, "achieved": 0.3, "unexplained": 0} {
		if x, ok := got[part]; !ok || math.Abs(x-want) > 0.01 {
			t.Errorf("%s: %v of the whole, want %v", part, x, want)
		}
	}
	if b.MFU.PaLM == nil || math.Abs(*b.MFU.PaLM-0.3) > 0.01 || b.MFU.Basis != attribute.AsReported || math.Abs(*b.Step-3) > 0.01 {
		t.Errorf("MFU %+v, step %v", b.MFU, *b.Step)
	}
	// A third of the GPUs has no job.
	fleet := shares(t, &all.Fleet)
	if math.Abs(fleet["idle"]-1.0/3) > 0.05 || math.Abs(fleet["achieved"]-0.2) > 0.02 {
		t.Errorf("fleet: %v", fleet)
	}
	scores, err := e.Bottlenecks(10 * 60e9)
	if err != nil {
		t.Fatal(err)
	}
	s := scores.Jobs[0].Scores
	for what, c := range map[string]struct {
		got  *float64
		want float64
	}{"low MFU": {s.LowMFU, 4}, "memory wall": {s.MemoryWall, 20}, "communication": {s.Communication, 20}, "density cap": {s.DensityCap, 6}, "thermal": {s.Thermal, 0}, "redundant": {s.Redundant, 0}} {
		if c.got == nil || math.Abs(*c.got-c.want) > 1 {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// TestTimeWithoutSteps: between two steps the job fails and comes back 120 s
// later; all of it is lost, and what is done again.
func TestTimeWithoutSteps(t *testing.T) {
	more := `
-- events --
301s job_failed job:train
400s job_restarted job:train
`
	e, _ := played(t, seen(600, "3x100 _x40 3x*", more), nil)
	all := budgetsOf(t, e, 24*hour)
	b := &all.Jobs[0]
	shares(t, b)
	for _, p := range b.Parts {
		if want := 4 * (120 + e.Jobs()[0].Redone); p.Part == "restarts" && math.Abs(*p.GPUSeconds-want) > 2*4 {
			t.Errorf("%v GPU-seconds without steps or in steps made again, want %v", *p.GPUSeconds, want)
		}
	}
}

// TestAStallThatEndsWithAStepWasALongStep, three times: nothing was restarted.
func TestAStallThatEndsWithAStepWasALongStep(t *testing.T) {
	// Its arithmetic is that of any other step.
	text := strings.Replace(seen(600, "3x100 60x3 3x*", ""), "job_mfu_ratio               0.3x*", "job_mfu_ratio 0.3x100 0.015x3 0.3x*", 1)
	e, _ := played(t, text, nil)
	b := budgetsOf(t, e, 24*hour).Jobs[0]
	shares(t, &b)
	if x := *b.Parts[attribute.Restarts].GPUSeconds / 4; x > 1 {
		t.Errorf("%v s without steps", x)
	}
	if x, want := *b.Parts[attribute.Stragglers].GPUSeconds/4, 3*57+0.1*(600-3*57); math.Abs(x-want) > 5 {
		t.Errorf("%v s of waiting, want %v", x, want)
	}
}

// TestWhatAFailureLostIsDoneAgain: the last reported checkpoint is a hundred
// seconds older than the failure, and half of that work is repeated by now.
func TestWhatAFailureLostIsDoneAgain(t *testing.T) {
	story := func(seconds int) float64 {
		more := `
-- events --
200s checkpoint_ended job:train
300s job_failed job:train
330s job_restarted job:train
`
		text := strings.Replace(seen(seconds, "3x100 _x10 3x*", more), "job:train          job_checkpoint_seconds      0.15x*\n", "", 1)
		e, _ := played(t, text, nil)
		b := budgetsOf(t, e, 24*hour).Jobs[0]
		shares(t, &b)
		return *b.Parts[attribute.Restarts].GPUSeconds / 4
	}
	if x := story(382); math.Abs(x-30-50) > 12 {
		t.Errorf("%v s lost when 50 s are done again, want 80", x)
	}
	if x := story(500); math.Abs(x-30-100) > 6 {
		t.Errorf("%v s lost when all is done again, want 130", x)
	}
}

// TestPausesThatAreReported: a checkpoint of 15 s between two steps, reported by its
// events alone, and an evaluation of 30 s.
func TestPausesThatAreReported(t *testing.T) {
	more := `
-- events --
150s checkpoint_started job:train
165s checkpoint_ended   job:train
315s phase              job:train eval
345s phase              job:train train
`
	text := strings.Replace(seen(500, "3x50 _x5 3x50 _x10 3x*", more), "job:train          job_checkpoint_seconds      0.15x*\n", "", 1)
	e, _ := played(t, text, nil)
	b := budgetsOf(t, e, 24*hour).Jobs[0]
	shares(t, &b)
	for p, want := range map[attribute.Part]float64{attribute.Restarts: 0, attribute.Checkpoint: 15} {
		if x := b.Parts[p].GPUSeconds; x == nil || math.Abs(*x/4-want) > 2 {
			t.Errorf("%v: %v, want %v s", p, *x/4, want)
		}
	}
	// The evaluation, and 5 % of the steps that no checkpoint takes here.
	if x, want := b.Unexplained.GPUSeconds/4, 30+0.05*450; math.Abs(x-want) > 6 {
		t.Errorf("%v s unexplained, want %v", x, want)
	}
}

// TestALongerStepIsComparedWithTheHealthyPast: from some step on, steps are 5 s for
// an unknown reason; two of those seconds are stragglers'.
func TestALongerStepIsComparedWithTheHealthyPast(t *testing.T) {
	text := strings.Replace(seen(1000, "3x100 5x*", ""), "job_mfu_ratio               0.3x*", "job_mfu_ratio               0.3x100 0.18x*", 1)
	e, _ := played(t, text, nil)
	all := budgetsOf(t, e, 6*60e9) // from 600 s on
	b := &all.Jobs[0]
	got := shares(t, b)
	if math.Abs(*b.Step-5) > 0.3 || math.Abs(*b.Expected-3) > 0.1 {
		t.Errorf("step %v, expected %v", *b.Step, *b.Expected)
	}
	if want := 0.4 + 0.6*0.1; math.Abs(got["stragglers"]-want) > 0.03 {
		t.Errorf("stragglers %v, want %v: %v", got["stragglers"], want, got)
	}
	if len(b.Incidents) == 0 || b.Incidents[0].Domain != nil {
		t.Errorf("incidents: %+v", b.Incidents)
	}
}

// TestAModelThatIsStated: the reported figure is converted, and kept beside it.
func TestAModelThatIsStated(t *testing.T) {
	more := `
-- events --
10s job_model job:train flops_convention=6n precision=bf16 peak_flops=989e12 active_params=1e9 layers=10 heads=10 head_dim=100 sequence=5000
11s job_model job:train depth=3
`
	e, _ := played(t, seen(400, "3x*", more), nil)
	b := budgetsOf(t, e, 24*hour).Jobs[0]
	// 6e9 FLOPs a token by parameters, 12 × 5e7 = 6e8 more by attention.
	if b.MFU.PaLM == nil || math.Abs(*b.MFU.PaLM-0.33) > 0.005 || math.Abs(*b.MFU.Reported-0.3) > 0.005 || b.MFU.Basis != attribute.FromReported || b.MFU.Convention != "6n" || *b.MFU.Peak != 989e12 {
		t.Errorf("%+v", b.MFU)
	}
}

// TestNonsenseInTheSeriesIsNoBudget: numbers beyond all measure are passed over.
func TestNonsenseInTheSeriesIsNoBudget(t *testing.T) {
	text := seen(300, "3x*", "")
	for _, series := range []string{"0.3x*", "0.4x*", "0.15x*", "1.8x*", "0.6x*", "2000e6x30 1800e6x*"} {
		text = strings.ReplaceAll(text, " "+series, " 9e15x*")
	}
	e, _ := played(t, text, nil)
	all := budgetsOf(t, e, 24*hour)
	b := all.Jobs[0]
	for part, x := range shares(t, &b) {
		if !(x >= 0 && x <= 1) {
			t.Errorf("%s: %v of the whole", part, x)
		}
	}
	if b.MFU.PaLM != nil || b.MFU.Reported != nil {
		t.Errorf("a utilisation of 9e15: %+v", b.MFU)
	}
	if _, err := json.Marshal(all); err != nil {
		t.Error(err)
	}
}

// TestMaintenanceDrains: the third node goes out of service.
func TestMaintenanceDrains(t *testing.T) {
	more := `
-- events --
300s maintenance_started node:h2
`
	e, _ := played(t, seen(600, "3x*", more), nil)
	fleet := budgetsOf(t, e, 24*hour).Fleet
	got := shares(t, &fleet)
	if math.Abs(got["drained"]-1.0/6) > 0.05 || math.Abs(got["idle"]-1.0/6) > 0.05 {
		t.Errorf("drained %v, idle %v", got["drained"], got["idle"])
	}
}

// TestBudgetsCountNoGPUAsIdleThatHasAJob: who places jobs reports later than the
// nodes do, and another job takes the last node between two counts.
func TestBudgetsCountNoGPUAsIdleThatHasAJob(t *testing.T) {
	story := strings.NewReplacer(
		"job:train runs node:h{i=0..1}", "job:train runs node:h{i=0..1} from=20s\njob:next runs node:h2 from=50s",
		"rank={i}", "rank={i} from=20s").Replace(seen(400, "3x*", ""))
	e, _ := played(t, story, nil)
	all := budgetsOf(t, e, 10*60e9)
	if got := shares(t, &all.Fleet)["idle"] * all.Fleet.Whole; math.Abs(got-2*30) > 4 {
		t.Errorf("%v GPU-seconds without a job, want those of two GPUs from 20 s to 50 s", got)
	}
}
