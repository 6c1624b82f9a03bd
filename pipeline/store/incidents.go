package store

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// The series of open incidents.
const (
	incidentOpen = "quintet_incident_open"
	incidentLost = "quintet_incident_gpu_seconds_lost"
)

// maxOpen bounds the incidents that are open at a time.
const maxOpen = 4096

// incidents keeps the open incidents. One goroutine updates it and another writes
// it to the database.
type incidents struct {
	cfg   Config
	count *counters

	mu   sync.Mutex
	open map[string]*explain.Incident
	out  renewed
}

func newIncidents(c Config, count *counters) *incidents {
	return &incidents{cfg: c, count: count, open: map[string]*explain.Incident{}}
}

// run follows revisions until ctx is done.
func (i *incidents) run(ctx context.Context) {
	after := uint64(0)
	for ctx.Err() == nil {
		err := i.cfg.Log.FollowIncidents(ctx, after, func(r bus.Revision) error {
			after = r.Sequence
			i.handle(r)
			return nil
		})
		if ctx.Err() == nil {
			i.cfg.Logger.Warn("the stream of incidents is interrupted", "error", err)
		}
		bus.Sleep(ctx, again)
	}
}

// handle processes a revision.
func (i *incidents) handle(r bus.Revision) {
	in := &explain.Incident{}
	if err := json.Unmarshal(r.Data, in); err != nil {
		i.cfg.Logger.Warn("an incident that cannot be read", "incident", r.ID, "error", err)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.open[in.ID]
	switch {
	case in.State != explain.StateOpen:
		delete(i.open, in.ID)
	case old == nil && len(i.open) >= maxOpen:
		i.count.incidents.Inc()
	case old == nil || old.Revision <= in.Revision:
		i.open[in.ID] = in
	}
}

// take implements extra.
func (i *incidents) take(*telemetry.Record) {}

// write implements extra.
func (i *incidents) write(_ int64, put putter) {
	i.mu.Lock()
	open := make([]*explain.Incident, 0, len(i.open))
	for _, in := range i.open {
		open = append(open, in)
	}
	i.mu.Unlock()
	for _, in := range open {
		root, domain := in.Root.Entity.String(), in.Root.Domain.String()
		first := ""
		jobs := slices.Clone(in.Impact.Jobs)
		if len(jobs) > 0 {
			first = jobs[0].Job.Name
		}
		i.out.put(named(incidentOpen, "incident", in.ID, "kind", in.Kind, "severity", in.Severity, "domain", domain,
			"signature", in.Root.Signature, "root", root, "job", first), 1, put)
		for _, j := range jobs {
			i.out.put(named(incidentLost, "incident", in.ID, "job", j.Job.Name, "domain", domain, "signature", in.Root.Signature, "root", root),
				j.GPUSecondsLost, put)
		}
	}
	i.out.end(put)
}
