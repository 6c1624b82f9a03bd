package correlate_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// hosts4 are four hosts, of which each has a GPU and a NIC that sends nothing but
// keep-alives: what its job exchanges stays inside one scale-up domain.
const hosts4 = `A job that does not use the network.

-- site --
seed 4
for 900s
fault 400s

-- edges --
nic:h{i=0..3}/nic0 connects port:tor/p{i} speed_bits_per_second=400e9
job:a runs gpu:h{i=0..3}/0 rank={i}

-- load --
5s nic:h{0..3}/nic0 port_{tx,rx}_bytes_total 0 +1e5~5%x*
5s gpu:h{0..3}/0 gpu_engine_active_ratio 0.99~0.5%x*
`

// slower returns the one incident of job a that a scenario publishes, and reports an error
// where its slowdown is not about so much.
func slower(t *testing.T, scenario string, want float64) *explain.Incident {
	t.Helper()
	for _, in := range latest(published(t, scenario+"\n-- want --\nincident opened * degrades=job:a\n")) {
		s := in.Impact.Jobs[0].Slowdown
		if s == nil {
			t.Fatal("no slowdown is known")
		}
		if *s < 0.92*want || *s > 1.08*want {
			t.Errorf("slowdown %.2f, want %.2f", *s, want)
		}
		return &in
	}
	t.Fatal("no incident is published")
	return nil
}

// compared reports whether an incident states what was compared in place of steps.
func compared(in *explain.Incident, what string) bool {
	for _, b := range in.BlindSpots {
		if b.Metric == "job_step_seconds" && strings.Contains(b.Reason, what) {
			return true
		}
	}
	return false
}

// TestAJobThatStatesARateIsWatched: it states no steps, but tokens a second, or how well it
// uses its GPUs, which fall by three tenths. Another job's steps show when it does.
func TestAJobThatStatesARateIsWatched(t *testing.T) {
	for rate, words := range map[string]string{"job_tokens_per_second of=job:clock 60000~1%x100 42000~1%x*": "tokens", "job_mfu_ratio of=job:clock 0.4~1%x100 0.28~1%x*": "uses its GPUs"} {
		if in := slower(t, hosts4+"-- steps --\njob:clock job_step_seconds 4x225\njob:a "+rate, 1/0.7); !compared(in, words) {
			t.Errorf("%s: %+v", rate, in.BlindSpots)
		}
	}
}

// TestAJobThatUsesNoNetworkIsWatched: it states nothing, and its tensor cores do less than
// before, because half of the time its GPUs wait.
func TestAJobThatUsesNoNetworkIsWatched(t *testing.T) {
	in := slower(t, hosts4+`5s gpu:h{0..3}/0 gpu_tensor_active_ratio 0.5~2%x80 0.33~2%x*
5s gpu:h{0..3}/0 gpu_sm_clock_hertz 1.9e9~0.2%x*`, 1/0.66)
	if !compared(in, "GPUs take to do as much") {
		t.Errorf("%+v", in.BlindSpots)
	}
}

// TestKeepAlivesAreNoWork: after 400 s no step ends, and tensor cores rest. What the NICs
// send all the time shows nothing of it.
func TestKeepAlivesAreNoWork(t *testing.T) {
	for _, in := range latest(published(t, hosts4+`5s gpu:h{0..3}/0 gpu_tensor_active_ratio 0.5~2%x80 0x*
-- steps --
job:a job_step_seconds 3~0.5%x133
-- want --
incident opened * degrades=job:a
`)) {
		if state := in.Impact.Jobs[0].State; state != "stalled" {
			t.Errorf("it is %s, want stalled", state)
		}
		return
	}
	t.Error("no incident is published")
}
