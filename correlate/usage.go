package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Where GPU-seconds go is filed job by job, a few jobs a grid. A job interval ends
// where a step does, so that nothing is filed of a step in progress; its
// composition is read from the ranks' own times and from some of the job's GPUs.

const (
	// filedWithin is the number of grids within which every job is filed once, and
	// none sooner than after filedAfter: a mean of a few samples is more exact than
	// one.
	filedWithin = 60
	filedAfter  = 15
	// sampled is how many ranks and GPUs represent a job, evenly spread over it and
	// others each time: a mean over 64 is within an eighth of a deviation.
	sampled = 64
	// quiet is how long a job may make no step before what it did since is filed
	// as not known, in usual steps and at least in seconds.
	quietSteps = 5
	// unjudged is how many reports of a healthy job may turn out to be the first of
	// a degradation.
	unjudged     = 2
	quietSeconds = 300
	// healthySeconds is over how long the healthy past's composition is a mean.
	healthySeconds = 600.0
)

// The metrics that report a step's composition.
const (
	metricCheckpoint telemetry.MetricName = "job_checkpoint_seconds"
	metricInput      telemetry.MetricName = "job_data_wait_seconds"
	metricTokens     telemetry.MetricName = "job_tokens_per_second"
	metricStepCount  telemetry.MetricName = "job_step_count"
	metricWait       telemetry.MetricName = "rank_comm_wait_seconds"
	metricTransfer   telemetry.MetricName = "rank_comm_transfer_seconds"
)

// spent is what is known of how a job spends its GPU-seconds.
type spent struct {
	gpus  int            // how many it runs on
	filed telemetry.Time // up to when its GPU-seconds are filed
	mix   attribute.Mix  // of its healthy past
	known bool           // mix is
	top   float64        // hertz: the highest clock seen of its GPUs
	// pauses are what it did other than training, as it reported; announces is set
	// if it reports its checkpoints.
	pauses    []pause
	announces bool
	begun     bool // steps of it have been filed
	// lost is the work, in seconds, that its failures have cost it so far since
	// the checkpoints before them, and owed how much of it is still to be done
	// again.
	lost, owed float64
}

func (l *spent) snapshot(c *snapshot.Codec) {
	c.Int(&l.gpus)
	c.Time(&l.filed)
	l.mix.Snapshot(c)
	c.Bool(&l.known)
	c.F64(&l.top)
	snapshot.List(c, &l.pauses, 20, codePause)
	c.Bool(&l.announces)
	c.Bool(&l.begun)
	c.F64(&l.lost)
	c.F64(&l.owed)
}

// fileUsage files the GPU-seconds of the jobs whose turn it is, and those of
// the GPUs without a job.
func (e *costs) fileUsage(g telemetry.Time) {
	n := (len(e.roll.running) + filedWithin - 1) / filedWithin
	at, found := slices.BinarySearchFunc(e.roll.running, e.turn, runningJob.compare)
	if found {
		at++
	}
	for range n {
		if at >= len(e.roll.running) {
			at = 0
		}
		if t := &e.roll.running[at]; g.Sub(t.filed) >= filedAfter*e.cfg.Grid {
			e.fileJob(t, g)
		}
		e.turn = e.roll.running[at].job
		at++
	}
	e.fileSpare(g)
}

// fileJob files what a job's GPUs did since they were last filed.
func (e *costs) fileJob(t *runningJob, g telemetry.Time) {
	j := e.book.Job(t.job)
	to, reported := e.until(t, j, g)
	if to <= t.filed {
		return
	}
	w := attribute.Work{GPUs: t.gpus, MFU: -1, Reported: -1, Mix: attribute.UnknownMix()}
	if reported {
		e.work(&w, t, j, to)
	} else {
		w.Unreported = to.Sub(t.filed).Seconds()
	}
	tally := attribute.Split(&w)
	e.usage.Add(t.job, t.filed, to, &tally)
	t.filed = to
}

// fileRemainder files all that is left of a job that is over.
func (e *costs) fileRemainder(t *runningJob, g telemetry.Time) {
	e.fileJob(t, g)
	if g > t.filed {
		tally := attribute.Split(&attribute.Work{GPUs: t.gpus, MFU: -1, Reported: -1, Mix: attribute.UnknownMix(), Unreported: g.Sub(t.filed).Seconds()})
		e.usage.Add(t.job, t.filed, g, &tally)
	}
	e.forget(t.job)
}

// until returns up to when a job's GPU-seconds can be filed, and whether its steps
// show how they were spent.
func (e *costs) until(t *runningJob, j *jobs.Job, g telemetry.Time) (to telemetry.Time, reported bool) {
	if j == nil || j.LastEnd == 0 {
		return g, false
	}
	last, silent := min(judged(j), g), g.Sub(min(j.LastEnd, g)).Seconds()
	usual, _ := j.Usual()
	switch {
	case failed(j):
		return g, true
	case last > t.filed:
		return last, true // a stalled job's step may end yet, and report how long it was
	case stalled(j) && silent > quietSeconds:
		return g, true
	case silent > max(float64(quietSteps*usual), quietSeconds):
		return g, false
	}
	return t.filed, false
}

// judged is the end of the last step for which it is known whether it belongs to a
// degradation; the last ones of a healthy job may still turn out to.
func judged(j *jobs.Job) telemetry.Time {
	if n := len(j.Recent) - 1 - unjudged; j.Degradation == nil && !j.Over() {
		if n < 0 {
			return 0
		}
		return j.Recent[n].End
	}
	return j.LastEnd
}

// failed reports whether a job has failed and made no step since.
func failed(j *jobs.Job) bool {
	return j.Degradation != nil && (j.Degradation.State == jobs.Failed || j.Degradation.Since != 0)
}

// stalled reports whether a job is known to finish no steps.
func stalled(j *jobs.Job) bool { return j.Degradation != nil && j.Degradation.State == jobs.Stalled }

// work records what a job did since it was last filed.
func (e *costs) work(w *attribute.Work, t *runningJob, j *jobs.Job, to telemetry.Time) {
	s := e.interval(t, j, to)
	last := s.steps(w, e.incidents.expect(w, j))
	if tail := to.Sub(last).Seconds(); failed(j) || stalled(j) {
		w.Down += tail
	} else {
		w.Unreported += tail
	}
	t.again(w, j)
	if w.Steps == 0 {
		return
	}
	t.begun = true
	e.utilisation(w, &s)
	if j.Degradation != nil && t.known {
		w.Mix = t.mix
		return
	}
	w.Mix = e.mix(t, &s, (w.Base+w.Excess+w.Redone)/w.Steps)
	switch {
	case j.Degradation != nil:
	case !t.known:
		t.mix, t.known = w.Mix, true
	default:
		t.mix.Blend(w.Mix, min(1, to.Sub(t.filed).Seconds()/healthySeconds))
	}
}

// again takes from the steps those that only do again what a failure lost.
func (l *spent) again(w *attribute.Work, j *jobs.Job) {
	good := j.Goodput()
	owed := l.owed + max(0, good.Redone-l.lost)
	l.lost = good.Redone
	base := w.Base
	w.Redone = min(owed, base)
	w.Base = base - w.Redone
	l.owed = owed - w.Redone
}

// expect returns how long a step is by the job's healthy past, 0 where there is no
// comparison, and sets to what a longer one is attributed.
func (e *caseBook) expect(w *attribute.Work, j *jobs.Job) float64 {
	if j.Degradation == nil {
		return 0
	}
	w.Cause = attribute.Stragglers
	if c, ok := e.caseOf(j.Entity); ok {
		a := &c.account
		if a.Benign {
			return 0
		}
		w.Cause = attribute.PartOf(a.Cause)
		if b := c.concurrent; b.isPublished() && b.account != nil {
			w.Other, w.OtherShare = attribute.PartOf(b.account.Cause), b.share()
		}
	}
	return j.Degradation.Expected
}

// utilisation reads a job's model FLOPs utilisation in a job interval.
func (e *costs) utilisation(w *attribute.Work, s *jobInterval) {
	reported := e.weighed(s, metricMFU)
	tokens := e.weighed(s, metricTokens)
	if reported > 1 {
		reported = -1 // no utilisation
	}
	w.Reported = reported
	d := e.describe(s.job.Entity)
	var basis string
	w.MFU, basis = d.model.PaLM(reported, tokens, w.GPUs)
	if w.MFU >= 0 {
		e.basis(s.job.Entity, basis)
	}
}
