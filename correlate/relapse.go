package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job that becomes degraded again a short while after it has recovered may be so for
// the same reason. Then the relapse opens its incident again, which it leaves when it turns
// out to be another trouble.

// reopenWithin is how long a resolved incident waits for the same trouble to
// come back before it is a new one.
const reopenWithin = telemetry.Duration(600e9)

// earlier finds the resolved case of which a job's new degradation is a relapse: of
// an incident that listed that job, at the same place less than ten minutes ago,
// whatever its name, and, after a minute, with a root that it may have had. One that
// names no root yet has no place but its job: within a minute it is a relapse, later
// as far as its answers are at the place of that incident. Of an incident of other jobs
// it is one where both name the same root. It returns -1 where there is none.
func (e *caseBook) earlier(c *incidentCase, next *explain.Incident, g telemetry.Time) int {
	listed := func(old *incidentCase) bool {
		return old.job == c.job || slices.ContainsFunc(old.published.Impact.Jobs, func(j explain.JobImpact) bool { return j.Job == c.job })
	}
	named := c.naming.named()
	for i, old := range slices.Backward(e.past) {
		if g.Sub(old.resolved) > reopenWithin || next.SplitFrom != nil && *next.SplitFrom == old.incident.ID {
			continue // too long ago, or it has just turned out to be another trouble
		}
		switch soon := next.Onset.Earliest.Sub(old.resolved) <= soonAgain; {
		case !listed(old):
			if named && oneRoot(&old.incident, next) && next.Root.Entity != c.job {
				return i
			}
		case old.turnedInto(c):
			if named && e.oneSpot(old.incident.Root.Entity, next.Root.Entity) {
				return i
			}
		case named && e.samePlace(&old.incident, next) && (soon || e.mayHaveBeen(&old.incident, next)):
			return i
		case !named && (soon || e.mayRecur(&old.incident, next)):
			return i
		}
	}
	return -1
}

// mayRecur reports whether what degrades a job now may be an incident's root again, before
// it has a name: where that was is not sure, or no other place is likely.
func (e *caseBook) mayRecur(was, next *explain.Incident) bool {
	if !certainOf(was) {
		return true
	}
	likely, answers := 0.0, e.answersOf(next)
	for i := range answers {
		likely = max(likely, sum(answers, func(a *explain.Answer) bool { return e.oneSpot(answers[i].Entity, a.Entity) }))
	}
	return likely < publishAtLast || recurs(e.there(was, answers))
}

// answersOf are the answers that an incident lists, its root first.
func (e *sight) answersOf(in *explain.Incident) (out []explain.Answer) {
	for _, a := range in.Answers() {
		out = append(out, explain.Answer{Entity: a.Entity, Signature: e.signature(a.Signature), Confidence: a.Confidence})
	}
	return out
}

// certainOf reports whether an incident is very sure of a root that has a name.
func certainOf(in *explain.Incident) bool {
	return ofKind(in) >= surely && in.Root.Signature != explain.Unknown
}

// takeUp removes from the past the case of which a job's new degradation is a relapse;
// nil where there is none.
func (e *caseBook) takeUp(c *incidentCase, next *explain.Incident, g telemetry.Time) *incidentCase {
	return e.takeOut(e.earlier(c, next, g))
}

// takeOut removes a case from the past; nil where its place is -1.
func (e *caseBook) takeOut(i int) *incidentCase {
	if i < 0 {
		return nil
	}
	old := e.past[i]
	e.past = slices.Delete(e.past, i, i+1)
	return old
}

// keepPast lets an incident that is resolved be opened again by a job.
func (e *caseBook) keepPast(job telemetry.Entity, in *explain.Incident) {
	e.past = append(e.past, &incidentCase{job: job, incident: in.Named(), published: *in, well: true, resolved: *in.Resolved})
}

// samePlace reports whether two incidents of one job may have their cause at one
// place: the roots are equal, the ends of a cable or contain each other, one lists
// the other's root, or one of them has no sure root; in the network, where one link's
// fault is seen at many, a very sure one. What is named a risk is at the place of an
// incident only where the roots agree, and a benign change is never the place of a
// fault.
func (e *caseBook) samePlace(a, b *explain.Incident) bool {
	at := lists(a, b.Root.Entity) || lists(b, a.Root.Entity) || e.oneSpot(a.Root.Entity, b.Root.Entity)
	if expects, others := e.expects(a), e.expects(b); expects != others {
		return at && expects != explain.ExpectBenign && others != explain.ExpectBenign
	}
	if a.Root.Domain == telemetry.Network && b.Root.Domain == telemetry.Network && (ofKind(a) < surely || ofKind(b) < surely) {
		return true
	}
	return at || ofKind(a) < sure || ofKind(b) < sure || a.Root.Signature == explain.Unknown || b.Root.Signature == explain.Unknown
}

// soonAgain is within how long after an incident was resolved its job's next degradation is
// the same trouble, wherever that is not known to be at another place.
const soonAgain = telemetry.Duration(60e9)

// mayHaveBeen reports whether an earlier incident may have had the root of a later one. One
// that was sure of its own is judged by that. One that was not would have shown what a later
// one is certain of: its answers would hold more than next to nothing at that place.
func (e *caseBook) mayHaveBeen(was, now *explain.Incident) bool {
	if ofKind(was) >= sure && was.Root.Signature != explain.Unknown || !certainOf(now) {
		return true
	}
	return recurs(sum(e.answersOf(was), func(a *explain.Answer) bool {
		return a.Entity == now.Root.Entity || e.oneSpot(a.Entity, now.Root.Entity) && (a.Name() == now.Root.Signature || a.Signature == nil)
	}))
}

// reopen gives a case the identity of the resolved one of which it is a relapse. A
// relapse whose cause is not sure keeps the root that was published.
func (c *incidentCase) reopen(old *incidentCase, next explain.Incident) explain.Incident {
	c.published, c.former = old.published, old.published
	was := &old.incident
	if ofKind(was) >= sure && was.Root.Signature != explain.Unknown && (ofKind(&next) < sure || next.Root.Signature == explain.Unknown) {
		next.Root, next.Alternatives, next.Chain = was.Root, was.Alternatives, was.Chain
		next.RuledOut, next.BlindSpots, next.Actions, next.Contributors = was.RuledOut, was.BlindSpots, was.Actions, was.Contributors
		next.Title = explain.WithCause(next.Title, was.Title)
		since := c.naming.since // what is awaited is so from the relapse on
		c.naming = old.naming
		c.naming.since = since
	}
	next.ID, next.Opened, next.Reopens = was.ID, was.Opened, was.Reopens+1
	return next
}

// relapseOdds is how many times as likely a job's next degradation has the cause of the
// last one, which ended less than ten minutes before, as another.
const relapseOdds = 10.0

// recurs reports whether what holds so much of the answers at the place of another
// degradation may be the same trouble.
func recurs(there float64) bool { return relapseOdds*there >= 1-there }

// elsewhere reports whether a relapse turned out to be another trouble: the incident
// that it opened again was sure of its root, and the answers hold next to nothing at
// that place, though another root is sure, or the relapse is old enough for all to be
// seen; or it named another root without being sure of it, or was sure of its kind and cost
// much more or much less. One that named none may have
// begun too weakly for that. Not where it was found there since, in this job or another of
// the incident, for what comes and goes is not seen at all times; nor while what shows that
// root is still to be read.
func (e *caseBook) elsewhere(c *incidentCase, ev *explain.Evidence, age telemetry.Duration) bool {
	was, answers := &c.former, ev.Answers
	found := func(m *incidentCase) bool { return m.pinned.times > 0 && e.oneSpot(m.pinned.root, was.Root.Entity) }
	if c.restored || was.Revision == 0 || slices.ContainsFunc(e.members(e.primary(c)), found) {
		return false
	}
	if age < awaitFor && e.unread(c, ev) {
		return false
	}
	if !certainOf(was) {
		named := was.Root.Signature != "" && was.Root.Signature != explain.Unknown
		return named && (ofKind(was) < sure || !sameSize(was, c)) && e.wasNot(was, &answers[0])
	}
	return !recurs(e.there(was, answers)) && (answers[0].Signature != nil && answers[0].Confidence >= sure || age >= investigateFor)
}

// otherSize is how many times as much of a step one trouble costs as another that is not it.
const otherSize = 3.0

// sameSize reports whether a job loses about as much of its steps as it did in an incident.
func sameSize(was *explain.Incident, c *incidentCase) bool {
	at := slices.IndexFunc(was.Impact.Jobs, func(j explain.JobImpact) bool { return j.Job == c.job })
	if at < 0 || was.Impact.Jobs[at].Slowdown == nil || c.impact.Slowdown == nil {
		return true
	}
	before, now := *was.Impact.Jobs[at].Slowdown-1, *c.impact.Slowdown-1
	return max(before, now) < otherSize*min(before, now)
}

// wasNot reports whether an answer that is sure is at a place that an incident, which was
// not sure of its root and named another, listed for next to nothing.
func (e *caseBook) wasNot(was *explain.Incident, now *explain.Answer) bool {
	if now.Signature == nil || now.Confidence < sure || e.oneSpot(was.Root.Entity, now.Entity) {
		return false
	}
	return !recurs(sum(e.answersOf(was), func(a *explain.Answer) bool { return e.oneSpot(a.Entity, now.Entity) }))
}

// unread reports whether what shows the root of the incident that a case opened again is
// still to be read.
func (e *caseBook) unread(c *incidentCase, ev *explain.Evidence) bool {
	return ev.Unread(c.former.Root.Entity, e.signature(c.former.Root.Signature))
}

// there returns how much of the answers is at the place of an incident's root: equal to
// it, the other end of its cable, a part of it or the whole, or the same fault where the
// incident lists it. In the network one link's fault is seen at many: where what is not
// very sure there is likelier than all else together, it counts.
func (e *caseBook) there(in *explain.Incident, answers []explain.Answer) float64 {
	at := func(a *explain.Answer) bool {
		return e.oneSpot(a.Entity, in.Root.Entity) || a.Name() == in.Root.Signature && lists(in, a.Entity)
	}
	around := func(a *explain.Answer) bool {
		return !at(a) && in.Root.Domain == telemetry.Network && a.Signature != nil && network(a) && a.Confidence < surely
	}
	out := sum(answers, at)
	if all := sum(answers, around); all >= sure {
		out += all
	}
	return out
}

// depart gives back the incident that a case opened again, as it was when it was resolved,
// and makes the case one of its own, or a relapse of another that was resolved a short while
// ago, if the best answer is at its root: two troubles may come and go by turns.
func (e *caseBook) depart(c *incidentCase, best *explain.Answer, g telemetry.Time) {
	last := c.former
	if c.published.State == explain.StateOpen {
		last.Updated, last.Revision = g, c.published.Revision+1
		e.out.Incidents = append(e.out.Incidents, last)
	}
	old := e.takeBack(c, best, g)
	if last.Resolved != nil {
		e.keepPast(c.job, &last)
	}
	e.split(c, g)
	c.published, c.former, c.naming, c.incident.Reopens, c.incident.Chain = explain.Incident{}, explain.Incident{}, naming{}, 0, nil
	if old != nil {
		c.incident = c.reopen(old, c.incident)
		c.incident.SplitFrom = old.incident.SplitFrom
	}
}

// takeBack removes from the past the case of a job whose root an answer is sure of; nil where
// there is none.
func (e *caseBook) takeBack(c *incidentCase, best *explain.Answer, g telemetry.Time) *incidentCase {
	if best.Signature == nil || best.Confidence < sure {
		return nil
	}
	for i, old := range slices.Backward(e.past) {
		in := &old.incident
		if old.job == c.job && g.Sub(old.resolved) <= reopenWithin && certainOf(in) && e.oneSpot(in.Root.Entity, best.Entity) && in.Root.Signature == best.Name() {
			return e.takeOut(i)
		}
	}
	return nil
}
