package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// reopenWithin is how long a resolved incident waits for the same trouble to
// come back before it is a new one (design A5).
const reopenWithin = telemetry.Duration(600e9)

// keepAnswers bounds the answers kept of a judgement.
const keepAnswers = 8

// evaluate judges the site at the end of grid g.
func (e *Engine) evaluate(g telemetry.Time) {
	e.graph.Advance(g)
	e.census(g)
	changed := e.hear(g)
	changed = append(changed, e.book.Close(g, e.working)...)
	for _, c := range changed {
		if c.Change == jobs.Began {
			e.begin(c.Job, g)
		}
	}
	for _, c := range e.cases {
		e.follow(c, g)
	}
	e.sweep(g)
	slices.SortStableFunc(e.out.Incidents, byTimeJobID)
}

// hear takes the events due by g.
func (e *Engine) hear(g telemetry.Time) []jobs.Changed {
	var out []jobs.Changed
	for _, ev := range e.due(g) {
		out = append(out, e.book.Event(&ev, g)...)
	}
	return out
}

// begin opens a case for a job that began to hurt, or takes up the one that was
// resolved a short while ago.
func (e *Engine) begin(j *jobs.Job, g telemetry.Time) {
	if e.caseOf(j.Entity) != nil {
		return
	}
	c := e.open(j)
	i, _ := slices.BinarySearchFunc(e.cases, j.Entity, func(c *incidentCase, job telemetry.Entity) int { return c.job.Compare(job) })
	e.cases = slices.Insert(e.cases, i, c)
	c.incident = explain.Incident{ID: incidentID(e.cfg.Site, string(metricStep), j.Entity, g), State: explain.StateOpen, Kind: explain.KindIncident,
		Opened: g, Site: e.cfg.Site, Engine: Version, Rules: e.cfg.Rules}
}

func (e *Engine) caseOf(job telemetry.Entity) *incidentCase {
	for _, c := range e.cases {
		if c.job == job {
			return c
		}
	}
	return nil
}

// follow judges a case again where there is something new, and publishes what
// a reader must know.
func (e *Engine) follow(c *incidentCase, g telemetry.Time) {
	j := e.book.Job(c.job)
	if j == nil || j.Hurt == nil {
		return
	}
	well := j.Hurt.Well()
	if !well && c.judged != 0 && j.Steps == c.steps && g.Sub(c.judged) < judgeEvery*e.cfg.Grid && stateOf(&c.incident) == j.Hurt.State.String() {
		return
	}
	if !well || c.judged == 0 {
		e.judge(c, j, g)
	}
	if well {
		e.resolve(c, j, g)
	}
}

func stateOf(in *explain.Incident) string {
	if len(in.Impact.Jobs) == 0 {
		return ""
	}
	return in.Impact.Jobs[0].State
}

// judge explains the case as of grid g and publishes a revision if it says
// something new.
func (e *Engine) judge(c *incidentCase, j *jobs.Job, g telemetry.Time) {
	ev := e.gather(c, j, g)
	answers := explain.Judge(e.cfg.Signatures, explain.Candidates(ev), e.suspect(ev), keepAnswers)
	next := c.incident
	next.Updated = g
	e.teller().Tell(&next, ev, answers)
	if c.judged == 0 {
		if old := e.takeUp(c.job, &next, g); old != nil {
			c.published = old.published
			next = old.incident
			next.State, next.Resolved, next.Resolution, next.Updated = explain.StateOpen, nil, nil, g
			next.Reopens++
			e.teller().Tell(&next, ev, answers)
		}
	}
	c.judged, c.steps = g, j.Steps
	e.publish(c, next)
}

// suspect is the entity that "unknown" points to: where most of the job's
// waiting ends, else the job.
func (e *Engine) suspect(ev *explain.Evidence) telemetry.Entity {
	best, at := ev.Job, 0.0
	if ev.Fabric != nil {
		for i := range ev.Fabric.Blame.At {
			if b := ev.Fabric.Blame.At[i]; b > at && b > 0.02 {
				best, at = ev.Fabric.Now.Map.Ends[i].Entity, b
			}
		}
	}
	return best
}

// publish makes next the case's incident. It is a revision only if something
// changed since the last one that a reader acts on; the other fields are
// refreshed all the same.
func (e *Engine) publish(c *incidentCase, next explain.Incident) {
	revise := c.published.Revision == 0 || explain.Differs(&c.published, &next)
	if revise {
		next.Revision = c.published.Revision + 1
		c.published = next
		e.out.Incidents = append(e.out.Incidents, next)
	}
	next.Revision = c.published.Revision
	c.incident = next
}

// resolve closes a case whose job is well again.
func (e *Engine) resolve(c *incidentCase, j *jobs.Job, g telemetry.Time) {
	next := c.incident
	how := "recovered"
	next.State, next.Resolution, next.Updated = explain.StateResolved, &how, g
	at := g
	next.Resolved = &at
	c.resolved = g
	c.before, c.hosts = nil, nil
	e.publish(c, next)
	j.Forget(false)
}

// sweep moves resolved cases to the past, and forgets the old ones.
func (e *Engine) sweep(g telemetry.Time) {
	open := e.cases[:0]
	for _, c := range e.cases {
		if c.resolved == 0 {
			open = append(open, c)
		} else {
			e.past = append(e.past, c)
		}
	}
	e.cases = open
	e.past = slices.DeleteFunc(e.past, func(c *incidentCase) bool { return g.Sub(c.resolved) > reopenWithin })
}

// takeUp finds the case of the same job and root that was resolved less than
// ten minutes ago, and takes it out of the past.
func (e *Engine) takeUp(job telemetry.Entity, next *explain.Incident, g telemetry.Time) *incidentCase {
	for i, c := range e.past {
		was := c.incident.Root
		if c.job == job && was.Entity == next.Root.Entity && was.Signature == next.Root.Signature && g.Sub(c.resolved) <= reopenWithin {
			e.past = slices.Delete(e.past, i, i+1)
			return c
		}
	}
	return nil
}

// teller gives explain what it needs of the engine to put things into words.
func (e *Engine) teller() *explain.Teller {
	return &explain.Teller{
		Catalogue: e.cfg.Catalogue,
		Onset:     e.onset,
		Node: func(x telemetry.Entity) telemetry.Entity {
			if x.Kind != telemetry.Node {
				if c, ok := e.graph.Container(x); ok {
					return c
				}
			}
			return x
		},
		Has: func(s telemetry.Series) bool { _, ok := e.window.Slot(s); return ok },
	}
}

// onset finds the first grid in which a series was nearer to now than to
// before, from a little before the job's own onset on.
func (e *Engine) onset(entity telemetry.Entity, metric telemetry.MetricName, before, now float64, fallback telemetry.Interval) telemetry.Interval {
	slot, ok := e.window.Slot(telemetry.Series{Entity: entity, Metric: metric})
	if !ok || now <= before {
		return fallback
	}
	half := before + (now-before)/2
	grid := e.cfg.Grid
	from := floor(fallback.Earliest, grid).Add(-10 * grid)
	for g := from; g <= fallback.Latest.Add(10*grid); g = g.Add(grid) {
		if v, ok := e.window.At(slot, g); ok && v > half {
			return telemetry.Interval{Earliest: g.Add(-2 * grid), Latest: g}
		}
	}
	return fallback
}
