package jobs

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// MaxJobs bounds how many jobs are followed. For one more, the half of the
// healthy ones that have reported nothing for longest are forgotten.
const MaxJobs = 65536

// Book is every job's steps, in identity order.
type Book struct {
	jobs []*Job
	// Refused counts lengths that are no length (not positive, infinite or not a
	// number) and steps of a new job while all jobs that are followed are degraded;
	// Forgotten counts jobs dropped for new ones.
	Refused, Forgotten uint64
}

// Changed is one job's change in a grid.
type Changed struct {
	Job    *Job
	Change Change
}

// Job returns the job, nil where it is not known.
func (b *Book) Job(e telemetry.Entity) *Job {
	if i, ok := b.find(e); ok {
		return b.jobs[i]
	}
	return nil
}

// Jobs lists the jobs in identity order.
func (b *Book) Jobs() []*Job { return b.jobs }

// Observe takes the end of a step of length seconds, which became visible delay
// later than a prompt source's would. Steps of one job come in the order of
// their ends; an older one is ignored.
func (b *Book) Observe(job telemetry.Entity, end telemetry.Time, length float64, delay telemetry.Duration) {
	if !(length > 0) || length > 1e9 {
		b.Refused++
		return
	}
	if j := b.know(job); j != nil {
		j.delay = delay
		j.observe(end, length)
	}
}

// Event takes what happened to a job: started, failed, restarted, ended, saved,
// or entered another phase.
func (b *Book) Event(e *telemetry.Event, g telemetry.Time) []Changed {
	j := b.Job(e.Entity)
	if j == nil && e.Entity.Kind == telemetry.Job && (e.Name == telemetry.EventJobStarted || e.Name == telemetry.EventCheckpointEnded) {
		j = b.know(e.Entity) // one that saves works, though it may report no step
	}
	if j == nil {
		return nil
	}
	switch e.Name {
	case telemetry.EventJobStarted:
		j.start(e.At)
	case telemetry.EventJobEnded:
		b.End(e.Entity, e.At)
	case telemetry.EventCheckpointStarted, telemetry.EventCheckpointEnded:
		j.save(e.At, e.Name == telemetry.EventCheckpointEnded, strings.HasPrefix(e.Text, "phase "))
	case EventPhase:
		j.enter(e.Text, e.At)
	case telemetry.EventJobFailed, telemetry.EventJobRestarted:
		return j.fail(e, g)
	}
	return nil
}

// start records that a job begins, or begins again after it failed.
func (j *Job) start(at telemetry.Time) {
	if h := j.Degradation; h != nil && h.Since != 0 {
		h.State = Restarted
		return
	}
	if j.good.Started == 0 || j.ended {
		j.good.start(at)
	}
}

// fail opens the job's degradation or changes its state: a failed job finishes no
// step until it is started again.
func (j *Job) fail(e *telemetry.Event, g telemetry.Time) []Changed {
	state := Failed
	if e.Name == telemetry.EventJobRestarted {
		state = Restarted
	}
	redone := 0.0
	if j.Degradation == nil || j.Degradation.Since == 0 {
		redone = j.good.fail() // a restart after a failure loses nothing more
	}
	if h := j.Degradation; h != nil {
		h.State, h.reported, h.Since, h.resumed = state, state, e.At, 0
		h.Redone += redone
		return []Changed{{j, Turned}}
	}
	u := j.past.usual()
	j.Degradation = &Degradation{State: state, reported: state, Opened: g, Before: j.past.before(), Expected: u.mean, Since: e.At, Usual: u.median,
		Onset: j.stopped(e.At), LastSlow: e.At, Redone: redone}
	j.odds, j.suspects = odds{}, j.suspects[:0]
	return []Changed{{j, Began}}
}

// stopped is when what ended a job began: within the step in progress, or, where that is
// overdue, since the last one ended: a job fails when a timeout has passed.
func (j *Job) stopped(at telemetry.Time) telemetry.Interval {
	usual := seconds(max(j.past.usual().median, j.gaps.usual().median))
	if j.LastEnd == 0 || float64(at-j.LastEnd) < j.stallSteps()*float64(usual) {
		return telemetry.Interval{Earliest: max(j.LastEnd, at.Add(-seconds(j.past.usual().median))), Latest: at}
	}
	return telemetry.Interval{Earliest: j.LastEnd, Latest: min(at, max(j.LastEnd, j.worked).Add(usual))}
}

// Close judges every job at the end of grid g, in identity order.
func (b *Book) Close(g telemetry.Time, s Senses) []Changed {
	var out []Changed
	for _, j := range b.jobs {
		if c := j.close(g, s); c != None {
			out = append(out, Changed{j, c})
		}
	}
	return out
}

// Renew changes what is taken for a step of a job from an instant on: nothing that
// was learned of the former steps holds, and a degradation that was measured in
// them is over.
func (b *Book) Renew(job telemetry.Entity, at telemetry.Time) {
	j := b.Job(job)
	if j == nil {
		return
	}
	if j.Degradation != nil {
		b.End(job, at)
	}
	*j = Job{Entity: j.Entity, Degradation: j.Degradation, LastEnd: j.LastEnd, Steps: j.Steps, good: j.good, mfu: j.mfu, ended: j.ended,
		phase: j.phase, phaseFrom: j.phaseFrom, phaseTo: j.phaseTo, savedAt: j.savedAt}
}

// Forget drops a job's degradation: the job has recovered, or what it does now is
// its new usual, in which case the past begins anew. A degradation of one long step
// may have been the first of a periodic pattern, and one without a cause is part of how the
// job varies: as many of its steps are as it is likely, own, that it had none.
func (j *Job) Forget(newUsual bool, own float64) {
	if h := j.Degradation; h != nil && !newUsual && own > 0 {
		due := 0.0
		for _, x := range h.sampled.lengths {
			if due += own; due >= 1 {
				due--
				j.past.wide.add(x)
				j.blocks.past.add(x) // one step of each block
			}
		}
		j.past.known = false
	}
	if newUsual {
		j.past.clear()
		j.blocks.clear()
		j.longs = j.longs[:0]
		j.spikes.clear(j.Steps)
	}
	if h := j.Degradation; h != nil && !newUsual && j.OneReport(h) && h.State != Failed && h.State != Restarted {
		each := h.Sum / float64(h.Steps)
		j.longs.add(h.last, h.LastSlow, each-j.past.usual().median)
		j.spikes.add(pending{h.LastSlow, each, h.Steps, h.last})
	}
	j.Degradation, j.well = nil, j.LastEnd
}

func (b *Book) find(e telemetry.Entity) (int, bool) {
	return slices.BinarySearchFunc(b.jobs, e, func(j *Job, e telemetry.Entity) int { return j.Entity.Compare(e) })
}

func (b *Book) know(e telemetry.Entity) *Job {
	i, ok := b.find(e)
	if !ok {
		if len(b.jobs) >= MaxJobs {
			b.shed()
			if i, _ = b.find(e); len(b.jobs) >= MaxJobs {
				b.Refused++
				return nil
			}
		}
		b.jobs = slices.Insert(b.jobs, i, &Job{Entity: e})
	}
	return b.jobs[i]
}

// shed drops the half of the healthy jobs that have not reported for longest.
func (b *Book) shed() {
	var ends []int64
	for _, j := range b.jobs {
		if j.Degradation == nil {
			ends = append(ends, int64(j.LastEnd))
		}
	}
	if len(ends) == 0 {
		return
	}
	slices.Sort(ends)
	oldest := ends[len(ends)/2]
	kept := len(b.jobs)
	b.jobs = slices.DeleteFunc(b.jobs, func(j *Job) bool { return j.Degradation == nil && int64(j.LastEnd) <= oldest })
	b.Forgotten += uint64(kept - len(b.jobs))
}

// Snapshot writes or restores the book.
func (b *Book) Snapshot(c *snapshot.Codec) {
	c.U64(&b.Refused)
	c.U64(&b.Forgotten)
	snapshot.List(c, &b.jobs, 32, func(c *snapshot.Codec, j **Job) {
		if *j == nil {
			*j = &Job{}
		}
		(*j).snapshot(c)
	})
}
