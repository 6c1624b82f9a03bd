package correlate

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A fault may begin inside another's window, degrade the job more, and explain most
// of what is seen from then on. It is not why the degradation began. So a case pins
// the root on which it was stable while there was no sign of the other; the other
// is reported as a concurrent fault.

// pinnedRoot is the root on which a case is pinned.
type pinnedRoot struct {
	root, peer telemetry.Entity
	signature  string
	times      int            // judgements that were sure of it
	loss       float64        // seconds of a step that it explained when last judged the best
	at         telemetry.Time // when the case was pinned on it
	then       float64        // seconds of a step that the job lost then
	look       telemetry.Time // when it was last looked for what is new since
	// seen are the other entities that had a name by the time it was pinned, in
	// identity order.
	seen []sighting
}

// sighting is an entity and the name that it had.
type sighting struct {
	entity    telemetry.Entity
	signature string
}

func (s sighting) compare(o sighting) int {
	return cmp.Or(s.entity.Compare(o.entity), cmp.Compare(s.signature, o.signature))
}

const (
	// stableAfter judgements that are sure of a root pin the case on it.
	stableAfter = 3
	maxSeen     = 256
)

// later reports whether the best answer is a fault that began later than the one on
// which the case is pinned, and then lets next report the latter.
func (e *caseBook) later(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) bool {
	h := &c.pinned
	if c.judged == 0 {
		*h = pinnedRoot{}
	}
	if !best.Broken() {
		return false
	}
	if h.times > 0 {
		root := h.answer(e.sight)
		switch {
		case root.Signature == nil:
			*h = pinnedRoot{}
		case best.Signature == root.Signature || network(root) && network(best): // the same, seen better
		case best.Late >= 1 && h.times >= stableAfter:
			e.keepPinned(c, ev, best, next)
			return true
		case ev.Akin(best.Entity, root, c.incident.Chain) && !explain.Apart(root.Signature, best.Signature):
			if h.times >= stableAfter && network(root) != network(best) {
				return false // a host's trouble and its nic's may be one, or not
			}
		case h.times >= stableAfter && c.concurrent.isPublished() && ev.Akin(c.concurrent.incident.Root.Entity, best, nil):
			e.keepPinned(c, ev, best, next)
			return true
		case h.times < stableAfter || e.saw(h, ev, best) || !e.both(c, ev, best, next):
			*h = pinnedRoot{} // what was thought is not what it was
		default:
			e.keepPinned(c, ev, best, next)
			return true
		}
	}
	e.recordJudgement(c, ev, best, next)
	return false
}

// both reports whether the pinned root and the best answer can both be right: the
// other is not very sure, or the job loses more than when the case was pinned on the
// first, or what the two explain fits what it loses, or the first is still found
// in addition to the other. Two that each explain all of one loss are one, of which the first
// was a guess. What a job that has stopped loses grows by itself, and neither shows.
func (e *caseBook) both(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) bool {
	loss := lost(ev)
	explains, known := best.Explains()
	if !known && math.IsInf(loss, 1) {
		explains, known = 1, true // what stops a job explains all of it
	}
	if c.pinned.grown(ev) || next.Root.Confidence < surely {
		return true
	}
	least := sure
	if !known || c.pinned.part(loss)+min(1, explains) <= fits {
		least = noneLeft
	}
	answers := e.without(ev, best, next.Chain, explain.Alone)
	return slices.ContainsFunc(answers, func(a explain.Answer) bool {
		return a.Entity == c.pinned.root && a.Name() == c.pinned.signature && a.Confidence >= least
	})
}

// lost is how many seconds of a step a job loses: without end where it has stopped, or
// where its first long step has not ended.
func lost(ev *explain.Evidence) float64 {
	if h := ev.Degradation; h.State == jobs.Stalled || h.State == jobs.Failed || h.Steps == 0 && h.Overdue > 0 {
		return math.Inf(1)
	}
	return ev.Loss().Excess()
}

// fits is how many times the loss two faults may explain together, and from how many
// times on it has grown: an explained fraction is right to about a quarter.
const fits = 1.25

// network reports whether an answer is of the network, where what one link does
// is seen at many.
func network(a *explain.Answer) bool { return a.Signature.Domain == telemetry.Network }

// keepPinned lets an incident report the pinned root: as it is found in addition
// to the best answer, or else as it was.
func (e *caseBook) keepPinned(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) {
	answers := e.without(ev, best, next.Chain, explain.Alone)
	i := slices.IndexFunc(answers, func(a explain.Answer) bool { return a.Entity == c.pinned.root && a.Name() == c.pinned.signature })
	if i >= 0 && (answers[i].Confidence >= sure || c.incident.Root.Entity != c.pinned.root) {
		e.writer().Write(next, ev, slices.Concat(answers[i:i+1], answers[:i], answers[i+1:]))
		return
	}
	updated := next.Updated
	*next = c.incident
	next.Updated = updated
	e.writer().Refresh(next, ev, e.expects(next))
}

const (
	// lookEvery is how often a pinned case looks for what is new.
	lookEvery = telemetry.Duration(15e9)
	// recently is the part of a degradation that is searched for a later fault, or
	// recentReports reports where that is longer; it needs at least recentSteps
	// steps.
	recently, recentReports, recentSteps = telemetry.Duration(60e9), 3, 3
)

// newly looks for a fault that has begun since the case pinned its root, in the
// evidence of the last minute alone: it may cost nothing next to a worse one, and
// be visible all the same; what no measure shows the cost of must make the job lose more,
// as a change of a switch's configuration that changed nothing does not. looked reports whether this was a time to look; of is
// nil where nothing is new.
func (e *caseBook) newly(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) (of *explain.Evidence, answers []explain.Answer, looked bool) {
	h, g := &c.pinned, next.Updated
	if h.times < stableAfter || best.Signature == nil || best.Name() != h.signature {
		return nil, nil, true
	}
	if g.Sub(h.look) < lookEvery {
		return nil, nil, false
	}
	of = e.lastMinute(c, g)
	if of == nil {
		return nil, nil, true
	}
	h.look = g
	alone, grown := explain.StillAlone, h.grows(ev, of)
	if grown {
		alone = explain.Alone // something makes it worse
	}
	answers = e.without(of, best, next.Chain, alone)
	a := &answers[0]
	if !of.Certain(answers) || !a.Measured() && !grown || e.saw(h, ev, a) && !itsOwn(best, a) || network(best) && network(a) {
		return nil, nil, true
	}
	return of, answers, true
}

// itsOwn reports whether an answer is a concurrent fault in addition to a root that never
// does such a thing, which may have been seen before: a GPU's or a NIC's with
// another plant or network, a host's ranks that compute late with the network,
// which makes them wait.
func itsOwn(root, a *explain.Answer) bool {
	switch a.Entity.Kind {
	case telemetry.GPU, telemetry.NIC:
		return explain.Apart(root.Signature, a.Signature)
	case telemetry.Node:
		return network(root) && (a.Signature.Domain == telemetry.Software || a.Signature.Domain == telemetry.Computing)
	}
	return false
}

// without returns the answers to what a root leaves, with the log-odds that nothing
// else is wrong.
func (e *caseBook) without(ev *explain.Evidence, root *explain.Answer, chain []explain.Link, alone float64) []explain.Answer {
	return explain.Without(e.cfg.Signatures, ev, explain.Remainder{Root: root, Chain: chain, Alone: alone})
}

// lastMinute is the evidence of the last minute of a degradation, or of its last
// reports, compared with the state before all of it and with what the pinned root
// leaves of the loss; nil where there is too little.
func (e *caseBook) lastMinute(c *incidentCase, g telemetry.Time) *explain.Evidence {
	j := e.book.Job(c.job)
	if j == nil || j.Degradation == nil || j.Serves() || j.Degradation.State != jobs.Slow {
		return nil
	}
	since := max(c.pinned.at, g.Add(-max(recently, recentReports*j.Gap())))
	degradation := *j.Degradation
	degradation.Onset = telemetry.Interval{Earliest: since, Latest: since}
	degradation.Steps, degradation.Sum = j.ReportedSteps(since, g)
	if degradation.Steps < recentSteps {
		return nil
	}
	c.pinned.take(&degradation)
	return e.examiner.gatherPart(c, j, &degradation, g)
}

// leastLeft is the least part of what a job loses that the pinned root must leave
// for a second one to be compared with that alone.
const leastLeft = 0.15

// take reduces a degradation to what the pinned root does not explain: it raises
// the expected step by what that root costs, unless too little is left. Then a
// concurrent fault is compared with the whole loss.
func (h *pinnedRoot) take(degradation *jobs.Degradation) {
	now, _ := degradation.Now()
	if h.part(now-degradation.Expected) <= 1-leastLeft {
		degradation.Expected += h.loss
	}
}

// recordJudgement records a judgement.
func (e *caseBook) recordJudgement(c *incidentCase, ev *explain.Evidence, best *explain.Answer, next *explain.Incident) {
	h := &c.pinned
	if h.times < stableAfter {
		answers := e.withoutConcurrent(c, ev, ev.Answers)
		if answers[0].Entity != best.Entity || !ev.Certainly(answers) {
			*h = pinnedRoot{}
			return
		}
		h.times++
		h.at, h.then = next.Updated, lost(ev)
		for i := range answers {
			a := &answers[i]
			if a.Signature == nil || a.Signature == best.Signature || a.Score <= 0 || ev.Akin(a.Entity, best, next.Chain) || len(h.seen) >= maxSeen {
				continue
			}
			x := sighting{a.Entity, a.Name()}
			if at, ok := slices.BinarySearchFunc(h.seen, x, sighting.compare); !ok {
				h.seen = slices.Insert(h.seen, at, x)
			}
		}
	}
	h.root, h.peer, h.signature = best.Entity, best.Peer, best.Name()
	h.loss = lost(ev)
	if x, ok := best.Explains(); ok && x > 0 {
		h.loss = float64(h.loss * min(1, x))
	}
}

// answer is the pinned root as an answer.
func (h *pinnedRoot) answer(e *sight) *explain.Answer {
	return &explain.Answer{Entity: h.root, Peer: h.peer, Signature: e.signature(h.signature)}
}

// signature finds a signature by its name; nil where there is none.
func (e *sight) signature(name string) *explain.Signature {
	for i := range e.cfg.Signatures {
		if s := &e.cfg.Signatures[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// saw reports whether an answer, or what may be its cause or its consequence,
// had a name before the root was pinned.
func (e *caseBook) saw(h *pinnedRoot, ev *explain.Evidence, a *explain.Answer) bool {
	return slices.ContainsFunc(h.seen, func(x sighting) bool {
		s := e.signature(x.signature)
		return s != nil && ev.Akin(x.entity, a, nil) && !explain.Apart(s, a.Signature)
	})
}

// grown reports whether the job loses clearly more than when the case was pinned on a root.
func (h *pinnedRoot) grown(ev *explain.Evidence) bool { return h.above(lost(ev)) }

// grows reports whether the job loses clearly more than then in all of its degradation and
// in its last minute alone: one long step makes the mean of many longer.
func (h *pinnedRoot) grows(ev, lately *explain.Evidence) bool {
	return h.grown(ev) && h.above(lately.Loss().Step-ev.Degradation.Expected)
}

// above reports whether so many seconds of a step are clearly more than the job lost when
// the case was pinned on a root.
func (h *pinnedRoot) above(lost float64) bool {
	return h.times >= stableAfter && lost > float64(fits*h.then)
}

// explains is the part of a loss that the pinned root explains: of one that has grown since,
// what was lost then.
func (h *pinnedRoot) explains(part float64, ev *explain.Evidence) float64 {
	if h.grown(ev) {
		return h.then / lost(ev)
	}
	return min(1, part)
}

// part is what the pinned root explains of a step that is so many seconds too long.
func (h *pinnedRoot) part(excess float64) float64 {
	if excess > h.loss {
		return h.loss / excess
	}
	return 1
}

func (h *pinnedRoot) snapshot(k *snapshot.Codec) {
	k.Entity(&h.root)
	k.Entity(&h.peer)
	k.String(&h.signature)
	k.Int(&h.times)
	k.F64(&h.loss)
	k.Time(&h.at)
	k.F64(&h.then)
	k.Time(&h.look)
	snapshot.List(k, &h.seen, 24, func(k *snapshot.Codec, x *sighting) {
		k.Entity(&x.entity)
		k.String(&x.signature)
	})
}
