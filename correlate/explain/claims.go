package explain

import (
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxClaims bounds the claims of an incident: the links of its chain and the
// numbers of its title.
const maxClaims = 12

// claims lists the series behind the numbers of an incident: the job's own first,
// then those of the chain, the root's before the others, then those that only the
// title names. was are the last claims: a baseline that the window no longer keeps
// is taken from them.
func (t *Writer) claims(e *Evidence, a *Answer, facts []fact, was []Claim) []Claim {
	last := len(facts) - 1
	facts = slices.Concat(facts[last:], facts[:last], t.quoted(e, a))
	out := []Claim{}
	for i := range facts {
		c, ok := t.claim(e, &facts[i], was)
		if ok && len(out) < maxClaims && !slices.ContainsFunc(out, c.sameSeries) {
			out = append(out, c)
		}
	}
	return out
}

func (c Claim) sameSeries(o Claim) bool { return o.Entity == c.Entity && o.Metric == c.Metric }

// claim reads the series that shows a fact; false where it is not kept, or where
// its metric is not in the catalogue.
func (t *Writer) claim(e *Evidence, f *fact, was []Claim) (Claim, bool) {
	s := f.series()
	m, declared := t.Catalogue.Lookup(s.Metric)
	if e.Measured == nil || !declared {
		return Claim{}, false
	}
	now, err, ok := e.Measured(s, e.Degradation.Onset.Earliest, e.To)
	if !ok && s.Entity == e.Job && e.Degradation.Overdue > 0 {
		now, err, ok = e.Degradation.Overdue, math.NaN(), true // no step has ended since
	}
	if !ok {
		return Claim{}, false
	}
	c := Claim{Text: f.why, Value: round(now, 6), Unit: m.Unit, Entity: s.Entity, Metric: s.Metric, From: e.Degradation.Onset.Earliest, To: e.To}
	if m.Type == telemetry.Counter {
		c.Unit += "/s"
	}
	if err == err {
		err = round(err, 6)
		c.Error = &err
	}
	if before, _, ok := e.Measured(s, e.From, e.Degradation.Onset.Earliest); ok {
		before = round(before, 6)
		c.Baseline = &before
	} else if i := slices.IndexFunc(was, c.sameSeries); i >= 0 {
		c.Baseline = was[i].Baseline
	}
	return c, true
}

// quoted lists what the numbers in a title's sentence were read from: features by
// the series that shows most of them, measures of links by the bytes that the link
// carries.
func (t *Writer) quoted(e *Evidence, a *Answer) []fact {
	if a.Signature == nil {
		return nil
	}
	var out []fact
	fill(a.Signature.Sentence, func(name string) string {
		name, _, _ = strings.Cut(name, "|")
		name, _, _ = strings.Cut(name, ".")
		if f, ok := t.quotedFeature(e, a, name); ok {
			out = append(out, f)
		} else if f, ok := quotedLink(e, a, Measure(name)); ok {
			out = append(out, f)
		}
		return ""
	})
	return out
}

// quotedFeature is the strongest observation of a feature that a sentence names.
func (t *Writer) quotedFeature(e *Evidence, a *Answer, name string) (fact, bool) {
	i := slices.IndexFunc(a.Signature.Features, func(c Feature) bool { return c.Name == name })
	if i < 0 || e.Symptoms == nil || a.Signature.Features[i].Reading == nil {
		return fact{}, false
	}
	c := &a.Signature.Features[i]
	o, ok := e.Symptoms.StrongestReading(a.Entity, c)
	if !ok || o.Event {
		return fact{}, false
	}
	return t.observed(o, t.why(c, e, a)), true
}

// quotedLink is what shows a measure of a link that a sentence names.
func quotedLink(e *Evidence, a *Answer, of Measure) (fact, bool) {
	if _, known := a.Values[of]; !known || e.Fabric == nil || e.SeriesOf == nil {
		return fact{}, false
	}
	i, ok := e.Fabric.Now.Map.Index(a.Entity)
	if !ok {
		return fact{}, false
	}
	slots, what := shownAt(e, i, of)
	if shown, ok := e.largest(slots); ok {
		return fact{entity: a.Entity, why: what, shown: shown}, true
	}
	return fact{}, false
}

// largest is the series with the greatest mean since the onset, of several that
// count the same at different places: packets damaged on the way in are counted by
// one end of a link, and the other counts nothing. It is the first where none is
// kept.
func (e *Evidence) largest(slots []int) (found telemetry.Series, ok bool) {
	most := math.Inf(-1)
	for _, slot := range slots {
		if slot < 0 {
			continue
		}
		s, mean := e.SeriesOf(slot), math.Inf(-1)
		if e.Measured != nil {
			if m, _, seen := e.Measured(s, e.Degradation.Onset.Earliest, e.To); seen {
				mean = m
			}
		}
		if !ok || mean > most {
			found, most, ok = s, mean, true
		}
	}
	return found, ok
}

// shownAt are the series that show a measure of end i of a link, and what it is:
// where they are several, each counts a part of it.
func shownAt(e *Evidence, i int, of Measure) ([]int, string) {
	m := e.Fabric.Now.Map
	switch of {
	case PauseSent, Starves, LoopPauseReceived:
		return []int{m.PausingBy(i)}, "the time for which it stops its peer"
	case LinkDamage, DamageShare:
		return m.CountedBy([]int{i}, fabric.Damaged, fabric.Uncorrectable, fabric.Erred), "the packets that arrive damaged over its link"
	case Resent, SendsAgain:
		return m.CountedBy(e.ownLinks(i), fabric.Sequence), "the packets that are sent again"
	case Disorder:
		return m.CountedBy(e.ownLinks(i), fabric.Disordered), "the packets that arrive out of order"
	case LinkUp:
		return append(m.CountedBy([]int{i}, fabric.Falls), m.UpBy(i)), "whether its link is up"
	}
	return []int{m.SentBy(i)}, "the bytes that it sends"
}

// ownLinks are end i of a link and the links of the job's hosts: any of these may
// retransmit what was lost there.
func (e *Evidence) ownLinks(i int) []int {
	out := []int{i}
	for _, node := range e.Nodes {
		out = append(out, e.Fabric.Now.Map.Links(node)...)
	}
	return out
}
