package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// leastWaiting is the waiting, in seconds per second, below which an end is
	// not suspected.
	leastWaiting = 0.02
	// findingWeight is what a finding makes of an entity that shows nothing
	// else, and jobWeight what a job is suspected of in any case.
	findingWeight = 0.2
	jobWeight     = 0.05
	// firstWeight is the weight of being the first that failed or fell behind.
	firstWeight = 0.35
)

// suspect finds what "unknown" points to: the ends where most of the job's
// waiting ends, and the entities with the strongest symptoms; where there is
// neither, the entity on its hosts with the worst finding, else the job itself.
func (e *examiner) suspect(ev *explain.Evidence) {
	var all []explain.Suspect
	if f := ev.Fabric; f != nil {
		for i, b := range f.Blame.At {
			if share := f.Blame.Share(i) / 2; b > leastWaiting && share > jobWeight {
				all = append(all, explain.Suspect{Entity: f.Now.Map.Ends[i].Entity, Domain: telemetry.Network, Weight: share})
			}
		}
	}
	if f := ev.First; f != nil {
		all = append(all, explain.Suspect{Entity: f.Suspect(), Domain: telemetry.Computing, Weight: firstWeight})
	}
	if ev.Symptoms != nil {
		for _, s := range ev.Symptoms.Strongest() {
			if s.Weight > jobWeight {
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 {
		if s, ok := e.suspectFinding(ev); ok {
			all = append(all, s)
		}
	}
	addSuspects(ev, append(all, explain.Suspect{Entity: ev.Job, Domain: telemetry.Software, Weight: jobWeight}))
}

// addSuspects adds suspects to those of the evidence: of an entity named twice the entry
// with the larger weight stays, and the largest comes first.
func addSuspects(ev *explain.Evidence, more []explain.Suspect) {
	all := append(slices.Clone(ev.Suspects), more...)
	slices.SortStableFunc(all, func(a, b explain.Suspect) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), a.Entity.Compare(b.Entity))
	})
	ev.Suspects = ev.Suspects[:0:0]
	for _, s := range all {
		if !slices.ContainsFunc(ev.Suspects, func(o explain.Suspect) bool { return o.Entity == s.Entity }) {
			ev.Suspects = append(ev.Suspects, s)
		}
	}
}

// suspectFinding returns the host, or the part of it, whose finding is worst:
// something that got worse since a little before the degradation.
func (e *examiner) suspectFinding(ev *explain.Evidence) (found explain.Suspect, ok bool) {
	worst := 0.0
	since := ev.Degradation.Onset.Earliest.Add(-suspectBefore)
	e.detect.Active(e.window, func(f *detect.Finding) {
		m := e.metricOf(f)
		if f.Score <= worst || f.Onset.Latest < since || m == nil || m.Rise == telemetry.Neutral || !e.containedIn(f.Series.Entity, ev.Nodes) {
			return
		}
		if (f.Now > f.Before) == (m.Rise == telemetry.Worse) {
			worst = f.Score
			found, ok = explain.Suspect{Entity: f.Series.Entity, Metric: m.Name, Domain: m.Domain, Weight: findingWeight}, true
		}
	})
	return found, ok
}

// suspectBefore is how long before a degradation a finding may begin to count as a
// suspect.
const suspectBefore = telemetry.Duration(60e9)

// restarted reports whether a job which had failed runs again: what it does now
// does not show why it failed, so the answer is kept and only its cost is updated,
// also where its first steps are slow.
func (c *incidentCase) restarted(h *jobs.Degradation) bool {
	if c.judged == 0 {
		c.failed = false // it is degraded anew
		return false
	}
	c.failed = c.failed || c.impact.State == jobs.Failed.String() || h.State == jobs.Restarted
	return c.failed && h.State != jobs.Failed
}

// whyFor is how long after a job has failed its cause is searched for: the reports
// of slow sources come within that time. Then machines are repaired, idle or given
// to others, and show nothing of it any more.
const whyFor = telemetry.Duration(60e9)

// reportsWithin is how long after the last slow step its cause is searched for: the
// reports of slow sources come within that time.
const reportsWithin = telemetry.Duration(30e9)

// recovers reports whether the last slow step of a job, and the first search for its
// cause, are too far back for the present evidence to show why: the window forgets the
// degradation from its front, and what is left of it is the end, in which the cause may
// be gone.
func (c *incidentCase) recovers(h *jobs.Degradation, g telemetry.Time) bool {
	return c.judged != 0 && h.State == jobs.Slow && g.Sub(max(h.End(g), c.naming.since)) > reportsWithin
}

// failedLongAgo reports whether a job failed too long ago for the present evidence to
// show why.
func (c *incidentCase) failedLongAgo(h *jobs.Degradation, g telemetry.Time) bool {
	return c.judged != 0 && h.State == jobs.Failed && c.impact.State == jobs.Failed.String() && g.Sub(h.Since) > whyFor
}
