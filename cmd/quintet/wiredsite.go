//go:build !service

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/wire/exporter"
	"github.com/quintet-dc/quintet/lab/wire/gnmi"
	"github.com/quintet-dc/quintet/lab/wire/host"
	"github.com/quintet-dc/quintet/lab/wire/kube"
	"github.com/quintet-dc/quintet/lab/wire/logs"
	"github.com/quintet-dc/quintet/lab/wire/nccl"
	"github.com/quintet-dc/quintet/lab/wire/plan"
	"github.com/quintet-dc/quintet/lab/wire/redfish"
	"github.com/quintet-dc/quintet/lab/wire/slurm"
	"github.com/quintet-dc/quintet/lab/wire/trainer"
	"github.com/quintet-dc/quintet/telemetry"
)

// wiredSite is a simulated site whose devices answer on loopback over their own
// protocols, and whose trainers report by HTTP.
type wiredSite struct {
	site   *live.Site
	fleets []fleet
	plan   string // file of the site's edges
}

// fleet is the devices of one protocol, read by one kind of collector.
type fleet struct {
	kind string
	devices
}

type devices interface {
	Run(ctx context.Context) error
	Addresses() []string
	Entries() []map[string]any
}

// siteSizes are the sizes that have a name, in GPUs.
func siteSizes() map[string]int {
	return map[string]int{"small": 16, "rack": 64, "pod": 256, "reference": 16384}
}

// The schedulers that run a site's training jobs. What serves runs on Kubernetes
// in any case.
const (
	onSlurm      = "slurm"
	onKubernetes = "kubernetes"
)

// newWiredSite sets up a site under a scheduler; dir is where its hosts' trees,
// certificates and plan are kept.
func newWiredSite(gpus int, seed uint64, scheduler, dir string) (*wiredSite, error) {
	site, err := live.New(gpus, seed, time.Now())
	if err != nil {
		return nil, err
	}
	w := &wiredSite{site: site, plan: filepath.Join(dir, "topology.json")}
	b := site.Board()
	hosts, secrets := filepath.Join(dir, "hosts"), filepath.Join(dir, "redfish")
	if err := errors.Join(os.MkdirAll(hosts, 0o755), os.MkdirAll(secrets, 0o700)); err != nil {
		return nil, err
	}
	add := func(kind string, d devices, err error) error {
		if err != nil {
			return fmt.Errorf("lab: %s: %w", kind, err)
		}
		w.fleets = append(w.fleets, fleet{kind, d})
		return nil
	}
	h, err := host.New(b, host.Config{Dir: hosts})
	if err := add("sysfs", h, err); err != nil {
		return nil, err
	}
	podded := func(job telemetry.Entity) bool {
		_, serves := b.Read(job, "job_ttft_seconds_p50")
		return serves || scheduler == onKubernetes
	}
	j, err := slurm.New(b, slurm.Config{Dir: dir, Runs: func(job telemetry.Entity) bool { return !podded(job) }})
	if err := add("jobs", j, err); err != nil {
		return nil, err
	}
	k, err := kube.New(b, kube.Config{Dir: dir, Runs: podded})
	if err := add("jobs", k, err); err != nil {
		return nil, err
	}
	n, err := nccl.New(b, nccl.Config{Dir: dir})
	if err := add("jobs", n, err); err != nil {
		return nil, err
	}
	l, err := logs.New(b, logs.Config{Dir: hosts})
	if err := add("logs", l, err); err != nil {
		return nil, err
	}
	g, err := gnmi.New(b, gnmi.Config{Dir: filepath.Join(dir, "gnmi")})
	if err := add("gnmi", g, err); err != nil {
		return nil, err
	}
	r, err := redfish.New(b, redfish.Config{Dir: secrets, Every: 5 * time.Second})
	if err := add("redfish", r, err); err != nil {
		return nil, err
	}
	e, err := exporter.New(b, exporter.Config{})
	if err := add("scrape", e, err); err != nil {
		return nil, err
	}
	return w, w.writePlan()
}

func (w *wiredSite) writePlan() error {
	f, err := os.Create(w.plan)
	if err != nil {
		return err
	}
	return errors.Join(plan.Write(f, w.site.Board()), f.Close())
}

// configText is the configuration with which Quintet reads the site.
func (w *wiredSite) configText(listen, data string) (string, error) {
	doc := map[string]any{"site": map[string]any{"name": "lab"}, "topology": map[string]any{"files": []string{w.plan}}, "collectors": w.entries()}
	for key, value := range map[string]string{"listen": listen, "data": data} {
		if value != "" {
			doc[key] = value
		}
	}
	b, err := yaml.Marshal(doc)
	return string(b), err
}

// entries are what "collectors:" lists to read every device, by kind.
func (w *wiredSite) entries() map[string][]map[string]any {
	out := map[string][]map[string]any{}
	for _, f := range w.fleets {
		out[f.kind] = append(out[f.kind], f.Entries()...)
	}
	return out
}

// addresses lists every device, a line each.
func (w *wiredSite) addresses() []string {
	var out []string
	for _, f := range w.fleets {
		for _, a := range f.Addresses() {
			out = append(out, f.kind+"  "+a)
		}
	}
	return out
}

// run lets the site live until ctx is done or a part of it fails. Trainers
// report to url.
func (w *wiredSite) run(ctx context.Context, url string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parts := startCompanions(ctx, stop)
	parts.start(w.site.Run)
	parts.start(trainer.New(w.site.Board(), trainer.Config{URL: url, Scheduled: true}).Run)
	for _, f := range w.fleets {
		parts.start(f.Run)
	}
	return parts.wait()
}

// due is a fault that is to be injected.
type due struct {
	at    time.Duration // after the start
	name  string
	where telemetry.Entity
	lasts time.Duration
}

// parseFault reads NAME[@ENTITY].
func parseFault(s string) (due, error) {
	name, where, placed := strings.Cut(s, "@")
	d := due{name: name}
	if k := fault.Find(name); k == nil {
		return d, fmt.Errorf("unknown fault %q%s (--fault help lists them)", name, nearestFault(name))
	}
	if !placed {
		return d, nil
	}
	var err error
	d.where, err = telemetry.ParseEntity(where)
	return d, err
}

// parseSchedule reads a line per fault: when after the start, what and where,
// for how long. Empty lines, and what follows #, are left out.
func parseSchedule(path, text string) ([]due, error) {
	var out []due
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s:%d: want a time, NAME[@ENTITY] and a length, as in: 3m gpu-slow@gpu:n0000/1 2m", path, i+1)
		}
		d, err := parseFault(words[1])
		if err == nil {
			d.at, err = time.ParseDuration(words[0])
		}
		if err == nil {
			d.lasts, err = time.ParseDuration(words[2])
		}
		if err == nil && (d.at < 0 || d.lasts <= 0) {
			err = errors.New("want no negative time, and a length")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b due) int { return int(a.at - b.at) })
	return out, nil
}

// strike injects faults when they are due, and reports each. A fault that cannot be
// injected is reported, and the next is injected all the same.
func (w *wiredSite) strike(ctx context.Context, schedule []due, report func(due, fault.Fault, error)) {
	began := time.Now()
	for _, d := range schedule {
		timer := time.NewTimer(time.Until(began.Add(d.at)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		f, err := w.site.Strike(d.name, d.where, d.lasts)
		report(d, f, err)
	}
}
