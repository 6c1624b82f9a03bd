package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/pace"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// pacer finds the steps of a job that reports none.
type pacer struct {
	job    telemetry.Entity
	track  pace.Tracker
	by     progress
	looked telemetry.Time // the last grid whose progress was looked at
	rate   statedRate
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

// infer finds the steps of jobs that report none, and no rate either, in what their nics
// send or their GPUs do.
func (e *roll) infer(g telemetry.Time) {
	for _, t := range e.running {
		i, known := slices.BinarySearchFunc(e.paced, t.job, pacer.compare)
		if !known {
			if len(e.paced) >= maxPaced || e.reports(t.job) {
				continue
			}
			e.paced = slices.Insert(e.paced, i, pacer{job: t.job})
		}
		p := &e.paced[i]
		if p.rate.metric != "" {
			continue
		}
		behind := e.behind(p)
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

// pace takes what a job did in the last grid that was looked at.
func (e *roll) pace(p *pacer, behind telemetry.Duration) {
	moved, ok := e.moved(p)
	if !ok {
		return
	}
	steps, same := p.track.Add(p.looked, float64(moved*e.cfg.Grid.Seconds()), e.cfg.Grid, e.steady(p.job))
	if !same {
		e.book.Renew(p.job, p.looked)
	}
	for _, s := range steps {
		e.book.Observe(p.job, s.End, s.Seconds, behind)
	}
}

// steady reports whether a job does what it usually does, as far as its steps show.
func (e *roll) steady(job telemetry.Entity) bool {
	j := e.book.Job(job)
	if j == nil || j.Degradation != nil {
		return j == nil
	}
	_, doubted := j.Doubted()
	return !doubted
}

// behind returns how long the samples are waited for that show a job's progress. Before a
// measure of it is chosen, they are those of NICs and of tensor cores.
func (e *roll) behind(p *pacer) telemetry.Duration {
	var slowest telemetry.Duration
	wait := func(slot, clock int) {
		for _, s := range [...]int{slot, clock} {
			if s >= 0 {
				slowest = max(slowest, e.window.Cadence(s))
			}
		}
	}
	if p.by != byNothing {
		e.eachPart(p.job, p.by, wait)
	} else {
		e.eachPart(p.job, byNICs, wait)
		e.eachPart(p.job, byTensorCores, wait)
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

func codePacer(c *snapshot.Codec, p *pacer) {
	c.Entity(&p.job)
	p.track.Snapshot(c)
	c.U8((*uint8)(&p.by))
	c.Time(&p.looked)
	c.String((*string)(&p.rate.metric))
	c.Time(&p.rate.last)
	c.F64(&p.rate.amount)
}
