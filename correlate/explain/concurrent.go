package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// partly is the explained fraction of the best answer below which a concurrent
	// fault is searched for.
	partly = 0.6
	// concurrentSure is the least confidence of the second answer among what is left,
	// and concurrentExplained what it explains at least.
	concurrentSure      = 0.8
	concurrentExplained = 0.2
)

// Explains returns the explained fraction of an answer, 1 being all of the job's
// loss, by those features of its signature that measure it; false where none was
// seen.
func (a *Answer) Explains() (float64, bool) { return a.explains(Explained) }

// Surely returns the lower bound of the explained fraction: Explains without what
// may be chance.
func (a *Answer) Surely() (float64, bool) { return a.explains(ExplainedLowerBound) }

func (a *Answer) explains(by Measure) (float64, bool) {
	if a.Signature == nil {
		return 0, false
	}
	most, seen := 0.0, false
	for i := range a.Signature.Features {
		c := &a.Signature.Features[i]
		if !isExplained(c) || !c.AskedOf(a.Entity.Kind) {
			continue
		}
		key := c.Key()
		if key == Explained {
			key = by
		}
		// What may be all of it for all that is known is not known to be a part.
		if v, ok := a.Values[key]; ok && !(v < 1 && a.Values[key.Err()] >= 1-v) {
			most, seen = max(most, v), true
		}
	}
	return most, seen
}

// isExplained reports whether a feature's value is an explained fraction of the job's
// loss.
func isExplained(c *Feature) bool {
	if c.Reading != nil {
		return c.Reading.Take == TakeExplained
	}
	switch c.Measure {
	case Explained, SharedExplained, GroupExplained, ClockExplained, ComputeExcess, StageExcess, ExpertExcess, LateStart, WanderExcess, WorkExcess, ComputeUniform, SaveExcess:
		return true
	}
	return false
}

// Concurrent finds a concurrent fault: where the best answer explains clearly less than
// the job loses, or nothing measures what it explains, the answer to what is left when
// that root and all that follows from it are removed, if it is certain. chain is the
// best answer's.
func Concurrent(sigs []Signature, e *Evidence, best *Answer, chain []Link) (answers []Answer, ok bool) {
	explains, known := best.Explains()
	if known && explains >= partly || !known && !best.corroboratesAtOnce() || e.Symptoms == nil {
		return nil, false
	}
	answers = Without(sigs, e, Remainder{Root: best, Chain: chain, Alone: Alone})
	second := &answers[0]
	least, seen := second.Surely()
	switch {
	case !e.Certain(answers) || seen && least < concurrentExplained || !seen && !(known && second.corroboratesAtOnce()):
		return answers, false
	case known && seen:
		return answers, true
	}
	// What one link does is seen at many.
	return answers, best.Signature.Domain != telemetry.Network || second.Signature.Domain != telemetry.Network
}

// corroboratesAtOnce reports whether what an answer names is broken whatever the job does,
// so that it is known without what it costs.
func (a *Answer) corroboratesAtOnce() bool {
	return a.Signature != nil && a.Signature.CorroboratesAtOnce
}

// Broken reports whether an answer is a fault: neither unknown nor a benign change.
func (a *Answer) Broken() bool { return a.Signature != nil && a.Signature.Expect == ExpectIncident }

// Remainder is what is left when a root is taken away: the root, the chain of what follows
// from it, and the log-odds that there is no other fault.
type Remainder struct {
	Root  *Answer
	Chain []Link
	Alone float64
}

// Without returns the answers to what is left when a root, its causes and all that
// follows from it are removed, the most likely first.
func Without(sigs []Signature, e *Evidence, of Remainder) []Answer {
	a, chain := of.Root, of.Chain
	if e.Symptoms != nil {
		e.Symptoms.Exclude(a.Entity, a.Heats())
		defer e.Symptoms.Exclude(telemetry.Entity{}, false)
	}
	var left, under []Candidate
	var spared []telemetry.Entity
	for _, c := range Candidates(e) {
		switch {
		case !e.Akin(c.Entity, a, chain):
			left = append(left, c)
		case e.spared(c.Entity, a):
			spared = append(spared, c.Entity)
			under = append(under, c)
		case !e.meets(c.Entity, a, chain):
			under = append(under, c)
		}
	}
	answers := slices.DeleteFunc(weighed(sigs, left), func(b Answer) bool { return b.imitates() || e.alsoHeats(&b, spared) })
	if a.Signature != nil {
		answers = append(answers, weighed(apart(a.Signature, sigs), under)...)
	}
	return ranked(append(answers, Answer{Entity: e.Job, Score: of.Alone}), nil, Wide)
}

// imitates reports whether an answer fits any slow machine, once another root and
// its machines are removed: a plant under which no GPU that is left is slowed, or a
// stage or expert whose ranks are late.
func (a *Answer) imitates() bool {
	if recall, seen := a.Values[Recall]; plant(a.Signature) && seen && recall == 0 {
		return true
	}
	return slices.ContainsFunc(a.Signature.Features, func(c Feature) bool { return c.Measure == StageExcess || c.Measure == ExpertExcess })
}

const (
	// Alone is the log-odds that there is no fault but the first, where that does not
	// explain all or is another than what is most likely now: two at once are rare, and
	// what the first leaves of the loss is mostly the error of the explained fractions.
	Alone = 2.0
	// StillAlone is that of no other having begun within a minute, though the first is
	// still there and explains what is lost. On 16,384 GPUs an unexpected interruption
	// came every three hours (419 in 54 days: The Llama 3 Herd of Models, 2024), on a
	// third of them in one minute of some 500; the priors of all signatures together
	// are e more likely than none.
	StillAlone = 7.0
)

// Wide is how many answers are examined to find what else is seen.
const Wide = 64

// Certain reports whether a fault at the first answer's entity, or at one that is
// over or under it, is certain.
func (e *Evidence) Certain(answers []Answer) bool {
	first, sum := &answers[0], 0.0
	if !first.Broken() {
		return false
	}
	for i := range answers {
		if a := &answers[i]; a.Broken() && e.Akin(a.Entity, first, nil) {
			sum += a.Confidence
		}
	}
	return sum >= concurrentSure
}

// Certainly reports whether it is certain what is wrong, though perhaps not where,
// or where, though perhaps not what.
func (e *Evidence) Certainly(answers []Answer) bool {
	first, what, where := &answers[0], 0.0, 0.0
	for i := range answers {
		a := &answers[i]
		if a.Signature == first.Signature {
			what += a.Confidence
		}
		if a.Entity == first.Entity {
			where += a.Confidence
		}
	}
	return e.Certain(answers) || first.Broken() && max(what, where) >= concurrentSure
}

// Explained reports whether an answer explains enough of the loss to be a second
// fault, as far as that is seen.
func (a *Answer) Explained() bool {
	least, seen := a.Surely()
	return !seen || least >= concurrentExplained
}

// Measured reports whether an answer is seen to explain enough of the loss to be a second
// fault.
func (a *Answer) Measured() bool {
	least, seen := a.Surely()
	return seen && least >= concurrentExplained
}

// Apart reports whether faults of two signatures are never each other's
// consequence, wherever they are: what powers and cools machines slows their clocks
// but does not stop their traffic, and a queue build-up takes no power away. A NIC
// that is hot is both. What heats machines slows none that reports no heat, and
// such a machine's fault heats nothing.
func Apart(a, b *Signature) bool {
	return a.Domain == telemetry.Network && plant(b) || plant(a) && b.Domain == telemetry.Network ||
		heats(a) && deniesHeat(b) || deniesHeat(a) && heats(b)
}

// plant reports whether a fault is in what powers or cools machines.
func plant(s *Signature) bool {
	return (s.Domain == telemetry.Power || s.Domain == telemetry.Cooling) && !slices.Contains(s.Roots, telemetry.NIC)
}

// Akin reports whether what is seen of an entity may be a consequence of an answer,
// or its cause. chain is the answer's.
func (e *Evidence) Akin(x telemetry.Entity, a *Answer, chain []Link) bool {
	if e.meets(x, a, chain) || a.Signature != nil && plant(a.Signature) && x.Prefix() != "" && x.Prefix() == a.Entity.Prefix() {
		return true // what cools a machine in part is under none of its parts
	}
	if x == e.Job && a.Entity.Kind == telemetry.Storage {
		return true // that it waits for input or for its checkpoints is what a slow storage does
	}
	if x.Kind == telemetry.Storage && a.Entity == e.Job {
		return true // and seen later than the waiting, because storage is read rarely
	}
	if x.Kind == telemetry.Job || a.Entity.Kind == telemetry.Job || x.Kind == telemetry.Storage || x.Kind == telemetry.SM || e.Symptoms == nil {
		return false // everything is under these
	}
	if _, down := e.Symptoms.Relation(a.Entity, x); down {
		return true
	}
	_, up := e.Symptoms.Relation(x, a.Entity)
	return up
}

// meets reports whether an entity is the answer's, or on its chain.
func (e *Evidence) meets(x telemetry.Entity, a *Answer, chain []Link) bool {
	return x == a.Entity || x == a.Peer || slices.ContainsFunc(chain, func(l Link) bool { return l.Entity == x && x != e.Job })
}

// Part returns the impact of a root that explains a part of the job's loss: the
// step time without that root is in between, and the rest is due to another root.
func (j JobImpact) Part(share float64) JobImpact {
	j.Share = round(share, 3)
	if j.Now == nil || j.Expected == nil {
		return j
	}
	expected := *j.Now - float64(share*(*j.Now-*j.Expected))
	j.Expected = rounded(expected)
	if expected > 0 {
		j.Slowdown = rounded(*j.Now / expected)
	}
	return j
}
