package crosscheck

import (
	"math"
	"math/rand/v2"
)

// dice draws what is fixed for a case: sizes, names, places, times.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, mix(stream)))}
}

// between returns a uniform number of [a, b).
func (d dice) between(a, b float64) float64 { return a + (b-a)*d.Float64() }

// geometric returns a number of [a, b) that is uniform in its logarithm.
func (d dice) geometric(a, b float64) float64 { return a * math.Pow(b/a, d.Float64()) }

// chance returns true with probability p.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// choose returns one of the values.
func choose[T any](d dice, values ...T) T { return values[d.IntN(len(values))] }

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// uniform returns a number of (0, 1) that depends only on its keys: equal steps
// of a run with and without the fault meet equal noise.
func uniform(keys ...uint64) float64 {
	h := uint64(0x5851f42d4c957f2d)
	for _, k := range keys {
		h = mix(h ^ k)
	}
	return (float64(h>>11) + .5) / (1 << 53)
}

// normal returns a standard normal number that depends only on its keys.
func normal(keys ...uint64) float64 {
	u, v := uniform(append(keys, 1)...), uniform(append(keys, 2)...)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}
