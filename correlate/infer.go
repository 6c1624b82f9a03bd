package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/pace"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// pacer finds the steps of a job that reports none.
type pacer struct {
	job   telemetry.Entity
	track pace.Tracker
}

func (p pacer) compare(job telemetry.Entity) int { return p.job.Compare(job) }

const (
	// maxPaced bounds the jobs whose steps are looked for.
	maxPaced = 256
	// paceBehind is the number of grids that are waited for: a lost sample is made
	// up for by the next one.
	paceBehind = 5
	// seenPart of a job's nics must have been seen in a grid, for the others to be
	// taken for alike.
	seenPart = 0.8
)

// infer finds the steps of jobs that report none in what their nics send.
func (e *roll) infer(g telemetry.Time) {
	for _, t := range e.tenants {
		i, known := slices.BinarySearchFunc(e.paced, t.job, pacer.compare)
		if !known {
			if len(e.paced) >= maxPaced || e.reports(t.job) {
				continue
			}
			e.paced = slices.Insert(e.paced, i, pacer{job: t.job})
		}
		at := g.Add(-paceBehind * e.cfg.Grid)
		moved, ok := e.moved(t.job, at)
		if !ok {
			continue
		}
		steps, same := e.paced[i].track.Add(at, moved, e.cfg.Grid)
		if !same {
			e.book.Renew(t.job, at)
		}
		for _, s := range steps {
			e.book.Observe(t.job, s.End, s.Seconds, paceBehind*e.cfg.Grid)
		}
	}
	e.paced = slices.DeleteFunc(e.paced, func(p pacer) bool {
		_, runs := slices.BinarySearchFunc(e.tenants, p.job, tenant.compare)
		return !runs
	})
}

// reports reports whether a job provides its own data: by steps, or as a service.
func (e *roll) reports(job telemetry.Entity) bool { return e.book.Job(job) != nil }

// reported drops the search for a job's steps, and what was found: the job reports
// them itself.
func (e *roll) reported(job telemetry.Entity) {
	if i, ok := slices.BinarySearchFunc(e.paced, job, pacer.compare); ok {
		e.paced = slices.Delete(e.paced, i, i+1)
		e.book.Renew(job, e.at)
	}
}

// moved is what a job's nics sent in the grid that ended at, in bytes; false
// where too few of them were seen.
func (e *roll) moved(job telemetry.Entity, at telemetry.Time) (float64, bool) {
	m := e.fabricMap()
	span := fabric.Span{From: at.Add(-e.cfg.Grid), To: at}
	var sum float64
	seen, ends := 0, 0
	for _, node := range e.nodes(job) {
		for _, i := range m.Links(node) {
			ends++
			if v, ok := m.Sent(e.window, e.cfg.Grid, span, i); ok {
				sum += v
				seen++
			}
		}
	}
	if seen == 0 || float64(seen) < float64(seenPart*float64(ends)) {
		return 0, false
	}
	return float64(sum / float64(seen) * float64(ends) * (float64(e.cfg.Grid) / 1e9)), true
}

func codePacer(c *snapshot.Codec, p *pacer) {
	c.Entity(&p.job)
	p.track.Snapshot(c)
}
