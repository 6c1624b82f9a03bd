package correlate

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job that is slower for one reason may stop for another. A host that is late in every
// step costs a part of each, and none of them ends when another host is down: what the
// incident says of the first is not why the job has stopped. So a stop is compared with
// what the job lost before, and where the root that was named is not its reason, the
// incident ends there, and the stop is one of its own.

// stoppedJob is how an incident ends whose job has stopped for another reason.
const stoppedJob = "job stopped"

// stopped is a job that has, and the incident that ends there.
type stopped struct {
	job  *jobs.Job
	from string
}

const (
	// likelyThere is how likely the reason of a stop must be where the job's slowness began.
	likelyThere = 0.5
	// stopLasts is for how long a job must have stopped: steps are late, or their reports.
	stopLasts = telemetry.Duration(10e9)
)

// stopsApart reports whether a job has stopped that was slower for a reason of which its
// case was sure, and what has come since it stopped is not at that place. One long step,
// such as one that holds a checkpoint, is no stop: it must have lasted and be the certain
// work of something that is broken, or have ended the job and be old enough for all to be
// seen.
func (e *caseBook) stopsApart(c *incidentCase, j *jobs.Job, g telemetry.Time) bool {
	h, was := j.Degradation, &c.incident
	if h.Steps == 0 || j.Serves() || h.State != jobs.Stalled && h.State != jobs.Failed || len(e.members(e.primary(c))) > 1 ||
		c.pinned.times < stableAfter || math.IsInf(c.pinned.then, 1) || was.Root.Signature == explain.Unknown {
		return false
	}
	stop := j.Stop(g)
	age := g.Sub(stop.Onset.Latest)
	if age < stopLasts {
		return false
	}
	answers := e.answer(e.examiner.gatherPart(c, j, stop, g))
	best := &answers[0]
	broken := best.Broken() && best.Signature.CorroboratesAtOnce && kind(answers, best.Name()) >= sure
	return e.there(was, answers) < likelyThere && (broken || h.State == jobs.Failed && age >= investigateFor)
}

// turnedInto reports whether a job stopped where one case ended, or ran again, though more
// slowly: what was wrong before is the reason of what came then only where it is found at
// the same place.
func (c *incidentCase) turnedInto(next *incidentCase) bool {
	return c.ending == stoppedJob || c.failed && next.impact.State == jobs.Slow.String()
}

// partAtStop ends the incident of a job that was slower, with what it lost until it stopped,
// and begins the degradation of the stop, of which the job becomes a case when the grid has
// been judged.
func (e *caseBook) partAtStop(c *incidentCase, j *jobs.Job, g telemetry.Time) {
	slow := *j.Degradation
	slow.State, slow.Since, slow.Overdue, slow.Redone = jobs.Slow, 0, 0, 0
	e.updateCost(c, &c.incident, e.examiner.cost(c, j, &slow))
	c.impact = c.incident.Impact.Jobs[0]
	e.enter(c, g)
	e.endConcurrent(c, stoppedJob, g)
	e.examiner.keepFormer(c, j.Degradation, g)
	c.ending, c.well, c.before, c.dependencies, c.hosts = stoppedJob, true, nil, nil, nil
	j.Degradation = j.Stop(g)
	e.resolveRecovered(c, g)
	e.stopped = append(e.stopped, stopped{j, c.incident.ID})
}

// beginStops opens the cases of the jobs that have stopped for a reason of their own.
func (e *caseBook) beginStops(g telemetry.Time) {
	for i := range e.stopped {
		s := &e.stopped[i]
		e.begin(s.job, g)
		if c, ok := e.caseOf(s.job.Entity); ok {
			c.incident.SplitFrom = &s.from
		}
	}
	e.stopped = nil
}
