package random

import (
	"math/bits"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// gamma is the step of SplitMix64's counter: the odd integer next to 2^64
// divided by the golden ratio.
const gamma = 0x9e3779b97f4a7c15

// Source is one stream of numbers. Its zero value is the stream of seed zero.
// Copying a Source copies its place in the stream.
type Source struct {
	seed    uint64
	counter uint64
}

// New returns the stream of a seed.
func New(seed uint64) Source { return Source{seed: seed} }

// Named returns the stream of a name inside this one. It depends on the seed
// and the name, not on what was drawn before.
func (s *Source) Named(name string) Source {
	h := uint64(14695981039346656037) // FNV-1a, 64 bits
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Source{seed: Mix(Mix(s.seed+gamma) ^ h)}
}

// At returns the stream of number n inside this one: what happens at step n,
// or to member n, whatever happened at the others.
func (s *Source) At(n uint64) Source { return Source{seed: Mix(Mix(s.seed+gamma) + (n+1)*gamma)} }

// Uint64 returns the next 64 bits.
func (s *Source) Uint64() uint64 {
	s.counter++
	return Mix(s.seed + s.counter*gamma)
}

// Mix is SplitMix64's output function: a bijection of 64 bits in which every
// bit of the input moves about half of the output's.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Source) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Below returns an integer from 0 to n-1, each as likely as the other, by
// multiplication and rejection (Lemire, ACM TOMACS 2019). It panics for n ≤ 0.
func (s *Source) Below(n int) int {
	if n <= 0 {
		panic("random: Below wants a positive bound")
	}
	bound := uint64(n)
	for {
		hi, lo := bits.Mul64(s.Uint64(), bound)
		if lo >= bound || lo >= -bound%bound {
			return int(hi)
		}
	}
}

// Chance reports true with probability p.
func (s *Source) Chance(p float64) bool { return s.Float64() < p }

// Uniform returns a number in [low, high).
func (s *Source) Uniform(low, high float64) float64 { return low + float64((high-low)*s.Float64()) }

// Normal returns a number of a normal distribution. One draw makes one number.
func (s *Source) Normal(mean, deviation float64) float64 {
	// The middle of the interval that the 53 bits stand for, so that neither
	// end of the quantile's range is ever asked for.
	u := (float64(s.Uint64()>>12) + 0.5) / (1 << 52)
	return mean + float64(deviation*NormalQuantile(u))
}

// Within returns a normal number drawn again until it is within three
// deviations: for what a factory has tested.
func (s *Source) Within(mean, deviation float64) float64 {
	for {
		if z := s.Normal(0, 1); z >= -3 && z <= 3 {
			return mean + float64(deviation*z)
		}
	}
}

// LogNormal returns a number whose logarithm is normal around that of median.
func (s *Source) LogNormal(median, deviation float64) float64 {
	return float64(median * stats.Exp(s.Normal(0, deviation)))
}

// Exponential returns a waiting time of the given mean.
func (s *Source) Exponential(mean float64) float64 {
	return float64(-mean * stats.Log(1-s.Float64()))
}

// Choice returns an index in proportion to the weights; those that are not
// positive are never chosen. It panics where none is positive.
func (s *Source) Choice(weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += max(w, 0)
	}
	at, last := float64(sum*s.Float64()), -1
	for i, w := range weights {
		if w <= 0 {
			continue
		}
		last = i
		if at < w {
			return i
		}
		at -= w
	}
	if last < 0 {
		panic("random: Choice wants a positive weight")
	}
	return last // rounding left a crumb
}

// Permutation returns 0 to n-1 in an order as likely as any other.
func (s *Source) Permutation(n int) []int {
	out := make([]int, n)
	for i := range out {
		j := s.Below(i + 1)
		out[i], out[j] = out[j], i
	}
	return out
}
