package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// most bounds what is kept of a cluster, of each kind.
const mostPods, mostOwners = 1 << 17, 1 << 15

// kube follows the pods of a cluster and what owns them, each as a list in pages
// and then what changes, for as long as the server keeps what has changed.
type kube struct {
	cfg    Config
	client *http.Client
	base   string
	pods   *feed[pod]
	owners []*feed[owner] // JobSets and Jobs, where there are any
	queued *feed[workload]
	find   time.Time                 // when it is looked for what the server has
	gone   map[string]telemetry.Time // since when jobs that ran have no pods, and no reason was reported
	jobs   *tracker
	sizes  *sizes
}

func openKube(c Config, g dial.Guard) (source, error) {
	client, base, err := httpClient(c, g)
	if err != nil {
		return nil, err
	}
	client.Timeout = c.Timeout + c.Every // of a watch
	if t, ok := client.Transport.(*http.Transport); ok {
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost = 4, 4 // a watch of each kind
	}
	return newKube(c, client, base), nil
}

func newKube(c Config, client *http.Client, base string) *kube {
	k := &kube{cfg: c, client: client, base: base, jobs: newTracker(typeKube, c.Name, c.MaxJobs), sizes: newSizes(c), gone: map[string]telemetry.Time{}}
	k.pods = newFeed("/api/v1", "pods", mostPods, func(p *pod) (*meta, bool) { return &p.Metadata, c.CPUJobs || usesGPU(p.Spec.Containers) })
	return k
}

func (k *kube) close() { k.client.CloseIdleConnections() }

// read reads the lists, or their changes for the length of one round. Pods are
// required; their owners are reported where the server has them and permits reading
// them.
func (k *kube) read(ctx context.Context, r *report) error {
	k.discover(ctx, r)
	var all sync.WaitGroup
	var others []follower
	for _, f := range k.owners {
		others = append(others, f)
	}
	if k.queued != nil {
		others = append(others, k.queued)
	}
	errs := make([]error, len(others))
	for i, f := range others {
		all.Go(func() { errs[i] = f.follow(ctx, k) })
	}
	err := k.pods.follow(ctx, k)
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.pods.count(r)
	for i, f := range others {
		f.count(r)
		if errs[i] != nil {
			r.drop(reasonOf(errs[i]), 1)
		}
	}
	k.refused(errs, r)
	if err != nil {
		r.drop(reasonOf(err), 1)
		return err
	}
	r.now = telemetry.Time(time.Now().UnixNano())
	k.publish(r)
	return k.sizes.emit(r, k.jobs)
}

// findEvery is the interval at which the server's resources are discovered again:
// an operator may be installed, or a permission granted.
const findEvery = 10 * time.Minute

// discover asks which kinds of the owners of pods the server has, and in which
// version.
func (k *kube) discover(ctx context.Context, r *report) {
	now := time.Now()
	if now.Before(k.find) {
		return
	}
	var has struct {
		Groups []struct {
			Name             string
			PreferredVersion struct{ GroupVersion string }
		}
	}
	err := k.ask(ctx, "/apis", nil, func(in io.Reader) error { return decode(in, &has) })
	if err != nil && !errors.Is(err, errAbsent) {
		r.drop(reasonOf(err), 1)
	}
	if err != nil && !errors.Is(err, errAbsent) && !errors.Is(err, errDenied) {
		return // it is asked again in the next round
	}
	if errors.Is(err, errDenied) {
		r.sink.Logger().Warn("listing API groups: permission denied; only pods are read", "source", k.cfg.Name, "err", err)
	}
	k.find = now.Add(findEvery)
	owners, queued := k.owners, k.queued
	k.owners, k.queued = nil, nil
	for _, g := range has.Groups {
		path, plural := "/apis/"+g.PreferredVersion.GroupVersion, ownerKinds(g.Name)
		if plural == "workloads" {
			if k.queued = queued; queued == nil || queued.group != path {
				k.queued = newFeed(path, plural, mostOwners, func(w *workload) (*meta, bool) { return &w.Metadata, w.Metadata.owner() != "" })
			}
			continue
		}
		if plural == "" {
			continue
		}
		if i := slices.IndexFunc(owners, func(f *feed[owner]) bool { return f.group == path }); i >= 0 {
			k.owners = append(k.owners, owners[i])
			continue
		}
		k.owners = append(k.owners, newFeed(path, plural, mostOwners, k.follows))
	}
}

// ownerKinds returns the kind that is read of an API group; "" for any other.
func ownerKinds(group string) string {
	switch group {
	case "batch":
		return "jobs"
	case "jobset.x-k8s.io":
		return "jobsets"
	case "kueue.x-k8s.io":
		return "workloads"
	}
	return ""
}

// follows reports whether a Job or a JobSet is followed: it is managed by nothing
// else, and its pods are given GPUs.
func (k *kube) follows(o *owner) (*meta, bool) {
	return &o.Metadata, o.Metadata.owner() == "" && (k.cfg.CPUJobs || o.usesGPU())
}

// refused leaves out the kinds that may not be read, until it is looked for them
// again.
func (k *kube) refused(errs []error, r *report) {
	out := func(path string, err error) bool {
		if !errors.Is(err, errDenied) && !errors.Is(err, errAbsent) {
			return false
		}
		r.sink.Logger().Warn("kind not read", "source", k.cfg.Name, "kind", path, "err", err)
		return true
	}
	n := len(k.owners)
	if k.queued != nil && out(k.queued.plural, errs[n]) {
		k.queued = nil
	}
	var keep []*feed[owner]
	for i, f := range k.owners {
		if !out(f.plural, errs[i]) {
			keep = append(keep, f)
		}
	}
	k.owners = keep
}

// publish makes jobs of the pods and their owners, and states what has changed.
func (k *kube) publish(r *report) {
	all := map[string]*work{}
	of := func(m *meta, key, name string) *work {
		w := all[key]
		if w == nil {
			w = &work{key: key, job: jobEntity(k.cfg.Job, "{namespace}", m.Namespace, "{name}", name, "{id}", m.UID)}
			all[key] = w
		}
		return w
	}
	known := map[string]bool{}
	for _, f := range k.owners {
		for _, uid := range slices.Sorted(maps.Keys(f.objects)) {
			m := &f.objects[uid].Metadata
			of(m, m.Namespace+"/"+m.Name, m.Name) // by which it is named, whatever its pods are called
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(k.pods.objects)) {
		p := k.pods.objects[uid]
		key, name := p.job()
		w := of(&p.Metadata, key, name)
		if !known[key] {
			known[key], w.phase = true, ended
		}
		p.add(w)
	}
	for _, f := range k.owners {
		for _, uid := range slices.Sorted(maps.Keys(f.objects)) {
			o := f.objects[uid]
			o.add(all[o.Metadata.Namespace+"/"+o.Metadata.Name])
		}
	}
	if k.queued != nil {
		for _, uid := range slices.Sorted(maps.Keys(k.queued.objects)) {
			q := k.queued.objects[uid]
			if w := all[q.Metadata.Namespace+"/"+q.Metadata.owner()]; w != nil {
				q.add(w)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w := all[key]
		if w.job.Validate() != nil {
			r.drop(collectors.Malformed, 1)
			continue
		}
		slices.SortFunc(w.spots, func(a, b spot) int { return a.on.Compare(b.on) })
		w.spots = slices.Compact(w.spots)
		if k.unexplained(r, w) {
			continue
		}
		k.jobs.note(r, *w)
	}
	for key := range k.gone { // order-independent: each by itself
		if all[key] == nil {
			delete(k.gone, key)
		}
	}
	k.jobs.finish(r)
}

// unexplained reports whether a job that ran has no pods and one more round has to
// pass before that is reported: its owner and its queue are watched separately, and
// may give the reason.
func (k *kube) unexplained(r *report, w *work) bool {
	if w.phase != waiting || k.jobs.known[w.key] == nil {
		delete(k.gone, w.key)
		return false
	}
	since, published := k.gone[w.key]
	if published {
		w.end = max(w.end, since)
		return false
	}
	k.gone[w.key], k.jobs.seen[w.key] = r.now, true
	return true
}

// decode reads one document.
func decode(in io.Reader, into any) error {
	if err := json.NewDecoder(in).Decode(into); err != nil {
		return errors.Join(errForm, err)
	}
	return nil
}
