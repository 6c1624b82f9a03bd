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

// Suspects lists, in identity order, the entities that the signatures could name:
// those with every required feature that is known here and with more for the
// signature than against it, those with the strongest evidence first where there
// are too many.
func (f *Contrast) Suspects() []telemetry.Entity {
	chosen := make([]bool, len(f.survey.all))
	for k := range f.plan.signatures {
		sig := &f.plan.signatures[k]
		if !f.readable(sig) {
			continue
		}
		var found []suspect
		for _, kind := range sig.Roots {
			for _, i := range f.survey.kinds[kind] {
				if w, ok := f.weigh(i, sig); ok {
					found = append(found, suspect{i, w})
				}
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
	for i, c := range chosen {
		if c {
			out = append(out, f.survey.all[i])
		}
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return out
}

// readable reports whether anything that a signature needs is read here, and whether what
// it requires can be: an entity that must show what only the fabric reports is
// found there.
func (f *Contrast) readable(sig *explain.Signature) bool {
	needs, asks := false, false
	for k := range sig.Features {
		c := &sig.Features[k]
		known := c.Reading != nil || ofPlacement(c.Measure)
		asks = asks || known
		needs = needs || c.Required && !known && !common(c.Measure)
	}
	required := slices.ContainsFunc(sig.Features, func(c explain.Feature) bool { return c.Required && (c.Reading != nil || ofPlacement(c.Measure)) })
	return asks && (required || !needs)
}

// ofPlacement reports whether a measure is of what is under an entity.
func ofPlacement(m explain.Measure) bool {
	switch m {
	case explain.Recall, explain.Precision, explain.ClockExplained, explain.LateRecall, explain.LatePrecision,
		explain.IdleRecall, explain.IdlePrecision, explain.IdleExplained, explain.IdleOnOneHost, explain.StaleRecall:
		return true
	}
	return false
}

// common reports whether a measure is the same for every candidate.
func common(m explain.Measure) bool {
	return m == explain.Stalled || m == explain.Slowdown
}

// weigh adds up the contributions of a signature's features for an entity, required
// ones first: false where one of them is absent or cannot be seen, or where there
// is no evidence for it. Expensive readings, the contrast to all the rest, are left
// for those that are chosen.
func (f *Contrast) weigh(i int32, sig *explain.Signature) (float64, bool) {
	weight, good := 0.0, 0.0
	for _, required := range []bool{true, false} {
		for k := range sig.Features {
			c := &sig.Features[k]
			if c.Required != required || !c.AskedOf(f.survey.all[i].Kind) || c.Reading != nil && c.Reading.Of == explain.OfBeside {
				continue
			}
			v, ok := f.value(i, c)
			st := c.Strength(v)
			switch {
			case ok && (st > 0 || !required):
				weight += float64(st*c.For) + float64((1-st)*c.Against)
				if !common(c.Measure) || c.Reading != nil {
					good = max(good, st)
				}
			case required && (c.Reading != nil || ofPlacement(c.Measure) || common(c.Measure)) && (ok || !sig.CertainAlone(func(c *explain.Feature) (float64, bool) { return f.value(i, c) })):
				return 0, false
			}
		}
	}
	return weight, good > 0
}

// value is what a feature reads of an entity.
func (f *Contrast) value(i int32, c *explain.Feature) (float64, bool) {
	if c.Reading != nil {
		return f.read(i, c.Reading)
	}
	return f.placement(i, c.Measure)
}

// Measure adds to a candidate's values all that can be read of it for the
// signatures that could name it.
func (f *Contrast) Measure(e telemetry.Entity, v explain.Values) {
	f.Placement(e, v)
	for k := range f.plan.signatures {
		sig := &f.plan.signatures[k]
		if !slices.Contains(sig.Roots, e.Kind) {
			continue
		}
		for n := range sig.Features {
			c := &sig.Features[n]
			if c.Reading == nil || !c.AskedOf(e.Kind) {
				continue
			}
			if _, done := v[c.Key()]; done {
				continue
			}
			if x, ok := f.Read(e, c.Reading); ok {
				v[c.Key()] = x
				if err := f.errorOf(f.survey.index[e], c.Reading); err > 0 {
					v[c.ErrorKey()] = err
				}
			}
		}
	}
}
