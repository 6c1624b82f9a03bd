package jobs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// pod is what is read of one.
type pod struct {
	Metadata meta
	Spec     struct {
		NodeName   string
		Containers []container
	}
	Status struct {
		Phase, Reason     string
		StartTime         time.Time
		ContainerStatuses []struct {
			RestartCount int
			State        struct {
				Terminated *struct {
					ExitCode, Signal int
					Reason           string
					FinishedAt       time.Time
				}
			}
		}
	}
}

// meta is what every resource has.
type meta struct {
	Name, Namespace, UID string
	ResourceVersion      string
	CreationTimestamp    time.Time
	Labels               map[string]string
	OwnerReferences      []struct {
		Name       string
		Controller bool
	}
}

// owner is the name of what manages a resource; "" if nothing does.
func (m *meta) owner() string {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o.Name
		}
	}
	return ""
}

// container is one of a pod, or of a template of pods.
type container struct {
	Resources struct {
		Limits, Requests map[string]any
	}
}

// jobLabels name the job that a pod is of, the widest first: a JobSet's Jobs
// are its parts.
func jobLabels() []string {
	return []string{"jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster",
		"batch.kubernetes.io/job-name", "job-name"}
}

// attemptLabel is how often a JobSet was recreated.
const attemptLabel = "jobset.sigs.k8s.io/restart-attempt"

// usesGPU reports whether one of the containers is given a device of a GPU's kind:
// nvidia.com/gpu, amd.com/gpu, nvidia.com/mig-….
func usesGPU(containers []container) bool {
	for _, c := range containers {
		for _, of := range []map[string]any{c.Resources.Limits, c.Resources.Requests} {
			for name, n := range of { // order-independent: any
				if (strings.HasSuffix(name, "/gpu") || strings.HasPrefix(name, "nvidia.com/mig-")) && fmt.Sprint(n) != "0" {
					return true
				}
			}
		}
	}
	return false
}

// job is what a pod's job is known by, and its name.
func (p *pod) job() (key, name string) {
	name = p.Metadata.Name
	for _, l := range jobLabels() {
		if v := p.Metadata.Labels[l]; v != "" {
			name = v
			break
		}
	}
	return p.Metadata.Namespace + "/" + name, name
}

// add adds a pod to its job: a job runs while one of its pods does, and has
// failed when one has and none runs.
func (p *pod) add(w *work) {
	if n, err := strconv.Atoi(p.Metadata.Labels[attemptLabel]); err == nil { // its pods are new ones then
		w.restarts = max(w.restarts, n)
	}
	for _, c := range p.Status.ContainerStatuses {
		w.restarts = max(w.restarts, c.RestartCount)
		if t := c.State.Terminated; t != nil {
			w.end = max(w.end, telemetry.Time(t.FinishedAt.UnixNano()))
			if t.ExitCode != 0 && w.text == "" {
				w.text = strings.TrimSpace(fmt.Sprintf("exit code %d %s", t.ExitCode, t.Reason))
			}
		}
	}
	switch p.Status.Phase {
	case "Running":
		w.phase = running
		if at := telemetry.Time(p.Status.StartTime.UnixNano()); !p.Status.StartTime.IsZero() && (w.start == 0 || at < w.start) {
			w.start = at
		}
		if p.Spec.NodeName != "" {
			w.spots = append(w.spots, spot{telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(p.Spec.NodeName)}, -1})
		}
	case "Failed":
		if w.phase != running {
			w.phase = failed
		}
		w.text = cmp.Or(w.text, p.Status.Reason)
	case "Pending", "Unknown":
		if w.phase == ended {
			w.phase = waiting
		}
	}
}
