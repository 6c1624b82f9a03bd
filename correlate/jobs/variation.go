package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
)

// A job's own variation is slower than its last steps show: two jobs whose phases
// beat slow each other for a minute and then not, for as long as they run. So one
// step in so many is kept of a thousand, too, and those of a degradation that had no
// cause but the job's own variation are among them.

const (
	// variationSteps are kept, one in variationStride.
	variationSteps, variationStride = 128, 8
	// leastVariation of them are needed to widen what is usual.
	leastVariation = 24
	// memoryByChance is how much so few unrelated ones may resemble each other.
	memoryByChance = 0.2
)

// variation is a thinned sample of a job's steps.
type variation struct {
	lengths []float64 // seconds, the oldest first
	passed  int       // steps since the newest
	sorted  []float64 // the same in order; nil where not yet known
}

// sample takes one step in variationStride, the first among them.
func (v *variation) sample(x float64) {
	if v.passed++; v.passed >= variationStride || len(v.lengths) == 0 {
		v.passed = 0
		v.add(x)
	}
}

func (v *variation) add(x float64) {
	if len(v.lengths) == variationSteps {
		v.lengths = append(v.lengths[:0], v.lengths[1:]...)
	}
	v.lengths, v.sorted = append(v.lengths, x), nil
}

// clear forgets everything.
func (v *variation) clear() { v.lengths, v.sorted = v.lengths[:0], nil }

// quantile is a quantile of the sampled steps, and false where they are too few.
func (v *variation) quantile(q float64) (float64, bool) {
	if len(v.lengths) < leastVariation {
		return 0, false
	}
	if v.sorted == nil {
		v.sorted = slices.Clone(v.lengths)
		slices.Sort(v.sorted)
	}
	return sortedQuantile(v.sorted, q), true
}

// widen returns what is usual with the spread of the sampled steps.
func (v *variation) widen(u usual) usual {
	ninetieth, ok := v.quantile(0.9)
	if !ok {
		return u
	}
	above := ninetieth - u.median
	highest, _ := v.quantile(0.95)
	u.spread = max(u.spread, above, (highest-u.median)/1.5)
	scatter := max(above/ninth, (highest-u.median)/twentieth)
	u.sigma = max(u.sigma, scatter)
	middle, _ := v.quantile(0.5)
	u.memory = max(u.memory, memoryOf(v.lengths, middle, u.sigma, memoryByChance))
	u.variety = kernelsOf(v.sorted, u.core/u.median, 1)
	return u
}

func (v *variation) scale(by float64) {
	for i := range v.lengths {
		v.lengths[i] = float64(v.lengths[i] * by)
	}
	v.sorted = nil
}

func (v *variation) snapshot(c *snapshot.Codec) {
	c.F64s(&v.lengths)
	c.Int(&v.passed)
	v.sorted = nil
}
