package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// What heats machines slows them by their heat, and they report so. A GPU there
// that is slowed and reports no heat has a fault of its own.

const (
	metricTemperature telemetry.MetricName = "gpu_temperature_celsius"
	// reasonHeat are the clock event reasons that state heat (NVML: software and
	// hardware thermal slowdown).
	reasonHeat = 0x60
)

// heats reports whether a fault slows the machines under it by heat alone.
func heats(s *Signature) bool {
	return s.Domain == telemetry.Cooling && plant(s) && !slices.Contains(s.Roots, telemetry.GPU)
}

// Heats reports whether an answer slows the machines under it by heat alone.
func (a *Answer) Heats() bool { return a.Signature != nil && heats(a.Signature) }

// deniesHeat reports whether the heat that a GPU reports is evidence against a
// fault.
func deniesHeat(s *Signature) bool {
	return slices.ContainsFunc(s.Features, func(c Feature) bool {
		return c.Reading != nil && c.Reading.Take == TakeBits && c.Reading.Bits == reasonHeat && c.None > c.Full && c.Against < 0
	})
}

// apart lists the signatures that are apart from one. Where that one heats
// machines, a GPU's heat is not its own and is not read.
func apart(from *Signature, sigs []Signature) []Signature {
	var out []Signature
	for i := range sigs {
		if !Apart(from, &sigs[i]) {
			continue
		}
		s := sigs[i]
		if heats(from) {
			s.Features = slices.DeleteFunc(slices.Clone(s.Features), func(c Feature) bool { return c.Reading != nil && c.Reading.Metric == metricTemperature })
		}
		out = append(out, s)
	}
	return out
}

// spared reports whether an entity is under an answer that heats, and is slowed by
// something else.
func (e *Evidence) spared(x telemetry.Entity, a *Answer) bool {
	return x != a.Entity && a.Heats() && e.Symptoms != nil && e.Symptoms.Spared(x)
}

// alsoHeats reports whether an answer is another name for the heat that was
// removed: it heats, too, and is over what that spared.
func (e *Evidence) alsoHeats(a *Answer, spared []telemetry.Entity) bool {
	return a.Heats() && slices.ContainsFunc(spared, func(x telemetry.Entity) bool {
		_, over := e.Symptoms.Relation(a.Entity, x)
		return over
	})
}
