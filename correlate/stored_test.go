package correlate_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// slowStorage is a storage that two jobs read from: its answers take ten times
// as long from 100 s on, and its latency is read every 20 s only.
const slowStorage = `One storage, two jobs.

-- site --
seed 2
for 260s
fault 100s

-- edges --
job:a runs gpu:n{i=0..3}/0 rank={i}
job:b runs gpu:n{i=0..3}/1 rank={i}
job:a uses storage:lustre0
job:b uses storage:lustre0

-- load --
1s       gpu:n{0..3}/{0..1}  gpu_clock_event_reasons        4x100 (4x3 1x2)x*
1s       gpu:n{0..3}/{0..1}  gpu_engine_active_ratio        0.99~1%x100 0.6~2%x*
1s       gpu:n{0..3}/{0..1}  gpu_sm_active_ratio            0.8~1%x100 0.5~2%x*
20s      storage:lustre0     storage_read_latency_seconds   0.004~5%x6 0.04~5%x*
20s      storage:lustre0     storage_write_latency_seconds  0.006~5%x6 0.06~5%x*

-- steps --
job:a              job_step_seconds        3~1%x33 5~1%x*
job:a              job_data_wait_seconds   0.02~5%x33 2~5%x*
job:b              job_step_seconds        4~1%x26 6~1%x*
job:b              job_data_wait_seconds   0.02~5%x26 2~5%x*

-- want --
incident opened storage-slow root=storage:lustre0 degrades=job:a
`

// TestOneStorageIsOneIncident: whichever job feels it first and before its
// latency is read.
func TestOneStorageIsOneIncident(t *testing.T) {
	ids, merged := map[string]bool{}, 0
	var last explain.Incident
	for _, in := range published(t, slowStorage) {
		if ids[in.ID], last = true, in; in.MergedInto != nil {
			delete(ids, in.ID)
			merged++
		}
	}
	if merged > 1 {
		t.Errorf("the risk was merged %d times: it was opened again", merged)
	}
	if len(ids) != 1 || last.Root.Entity.String() != "storage:lustre0" || len(last.Impact.Jobs) != 2 {
		t.Errorf("%d incidents, the last at %s degrades %d jobs; want one at the storage that degrades two", len(ids), last.Root.Entity, len(last.Impact.Jobs))
	}
}

// TestOneThatIsStalledOnASlowStorageIsReportedWithTheOther: of its step nothing has
// ended yet, and the only evidence for the storage is that it may wait for input.
func TestOneThatIsStalledOnASlowStorageIsReportedWithTheOther(t *testing.T) {
	still := strings.NewReplacer(
		"job:b              job_step_seconds        4~1%x26 6~1%x*", "job:b              job_step_seconds        4~1%x25 40 6~1%x*",
		"job:b              job_data_wait_seconds   0.02~5%x26 2~5%x*", "job:b              job_data_wait_seconds   0.02~5%x25 36 2~5%x*",
	).Replace(slowStorage)
	if still == slowStorage {
		t.Fatal("the scenario has changed")
	}
	ids := map[string]bool{}
	for _, in := range published(t, still) {
		if ids[in.ID] = true; in.MergedInto != nil {
			delete(ids, in.ID)
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d incidents, want one", len(ids))
	}
}
