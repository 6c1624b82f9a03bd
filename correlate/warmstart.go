package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// Warm start: an engine that did not see the beginning, because it started without
// a snapshot or ran in parallel with another one, continues the incidents that were
// published: it takes over their ids and continues their revisions (I5). What it
// found out for itself about a job stays its own; only for a job whose trouble it
// did not see begin does it keep the explanation that was published.

// Horizon is how long after a start without a snapshot the engine's verdicts are
// those of an engine that has run for ever, within tolerance. A restored incident
// whose job has not reported by then is over.
const Horizon = telemetry.Duration(15 * 60e9)

// How a restored incident ended whose end was not seen.
const (
	recoveredUnseen = "recovered unseen"
	endedUnseen     = "ended unseen"
	withoutData     = "no data"
)

// WarmStart gives the engine the newest published revisions of all open incidents and
// of those that it might open again, in any order (warm start). They replace what
// it has published itself. They count from the next grid that is closed; nothing
// changes before (I1).
func (e *Engine) WarmStart(known []explain.Incident) {
	e.incidents.restoring, e.incidents.warmStart = slices.Clone(known), true
	slices.SortFunc(e.incidents.restoring, func(a, b explain.Incident) int {
		return cmp.Or(cmp.Compare(a.Opened, b.Opened), cmp.Compare(a.ID, b.ID))
	})
}

// adopt makes the restored incidents the engine's own at grid g.
func (e *caseBook) adopt(g telemetry.Time) {
	known := e.restoring
	e.restoring, e.warmStart = nil, false
	former := e.disown()
	e.risks.disownRisks()
	for i := range known {
		switch {
		case known[i].State != explain.StateOpen:
		case known[i].Kind == explain.KindRisk:
			e.risks.takeRisk(&known[i], g)
		default:
			e.take(&known[i], g)
		}
	}
	e.regroup(former)
	e.past, e.risks.past = nil, nil
	for i := range known {
		switch {
		case known[i].State == explain.StateOpen:
		case known[i].Kind == explain.KindRisk:
			e.risks.recallRisk(&known[i], g)
		default:
			e.recall(&known[i], g)
		}
	}
	e.wellAlready(g)
}

// wellAlready ends the incidents without a job that is still degraded, because
// those that are have moved to another. One that was not published is dropped
// without a revision.
func (e *caseBook) wellAlready(g telemetry.Time) {
	var gone []*incidentCase
	for _, c := range e.cases {
		all := e.members(c)
		switch {
		case !c.under.IsZero() || slices.ContainsFunc(all, func(m *incidentCase) bool { return !m.well }):
		case c.published.Revision > 0:
			e.resolveRecovered(c, g)
		default:
			gone = append(gone, all...)
		}
	}
	e.cases = slices.DeleteFunc(e.cases, func(c *incidentCase) bool { return slices.Contains(gone, c) })
}

// led is a job and the job whose case carried its incident.
type led struct{ job, primary telemetry.Entity }

func (l led) compare(job telemetry.Entity) int { return l.job.Compare(job) }

// disown forgets the names and revisions under which the engine has published its
// cases, and what it still awaits of an earlier warm start. It returns the former
// primary of each member, in identity order of job.
func (e *caseBook) disown() (former []led) {
	var kept []*incidentCase
	for _, c := range e.cases {
		if j := e.book.Job(c.job); c.restored && !c.well && (j == nil || j.Degradation == nil) {
			continue
		}
		kept, former = append(kept, c), append(former, led{c.job, e.primary(c).job})
	}
	for _, c := range kept {
		e.closeConcurrent(c, e.now())
		c.under, c.diverged, c.published, c.concurrent = telemetry.Entity{}, 0, explain.Incident{}, nil
		if !c.well {
			c.judged = 0
		}
	}
	e.cases = kept
	return former
}

// taken reports whether a case belongs to a restored incident already.
func (c *incidentCase) taken() bool { return c.published.Revision > 0 || !c.under.IsZero() }

// take gives an open incident that was published to the cases of its jobs. A job
// whose trouble the engine does not know gets a case that waits for its steps.
func (e *caseBook) take(h *explain.Incident, g telemetry.Time) {
	var mine []*incidentCase
	for _, impact := range h.Impact.Jobs {
		i, ok := e.find(impact.Job)
		switch {
		case ok && len(h.Impact.Jobs) == 1 && e.cases[i].taken() && e.cases[i].concurrent == nil:
			e.cases[i].restoreConcurrent(h)
			return
		case impact.Job.Validate() != nil || ok && e.cases[i].taken():
			continue // a job's degradation is in one incident
		case !ok:
			e.cases = slices.Insert(e.cases, i, &incidentCase{job: impact.Job, restored: true, since: g})
			fallthrough
		case e.cases[i].restored:
			e.cases[i].explained(h, impact, e.cfg.Rules)
		}
		mine = append(mine, e.cases[i])
	}
	if len(mine) == 0 {
		e.out.Incidents = append(e.out.Incidents, concluded(*h, e.cfg.Rules, g))
		return
	}
	lead := mine[max(0, slices.IndexFunc(mine, func(c *incidentCase) bool { return !c.restored }))]
	for _, c := range mine {
		if c != lead {
			c.under = lead.job
		}
	}
	lead.goOn(h)
}

// explained fills a case with what was published of its job.
func (c *incidentCase) explained(h *explain.Incident, impact explain.JobImpact, rules string) {
	c.incident, c.impact = h.Named(), impact
	c.incident.Title = explain.WithoutOthers(h.Title)
	c.incident.Engine, c.incident.Rules = Version, rules
	if len(h.Impact.Jobs) == 1 {
		for _, x := range h.Impact.Entities {
			if x.Kind == telemetry.Node {
				c.nodes = union(c.nodes, []telemetry.Entity{x})
			}
		}
	}
}

// goOn lets a case carry a restored incident under its name and number.
func (c *incidentCase) goOn(h *explain.Incident) {
	c.published = *h
	c.incident.ID, c.incident.Opened, c.incident.Reopens, c.incident.SplitFrom = h.ID, h.Opened, h.Reopens, h.SplitFrom
}

// concluded is the last revision of a published incident that has no job.
func concluded(h explain.Incident, rules string, g telemetry.Time) explain.Incident {
	how, at := withoutData, g
	h.State, h.Resolution, h.Resolved = explain.StateResolved, &how, &at
	h.Updated, h.Revision = g, h.Revision+1
	h.Engine, h.Rules = Version, rules
	return h
}

// regroup puts the cases that no restored incident lists back under their former
// primary.
func (e *caseBook) regroup(former []led) {
	for _, c := range e.cases {
		if c.taken() {
			continue
		}
		by, _ := slices.BinarySearchFunc(former, c.job, led.compare)
		i, ok := e.find(former[by].primary)
		if !ok || e.cases[i] == c { // its primary was awaited and is gone, or itself
			i = slices.IndexFunc(e.cases, func(o *incidentCase) bool { return o.taken() && o.incident.ID == c.incident.ID })
		}
		if i >= 0 {
			c.under = e.primary(e.cases[i]).job
		}
	}
}

// recall records a published incident that is over: a case of that name continues
// its revisions, and the same trouble within ten minutes opens it again.
func (e *caseBook) recall(h *explain.Incident, g telemetry.Time) {
	for _, c := range e.cases {
		if !c.taken() && c.incident.ID == h.ID {
			c.goOn(h)
			c.incident.Reopens = h.Reopens + 1
			return
		}
	}
	if h.Resolved == nil || len(h.Impact.Jobs) == 0 || g.Sub(*h.Resolved) > reopenWithin {
		return
	}
	e.keepPast(h.Impact.Jobs[0].Job, h)
}

// await judges a restored case whose job is not degraded by its own past: that past
// may have formed during the trouble.
func (e *caseBook) await(c *incidentCase, j *jobs.Job, g telemetry.Time) {
	switch outcome := e.resume(c, j); {
	case outcome == jobs.StillDegraded:
		e.judge(c, j, g)
		return
	case j != nil && j.Over():
		c.ending = endedUnseen
	case outcome == jobs.Recovered:
		c.ending = recoveredUnseen
	case g.Sub(c.since) >= Horizon && !e.knownStopped(c):
		c.ending = withoutData
	default:
		return
	}
	c.well = true
	e.resolveRecovered(e.primary(c), g)
}

// resume holds a job's steps against what was published of its trouble.
func (e *caseBook) resume(c *incidentCase, j *jobs.Job) jobs.Resumed {
	if j == nil || j.Over() {
		return jobs.Undecided
	}
	e.examiner.meet(c)
	value := func(x *float64) float64 {
		if x == nil {
			return 0
		}
		return *x
	}
	return j.Resume(jobs.Published{Onset: c.incident.Onset, Opened: c.incident.Opened, Until: c.incident.Updated, Before: value(c.impact.Before),
		Expected: value(c.impact.Expected), Now: value(c.impact.Now), Lost: c.impact.GPUSecondsLost / float64(e.gpus(c.job, c.nodes))})
}

// knownStopped reports whether a job that makes no steps is known to be stopped: it was
// stalled or failed, and still has its placement.
func (e *caseBook) knownStopped(c *incidentCase) bool {
	_, placed := slices.BinarySearchFunc(e.roll.running, c.job, runningJob.compare)
	return placed && (c.impact.State == jobs.Stalled.String() || c.impact.State == jobs.Failed.String())
}
