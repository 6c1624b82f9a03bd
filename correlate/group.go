package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// One root that degrades several jobs is one incident: the case of the job that was
// degraded first is the primary, the others are members. A case that is pinned on
// another answer leaves and is an incident of its own.

// caseBook holds the cases of all degraded jobs, and publishes their incidents.
type caseBook struct {
	*sight
	examiner *examiner
	roll     *roll
	risks    *risks
	ledger   *attribute.Ledger
	out      *Output

	cases []*incidentCase // open, by job
	past  []*incidentCase // resolved less than reopenWithin ago
	// restoring are the incidents to be restored at the next grid, by opening and id, if
	// warmStart is set.
	restoring []explain.Incident
	warmStart bool
	stopped   []stopped // in this grid, for another reason than they were slower for; not state
}

// known lists the open incidents that readers know of.
func (e *caseBook) known() []*explain.Incident {
	var out []*explain.Incident
	for _, c := range e.cases {
		if c.under.IsZero() && c.published.Revision > 0 {
			out = append(out, &c.incident)
		}
		if c.concurrent.isPublished() {
			out = append(out, &c.concurrent.incident)
		}
	}
	return out
}

// lately lists the incidents that were resolved in the time that the window holds.
func (e *caseBook) lately(g telemetry.Time) []*explain.Incident {
	var out []*explain.Incident
	for _, c := range e.past {
		if g.Sub(c.resolved) < history*e.cfg.Grid {
			out = append(out, &c.incident)
		}
	}
	return out
}

const (
	// sure is how sure two cases must be of one root to be one incident.
	sure = 0.5
	// surely is how sure a case must be of another root to leave, and strayed
	// how many judgements in a row.
	surely        = 0.9
	divergedAfter = 3
)

// primary is the case that carries c's incident, the primary.
func (e *caseBook) primary(c *incidentCase) *incidentCase {
	if lead, ok := e.caseOf(c.under); ok && !c.under.IsZero() {
		return lead
	}
	return c
}

// members lists the cases of a primary's incident, the primary first, then by
// identity.
func (e *caseBook) members(lead *incidentCase) []*incidentCase {
	out := []*incidentCase{lead}
	for _, c := range e.cases {
		if c.under == lead.job {
			out = append(out, c)
		}
	}
	return out
}

// place finds where a case that was judged for the first time belongs: in the
// incident it was resolved from a short while ago, under an open one of the
// same root, or by itself.
func (e *caseBook) place(c *incidentCase, next explain.Incident, g telemetry.Time) explain.Incident {
	if old := e.takeUp(c, &next, g); old != nil {
		next = c.reopen(old, next)
		if j := e.book.Job(c.job); j != nil && j.Degradation != nil {
			j.Degradation.Relapse(next.Reopens)
		}
		return next
	}
	if e.takeOver(c, &next, g) {
		return next
	}
	for _, o := range e.cases {
		if o != c && o.under.IsZero() && o.published.Revision > 0 && e.belongs(c, o, &next) {
			c.under = o.job
			break
		}
	}
	return next
}

// belongs reports whether a case that is judged for the first time may join the
// open incident of another one.
func (e *caseBook) belongs(c, o *incidentCase, next *explain.Incident) bool {
	open := &o.incident
	return oneRoot(open, next) || maybeSameRoot(open, next) || e.maybeOne(open, next) || e.maybeOne(next, open) ||
		e.under(c, open, next) || e.storedOn(c, open, next) || e.partsOfOne(open, next) || floods(c, o, next)
}

// takeOver gives a case the incident that another job's case carries as its second
// one, if it is of the same root: it affects more than that job.
func (e *caseBook) takeOver(c *incidentCase, next *explain.Incident, g telemetry.Time) bool {
	for _, o := range e.cases {
		if o == c || !o.concurrent.isPublished() || !oneRoot(&o.concurrent.incident, next) {
			continue
		}
		c.published = o.concurrent.published
		next.ID, next.Opened, next.Reopens = o.concurrent.incident.ID, o.concurrent.incident.Opened, o.concurrent.incident.Reopens
		e.closeConcurrent(o, g)
		o.concurrent = nil
		return true
	}
	return false
}

// merge joins a primary with another one that has come to the same root: the
// younger incident is resolved as merged, and its jobs go on under the older.
func (e *caseBook) merge(c *incidentCase, g telemetry.Time) {
	if c.published.Revision == 0 {
		return
	}
	for _, o := range e.cases {
		if o == c || !o.under.IsZero() || o.published.Revision == 0 && o.judged == 0 {
			continue
		}
		if !oneRoot(&o.incident, &c.incident) && !alike(&o.incident, &c.incident) && !e.partsOfOne(&o.incident, &c.incident) && !floods(c, o, &c.incident) {
			continue
		}
		if o.published.Revision == 0 {
			o.under = c.job // readers know nothing of it
			continue
		}
		older, younger := o, c
		if c.incident.Opened < o.incident.Opened {
			older, younger = c, o
		}
		e.absorb(older, younger, g)
		return
	}
}

// absorb ends the younger incident. Its last revision lists no job: the older one
// reports them from now on.
func (e *caseBook) absorb(older, younger *incidentCase, g telemetry.Time) {
	last := younger.published
	how, into, at := "merged", older.incident.ID, g
	last.State, last.Resolution, last.MergedInto, last.Resolved = explain.StateResolved, &how, &into, &at
	last.Updated, last.Revision = g, last.Revision+1
	last.Impact.Jobs = []explain.JobImpact{}
	e.out.Incidents = append(e.out.Incidents, last)
	for _, m := range e.members(younger) {
		m.under = older.job
	}
}

// oneRoot reports whether two incidents name the same root and are sure of what it
// is. One that degrades two jobs may show heat to the one and starvation to the
// other; a job alone can be the root of two things at once.
func oneRoot(a, b *explain.Incident) bool {
	return a.Root.Entity == b.Root.Entity && (a.Root.Signature == b.Root.Signature || a.Root.Entity.Kind != telemetry.Job) &&
		a.Root.Signature != explain.Unknown && b.Root.Signature != explain.Unknown && ofKind(a) >= sure && ofKind(b) >= sure
}

// ofKind is the confidence in the signature of an incident's root, at whatever
// place: an air handler and the row that it blows into may be hard to distinguish.
func ofKind(in *explain.Incident) float64 {
	all := in.Root.Confidence
	for i := range in.Alternatives {
		if in.Alternatives[i].Signature == in.Root.Signature {
			all += in.Alternatives[i].Confidence
		}
	}
	return all
}

// togetherWithin is the largest distance between the onsets of jobs that one fault
// degrades at the same time.
const togetherWithin = telemetry.Duration(30e9)

// aloneAfter is how long a job that became degraded together with another,
// published one does not get an incident of its own, and how long a risk waits for
// what is upstream of it to report.
const aloneAfter = telemetry.Duration(30e9)

// waits reports whether a case is not published yet. One fault that degrades two
// jobs is likelier than two at once, and a few steps or the next report of a slow
// source show it: an incident of its own that is merged moments later is false. One
// that began at another time waits only while its cause is not sure. A stalled job
// does not wait.
func (e *caseBook) waits(c *incidentCase, g telemetry.Time) bool {
	if c.published.Revision > 0 || !c.under.IsZero() || c.incident.SplitFrom != nil || c.impact.State != jobs.Slow.String() || g.Sub(c.incident.Opened) >= aloneAfter {
		return false
	}
	return slices.ContainsFunc(e.cases, func(o *incidentCase) bool {
		return o != c && o.under.IsZero() && o.published.Revision > 0 && !o.well &&
			(beganTogether(&o.incident, &c.incident) || c.incident.Root.Confidence < surely)
	})
}

// alike reports whether two incidents that began together name the same root,
// however sure they are of it.
func alike(a, b *explain.Incident) bool {
	return a.Root.Entity == b.Root.Entity && a.Root.Signature == b.Root.Signature && maybeSameRoot(a, b)
}

// partsOfOne reports whether two incidents that began together name parts of one fault
// that its roots have together: each job meets other switches of a loop.
func (e *sight) partsOfOne(a, b *explain.Incident) bool {
	s := e.signature(a.Root.Signature)
	return s != nil && s.Together && a.Root.Signature == b.Root.Signature && beganTogether(a, b)
}

// maybeSameRoot reports whether two incidents that began together may be of one
// root: each names it, or lists it, with a name or without. Two faults at the same
// time are less likely; a case that is sure of another root leaves.
func maybeSameRoot(a, b *explain.Incident) bool {
	unnamed := a.Root.Signature == explain.Unknown || b.Root.Signature == explain.Unknown
	switch {
	case !unnamed && a.Root.Domain != b.Root.Domain:
		return false
	case !beganTogether(a, b):
		return false
	case a.Subject() == a.Root.Entity || b.Subject() == b.Root.Entity:
		return false // the job's own trouble
	}
	return lists(a, b.Root.Entity) || lists(b, a.Root.Entity)
}

// maybeOne reports whether an incident that is not sure of its root lists what
// another one is sure of, or names what contains that: heat and drifts reach one job
// long after another.
func (e *caseBook) maybeOne(o, next *explain.Incident) bool {
	if o.Root.Signature == explain.Unknown || ofKind(o) < sure || next.Root.Confidence >= min(ofKind(o), surely) || beganAfter(o, next) {
		return false
	}
	if o.Root.Domain == next.Root.Domain && (e.within(o.Root.Entity, next.Root.Entity) || e.within(next.Root.Entity, o.Root.Entity)) {
		return true
	}
	return slices.ContainsFunc(next.Alternatives, func(a explain.Alternative) bool {
		return a.Entity == o.Root.Entity && a.Signature == o.Root.Signature
	})
}

// lists reports whether an incident names an entity as root or alternative.
func lists(in *explain.Incident, x telemetry.Entity) bool {
	return in.Root.Entity == x || slices.ContainsFunc(in.Alternatives, func(o explain.Alternative) bool { return o.Entity == x })
}

// beganAfter reports whether the root of an incident began after another one did: it does
// not explain that.
func beganAfter(o, another *explain.Incident) bool {
	return o.Root.Onset.Earliest.Sub(another.Onset.Latest) > togetherWithin
}

func beganTogether(a, b *explain.Incident) bool {
	return a.Onset.Earliest.Sub(b.Onset.Latest) <= togetherWithin && b.Onset.Earliest.Sub(a.Onset.Latest) <= togetherWithin
}

// under reports whether a case whose trouble has no name yet, or is attributed to
// the job itself where no better root is known, began together with that of a root
// which is sure and on which its job depends, too. Heat need not begin together, it
// reaches one job long after another: there it is enough to be sure of nothing
// else.
func (e *caseBook) under(c *incidentCase, o, next *explain.Incident) bool {
	vague := next.Root.Signature == explain.Unknown || next.Root.Entity == c.job && next.Root.Confidence < surely
	together := vague && o.Root.Confidence >= sure && beganTogether(o, next)
	heat := next.Root.Confidence < surely && o.Root.Domain == telemetry.Cooling && ofKind(o) >= surely
	return o.Root.Signature != explain.Unknown && (together || heat) && e.dependsOn(c, o.Root.Entity)
}

// ofItself reports whether a case's own job is the root of an open incident that
// began together with its degradation: a job that floods the links at which others
// wait also waits there. Only a sure effect in another domain is another fault.
func ofItself(c *incidentCase, o, next *explain.Incident) bool {
	return o.Root.Entity == c.job && o.Root.Confidence >= sure && beganTogether(o, next) &&
		(o.Root.Domain == next.Root.Domain || next.Root.Confidence < surely)
}

// floods reports whether one of two cases, the first of which has next, is of the
// job that is the root of the other's trouble.
func floods(c, o *incidentCase, next *explain.Incident) bool {
	return ofItself(c, &o.incident, next) || ofItself(o, next, &o.incident)
}

// dependsOn reports whether a case's job depends on an entity: its GPUs under it, or
// its path through the fabric over it.
func (e *caseBook) dependsOn(c *incidentCase, x telemetry.Entity) bool {
	if e.survey(c.job, c.nodes).Carries(x) {
		return true
	}
	m := e.fabricMap()
	for i, on := range fabric.OnPath(m, c.nodes) {
		if on && (m.Ends[i].Entity == x || m.Ends[i].Port == x || m.Ends[i].Owner == x) {
			return true
		}
	}
	return false
}

// within reports whether an entity is a part of another.
func (e *sight) within(part, whole telemetry.Entity) bool {
	outer, ok := e.graph.Within(part, whole.Kind)
	return ok && outer == whole && part != whole
}

// storedOn reports whether a case that is attributed to its own job may join an
// open one for the storage that both use: the storage is known to be slow, or both
// began to wait alike. Waiting for input has an effect at once, while the storage's
// own latency is read only at intervals.
func (e *caseBook) storedOn(c *incidentCase, o, next *explain.Incident) bool {
	entity, signature := named(next)
	if entity != c.job {
		return false
	}
	if o.Root.Entity.Kind == telemetry.Storage {
		return ofKind(o) >= sure && e.survey(c.job, c.nodes).Carries(o.Root.Entity)
	}
	return o.Root.Entity == o.Subject() && o.Root.Signature == signature && beganTogether(o, next) && e.storedTogether(o.Root.Entity, entity)
}

// named is the likeliest answer of an incident that has a name; none where it has
// no answer with one.
func named(in *explain.Incident) (telemetry.Entity, string) {
	if in.Root.Signature != explain.Unknown {
		return in.Root.Entity, in.Root.Signature
	}
	best := explain.Alternative{Signature: explain.Unknown}
	for _, a := range in.Alternatives {
		if a.Signature != explain.Unknown && (best.Signature == explain.Unknown || a.Confidence > best.Confidence) {
			best = a
		}
	}
	return best.Entity, best.Signature
}

// storedTogether reports whether two jobs use the same storage, or may: no storage is reported
// for either.
func (e *sight) storedTogether(a, b telemetry.Entity) bool {
	uses := func(job telemetry.Entity) []telemetry.Entity {
		var out []telemetry.Entity
		for _, n := range e.graph.Neighbours(job) {
			if n.Relation == telemetry.Uses && n.Out && n.Entity.Kind == telemetry.Storage {
				out = append(out, n.Entity)
			}
		}
		return out
	}
	ours, theirs := uses(a), uses(b)
	return len(ours)+len(theirs) == 0 || slices.ContainsFunc(ours, func(x telemetry.Entity) bool { return slices.Contains(theirs, x) })
}

// diverges counts how often in a row c has been sure of a root other than its
// primary's, or has not listed that root at all though the primary is sure of it
// and c's job does not depend on it (c diverges); and reports whether that is often
// enough.
func (e *caseBook) diverges(c, lead *incidentCase) bool {
	own := c.incident.Root.Confidence >= surely
	other := c != lead && !own && lead.incident.Root.Confidence >= surely && c.incident.Root.Signature != explain.Unknown &&
		!lists(&c.incident, lead.incident.Root.Entity) && !e.dependsOn(c, lead.incident.Root.Entity)
	if c == lead || c.restored || c.incident.Root.Entity == lead.incident.Root.Entity || c.incident.Root.Entity == lead.published.Root.Entity || lead.incident.Root.Entity == c.job || ofItself(lead, &c.incident, &lead.incident) ||
		e.within(c.incident.Root.Entity, lead.incident.Root.Entity) || e.near(c.incident.Root.Entity, lead.incident.Root.Entity) ||
		e.storedOn(c, &lead.incident, &c.incident) || e.partsOfOne(&lead.incident, &c.incident) || !own && !other {
		c.diverged = 0
		return false
	}
	c.diverged++
	return c.diverged >= divergedAfter
}

// split makes c an incident of its own.
func (e *caseBook) split(c *incidentCase, g telemetry.Time) {
	from := e.primary(c).incident.ID
	c.under, c.diverged = telemetry.Entity{}, 0
	c.incident.ID = incidentID(e.cfg.Site, "split", c.job, g)
	c.incident.Opened, c.incident.SplitFrom = g, &from
}

// publish publishes a primary's incident with the impact of all its members. It is
// a revision only if something changed since the last one on which a reader acts;
// other fields are refreshed without one.
func (e *caseBook) publish(lead *incidentCase, g telemetry.Time) {
	next := e.together(lead)
	if lead.published.Revision != 0 && !explain.Differs(&lead.published, &next) {
		return
	}
	next.Updated = g
	next.Revision = lead.published.Revision + 1
	lead.published = next
	e.out.Incidents = append(e.out.Incidents, next)
}

// ranksBefore reports whether c rather than o describes the incident of which both
// are members: the one whose cause is more certain, then the one that loses more.
func (e *caseBook) ranksBefore(c, o *incidentCase) bool {
	if mine, theirs := e.knows(c), e.knows(o); mine != theirs {
		return mine > theirs
	}
	return c.impact.GPUSecondsLost > o.impact.GPUSecondsLost
}

// knows is 0 for a case that names no root, or nothing but that its work has changed, which
// explains no other job, 1 where it is not sure of the root, 2 where the root is its own job,
// and 3 where it is another entity: a job that floods the links or fills the storage is slower
// for it, and shows less of it than those that share them.
func (e *caseBook) knows(c *incidentCase) int {
	r := &c.incident.Root
	switch {
	case r.Signature == explain.Unknown || !c.naming.named() && r.Confidence < sure || e.expects(&c.incident) == explain.ExpectBenign:
		return 0
	case r.Confidence < sure:
		return 1
	case r.Entity == c.job:
		return 2
	}
	return 3
}

// together is the primary's incident with every member's job, described by the
// member that comes first by ranksBefore.
func (e *caseBook) together(lead *incidentCase) explain.Incident {
	all := e.members(lead)
	speaker := lead
	for _, m := range all {
		if e.ranksBefore(m, speaker) {
			speaker = m
		}
	}
	next := speaker.incident
	own := &lead.incident
	next.ID, next.Opened, next.Reopens, next.SplitFrom = own.ID, own.Opened, own.Reopens, own.SplitFrom
	next.State, next.Resolved, next.Resolution = own.State, own.Resolved, own.Resolution
	impacts := []explain.JobImpact{speaker.impact}
	for _, m := range all {
		if m != speaker {
			impacts = append(impacts, m.impact)
			next.Severity = explain.Worse(next.Severity, m.incident.Severity)
			next.Impact.Entities = union(next.Impact.Entities, m.incident.Impact.Entities)
		}
	}
	next.Impact.Jobs = slices.Concat(impacts, e.costBefore(lead))
	placed := next.Placed()
	likely := next.State != explain.StateOpen && placed.Root.Confidence >= atLast(e.expected(next.Root.Signature))
	if speaker.restored || speaker.naming.named() || likely {
		next = placed
	} else {
		next = next.Investigating()
	}
	next.Title = explain.WithOthers(next.Title, impacts)
	return next
}

// costBefore is what an incident that is open again cost the jobs that are well since: what
// has another trouble now is in the incident of that.
func (e *caseBook) costBefore(lead *incidentCase) (out []explain.JobImpact) {
	for _, j := range lead.former.Impact.Jobs {
		if _, open := e.caseOf(j.Job); !open {
			out = append(out, j)
		}
	}
	return out
}

// resolveRecovered resolves a primary's incident when every member has recovered.
func (e *caseBook) resolveRecovered(lead *incidentCase, g telemetry.Time) {
	all := e.members(lead)
	if slices.ContainsFunc(all, func(c *incidentCase) bool { return !c.well }) {
		return
	}
	if lead.published.Revision == 0 {
		e.publish(lead, g) // it recovered before it was published
	}
	how, at := cmp.Or(lead.ending, "recovered"), g
	switch {
	case lead.accepted:
		how = "new usual"
	case !slices.ContainsFunc(all, func(c *incidentCase) bool { return c.impact.Costs() }):
		how = "withdrawn"
	}
	lead.incident.State, lead.incident.Resolution, lead.incident.Resolved = explain.StateResolved, &how, &at
	e.publish(lead, g)
	e.closeAccounts(all, g)
	for _, c := range all {
		c.resolved = g
	}
}

// sweep moves resolved cases to the past, and forgets the old ones.
func (e *caseBook) sweep(g telemetry.Time) {
	open := e.cases[:0]
	for _, c := range e.cases {
		switch {
		case c.resolved == 0:
			open = append(open, c)
		case c.under.IsZero():
			e.past = append(e.past, c)
		}
	}
	e.cases = open
	e.past = slices.DeleteFunc(e.past, func(c *incidentCase) bool { return g.Sub(c.resolved) > reopenWithin })
}

// unexplained is how likely it is that a degradation which is over had no cause: not where one
// is very sure, or that something is wrong at a place outside the job.
func (c *incidentCase) unexplained() float64 {
	likely := ofKind(&c.incident)
	if c.incident.Root.Entity != c.job {
		likely = max(likely, c.incident.Placed().Root.Confidence)
	}
	switch {
	case c.incident.Root.Signature == explain.Unknown:
		return 1
	case likely >= surely:
		return 0
	}
	return 1 - likely
}
