package symptom

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxSuspects bounds how many entities one signature is weighed for.
const maxSuspects = 32

// suspect is an entity for which all that a signature requires, as far as it is
// read here, is seen.
type suspect struct {
	i      int32
	weight float64
}

// Suspects lists, in identity order, the entities that the signatures could
// name: those with every required clue that is read from telemetry or from what
// stands under them, at least one, the most telling first where there are too
// many.
func (f *Contrast) Suspects() []telemetry.Entity {
	chosen := map[int32]bool{}
	for k := range f.plan.signatures {
		sig := &f.plan.signatures[k]
		if !f.readable(sig) {
			continue
		}
		var found []suspect
		for i := range f.survey.all {
			if !f.survey.used[i] || !slices.Contains(sig.Roots, f.survey.all[i].Kind) {
				continue
			}
			if w, ok := f.required(int32(i), sig); ok {
				found = append(found, suspect{int32(i), w})
			}
		}
		slices.SortStableFunc(found, func(a, b suspect) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), f.survey.all[a.i].Compare(f.survey.all[b.i]))
		})
		for _, s := range found[:min(len(found), maxSuspects)] {
			chosen[s.i] = true
		}
	}
	var out []telemetry.Entity
	for i := range f.survey.all {
		if chosen[int32(i)] {
			out = append(out, f.survey.all[i])
		}
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return out
}

// readable reports whether a signature requires anything that is known here.
func (f *Contrast) readable(sig *explain.Signature) bool {
	return slices.ContainsFunc(sig.Clues, func(c explain.Clue) bool { return c.Required && (c.Reading != nil || standing(c.Measure)) })
}

// standing reports whether a measure is of what stands under an entity.
func standing(m explain.Measure) bool {
	switch m {
	case explain.Covers, explain.Fills, explain.ClockDose, explain.LateCovers, explain.LateFills:
		return true
	}
	return false
}

// required weighs the required clues of a signature for an entity; false where
// one of them is absent or cannot be seen.
func (f *Contrast) required(i int32, sig *explain.Signature) (float64, bool) {
	weight := 0.0
	var values explain.Values
	for k := range sig.Clues {
		c := &sig.Clues[k]
		if !c.Required {
			continue
		}
		var v float64
		ok := false
		switch {
		case c.Reading != nil:
			v, ok = f.Read(f.survey.all[i], c.Reading)
		case standing(c.Measure):
			if values == nil {
				values = explain.Values{}
				f.Standing(f.survey.all[i], values)
			}
			v, ok = values[c.Measure]
		default:
			continue // known to others
		}
		st := c.Strength(v)
		if !ok || st == 0 {
			return 0, false
		}
		weight += float64(st * max(c.For, 1))
	}
	return weight, true
}

// Measure adds to a candidate's values all that can be read of it for the
// signatures that could name it.
func (f *Contrast) Measure(e telemetry.Entity, v explain.Values) {
	f.Standing(e, v)
	for k := range f.plan.signatures {
		sig := &f.plan.signatures[k]
		if !slices.Contains(sig.Roots, e.Kind) {
			continue
		}
		for n := range sig.Clues {
			c := &sig.Clues[n]
			if c.Reading == nil {
				continue
			}
			if _, done := v[c.Key()]; done {
				continue
			}
			if x, ok := f.Read(e, c.Reading); ok {
				v[c.Key()] = x
			}
		}
	}
}
