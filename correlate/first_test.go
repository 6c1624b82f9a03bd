package correlate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// firstOf plays a story and returns what its job's degradation names as first.
func firstOf(t *testing.T, text string) *explain.First {
	t.Helper()
	s, err := scenario.Parse("first", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out *explain.First
	for _, r := range s.Records() {
		e.Step(r)
		if i := slices.IndexFunc(e.incidents.cases, func(c *incidentCase) bool { return !c.well }); i >= 0 {
			c := e.incidents.cases[i]
			if j := e.sight.book.Job(c.job); j != nil && j.Degradation != nil && j.Degradation.State != jobs.Healthy {
				out = e.examiner.keepFirst(c, j.Degradation, e.sight.at)
			}
		}
	}
	return out
}

// eight are eight ranks on eight machines; each computes a second of a step of
// three, with the exceptions in but.
func eight(steps, but, events string) string {
	return fmt.Sprintf(`
-- site --
for 200s
-- edges --
job:train runs node:h{i=0..7} rank={i}
rank:train/{i=0..7} runs node:h{i}
-- load --
1s gpu:h{0..7}/0 gpu_power_watts source=dcgm 500~1%%x*
-- steps --
job:train         job_step_seconds     %s
rank:train/{0..7} rank_compute_seconds 1~1%%x*
%s
-- events --
1s job_started job:train
%s
-- want --
no incident
`, steps, but, events)
}

// TestTheRankThatWasLateFirstIsFirst: rank 3 is late from the 31st step on, and
// rank 5, by more, from the 33rd.
func TestTheRankThatWasLateFirstIsFirst(t *testing.T) {
	f := firstOf(t, eight("3~1%x30 3.6~1%x*", "but rank:train/3 rank_compute_seconds 1~1%x30 1.6~1%x*\nbut rank:train/5 rank_compute_seconds 1~1%x32 1.9~1%x*", ""))
	if f == nil || f.Entity.Name != "train/3" || f.Node.Name != "h3" || f.Suspect() != f.Node {
		t.Fatalf("got %+v", f)
	}
	if !strings.HasPrefix(f.Why, "it computed 6") && !strings.HasPrefix(f.Why, "it computed 5") {
		t.Errorf("why %q", f.Why)
	}
}

// TestWhereAllAreLateNobodyIsFirst.
func TestWhereAllAreLateNobodyIsFirst(t *testing.T) {
	if f := firstOf(t, eight("3~1%x30 3.6~1%x*", "but rank:train/{0..7} rank_compute_seconds 1~1%x30 1.6~1%x*", "")); f != nil {
		t.Errorf("got %+v", f)
	}
}

// TestTheGPUThatFailedIsFirst: a stall with an error of one of the job's GPUs a
// moment before, and one of a machine that is not its own.
func TestTheGPUThatFailedIsFirst(t *testing.T) {
	f := firstOf(t, eight("3~1%x30", "", "88s xid gpu:other/0 79, GPU has fallen off the bus\n92s xid gpu:h6/0 79, GPU has fallen off the bus\n94s xid gpu:h2/0 45, preemptive cleanup"))
	if f == nil || f.Entity != (telemetry.Entity{Kind: telemetry.GPU, Name: "h6/0"}) || f.Node.Name != "h6" || !strings.HasPrefix(f.Why, "xid 79") {
		t.Errorf("got %+v", f)
	}
}
