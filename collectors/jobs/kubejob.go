package jobs

import (
	"cmp"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// condition is one of a resource's.
type condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

// conditions are those of a resource.
type conditions []condition

// is returns the first of some conditions that holds; nil if none does.
func (c conditions) is(types ...string) *condition {
	for i := range c {
		for _, t := range types {
			if c[i].Type == t && c[i].Status == "True" {
				return &c[i]
			}
		}
	}
	return nil
}

// at is the time from which it holds; zero if that is not stated.
func (c *condition) at() telemetry.Time {
	if c.LastTransitionTime.IsZero() {
		return 0
	}
	return telemetry.Time(c.LastTransitionTime.UnixNano())
}

// reason returns the reason for which it holds.
func (c *condition) reason() string {
	return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
}

// template is what pods are made from.
type template struct {
	Spec struct{ Containers []container }
}

// owner is what makes the pods of a job, and knows how it went: a Job of batch/v1,
// or a JobSet of jobset.x-k8s.io, whose parts are Jobs.
type owner struct {
	Metadata meta
	Spec     struct {
		Suspend        bool
		Template       template
		ReplicatedJobs []struct {
			Template struct {
				Spec struct{ Template template }
			}
		}
	}
	Status struct {
		Restarts   int
		Conditions conditions
	}
}

func (o *owner) usesGPU() bool {
	if usesGPU(o.Spec.Template.Spec.Containers) {
		return true
	}
	for i := range o.Spec.ReplicatedJobs {
		if usesGPU(o.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers) {
			return true
		}
	}
	return false
}

// add adds to a job what its owner knows. Pods show when it runs and where, the
// owner that it has ended: a JobSet that is recreated has no pods for a while, and
// the pods of one that failed for good are deleted. While a job runs, its pods know
// the attempt: those of the one before may still exist.
func (o *owner) add(w *work) {
	if w.phase != running {
		w.restarts = max(w.restarts, o.Status.Restarts)
	}
	c := o.Status.Conditions
	over := c.is("Failed", "Complete", "Completed")
	switch {
	case over != nil && over.Type == "Failed":
		w.phase, w.text = failed, cmp.Or(w.text, over.reason())
		w.end = max(w.end, over.at())
	case over != nil:
		w.phase, w.text, w.end = ended, "", cmp.Or(over.at(), w.end)
	case w.phase == waiting && o.Spec.Suspend:
		w.phase, w.text = ended, "suspended"
		if s := c.is("Suspended"); s != nil {
			w.end = s.at()
		}
	case w.phase == waiting && w.text == "":
		w.text = "its pods do not run"
	}
}

// workload is a job in a queue of Kueue.
type workload struct {
	Metadata meta
	Spec     struct{ QueueName string }
	Status   struct{ Conditions conditions }
}

// add adds to a job what its queue knows: how long it waited, and that its place
// was taken from it.
func (q *workload) add(w *work) {
	c := q.Status.Conditions
	in := c.is("Admitted")
	if in != nil {
		w.note = "queue " + q.Spec.QueueName
		if waited := in.LastTransitionTime.Sub(q.Metadata.CreationTimestamp); waited >= time.Second && !q.Metadata.CreationTimestamp.IsZero() {
			w.note += ", admitted after " + waited.Round(time.Second).String()
		}
	}
	out := c.is("Evicted")
	if out == nil || in != nil || w.phase == running || c.is("Finished") != nil {
		return
	}
	w.phase, w.end = ended, cmp.Or(out.at(), w.end)
	w.text = "evicted by queue " + q.Spec.QueueName + ": " + out.reason()
}
