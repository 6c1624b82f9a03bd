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
	job    telemetry.Entity
	track  pace.Tracker
	looked telemetry.Time // the last grid whose traffic was looked at
}

func (p pacer) compare(job telemetry.Entity) int { return p.job.Compare(job) }

const (
	// maxPaced bounds the jobs whose steps are looked for.
	maxPaced = 256
	// paceBehind is the least number of grids that are waited for, and paceSamples how
	// many samples of the slowest counter: a lost sample is made up for by the next one.
	paceBehind, paceSamples = 5, 2
	// mostBehind bounds them.
	mostBehind = 128
	// seenPart of a job's nics must have been seen in a grid, for the others to be
	// taken for alike.
	seenPart = 0.8
)

// infer finds the steps of jobs that report none in what their nics send.
func (e *roll) infer(g telemetry.Time) {
	for _, t := range e.running {
		i, known := slices.BinarySearchFunc(e.paced, t.job, pacer.compare)
		if !known {
			if len(e.paced) >= maxPaced || e.reports(t.job) {
				continue
			}
			e.paced = slices.Insert(e.paced, i, pacer{job: t.job})
		}
		p, behind := &e.paced[i], e.behind(t.job)
		last := g.Add(-behind)
		if p.looked == 0 || p.looked < last.Add(-mostBehind*e.cfg.Grid) {
			p.looked = last.Add(-e.cfg.Grid)
		}
		for p.looked < last {
			p.looked = p.looked.Add(e.cfg.Grid)
			e.pace(p, behind)
		}
	}
	e.paced = slices.DeleteFunc(e.paced, func(p pacer) bool {
		_, runs := slices.BinarySearchFunc(e.running, p.job, runningJob.compare)
		return !runs
	})
}

// pace takes what a job sent in the last grid that was looked at.
func (e *roll) pace(p *pacer, behind telemetry.Duration) {
	moved, ok := e.moved(p.job, p.looked)
	if !ok {
		return
	}
	steps, same := p.track.Add(p.looked, moved, e.cfg.Grid)
	if !same {
		e.book.Renew(p.job, p.looked)
	}
	for _, s := range steps {
		e.book.Observe(p.job, s.End, s.Seconds, behind)
	}
}

// behind is how long what a job's nics send is waited for.
func (e *roll) behind(job telemetry.Entity) telemetry.Duration {
	m := e.fabricMap()
	var slowest telemetry.Duration
	for _, node := range e.nodes(job) {
		for _, i := range m.Links(node) {
			if slot := m.SentBy(i); slot >= 0 {
				slowest = max(slowest, e.window.Cadence(slot))
			}
		}
	}
	grids := (paceSamples*slowest + e.cfg.Grid - 1) / e.cfg.Grid
	return min(max(grids, paceBehind), mostBehind) * e.cfg.Grid
}

// reports reports whether a job provides its own data: by steps, or as a service. That
// it started or saved is no step.
func (e *roll) reports(job telemetry.Entity) bool {
	j := e.book.Job(job)
	return j != nil && (j.Steps > 0 || j.Serves())
}

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
	c.Time(&p.looked)
}
