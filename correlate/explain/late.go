package explain

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// An effect does not begin before its cause. What a place shows may be strong and explain
// the loss, and be of another fault that began later.

const (
	// contends is how far below the likeliest answer, in log-odds, one may be for it
	// to matter when its evidence began, and mostTimed how many are looked at.
	contends  = 8.0
	mostTimed = 64
	// leastDecisive is the least log-odds between a feature that is there and one that is not
	// for an answer to rest on it.
	leastDecisive = 2.0
	// lately is the time of which the mean is what a series is now.
	lately = telemetry.Duration(30e9)
)

// Beyond finds when a series was first beyond a level, below it where falls; false where
// that cannot be seen.
type Beyond func(s telemetry.Series, level float64, falls bool) (telemetry.Interval, bool)

// Late finds by how much of a usual step the evidence on which an answer rests certainly
// began after the degradation that it would explain. It is false where no series shows
// when that was, and where TooLate has it. beyond looks since the
// degradation began.
func (t *Writer) Late(e *Evidence, a *Answer, beyond Beyond) (float64, bool) {
	if _, known := a.Values[TooLate]; known {
		return 0, false
	}
	c := a.restsOn()
	if c == nil || e.Symptoms == nil {
		return 0, false
	}
	o, ok := e.Symptoms.StrongestReading(a.Entity, c)
	if !ok {
		return 0, false
	}
	f := t.observed(o, "")
	if f.at.Latest != 0 {
		return tooLate(e, f.at), true
	}
	if f.level == 0 {
		f.level, f.falls = e.levelOf(f.series(), max(e.Degradation.Onset.Latest, e.To.Add(-lately)))
	}
	if f.level <= 0 {
		return 0, false
	}
	at, ok := beyond(f.series(), f.level, f.falls)
	return tooLate(e, at), ok
}

// restsOn is the feature that decides most for an answer, of those that show a change;
// nil where none does.
func (a *Answer) restsOn() *Feature {
	return a.strongest(func(c *Feature, strength float64) float64 {
		if absent(c) {
			return 0
		}
		return float64(strength * (c.For - c.Against))
	}, leastDecisive)
}

// tooLate is by how much of a usual step something certainly began after the
// degradation.
func tooLate(e *Evidence, at telemetry.Interval) float64 {
	if !at.CannotPrecede(e.Degradation.Onset) || e.Degradation.Usual <= 0 {
		return 0
	}
	return float64(at.Earliest-e.Degradation.Onset.Latest) / 1e9 / e.Degradation.Usual
}

// delay lowers the scores of the answers that contend and whose evidence began too late,
// and notes it in the candidates that they are of.
func delay(answers []Answer, cands []Candidate, late func(*Answer) (by float64, counts bool)) {
	if late == nil {
		return
	}
	order := make([]*Answer, len(answers))
	for i := range answers {
		order[i] = &answers[i]
	}
	slices.SortStableFunc(order, func(a, b *Answer) int { return cmp.Compare(b.Score, a.Score) })
	least := order[0].Score - contends
	for _, a := range order[:min(mostTimed, len(order))] {
		if a.Signature == nil || a.Score < least {
			continue
		}
		counts := false
		if a.Late, counts = late(a); a.Late <= 0 || !counts {
			continue
		}
		c := &cands[a.candidate]
		if c.Late == nil {
			c.Late = map[string]float64{}
		}
		before := a.Signature.Offset(c)
		c.Late[a.Signature.Name] = a.Late
		a.Score += a.Signature.Offset(c) - before
	}
}
