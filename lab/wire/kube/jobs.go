package kube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// queue is the one of Kueue's that a site's jobs wait in; there is room in it.
const queue = "gpus"

// job is a JobSet, admitted by Kueue, of one Job that has a pod on each of its
// nodes.
type job struct {
	name     string
	attempt  int // how often it was made anew
	set      *jobSet
	workload *workload
	job      *batchJob
	pods     []*pod
}

// owner is what a Job and a JobSet have in common.
type owner struct {
	resource
	labels     map[string]string
	pods, gpus int // and GPUs of a pod
	conditions []any
}

// template is what its pods are made from.
func (o *owner) template() object {
	limits := object{"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": strconv.Itoa(o.gpus)}
	return object{"metadata": object{"labels": o.labels}, "spec": object{"restartPolicy": "Never", "containers": containers(limits)}}
}

// batchJob is a Job.
type batchJob struct{ owner }

func (j *batchJob) object() object {
	return j.whole(j.labels, object{"spec": object{"parallelism": j.pods, "completions": j.pods, "completionMode": "Indexed", "backoffLimit": 0, "suspend": false, "template": j.template()},
		"status": object{"startTime": stamp(j.created), "conditions": j.conditions}})
}

// jobSet is a JobSet.
type jobSet struct {
	owner
	restarts int
}

func (j *jobSet) object() object {
	part := object{"spec": object{"parallelism": j.pods, "completions": j.pods, "completionMode": "Indexed", "backoffLimit": 0, "template": j.template()}}
	return j.whole(j.labels, object{"spec": object{"suspend": false, "failurePolicy": object{"maxRestarts": 100}, "replicatedJobs": []any{object{"name": "workers", "replicas": 1, "template": part}}},
		"status": object{"restarts": j.restarts, "conditions": j.conditions}})
}

// workload is a JobSet in its queue.
type workload struct {
	resource
	pods       int
	conditions []any
}

func (w *workload) object() object {
	return w.whole(nil, object{"spec": object{"queueName": queue, "active": true, "podSets": []any{object{"name": "workers", "count": w.pods}}},
		"status": object{"admission": object{"clusterQueue": "all", "podSetAssignments": []any{object{"name": "workers", "count": w.pods}}}, "conditions": w.conditions}})
}

// made is a resource of a site's job.
func made(of *kind, name string, at telemetry.Time, owner *resource) resource {
	return resource{of: of, name: name, namespace: namespace, created: at, owner: owner}
}

// advance takes note of what has happened.
func (f *Fleet) advance() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.board.Entities(telemetry.Job) {
		if f.jobs[x] == nil && (f.cfg.Runs == nil || f.cfg.Runs(x)) {
			f.jobs[x] = &job{name: x.Name}
			f.start(f.jobs[x], x, f.began(x))
		}
	}
	events, next := f.board.Events(f.next)
	f.next = next
	for i := range events {
		e := &events[i]
		j := f.jobs[e.Entity]
		if j == nil {
			continue
		}
		switch e.Name {
		case telemetry.EventJobFailed:
			f.end(j, e.At, "Failed", 1, "Error")
			f.concludeJob(j, condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", e.At))
		case telemetry.EventJobRestarted:
			f.remove(j)
			j.attempt++
			f.start(j, e.Entity, e.At)
		case telemetry.EventJobEnded:
			f.end(j, e.At, "Succeeded", 0, "Completed")
			f.concludeJob(j, condition("Complete", "CompletionsReached", "Reached expected number of succeeded pods", e.At))
			f.conclude(j, e.At)
		case telemetry.EventJobStarted:
			if len(j.pods) > 0 && j.pods[0].phase != "Running" {
				f.remove(j)
				f.start(j, e.Entity, e.At)
			}
		}
	}
}

// began is when a job started that runs already.
func (f *Fleet) began(x telemetry.Entity) telemetry.Time {
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From == x && e.Start > 0 {
			return e.Start
		}
	}
	return max(1, f.board.Now())
}

// start makes a job's JobSet if there is none, or notes that it is made again, and
// makes its Job and a pod on every node.
func (f *Fleet) start(j *job, x telemetry.Entity, at telemetry.Time) {
	gpus := map[string]int{}
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From == x && e.End == 0 && e.To.Kind == telemetry.GPU {
			gpus[e.To.Prefix()]++
		}
	}
	nodes := slices.Sorted(maps.Keys(gpus))
	if len(nodes) == 0 {
		return // nobody knows where
	}
	f.admit(j, at, len(nodes), gpus[nodes[0]])
	labels := map[string]string{"jobset.sigs.k8s.io/jobset-name": j.name, "jobset.sigs.k8s.io/replicatedjob-name": "workers",
		"jobset.sigs.k8s.io/restart-attempt": strconv.Itoa(j.attempt)}
	j.job = &batchJob{owner{resource: made(&f.kinds.job, j.name+"-workers-0", at, j.set.head()), labels: labels, pods: len(nodes), gpus: gpus[nodes[0]]}}
	f.notify("ADDED", j.job)
	for i, node := range nodes {
		own := maps.Clone(labels)
		own["batch.kubernetes.io/job-name"], own["batch.kubernetes.io/job-completion-index"], own["kueue.x-k8s.io/queue-name"] = j.job.name, strconv.Itoa(i), queue
		p := &pod{resource: made(&f.kinds.pod, fmt.Sprintf("%s-%d-%s", j.job.name, i, suffix(j.attempt)), at, j.job.head()), node: node, gpus: gpus[node], phase: "Running", labels: own}
		f.notify("ADDED", p)
		j.pods = append(j.pods, p)
	}
}

// admit makes a job's JobSet, which its queue has room for, or states how often
// it was made again.
func (f *Fleet) admit(j *job, at telemetry.Time, pods, gpus int) {
	if j.set != nil {
		again := *j.set
		again.restarts, again.conditions = j.attempt, nil
		f.notify("MODIFIED", &again)
		j.set = &again
		return
	}
	j.set = &jobSet{owner: owner{resource: made(&f.kinds.jobSet, j.name, at, nil), labels: map[string]string{"kueue.x-k8s.io/queue-name": queue}, pods: pods, gpus: gpus}, restarts: j.attempt}
	f.notify("ADDED", j.set)
	j.workload = &workload{resource: made(&f.kinds.workload, "jobset-"+j.name+"-"+suffix(0), at, j.set.head()), pods: pods,
		conditions: []any{condition("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue all", at), condition("Admitted", "Admitted", "The workload is admitted", at)}}
	f.notify("ADDED", j.workload)
}

// end lets every pod of a job end.
func (f *Fleet) end(j *job, at telemetry.Time, phase string, code int, why string) {
	for i, p := range j.pods {
		over := *p
		over.phase, over.ended, over.code, over.why = phase, at, code, why
		f.notify("MODIFIED", &over)
		j.pods[i] = &over
	}
}

// concludeJob notes how a job's Job ended.
func (f *Fleet) concludeJob(j *job, how object) {
	if j.job == nil {
		return
	}
	over := *j.job
	over.conditions = []any{how}
	f.notify("MODIFIED", &over)
	j.job = &over
}

// conclude notes that a job is done.
func (f *Fleet) conclude(j *job, at telemetry.Time) {
	if j.set == nil {
		return
	}
	set, w := *j.set, *j.workload
	set.conditions = []any{condition("Completed", "AllJobsCompleted", "jobset completed successfully", at)}
	w.conditions = append(slices.Clone(w.conditions), condition("Finished", "Succeeded", "jobset completed successfully", at))
	f.notify("MODIFIED", &set)
	f.notify("MODIFIED", &w)
	j.set, j.workload = &set, &w
}

// remove takes a job's pods away, and its Job.
func (f *Fleet) remove(j *job) {
	for _, p := range j.pods {
		gone := *p
		f.notify("DELETED", &gone)
	}
	j.pods = nil
	if j.job != nil {
		gone := *j.job
		f.notify("DELETED", &gone)
		j.job = nil
	}
}
