package kube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// job is a JobSet: a pod on each of its nodes.
type job struct {
	name    string
	attempt int // how often it was made anew
	pods    []*pod
}

// object is a resource in JSON.
type object map[string]any

// pod is one as the API has it. What was told once does not change: a change is a
// pod of its own.
type pod struct {
	uid, name, namespace, node string
	labels                     map[string]string
	gpus                       int
	phase                      string
	began, ended               telemetry.Time
	code                       int
	why                        string // of its end
	version                    int
}

// namespace is where a site's jobs are.
const namespace = "ml"

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
		case telemetry.EventJobRestarted:
			f.remove(j)
			j.attempt++
			f.start(j, e.Entity, e.At)
		case telemetry.EventJobEnded:
			f.end(j, e.At, "Succeeded", 0, "Completed")
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

// start makes a pod on every node of a job.
func (f *Fleet) start(j *job, x telemetry.Entity, at telemetry.Time) {
	gpus := map[string]int{}
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From == x && e.End == 0 && e.To.Kind == telemetry.GPU {
			gpus[e.To.Prefix()]++
		}
	}
	for i, node := range slices.Sorted(maps.Keys(gpus)) {
		p := &pod{name: fmt.Sprintf("%s-workers-0-%d-%s", j.name, i, suffix(j.attempt)), namespace: namespace, node: node, gpus: gpus[node], phase: "Running", began: at,
			labels: map[string]string{"jobset.sigs.k8s.io/jobset-name": j.name, "jobset.sigs.k8s.io/replicatedjob-name": "workers",
				"jobset.sigs.k8s.io/restart-attempt": strconv.Itoa(j.attempt), "batch.kubernetes.io/job-name": j.name + "-workers-0",
				"batch.kubernetes.io/job-completion-index": strconv.Itoa(i), "kueue.x-k8s.io/queue-name": "gpus"}}
		f.tell("ADDED", p)
		j.pods = append(j.pods, p)
	}
}

// end lets every pod of a job end.
func (f *Fleet) end(j *job, at telemetry.Time, phase string, code int, why string) {
	for i, p := range j.pods {
		over := *p
		over.phase, over.ended, over.code, over.why = phase, at, code, why
		f.tell("MODIFIED", &over)
		j.pods[i] = &over
	}
}

// remove takes a job's pods away.
func (f *Fleet) remove(j *job) {
	for _, p := range j.pods {
		gone := *p
		f.tell("DELETED", &gone)
	}
	j.pods = nil
}

// agents are the pods that every node has: the exporter's daemons.
func (f *Fleet) agents() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.board.Entities(telemetry.Node) {
		f.tell("ADDED", &pod{name: "dcgm-exporter-" + n.Name, namespace: "monitoring", node: n.Name, phase: "Running", began: max(1, f.board.Now()),
			labels: map[string]string{"app.kubernetes.io/name": "dcgm-exporter"}})
	}
}

// tell notes a change and wakes those who watch. mu is held.
func (f *Fleet) tell(kind string, p *pod) {
	f.version++
	p.version = f.version
	if p.uid == "" {
		p.uid = fmt.Sprintf("%08x-0000-4000-8000-%012x", f.version, f.version)
	}
	f.pods[p.uid] = p
	if kind == "DELETED" {
		delete(f.pods, p.uid)
	}
	f.changes = append(f.changes, change{f.version, kind, p})
	if n := len(f.changes) - f.cfg.Remembers; n > 0 {
		f.changes = slices.Delete(f.changes, 0, n)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// suffix tells the pods of two attempts apart.
func suffix(attempt int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for i, n := 0, attempt*7919+104729; i < len(b); i++ {
		b[i] = letters[n%len(letters)]
		n /= 3
	}
	return string(b)
}

// stamp writes an instant as the API does.
func stamp(t telemetry.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339) }

// object is a pod in JSON.
func (p *pod) object() object {
	limits := object{"cpu": "96", "memory": "1Ti"}
	if p.gpus > 0 {
		limits["nvidia.com/gpu"] = strconv.Itoa(p.gpus)
	}
	state := object{"running": object{"startedAt": stamp(p.began)}}
	if p.ended > 0 {
		state = object{"terminated": object{"exitCode": p.code, "reason": p.why, "startedAt": stamp(p.began), "finishedAt": stamp(p.ended)}}
	}
	return object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": p.name, "namespace": p.namespace, "uid": p.uid, "resourceVersion": strconv.Itoa(p.version), "creationTimestamp": stamp(p.began), "labels": p.labels},
		"spec": object{"nodeName": p.node, "restartPolicy": "Never",
			"containers": []any{object{"name": "main", "image": "registry.lab/main:1", "resources": object{"limits": limits, "requests": limits}}}},
		"status": object{"phase": p.phase, "startTime": stamp(p.began), "hostIP": "10.0.0.1",
			"containerStatuses": []any{object{"name": "main", "ready": p.ended == 0, "restartCount": 0, "state": state}}}}
}
