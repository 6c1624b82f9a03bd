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
	// placed says that edges place the job itself, not only its ranks: when they
	// end it is over, whatever is still said of the ranks.
	placed bool
	// spent is where its GPU-seconds go.
	spent
}

func (t tenant) compare(job telemetry.Entity) int { return t.job.Compare(job) }

// census keeps the tenants, in identity order, when the topology has changed.
func (e *Engine) census(g telemetry.Time) {
	if gen := e.graph.Generation(); e.counted == gen && e.censused {
		return
	}
	var now []tenant
	for _, job := range e.graph.Jobs() {
		t := tenant{job: job}
		if i, ok := slices.BinarySearchFunc(e.tenants, job, tenant.compare); ok {
			t = e.tenants[i]
		} else if e.censused {
			t.since = g
		}
		if t.filed == 0 {
			t.filed = g.Add(-e.cfg.Grid)
		}
		if e.runs(&t) {
			if n := e.gpus(job, e.nodes(job)); n != t.gpus {
				e.fileJob(&t, g.Add(-e.cfg.Grid)) // as many as there were
				t.gpus = n
			}
			now = append(now, t)
		}
	}
	for _, t := range e.tenants {
		if _, ok := slices.BinarySearchFunc(now, t.job, tenant.compare); !ok {
			e.fileRest(&t, g.Add(-e.cfg.Grid))
			e.book.End(t.job, g) // it runs nowhere any more
			e.perStep.Forget(t.job)
		}
	}
	e.tenants, e.counted, e.censused = now, e.graph.Generation(), true
}

// runs reports whether a job runs anywhere now, and notes how it is placed.
func (e *Engine) runs(t *tenant) bool {
	for _, n := range e.graph.Neighbours(t.job) {
		if n.Relation == telemetry.Runs && n.Out {
			t.placed = true
			return true
		}
	}
	return !t.placed && len(e.graph.Placements(t.job)) > 0
}

func codeTenant(c *snapshot.Codec, t *tenant) {
	c.Entity(&t.job)
	c.Time(&t.since)
	c.Bool(&t.placed)
	t.spent.snapshot(c)
}
