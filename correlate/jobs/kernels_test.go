package jobs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pastOf is a past of steps that are drawn.
func pastOf(n int, draw func(r *rand.Rand) float64) (p past) {
	r := rand.New(rand.NewPCG(uint64(n), 9))
	for range n {
		p.add(draw(r))
	}
	return p
}

func regular(r *rand.Rand) float64 { return 3 * (1 + 0.01*r.NormFloat64()) }

// lengthy are steps of which one in eight takes up to three times as long.
func lengthy(r *rand.Rand) float64 {
	x := regular(r)
	if r.IntN(8) == 0 {
		x *= 1 + 2*r.Float64()
	}
	return x
}

// TestADensityIsTheSlopeOfItsProbability, which grows, and is never quite 1.
func TestADensityIsTheSlopeOfItsProbability(t *testing.T) {
	for _, draw := range []func(*rand.Rand) float64{regular, lengthy} {
		for _, n := range []int{1, 5, 64} {
			p := pastOf(n, draw)
			k := p.usual().steps
			const d = 1e-5
			for y := -0.2; y < 2.4; y += 0.01 {
				slope := (k.below(y+d) - k.below(y-d)) / (2 * d)
				if got := k.density(y); math.Abs(got-slope) > 1e-3*(1+got) {
					t.Fatalf("%d steps: density %v at %.2f, the probability grows by %v", n, got, y, slope)
				}
			}
			for _, y := range []float64{-1e3, -20, 20, 1e3} {
				if b := k.below(y); !(b >= 0 && b < 1) {
					t.Errorf("%d steps: probability %v below %v", n, b, y)
				}
			}
		}
	}
}

// TestOddsAreFinite: no step and no time without one makes them anything but numbers.
func TestOddsAreFinite(t *testing.T) {
	p := pastOf(64, regular)
	for _, x := range []float64{0, 1e-12, 3, 30, 1e9} {
		for _, inProgress := range []bool{false, true} {
			o := (odds{}).with(p.usual(), x, inProgress)
			if slices.ContainsFunc(o[:], func(x float64) bool { return !(x >= 0 && x <= atMost) }) {
				t.Errorf("after %v s: %v", x, o)
			}
		}
	}
}

// TestOneStepIsNotEnough, however long; two that are as long are.
func TestOneStepIsNotEnough(t *testing.T) {
	p := pastOf(64, regular)
	u := p.usual()
	for _, by := range []float64{1.1, 1.3, 2, 5} {
		one := (odds{}).with(u, by*u.median, false)
		two := one.with(u, by*u.median, false)
		if one.most() >= convinced || one.most() < certainlySlow || two.most() < convinced {
			t.Errorf("%v times as long: log odds of %.1f after one, %.1f after two", by, one.most(), two.most())
		}
	}
}

// TestALengthThatIsCommonProvesLess: where one step in eight is long, two of twice the length
// prove less than two that are a tenth longer, as none was.
func TestALengthThatIsCommonProvesLess(t *testing.T) {
	p := pastOf(64, lengthy)
	u := p.usual()
	twice := func(by float64) float64 {
		o := (odds{}).with(u, by*u.median, false)
		o = o.with(u, by*u.median, false)
		return o.most()
	}
	if few, rare := twice(2), twice(1.1); few > float64(0.9*rare) {
		t.Errorf("log odds of %.1f after two steps of twice the length, %.1f after two that are a tenth longer", few, rare)
	}
}
