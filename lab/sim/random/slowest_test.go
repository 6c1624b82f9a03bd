package random_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/random"
)

// slowest is the exact mean of the largest of n standard normal numbers: the
// integral of 1 − Φ(z)ⁿ over z > 0 less that of Φ(z)ⁿ over z < 0.
func slowest(n float64) float64 {
	const step = 1e-4
	sum := 0.0
	for z := -9.0 + step/2; z < 9; z += step {
		below := math.Pow(0.5*math.Erfc(-z/math.Sqrt2), n)
		if z > 0 {
			sum += step * (1 - below)
		} else {
			sum -= step * below
		}
	}
	return sum
}

// TestASynchronousStepWaitsForTheSlowest: with the same jitter on every rank, a
// step lasts the mean plus so many deviations: 1.42 for 8 ranks, 2.34 for 64,
// 3.04 for 512, 3.63 for 4,096. (reference rca.md C.4 has a rougher
// approximation, 1.24, 2.20, 2.91 and 3.51.)
func TestASynchronousStepWaitsForTheSlowest(t *testing.T) {
	s := random.New(21)
	for _, c := range []struct {
		ranks, steps int
		known        float64
	}{{8, 20000, 1.4236}, {64, 4000, 2.344}, {512, 1000, 3.044}, {4096, 200, 3.626}} {
		exact := slowest(float64(c.ranks))
		if math.Abs(exact-c.known) > 5e-3 {
			t.Errorf("%d ranks: exactly %.4f, in the comment %.4f", c.ranks, exact, c.known)
		}
		mean, deviation := moments(c.steps, func() float64 {
			last := math.Inf(-1)
			for range c.ranks {
				last = max(last, s.Normal(0, 1))
			}
			return last
		})
		if e := 4 * deviation / math.Sqrt(float64(c.steps)); math.Abs(mean-exact) > e {
			t.Errorf("%d ranks: drawn %.3f, exactly %.3f ± %.3f", c.ranks, mean, exact, e)
		}
	}
}
