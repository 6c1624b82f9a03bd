package kube

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// object is a resource in JSON.
type object map[string]any

// item is a resource. A sent item does not change: a change is an item of its own.
type item interface {
	head() *resource
	object() object
}

// resource is what all items have.
type resource struct {
	of                   *kind
	uid, name, namespace string
	created              telemetry.Time
	version              int
	owner                *resource // what manages it
}

func (r *resource) head() *resource { return r }

// key is what resources of a kind are listed by.
func (r *resource) key() string { return r.namespace + "/" + r.name }

// in reports whether a request asks for a resource's namespace.
func (r *resource) in(q *http.Request) bool {
	n := q.PathValue("namespace")
	return n == "" || n == r.namespace
}

// whole is a resource with its metadata.
func (r *resource) whole(labels map[string]string, doc object) object {
	meta := object{"name": r.name, "namespace": r.namespace, "uid": r.uid, "resourceVersion": strconv.Itoa(r.version), "creationTimestamp": stamp(r.created)}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if r.owner != nil {
		meta["ownerReferences"] = []any{object{"apiVersion": r.owner.of.version, "kind": r.owner.of.name, "name": r.owner.name, "uid": r.owner.uid, "controller": true, "blockOwnerDeletion": true}}
	}
	doc["apiVersion"], doc["kind"], doc["metadata"] = r.of.version, r.of.name, meta
	return doc
}

// kind is a kind of resource.
type kind struct{ version, name, plural string }

// path is where its resources are.
func (k *kind) path() string {
	if k.version == "v1" {
		return "/api/v1"
	}
	return "/apis/" + k.version
}

// kinds are those that the server has.
type kinds struct{ pod, job, jobSet, workload kind }

func newKinds() *kinds {
	return &kinds{kind{"v1", "Pod", "pods"}, kind{"batch/v1", "Job", "jobs"}, kind{"jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets"},
		kind{"kueue.x-k8s.io/v1beta1", "Workload", "workloads"}}
}

func (k *kinds) all() []*kind { return []*kind{&k.pod, &k.job, &k.jobSet, &k.workload} }

// notify notes a change and wakes those who watch. mu is held.
func (f *Fleet) notify(what string, x item) {
	f.version++
	h := x.head()
	h.version = f.version
	if h.uid == "" {
		h.uid = fmt.Sprintf("%08x-0000-4000-8000-%012x", f.version, f.version)
	}
	f.items[h.uid] = x
	if what == "DELETED" {
		delete(f.items, h.uid)
	}
	f.changes = append(f.changes, change{f.version, what, x})
	if n := len(f.changes) - f.cfg.Remembers; n > 0 {
		f.changes = slices.Delete(f.changes, 0, n)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// condition is one of a resource's that holds since a time.
func condition(name, reason, message string, at telemetry.Time) object {
	return object{"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": stamp(at)}
}
