package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// roll holds the jobs that run on the site, and finds the steps of those that report none.
type roll struct {
	*sight
	running  []runningJob // in identity order
	counted  uint64       // the topology generation of the last census
	censused bool
	paced    []pacer // jobs that report no steps, in identity order
}

// runningJob is a running job, and the grid since which it has been seen to run; zero
// if it was there from the beginning.
type runningJob struct {
	job   telemetry.Entity
	since telemetry.Time
	// placed is set where edges place the job itself, not only its ranks: when they
	// end it is over, whatever is still reported of the ranks.
	placed bool
	// spent is where its GPU-seconds go.
	spent
}

func (t runningJob) compare(job telemetry.Entity) int { return t.job.Compare(job) }

// census lists the running jobs, in identity order, when the topology has changed.
func (e *Engine) census(g telemetry.Time) {
	if gen := e.sight.graph.Generation(); e.roll.counted == gen && e.roll.censused {
		return
	}
	var now []runningJob
	for _, job := range e.sight.graph.Jobs() {
		t := runningJob{job: job}
		if i, ok := slices.BinarySearchFunc(e.roll.running, job, runningJob.compare); ok {
			t = e.roll.running[i]
		} else if e.roll.censused {
			t.since = g
		}
		if t.filed == 0 {
			t.filed = g.Add(-e.sight.cfg.Grid)
		}
		if e.sight.runs(&t) {
			if n := e.sight.gpus(job, e.sight.nodes(job)); n != t.gpus {
				e.costs.fileJob(&t, g.Add(-e.sight.cfg.Grid)) // as many as there were
				t.gpus = n
			}
			now = append(now, t)
		}
	}
	for _, t := range e.roll.running {
		if _, ok := slices.BinarySearchFunc(now, t.job, runningJob.compare); !ok {
			e.costs.fileRemainder(&t, g.Add(-e.sight.cfg.Grid))
			e.sight.book.End(t.job, g) // it runs nowhere any more
			e.sight.perStep.Forget(t.job)
		}
	}
	e.roll.running, e.roll.counted, e.roll.censused = now, e.sight.graph.Generation(), true
}

// runs reports whether a job runs anywhere now, and records how it is placed.
func (e *sight) runs(t *runningJob) bool {
	for _, n := range e.graph.Neighbours(t.job) {
		if n.Relation == telemetry.Runs && n.Out {
			t.placed = true
			return true
		}
	}
	return !t.placed && len(e.graph.Placements(t.job)) > 0
}

func codeRunningJob(c *snapshot.Codec, t *runningJob) {
	c.Entity(&t.job)
	c.Time(&t.since)
	c.Bool(&t.placed)
	t.spent.snapshot(c)
}
