package explain

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Symptoms are the readings of everything the job is coupled to, during the
// degradation against before it (package symptom).
type Symptoms interface {
	// Suspects lists, in identity order, the entities that show all that some
	// signature requires of them, as far as it is read from telemetry.
	Suspects() []telemetry.Entity
	// Measure adds to a candidate's values all that can be read of it.
	Measure(e telemetry.Entity, v Values)
	// Strongest lists the entities with the strongest symptoms, whatever they are
	// called, the strongest suspects first.
	Strongest() []Suspect
	// Level returns the values from which a reading of one entity is made: the
	// metric before the degradation and during it, false where either cannot be
	// seen.
	Level(root telemetry.Entity, r *Reading) (before, now float64, ok bool)
	// StrongestReading returns the strongest observation of a feature.
	StrongestReading(root telemetry.Entity, c *Feature) (Observation, bool)
	// Slowest returns the clock under an entity that fell most, and Latest the
	// rank under it that computes longest beyond before.
	Slowest(root telemetry.Entity) (Observation, bool)
	Latest(root telemetry.Entity) (Observation, bool)
	// Relation returns how an effect relates to its cause by the topology.
	Relation(cause, effect telemetry.Entity) (telemetry.Relation, bool)
	// Exclude excludes a root and the machines that it slows from what is read, by heat
	// alone those that report heat; the zero entity excludes nothing.
	Exclude(root telemetry.Entity, byHeat bool)
	// Spared reports whether a GPU that is under the root which was removed is
	// slowed by something else.
	Spared(x telemetry.Entity) bool
	// Quiet states why a domain is ruled out, false where that was not seen.
	Quiet(d telemetry.Domain) (string, bool)
	// Stale lists the series that a signature's features read for a root and that
	// are stale, though they had data before the degradation.
	Stale(root telemetry.Entity, sig *Signature) []telemetry.Series
	// Pending reports whether a series that a signature's features read for a root
	// had data before the degradation and has had none since it began.
	Pending(root telemetry.Entity, sig *Signature) bool
	// StaleOfMachine lists the series of the machine that a root is or is in, or of all
	// that a job uses, that had data before the degradation and have none any more.
	StaleOfMachine(root telemetry.Entity) []telemetry.Series
	// Near lists the entities of a kind that are under a root, or over it.
	Near(root telemetry.Entity, kind telemetry.Kind) []telemetry.Entity
}

// Awaits reports whether an answer states that nothing is broken while a series
// that could contradict it has had no data since the job began to be degraded.
func (e *Evidence) Awaits(a *Answer) bool {
	return a.Signature != nil && a.Signature.Expect == ExpectBenign && e.Unread(a.Entity, a.Signature)
}

// Unread reports whether a series that a signature reads for a root has had no data since
// the job began to be degraded, though it is still reported: it shows neither that the root
// is there nor that it is not.
func (e *Evidence) Unread(root telemetry.Entity, s *Signature) bool {
	return s != nil && e.Symptoms != nil && e.Symptoms.Pending(root, s)
}

// named lists the suspects, in identity order.
func (e *Evidence) named() []telemetry.Entity {
	if e.Symptoms == nil {
		return nil
	}
	return e.Symptoms.Suspects()
}

// suspected adds the suspects that are not among the candidates yet, and what
// can be read of each candidate.
func suspected(e *Evidence, out []Candidate, named []telemetry.Entity, f *fabricMeasures) []Candidate {
	if e.Symptoms == nil {
		return out
	}
	listed := map[telemetry.Entity]bool{}
	for i := range out {
		listed[out[i].Entity] = true
	}
	for _, x := range named {
		if !listed[x] {
			out = append(out, f.candidate(x))
		}
	}
	for i := range out {
		if out[i].Values == nil {
			out[i].Values = Values{}
		}
		e.Symptoms.Measure(out[i].Entity, out[i].Values)
	}
	return out
}

// candidate measures an entity that telemetry points to: what its link does,
// if it is an end of one.
func (f *fabricMeasures) candidate(x telemetry.Entity) Candidate {
	c := Candidate{Entity: x, Values: Values{}}
	if f == nil {
		return c
	}
	i, ok := f.m.Index(x)
	if !ok {
		c.Values[FabricExplained] = f.topExplained
		if k := f.m.Switch(x); k >= 0 {
			f.whole(k, c.Values)
		}
		return c
	}
	c.Values = f.end(i)
	if p := f.m.Ends[i].Peer; p >= 0 {
		c.Peer = f.m.Ends[p].Entity
	}
	return c
}

// textValue returns the value that a text names: a measure, or a feature of the
// answer's signature, or what that feature read before and now.
func textValue(name string, e *Evidence, a *Answer) (float64, bool) {
	if v, ok := a.Values[Measure(name)]; ok || a.Signature == nil {
		return v, ok
	}
	feature, when, side := strings.Cut(name, ".")
	i := slices.IndexFunc(a.Signature.Features, func(c Feature) bool { return c.Name == feature })
	if i < 0 {
		return 0, false
	}
	c := &a.Signature.Features[i]
	if !side {
		v, ok := a.Values[c.Key()]
		return v, ok
	}
	if c.Reading == nil || e.Symptoms == nil {
		return 0, false
	}
	before, now, ok := e.Symptoms.Level(a.Entity, c.Reading)
	if when == "before" {
		return before, ok
	}
	return now, ok
}
