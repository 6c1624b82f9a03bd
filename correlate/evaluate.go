package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// keepAnswers bounds the answers kept of a judgement.
const keepAnswers = 8

// evaluate judges the site at the end of grid g.
func (e *Engine) evaluate(g telemetry.Time) {
	e.sight.graph.Advance(g)
	e.census(g)
	if e.incidents.warmStart {
		e.incidents.adopt(g)
	}
	e.roll.infer(g)
	e.roll.serve(g)
	changed := e.processEvents(g)
	changed = append(changed, e.sight.book.Close(g, jobs.Senses{Working: e.activity.working, Idle: e.activity.lateIdle, Hung: e.activity.hung,
		Corroborates: e.incidents.corroborated, Threatened: e.risks.threatening})...)
	for _, c := range changed {
		if c.Change == jobs.Began {
			e.incidents.begin(c.Job, g)
		}
	}
	for _, c := range e.incidents.cases {
		e.incidents.follow(c, g)
	}
	e.risks.judgeRisks(e.incidents.known(), e.incidents.lately(g), g)
	e.risks.threatenedSince(g, e.examiner.keepThreatened)
	e.examiner.keepUsual(g)
	e.incidents.sweep(g)
	e.incidents.beginStops(g)
	e.costs.fileUsage(g)
	slices.SortStableFunc(e.out.Incidents, byTimeJobID)
}

// processEvents processes the events due by g.
func (e *Engine) processEvents(g telemetry.Time) []jobs.Changed {
	var out []jobs.Changed
	for _, ev := range e.memory.due(g) {
		e.memory.remember(&ev)
		e.signals.signalEvent(&ev, g)
		e.costs.model(&ev)
		e.costs.maintenance(&ev)
		e.roll.pause(&ev)
		out = append(out, e.sight.book.Event(&ev, g)...)
	}
	return out
}

// begin opens a case for a job that became degraded. A job that had recovered
// inside an incident that still affects others is degraded again in the same
// incident.
func (e *caseBook) begin(j *jobs.Job, g telemetry.Time) {
	fresh := e.examiner.open(j, j.Degradation)
	i, ok := e.find(j.Entity)
	if ok {
		c := e.cases[i]
		c.account.Again()
		c.remainder.Again()
		c.before, c.dependencies, c.hosts, c.saves, c.well, c.judged = fresh.before, fresh.dependencies, fresh.hosts, fresh.saves, false, 0
		c.reportedWork, c.late = fresh.reportedWork, nil
		c.restored = false // what was before this degradation was seen
		return
	}
	fresh.incident = explain.Incident{ID: incidentID(e.cfg.Site, string(metricStep), j.Entity, g), State: explain.StateOpen, Kind: explain.KindIncident,
		Opened: g, Site: e.cfg.Site, Engine: Version, Rules: e.cfg.Rules, Calibration: calibration,
		Claims: []explain.Claim{}, Related: []explain.Related{}}
	e.cases = slices.Insert(e.cases, i, fresh)
}

// find returns where a job's open case is, or would be.
func (e *caseBook) find(job telemetry.Entity) (int, bool) {
	return slices.BinarySearchFunc(e.cases, job, func(c *incidentCase, job telemetry.Entity) int { return c.job.Compare(job) })
}

// caseOf returns the open case of a job.
func (e *caseBook) caseOf(job telemetry.Entity) (*incidentCase, bool) {
	i, ok := e.find(job)
	if !ok {
		return nil, false
	}
	return e.cases[i], true
}

const (
	// corroboratedAt is the least confidence of an answer that serves as corroborating
	// evidence for one slow step.
	corroboratedAt = 0.9
	// steady is how many grids ago the answer must have been the same already.
	steady = 2
	// outweighs is the least part of a job's loss that queueing which cannot be
	// chance must explain to corroborate a step that has not ended.
	outweighs = 0.5
)

// corroborated reports whether there is corroborating evidence for a degradation that
// has not been opened: trouble that accounts for it, whatever its name, in the same
// place as a moment ago.
func (e *caseBook) corroborated(j *jobs.Job, h *jobs.Degradation, g telemetry.Time) bool {
	earlier := g.Add(-steady * e.cfg.Grid)
	if earlier <= h.Onset.Earliest {
		return false
	}
	c := e.examiner.open(j, h)
	b := corroboration{belowThreshold: j.BelowThreshold(h, g), inProgress: h.Steps == 0, single: j.OneReport(h) && !j.SavedIn(h)}
	now, sure := b.located(e.answer(e.examiner.gather(c, j, h, g)))
	if sure < corroboratedAt || now == j.Entity {
		return false // nothing is sure enough, or the job would corroborate itself
	}
	then, _ := b.located(e.answer(e.examiner.gather(c, j, h, earlier)))
	return then == now
}

// corroboration describes the degradation for which corroborating evidence is sought.
type corroboration struct {
	belowThreshold bool // no step is slow for certain by itself
	inProgress     bool // no slow one has ended: it is the one in progress that is late
	single         bool // one report of it has come, which holds no checkpoint that has grown
}

// admits reports whether an answer's evidence corroborates the steps as they are: a
// degradation below the single-sample threshold is not corroborated by a queue
// build-up, which some link has at any time, and most evidence counts only where a
// slow step has ended. A step in progress is corroborated by what is broken whatever
// the job does, and by a queue build-up at an end of a link that was not there before:
// not by what coincides by chance while the job does something else. What software
// did in a single step is that step once more: a pause of one host, or a storage that
// took a moment longer, is over with it. A report of several steps may hold one such.
func (b corroboration) admits(a *explain.Answer) bool {
	s := a.Signature
	switch {
	case s == nil || !s.Corroborates || s.Expect == explain.ExpectBenign:
		return false
	case b.belowThreshold && s.Domain == telemetry.Network && !s.CorroboratesAtOnce:
		return false
	case b.single && s.Domain == telemetry.Software && !s.CorroboratesAtOnce:
		return false
	}
	return !b.inProgress || s.CorroboratesAtOnce || a.Values[explain.ExplainedLowerBound] >= outweighs
}

// located returns the entity of the first of the answers, and the confidence that
// there is trouble at it which is admitted as evidence: two names for what one
// adapter does do not make it less certain.
func (b corroboration) located(answers []explain.Answer) (at telemetry.Entity, sure float64) {
	at = answers[0].Entity
	for i := range answers {
		if a := &answers[i]; a.Entity == at && b.admits(a) {
			sure += a.Confidence
		}
	}
	return at, sure
}

// follow judges a case again where there is something new, and publishes what
// a reader must know.
func (e *caseBook) follow(c *incidentCase, g telemetry.Time) {
	j := e.book.Job(c.job)
	degradation := j != nil && j.Degradation != nil
	if c.restored && !c.well && !degradation {
		e.await(c, j, g)
		return
	}
	if c.well || !degradation {
		return
	}
	well := j.Degradation.Well() || j.Over()
	if e.accepted(c, j) {
		c.accepted, well = true, true
	}
	if c.judged == 0 || !well && e.news(c, j, g) {
		e.judge(c, j, g)
	}
	if well {
		e.endConcurrent(c, "recovered", g)
		if !c.accepted && !j.Over() {
			e.examiner.keepFormer(c, j.Degradation, g)
		}
		c.well, c.before, c.dependencies, c.hosts = true, nil, nil, nil
		j.Forget(c.accepted, c.unexplained())
		e.resolveRecovered(e.primary(c), g)
	}
}

// After acceptAfter steps of a benign change, and acceptFor, what the job does is
// its new usual: heat and storage take effect within a minute. What is likely but not sure
// to be benign is watched for longer, acceptLikely: who dismisses a fault sees it no more.
const (
	acceptAfter  = 20
	acceptFor    = telemetry.Duration(60e9)
	acceptLikely = telemetry.Duration(300e9)
)

// accepted reports whether a job's trouble is a change of its work that has lasted.
func (e *caseBook) accepted(c *incidentCase, j *jobs.Job) bool {
	if j.Serves() || c.judged == 0 || j.Degradation.Steps < acceptAfter || e.expects(&c.incident) != explain.ExpectBenign {
		return false
	}
	lasts := acceptFor
	if c.incident.Root.Confidence < surely {
		lasts = acceptLikely
	}
	return j.LastEnd.Sub(j.Degradation.Onset.Latest) >= lasts
}

// expected returns what an occurrence of a signature is: an incident, a
// risk or benign.
func (e *sight) expected(signature string) explain.Expect {
	for i := range e.cfg.Signatures {
		if s := &e.cfg.Signatures[i]; s.Name == signature {
			return s.Expect
		}
	}
	return explain.ExpectIncident
}

// expects returns what an incident is taken for: a change of the work only where
// that is likelier than not. The best of many guesses is not enough to assume that
// nothing is broken.
func (e *sight) expects(in *explain.Incident) explain.Expect {
	if in.Root.Confidence < publishAt {
		return explain.ExpectIncident
	}
	return e.expected(in.Root.Signature)
}

// news reports whether there is something new to judge a case on: a step, another
// state, or some grids gone by.
func (e *caseBook) news(c *incidentCase, j *jobs.Job, g telemetry.Time) bool {
	return j.Steps != c.steps || g.Sub(c.judged) >= judgeEvery*e.cfg.Grid || c.impact.State != j.Degradation.State.String()
}

// restPart is the back-off between two searches for a cause, as a part of the
// degradation's age: a few more seconds add little to many, and the evidence of a
// large job takes tenths of a second to read. The cost is updated all the same.
const restPart = 10

// inBackOff reports whether a case is in back-off: it was explained recently for how
// long the degradation lasts, twice alike, nothing but the time has changed since,
// and no concurrent fault awaits confirmation.
func (c *incidentCase) inBackOff(h *jobs.Degradation, g telemetry.Time) bool {
	pending := c.concurrent != nil && c.concurrent.published.Revision == 0
	return c.alike && c.looked > h.Onset.Earliest && c.impact.State == h.State.String() && !pending &&
		g.Sub(c.looked) < c.looked.Sub(h.Onset.Earliest)/restPart
}

// judge explains the case as of grid g and publishes a revision if it contains
// something new.
func (e *caseBook) judge(c *incidentCase, j *jobs.Job, g telemetry.Time) {
	next := c.incident
	next.Updated = g
	if c.restored || c.restarted(j.Degradation) || c.failedLongAgo(j.Degradation, g) || c.recovers(j.Degradation, g) || c.inBackOff(j.Degradation, g) {
		e.updateCost(c, &next, e.examiner.cost(c, j, j.Degradation))
	} else {
		if e.stopsApart(c, j, g) {
			e.partAtStop(c, j, g)
			return
		}
		ev := e.examiner.gather(c, j, j.Degradation, g)
		answers := e.study(ev, g)
		if ev.Fabric != nil {
			c.counted.Keep(ev.Fabric.Now)
		}
		if e.elsewhere(c, ev, g.Sub(j.Degradation.Opened)) {
			e.depart(c, &answers[0], g)
			next = c.incident
			next.Updated = g
		}
		answers = e.withoutConcurrent(c, ev, answers)
		if r := e.risks.openRisk(answers[0].Entity, answers[0].Name()); r != nil {
			c.naming.knows(placeOf(&answers[0]), r.since)
		}
		if answers, ok := c.naming.choose(answers, e.awaits(c, ev, &answers[0], g), g); !ok {
			e.updateCost(c, &next, ev)
		} else {
			e.writer().Write(&next, ev, answers)
			e.writer().Refresh(&next, ev, e.expects(&next))
			e.second(c, ev, &answers[0], &next)
		}
		c.looked, c.alike = g, next.Root.Entity == c.incident.Root.Entity && next.Root.Signature == c.incident.Root.Signature
	}
	c.impact, c.judged, c.steps = next.Impact.Jobs[0], g, j.Steps
	if c.published.Revision == 0 && c.under.IsZero() {
		next = e.name(c, next, g)
	}
	e.mergeRisk(&next, e.reportedAs(c, &next), g)
	c.incident = next
	switch lead := e.primary(c); {
	case e.diverges(c, lead):
		e.split(c, g)
	case c == lead:
		e.merge(c, g)
	}
	if !e.waits(c, g) {
		e.publish(e.primary(c), g)
	}
	e.enter(c, g)
}

// awaits reports whether what is still to be read may change the root that a case is about
// to name: it contradicts that nothing is broken, or is an end on the job's paths while the
// best answer is in the network and not sure, or shows the root of the incident that the case
// opened again.
func (e *caseBook) awaits(c *incidentCase, ev *explain.Evidence, best *explain.Answer, g telemetry.Time) bool {
	was := place{c.former.Root.Entity, c.former.Root.Signature}
	return ev.Awaits(best) || best.Confidence < publishAtOnce && ev.PathsUnread(best, g) || c.naming.root == was && e.unread(c, ev)
}

// updateCost updates the cost in next; the cause stays as it was published.
func (e *caseBook) updateCost(c *incidentCase, next *explain.Incident, ev *explain.Evidence) {
	e.writer().Refresh(next, ev, e.expects(next))
	c.shareAgain(next)
}

// writer gives explain what it needs of the engine to put things into words.
func (e *sight) writer() *explain.Writer {
	return &explain.Writer{
		Catalogue: e.cfg.Catalogue,
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

// onsetReach is how many grids, and onsetSamples how many samples, before and after
// a job's onset its cause is looked for, the longer of them.
const (
	onsetReach   = 10
	onsetSamples = 4
)

// worstClock is from when on a clock that is off is a blind spot.
const worstClock = telemetry.Duration(1e9)

// onset finds when a series rose above a level: the change point of being above it,
// which a single value above it before is not. The event is within a sample's
// length of it: a counter's rise is spread over the grids since its last sample, a
// gauge is valid until its next.
func (e *sight) onset(s telemetry.Series, level float64, near telemetry.Interval) (telemetry.Interval, bool) {
	return e.crossed(s, near, func(v float64) bool { return v > level })
}

// fell is onset for a series that first fell below a level.
func (e *sight) fell(s telemetry.Series, level float64, near telemetry.Interval) (telemetry.Interval, bool) {
	return e.crossed(s, near, func(v float64) bool { return v < level })
}

func (e *sight) crossed(s telemetry.Series, near telemetry.Interval, beyond func(float64) bool) (telemetry.Interval, bool) {
	slot, ok := e.window.Slot(s)
	if !ok {
		return near, false
	}
	grid, step := e.cfg.Grid, e.look(slot)
	reach := max(onsetReach*grid, onsetSamples*step)
	var beyonds []bool
	var at []telemetry.Time
	for g := floor(near.Earliest, grid).Add(-reach); g <= near.Latest.Add(reach); g = g.Add(step) {
		if v, ok := e.window.At(slot, g); ok {
			beyonds, at = append(beyonds, beyond(v)), append(at, g)
		}
	}
	first, last, ok := stats.Turn(beyonds)
	if !ok {
		return near, false
	}
	return e.looked(slot, at[first], at[last]), true
}

// look is how far apart a series is looked at: once a sample.
func (e *sight) look(slot int) telemetry.Duration {
	return max(e.cfg.Grid, floor(telemetry.Time(e.window.Cadence(slot)), e.cfg.Grid).Sub(0))
}

// looked is when something began that is first seen in one of the looks from first to
// last.
func (e *sight) looked(slot int, first, last telemetry.Time) telemetry.Interval {
	cadence := e.window.Cadence(slot)
	return e.widened(slot, telemetry.Interval{Earliest: first.Add(-e.look(slot) - cadence), Latest: last.Add(cadence - e.cfg.Grid)})
}

// widened widens the time of what a slot reported by how far its source's clock may
// be off: order is asserted only beyond that.
func (e *sight) widened(slot int, by telemetry.Interval) telemetry.Interval {
	before, after := e.window.ClockError(slot)
	return telemetry.Interval{Earliest: by.Earliest.Add(-before), Latest: by.Latest.Add(after)}
}

// clockOff reports whether the times of a series are further from the receivers'
// than anybody who compares them would expect: by the median, for one sample
// travels longer than another.
func (e *sight) clockOff(s telemetry.Series) bool {
	slot, ok := e.window.Slot(s)
	if !ok {
		return false
	}
	off := e.window.ClockOffset(slot)
	return max(off, -off) > worstClock
}

// metricOf declares what a finding is about; nil where a whole source is stale
// or the metric is not declared.
func (e *sight) metricOf(f *detect.Finding) *telemetry.Metric {
	if f.Slot < 0 {
		return nil
	}
	return e.window.Metric(f.Slot)
}
