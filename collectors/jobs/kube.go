package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// perPage is how many pods a page of the list has at most.
const perPage = 500

// mostPods bounds what is kept of a cluster.
const mostPods = 1 << 17

// kube follows the pods of a cluster: a list in pages, then what changes, for as
// long as the server keeps what has changed.
type kube struct {
	cfg     Config
	client  *http.Client
	base    string
	pods    map[string]*pod // by uid; those that are given GPUs
	version string          // of what was heard last; "" asks for the list
	jobs    *tracker
	sizes   *sizes
}

// pod is what is read of one.
type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		ResourceVersion      string
		Labels               map[string]string
	}
	Spec struct {
		NodeName   string
		Containers []struct {
			Resources struct {
				Limits, Requests map[string]any
			}
		}
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

// jobLabels name the job that a pod is of, the widest first: a JobSet's Jobs
// are its parts.
func jobLabels() []string {
	return []string{"jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster",
		"batch.kubernetes.io/job-name", "job-name"}
}

// attemptLabel is how often a JobSet was made anew.
const attemptLabel = "jobset.sigs.k8s.io/restart-attempt"

func openKube(c Config, g dial.Guard) (source, error) {
	client, base, err := httpClient(c, g)
	if err != nil {
		return nil, err
	}
	client.Timeout = c.Timeout + c.Every // of a watch
	return newKube(c, client, base), nil
}

func newKube(c Config, client *http.Client, base string) *kube {
	return &kube{cfg: c, client: client, base: base, pods: map[string]*pod{}, jobs: newTracker(typeKube, c.Name, c.MaxJobs), sizes: newSizes(c)}
}

func (k *kube) close() { k.client.CloseIdleConnections() }

var errGone = errors.New("the server has forgotten what has changed")

// read reads the list, or what has changed for as long as a round lasts.
func (k *kube) read(ctx context.Context, r *report) error {
	var err error
	if k.version == "" {
		err = k.list(ctx, r)
	} else if err = k.watch(ctx, r); errors.Is(err, errGone) {
		k.version = ""
		err = k.list(ctx, r)
	}
	if err != nil {
		r.drop(reasonOf(err), 1)
		return err
	}
	r.now = telemetry.Time(time.Now().UnixNano())
	k.tell(r)
	return k.sizes.emit(r, k.jobs)
}

func (k *kube) ask(ctx context.Context, query url.Values, read func(io.Reader) error) error {
	path := "/api/v1/pods"
	if k.cfg.Namespace != "" {
		path = "/api/v1/namespaces/" + url.PathEscape(k.cfg.Namespace) + "/pods"
	}
	q, word, err := question(ctx, k.base+path+"?"+query.Encode(), k.cfg.TokenFile)
	if err != nil {
		return err
	}
	if word != "" {
		q.Header.Set("Authorization", "Bearer "+word)
	}
	err = answer(k.client, q, k.cfg.MaxBody, read)
	if errors.Is(err, errAbsent) {
		err = fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

func (k *kube) list(ctx context.Context, r *report) error {
	pods := map[string]*pod{}
	version, from := "", ""
	for {
		var page struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []json.RawMessage
		}
		query := url.Values{"limit": {strconv.Itoa(perPage)}}
		if from != "" {
			query.Set("continue", from)
		}
		err := k.ask(ctx, query, func(in io.Reader) error {
			if err := json.NewDecoder(in).Decode(&page); err != nil {
				return fmt.Errorf("%w: %w", errForm, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if page.Metadata.ResourceVersion == "" {
			return fmt.Errorf("%w: a list of no version", errForm)
		}
		for _, b := range page.Items {
			k.keep(r, pods, b, false)
		}
		version, from = page.Metadata.ResourceVersion, page.Metadata.Continue
		if from == "" {
			k.pods, k.version = pods, version
			return nil
		}
	}
}

// keep notes a pod that is given GPUs, or that it is gone.
func (k *kube) keep(r *report, pods map[string]*pod, b []byte, gone bool) {
	p := &pod{}
	if json.Unmarshal(b, p) != nil || p.Metadata.UID == "" || p.Metadata.Name == "" {
		r.drop(collectors.Malformed, 1)
		return
	}
	switch {
	case gone || !k.cfg.CPUJobs && !p.usesGPU():
		delete(pods, p.Metadata.UID)
	case len(pods) >= mostPods && pods[p.Metadata.UID] == nil:
		r.drop(collectors.OverLimit, 1)
	default:
		pods[p.Metadata.UID] = p
	}
}

// usesGPU reports whether a container is given a device of a GPU's kind:
// nvidia.com/gpu, amd.com/gpu, nvidia.com/mig-….
func (p *pod) usesGPU() bool {
	for _, c := range p.Spec.Containers {
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

func (k *kube) watch(ctx context.Context, r *report) error {
	wait := max(1, int(k.cfg.Every/time.Second))
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {k.version}, "timeoutSeconds": {strconv.Itoa(wait)}}
	return k.ask(ctx, query, func(in io.Reader) error {
		d := json.NewDecoder(in)
		for {
			var e struct {
				Type   string
				Object json.RawMessage
			}
			switch err := d.Decode(&e); {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, io.ErrUnexpectedEOF):
				return err
			case err != nil:
				return fmt.Errorf("%w: %w", errForm, err)
			}
			if e.Type == "ERROR" {
				return errGone
			}
			var at struct {
				Metadata struct{ ResourceVersion string }
			}
			if json.Unmarshal(e.Object, &at) == nil && at.Metadata.ResourceVersion != "" {
				k.version = at.Metadata.ResourceVersion
			}
			if e.Type != "BOOKMARK" {
				k.keep(r, k.pods, e.Object, e.Type == "DELETED")
			}
		}
	})
}

// tell makes jobs of the pods, and states what has changed.
func (k *kube) tell(r *report) {
	all := map[string]*work{}
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		p := k.pods[uid]
		key, name := p.job()
		w := all[key]
		if w == nil {
			w = &work{key: key, job: jobEntity(k.cfg.Job, "{namespace}", p.Metadata.Namespace, "{name}", name, "{id}", uid), phase: ended}
			all[key] = w
		}
		p.add(w)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w := all[key]
		if w.job.Validate() != nil {
			r.drop(collectors.Malformed, 1)
			continue
		}
		slices.SortFunc(w.spots, func(a, b spot) int { return a.on.Compare(b.on) })
		w.spots = slices.Compact(w.spots)
		k.jobs.note(r, *w)
	}
	k.jobs.finish(r)
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
