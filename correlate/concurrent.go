package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Two concurrent faults can degrade one job. Where the answer that a case publishes
// explains clearly less than the job loses, and another, unrelated root is sure,
// the case carries a second incident. They share the loss.

// concurrentFault is a case's second incident.
type concurrentFault struct {
	incident  explain.Incident // as of the last judgement
	published explain.Incident
	agreed    int                // judgements in a row that named it
	absent    int                // judgements in a row that did not, since it was published
	account   *attribute.Account // what it has cost since it was published
}

const (
	// concurrentAgreed judgements in a row must name the same second root, concurrentUnsure
	// where the case is not sure of its first one, which that may turn out to be;
	// concurrentAbsent must not for it to be over.
	concurrentAgreed = 3
	concurrentUnsure = 9
	concurrentAbsent = 4
	// leastSecond is the least share of the loss that a second fault must explain:
	// what has cost the job nothing is no incident of it.
	leastSecond = 0.05
	// leastFirst bounds by how much a first fault that explains little of the loss counts
	// for a second one.
	leastFirst = 0.05
)

// found is what a judgement knows of a second fault.
type found struct {
	ok, looked bool              // there is one; this was a time to look for one
	of         *explain.Evidence // in which it was looked for
	answers    []explain.Answer  // without the first fault
	first      float64           // the explained fraction of the first one
	unmeasured bool              // nothing measures that: it is what the second one does not explain
	sure       float64           // how sure it is what the first one is
}

// second looks for a fault concurrent with the one that a case names, and gives
// each its share. next is the case's own incident as just explained.
func (e *caseBook) second(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) {
	g := next.Updated
	f := e.lookForSecond(c, ev, best, next)
	f.ok = f.ok && !e.reportedByAnother(c, f.of, &f.answers[0])
	second := attribute.Explained{}
	if f.ok {
		second = c.explainedBy(&f.answers[0], f.of, ev, f.first)
		if f.unmeasured {
			f.first = max(leastFirst, 1-second.Explains)
		}
		f.ok = attribute.Shares([]attribute.Explained{{Domain: next.Root.Domain, Explains: f.first}, second})[1] >= leastSecond
	}
	if f.ok {
		e.named(c, f.of, f.answers, g)
		e.writer().Refresh(&c.concurrent.incident, ev, explain.ExpectIncident)
	} else if c.concurrent != nil && f.looked {
		c.concurrent.agreed = 0
		c.concurrent.absent++
	}
	b, wanted := c.concurrent, concurrentAgreed
	if f.sure < surely {
		wanted = concurrentUnsure
	}
	switch {
	case b == nil:
		return
	case b.published.Revision == 0 && b.absent > 0:
		c.concurrent = nil
		return
	case b.published.Revision == 0 && b.agreed < wanted:
		return
	case b.incident.Root.Entity == next.Root.Entity:
		e.endConcurrent(c, "merged", g)
		return
	case b.absent >= concurrentAbsent:
		e.endConcurrent(c, "no longer seen", g)
		return
	}
	if f.ok {
		e.share(c, next, f.first, second)
	} else {
		c.shareAgain(next)
	}
	e.publishConcurrent(c, g)
}

// lookForSecond looks for a second fault without the pinned root of a case, or without the
// one that it names, or in its last minute alone.
func (e *caseBook) lookForSecond(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) found {
	first, known := best.Explains()
	f := found{looked: true, of: ev, first: first, sure: ofKind(next)}
	if e.later(c, ev, best, next) {
		f.first, f.sure = c.pinned.part(ev.Loss().Excess()), 1
		f.answers = e.without(ev, c.pinned.answer(e.sight), next.Chain, explain.Alone+stats.Log(max(f.first, leastFirst)))
		f.ok = ev.Certain(f.answers)
		return f
	}
	if f.answers, f.ok = explain.Concurrent(e.cfg.Signatures, ev, best, next.Chain); f.ok {
		if sure := e.sureWithout(ev, best, &f.answers[0]); sure >= publishAt {
			f.unmeasured, f.sure = !known, sure
			return f
		}
	}
	f.of, f.answers, f.looked = e.newly(c, ev, best, next)
	f.ok, f.first = f.of != nil, c.pinned.explains(first, ev)
	return f
}

// sureWithout is how sure it is what the first of two concurrent faults is, once the
// second is taken away: two that are each seen by themselves are no rivals. A change of
// the work is one: what it does to the network is no fault.
func (e *caseBook) sureWithout(ev *explain.Evidence, first, second *explain.Answer) float64 {
	if !first.Broken() || first.Confidence >= surely {
		return first.Confidence // it gets no surer than matters
	}
	return max(first.Confidence, kind(e.without(ev, second, nil, explain.Alone), first.Name()))
}

// withoutConcurrent returns the answers without a case's second incident, where the root
// that the case names is the first of them, or else all answers: what is sure of one of two
// concurrent faults is no doubt about the other.
func (e *caseBook) withoutConcurrent(c *incidentCase, ev *explain.Evidence, all []explain.Answer) []explain.Answer {
	if !c.concurrent.isPublished() {
		return all
	}
	in := &c.concurrent.incident
	second := explain.Answer{Entity: in.Root.Entity, Signature: e.signature(in.Root.Signature)}
	left := e.without(ev, &second, in.Chain, explain.Alone)
	if placeOf(&left[0]) != c.naming.root {
		return all
	}
	return left
}

// explainedBy is the explained fraction of a second answer, as a part of what the job
// loses: what it explains of the loss with which of is compared. Where no measure shows
// that, or the loss has grown since the case was pinned on the first and the measure sees
// little of it, it is what the first does not explain.
func (c *incidentCase) explainedBy(a *explain.Answer, of, ev *explain.Evidence, first float64) attribute.Explained {
	explains, seen := a.Explains()
	explains = float64(explains * leftOf(of, ev))
	if !seen || c.pinned.grown(ev) {
		explains = max(explains, 1-first)
	}
	return attribute.Explained{Domain: a.Signature.Domain, Explains: explains}
}

// reportedByAnother reports whether another case already reports a root, or an entity
// above or below it by the same name, or, for one in the network, any that is in
// the network, too: what one link does is seen at many. It is also true where the
// root is on a host of another degraded job and on none of this one's: that job's
// case will report it.
func (e *caseBook) reportedByAnother(c *incidentCase, ev *explain.Evidence, a *explain.Answer) bool {
	reports := func(in *explain.Incident) bool {
		if in.Root.Domain == telemetry.Network && in.Root.Signature != explain.Unknown && network(a) {
			return true
		}
		return in.Root.Entity == a.Entity || in.Root.Signature == a.Name() && ev.Akin(in.Root.Entity, a, nil)
	}
	node, ok := e.graph.Within(a.Entity, telemetry.Node)
	foreign := ok && !in(c.nodes, node)
	return slices.ContainsFunc(e.cases, func(o *incidentCase) bool {
		return o != c && (foreign && !o.well && in(o.nodes, node) || reports(&o.incident) || o.concurrent != nil && reports(&o.concurrent.incident))
	})
}

// named takes a judgement that names a second root.
func (e *caseBook) named(c *incidentCase, ev *explain.Evidence, answers []explain.Answer, g telemetry.Time) {
	b := c.concurrent
	root := answers[0].Entity
	if b == nil || b.published.Revision == 0 && (b.incident.Root.Entity != root || b.incident.Root.Signature != answers[0].Name()) {
		b = &concurrentFault{incident: explain.Incident{ID: incidentID(e.cfg.Site, "beside "+root.String(), c.job, g), State: explain.StateOpen,
			Kind: explain.KindIncident, Opened: g, Site: e.cfg.Site, Engine: Version, Rules: e.cfg.Rules, Calibration: calibration}}
		c.concurrent = b
	}
	b.incident.Updated = g
	e.writer().Write(&b.incident, ev, answers)
	b.agreed++
	b.absent = 0
}

// leftOf is the part of what the job loses with which the evidence of is compared.
func leftOf(of, ev *explain.Evidence) float64 {
	l := of.Loss()
	if all := l.Step - ev.Degradation.Expected; all > 0 {
		return l.Excess() / all
	}
	return 1
}

// share divides the job's loss between the two roots, the first of which
// explains such a part of it.
func (e *caseBook) share(c *incidentCase, next *explain.Incident, first float64, second attribute.Explained) {
	parts := attribute.Shares([]attribute.Explained{{Domain: next.Root.Domain, Explains: first}, second})
	next.Impact.Jobs[0] = next.Impact.Jobs[0].Part(parts[0])
	c.concurrent.incident.Impact.Jobs[0] = c.concurrent.incident.Impact.Jobs[0].Part(parts[1])
}

// publishConcurrent publishes a case's second incident where there is something new, at
// first under the name of the risk that now degrades the job, if there is one.
func (e *caseBook) publishConcurrent(c *incidentCase, g telemetry.Time) {
	b := c.concurrent
	if b.isPublished() {
		e.mergeRisk(&b.incident, b.incident.ID, g)
	} else if r := e.risks.riskBehind(&b.incident); r != nil {
		b.published = e.risks.continueIn(r, &b.incident)
	}
	next := b.incident.Placed()
	if b.published.Revision != 0 && !explain.Differs(&b.published, &next) {
		return
	}
	next.Updated, next.Revision = g, b.published.Revision+1
	b.published = next
	e.out.Incidents = append(e.out.Incidents, next)
}

// endConcurrent resolves a case's second incident, if it was published.
func (e *caseBook) endConcurrent(c *incidentCase, how string, g telemetry.Time) {
	e.closeConcurrent(c, g)
	b := c.concurrent
	c.concurrent = nil
	if b == nil || b.published.Revision == 0 {
		return
	}
	at := g
	next := b.incident.Placed()
	next.State, next.Resolution, next.Resolved = explain.StateResolved, &how, &at
	if how == "merged" {
		into := e.primary(c).incident.ID
		next.MergedInto = &into
	}
	next.Updated, next.Revision = g, b.published.Revision+1
	e.out.Incidents = append(e.out.Incidents, next)
}

// restoreConcurrent gives a case a restored incident as its second one.
func (c *incidentCase) restoreConcurrent(h *explain.Incident) {
	c.concurrent = &concurrentFault{incident: h.Named(), published: *h, agreed: concurrentAgreed}
}

func (b *concurrentFault) snapshot(k *snapshot.Codec) {
	b.incident.Snapshot(k)
	b.published.Snapshot(k)
	k.Int(&b.agreed)
	k.Int(&b.absent)
	counted := b.account != nil
	k.Bool(&counted)
	if counted {
		if b.account == nil {
			b.account = &attribute.Account{}
		}
		b.account.Snapshot(k)
	}
}
