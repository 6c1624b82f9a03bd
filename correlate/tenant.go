package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// tenant is a job that runs now, and since which grid it has been seen to;
// zero if it was there from the beginning.
type tenant struct {
	job   telemetry.Entity
	since telemetry.Time
}

func (t tenant) compare(job telemetry.Entity) int { return t.job.Compare(job) }

// census keeps the tenants, in identity order, when the topology has changed.
func (e *Engine) census(g telemetry.Time) {
	if gen := e.graph.Generation(); e.counted == gen && e.censused {
		return
	}
	var now []tenant
	for _, job := range e.graph.Jobs() {
		if len(e.graph.Placements(job)) == 0 {
			continue
		}
		t := tenant{job: job}
		if i, ok := slices.BinarySearchFunc(e.tenants, job, tenant.compare); ok {
			t = e.tenants[i]
		} else if e.censused {
			t.since = g
		}
		now = append(now, t)
	}
	for _, t := range e.tenants {
		if _, ok := slices.BinarySearchFunc(now, t.job, tenant.compare); !ok {
			e.book.End(t.job) // it runs nowhere any more
		}
	}
	e.tenants, e.counted, e.censused = now, e.graph.Generation(), true
}

func codeTenant(c *snapshot.Codec, t *tenant) {
	c.Entity(&t.job)
	c.Time(&t.since)
}
