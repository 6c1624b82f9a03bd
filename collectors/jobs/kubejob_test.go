package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

const (
	jobsPath      = "/apis/batch/v1/jobs"
	jobSetsPath   = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
	workloadsPath = "/apis/kueue.x-k8s.io/v1beta1/workloads"
)

// happened waits until exactly these events were reported, as "entity name text".
func (e ear) happened(want ...string) {
	var got []string
	e.Until(fmt.Sprint(want), func() bool {
		got = nil
		for i := range e.Events {
			got = append(got, fmt.Sprintf("%s %s %s", e.Events[i].Entity, e.Events[i].Name, e.Events[i].Text))
		}
		return slices.Equal(got, want)
	})
}

// resource is one of a kind, with conditions that hold since a time.
func resource(name string, spec, status map[string]any, at time.Time, holds ...[3]string) map[string]any {
	var all []any
	for _, h := range holds {
		all = append(all, map[string]any{"type": h[0], "status": "True", "reason": h[1], "message": h[2], "lastTransitionTime": at.UTC().Format(time.RFC3339)})
	}
	status["conditions"] = all
	return map[string]any{"metadata": map[string]any{"name": name, "namespace": "ml", "uid": "uid-of-" + name, "resourceVersion": "9"}, "spec": spec, "status": status}
}

// attempt is a pod of a JobSet that was recreated so many times.
func attempt(n int, pod map[string]any) map[string]any {
	pod["metadata"].(map[string]any)["labels"].(map[string]string)[attemptLabel] = strconv.Itoa(n)
	return pod
}

func gpuTemplate() map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": "8"}}}}}}
}

func jobSetOf(restarts int, suspend bool, at time.Time, holds ...[3]string) map[string]any {
	return resource("llm", map[string]any{"suspend": suspend, "replicatedJobs": []any{map[string]any{"name": "workers", "template": map[string]any{"spec": map[string]any{"template": gpuTemplate()}}}}},
		map[string]any{"restarts": restarts}, at, holds...)
}

func workloadOf(at time.Time, holds ...[3]string) map[string]any {
	w := resource("jobset-llm-5f3a1", map[string]any{"queueName": "gpus"}, map[string]any{}, at, holds...)
	m := w["metadata"].(map[string]any)
	m["creationTimestamp"] = at.Add(-90 * time.Second).UTC().Format(time.RFC3339)
	m["ownerReferences"] = []any{map[string]any{"kind": "JobSet", "name": "llm", "controller": true}}
	return w
}

// TestAJobSetInAQueue: Kueue and JobSet know facts about a job that its pods do
// not: how long it waited, that it is recreated and not over, that its place was
// taken from it, that it is given up.
func TestAJobSetInAQueue(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	a := &apiServer{pods: []map[string]any{podOf("a-0", "llm", "n1", "Running", 0, "8")}, others: map[string][]map[string]any{
		jobsPath: {}, jobSetsPath: {jobSetOf(0, false, began)},
		workloadsPath: {workloadOf(began, [3]string{"QuotaReserved"}, [3]string{"Admitted", "Admitted", "the ClusterQueue all has room"})}}}
	e := a.heard(t, "")
	all := []string{"job:ml.llm job_started queue gpus, admitted after 1m30s"}
	e.happened(all...)

	a.changeOf(jobSetsPath, "MODIFIED", jobSetOf(1, false, began))
	a.change("DELETED", podOf("a-0", "llm", "n1", "Running", 0, "8"))
	all = append(all, "job:ml.llm job_failed its pods do not run")
	e.happened(all...)
	a.change("ADDED", attempt(1, podOf("b-0", "llm", "n2", "Running", 0, "8")))
	all = append(all, "job:ml.llm job_restarted restart 1")
	e.happened(all...)
	if got, want := e.runs(), []string{"job:ml.llm > node:n2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}

	a.changeOf(workloadsPath, "MODIFIED", workloadOf(time.Now(), [3]string{"Evicted", "Preempted", "to make room for a workload of higher priority"}))
	a.changeOf(jobSetsPath, "MODIFIED", jobSetOf(1, true, time.Now(), [3]string{"Suspended", "SuspendedJobs", "jobset is suspended"}))
	a.change("DELETED", attempt(1, podOf("b-0", "llm", "n2", "Running", 0, "8")))
	all = append(all, "job:ml.llm job_ended evicted by queue gpus: Preempted: to make room for a workload of higher priority")
	e.happened(all...)
	a.changeOf(workloadsPath, "MODIFIED", workloadOf(time.Now(), [3]string{"Admitted"}))
	a.changeOf(jobSetsPath, "MODIFIED", jobSetOf(1, false, time.Now()))
	a.change("ADDED", attempt(1, podOf("c-0", "llm", "n3", "Running", 0, "8")))
	all = append(all, "job:ml.llm job_restarted restart 1")
	e.happened(all...)

	a.changeOf(jobSetsPath, "MODIFIED", jobSetOf(1, false, time.Now(), [3]string{"Failed", "FailedJobs", "jobset failed due to one or more job failures"}))
	a.change("DELETED", attempt(1, podOf("c-0", "llm", "n3", "Running", 0, "8")))
	all = append(all, "job:ml.llm job_failed FailedJobs: jobset failed due to one or more job failures")
	e.happened(all...)
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if len(e.Dropped) > 0 {
		t.Errorf("dropped %v", e.Dropped)
	}
}

// TestAJobThatIsDone: the Job reports when it was done, and the pods are gone by
// then; one without GPUs is not a job here, and one of a JobSet is part of it.
func TestAJobThatIsDone(t *testing.T) {
	done := time.Now().Truncate(time.Second).Add(time.Second)
	job := func(name string, template map[string]any, holds ...[3]string) map[string]any {
		return resource(name, map[string]any{"template": template}, map[string]any{}, done, holds...)
	}
	part := job("llm-workers-0", gpuTemplate())
	part["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"name": "llm", "controller": true}}
	a := &apiServer{pods: []map[string]any{podOf("a-0", "", "n1", "Running", 0, "8")},
		others: map[string][]map[string]any{jobsPath: {job("-workers-0", gpuTemplate()), part, job("backup", map[string]any{})}}}
	e := a.heard(t, "{name}")
	e.happened("job:-workers-0 job_started ")
	<-time.After(time.Until(done.Add(100 * time.Millisecond))) // the server tells of whole seconds
	a.changeOf(jobsPath, "MODIFIED", job("-workers-0", gpuTemplate(), [3]string{"Complete", "CompletionsReached", "all pods have succeeded"}))
	a.change("DELETED", podOf("a-0", "", "n1", "Running", 0, "8"))
	e.happened("job:-workers-0 job_started ", "job:-workers-0 job_ended ")
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if at := e.Events[1].At.String(); at != done.UTC().Format(time.RFC3339) {
		t.Errorf("over at %s, want %s", at, done.UTC())
	}
}

// TestWhatMayNotBeRead: an account without permission to read workloads still
// receives pods and JobSets; what it is refused is counted once.
func TestWhatMayNotBeRead(t *testing.T) {
	a := &apiServer{denied: workloadsPath, pods: []map[string]any{attempt(2, podOf("a-0", "llm", "n1", "Running", 0, "8"))}, others: map[string][]map[string]any{
		jobSetsPath: {jobSetOf(2, false, time.Now())}, workloadsPath: {}}}
	e := a.heard(t, "")
	e.happened("job:ml.llm job_restarted restart 2")
	a.change("DELETED", podOf("a-0", "llm", "n1", "Running", 0, "8"))
	e.happened("job:ml.llm job_restarted restart 2", "job:ml.llm job_failed its pods do not run")
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if e.Dropped[collectors.Denied] != 1 || len(e.Dropped) != 1 || e.Err() != nil {
		t.Errorf("dropped %v, %v", e.Dropped, e.Err())
	}
}
