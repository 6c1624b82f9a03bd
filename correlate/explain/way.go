package explain

import (
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Observation is one metric of one entity, or an event that happened to it, before
// the degradation and during it.
type Observation struct {
	Entity      telemetry.Entity
	Metric      telemetry.MetricName // or the event's name
	Before, Now float64
	Event       bool
	At          telemetry.Interval // of an event: when it happened first
	Bits        bool               // Before and Now are shares of time
}

// placementPath is what is seen from the root down to the job beyond the fabric: the
// strongest observation of the root, the GPU under it that is slowed most, the rank
// under it that is late.
func (t *Writer) placementPath(e *Evidence, a *Answer) []fact {
	if e.Symptoms == nil {
		return nil
	}
	var out []fact
	if a.Signature == nil {
		out = t.suspectFacts(e, a)
	} else if f, ok := t.strongestFact(e, a); ok {
		out = append(out, f)
	}
	if o, ok := e.Symptoms.Slowest(a.Entity); ok {
		out = appendFact(out, t.observed(o, "its clock is at "+Percent(o.Now/o.Before)+" of what it was"))
	}
	if o, ok := e.Symptoms.Latest(a.Entity); ok {
		out = appendFact(out, t.observed(o, "it computes "+Percent(o.Now/o.Before-1)+" longer than before"))
	}
	return out
}

// suspectFacts is the observation that makes an entity a suspect whose fault has no
// signature.
func (t *Writer) suspectFacts(e *Evidence, a *Answer) []fact {
	metric := e.suspected(a.Entity).Metric
	if metric == "" {
		return nil
	}
	o, ok := e.Symptoms.StrongestReading(a.Entity, &Feature{Full: 1, Reading: &Reading{Metric: metric, Of: OfRoot, Take: TakeShift}})
	if !ok {
		return nil
	}
	return []fact{t.observed(o, "of all that the job depends on it has got worse most")}
}

// appendFact adds a fact unless its entity has one already.
func appendFact(out []fact, f fact) []fact {
	if slices.ContainsFunc(out, func(o fact) bool { return o.entity == f.entity }) {
		return out
	}
	return append(out, f)
}

// strongestFact is the strongest evidence for an answer among what its signature reads:
// the root's own metrics before those of what is under it.
func (t *Writer) strongestFact(e *Evidence, a *Answer) (fact, bool) {
	c := a.strongest(func(c *Feature, strength float64) float64 {
		says := float64(strength * c.For)
		if c.Reading.Of == OfRoot {
			says = float64(says * 2)
		}
		if absent(c) {
			says = float64(says * lastResort)
		}
		return says
	}, 0)
	if c == nil {
		return fact{}, false
	}
	o, ok := e.Symptoms.StrongestReading(a.Entity, c)
	if !ok {
		return fact{}, false
	}
	f := t.observed(o, t.why(c, e, a))
	f.shape = shapeOf(c.Reading.Take, o)
	return f, true
}

// strongest returns the feature that says most, and more than the least given, of those
// that were read of an answer's root or of what is under or over it; nil where none does.
func (a *Answer) strongest(says func(c *Feature, strength float64) float64, least float64) (best *Feature) {
	for i := range a.Signature.Features {
		c := &a.Signature.Features[i]
		v, seen := a.Values[c.Key()]
		if c.Reading == nil || !seen || !c.AskedOf(a.Entity.Kind) || c.Reading.Of == OfBeside || c.Reading.Of == OfJob {
			continue
		}
		if by := says(c, c.Strength(v)); by > least {
			best, least = c, by
		}
	}
	return best
}

// lastResort is the weight of a feature whose evidence is an absence where
// something is to be shown.
const lastResort = 0.1

// absent reports whether a feature is met where nothing changed or a level is low:
// the power limit is what it was, no reason of heat, no error. It shows what the
// fault is not.
func absent(c *Feature) bool {
	asBefore := 0.0
	switch c.Reading.Take {
	case TakeRatio, TakePeersRatio:
		asBefore = 1
	case TakeShift, TakePeers, TakePeersExplained, TakeBits, TakeExplained:
	case TakeNow, TakeMost:
		return c.Full < c.None
	default:
		return false
	}
	if c.Reading.Among == AmongShare {
		asBefore = boolValue(c.Reading.Counts(asBefore))
	}
	return c.Strength(asBefore) == 1
}

// why describes what an answer's feature shows: its value replaces {value}.
func (t *Writer) why(c *Feature, e *Evidence, a *Answer) string {
	values := Values{"value": a.Values[c.Key()]}
	maps.Copy(values, a.Values)
	return t.fill(c.Why, e, &Answer{Entity: a.Entity, Signature: a.Signature, Values: values})
}

func shapeOf(t Take, o Observation) telemetry.Shape {
	switch {
	case o.Event:
		return telemetry.ShapeBurst
	case t == TakeNoData:
		return telemetry.ShapeSilence
	case t == TakeBits || t == TakeNow || t == TakeMost || t == TakeLeast:
		return telemetry.ShapeLevel
	case t == TakePeers || t == TakePeersRatio || t == TakePeersExplained || t == TakeBelowPeers:
		return telemetry.ShapePeer
	}
	return telemetry.ShapeShift
}

// observed makes a fact of an observation.
func (t *Writer) observed(o Observation, why string) fact {
	f := fact{entity: o.Entity, metric: o.Metric, shape: telemetry.ShapeShift, before: o.Before, now: o.Now, unit: "events", why: why, turn: turn{at: o.At}}
	m, ok := t.Catalogue.Lookup(o.Metric)
	if !ok {
		return f
	}
	f.unit = m.Unit
	switch {
	case o.Bits:
		f.unit = "s/s"
	case m.Type == telemetry.Counter:
		f.unit += "/s"
	}
	if !o.Bits && !m.PerStep {
		f.level, f.falls = o.Before+float64(0.25*(o.Now-o.Before)), o.Now < o.Before
	}
	return f
}
