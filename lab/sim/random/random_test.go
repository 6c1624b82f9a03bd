package random_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/random"
)

// TestSplitMix64 holds the bits against the published generator's first
// numbers of seed 1234567, as other implementations test it.
func TestSplitMix64(t *testing.T) {
	s := random.New(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Uint64(); got != want {
			t.Errorf("number %d: %d, want %d", i, got, want)
		}
	}
}

func TestAStreamByNameDoesNotMoveWithItsParent(t *testing.T) {
	a, b := random.New(7), random.New(7)
	b.Uint64()
	b.Uint64()
	x, y := a.Named("gpu:n1/0"), b.Named("gpu:n1/0")
	if x.Uint64() != y.Uint64() {
		t.Error("what the parent drew moved the stream")
	}
	seen := map[uint64]string{}
	for _, name := range []string{"", "a", "b", "ab", "ba", "gpu:n1/0", "gpu:n1/1"} {
		s := a.Named(name)
		v := s.Uint64()
		if other, ok := seen[v]; ok {
			t.Errorf("%q and %q draw alike", name, other)
		}
		seen[v] = name
	}
	for n := range uint64(1000) {
		s := a.At(n)
		v := s.Uint64()
		if other, ok := seen[v]; ok {
			t.Errorf("number %d and %q draw alike", n, other)
		}
		seen[v] = "a number"
	}
}

// TestNormalQuantile uses the standard library's inverse error function, which
// tests may, as its oracle.
func TestNormalQuantile(t *testing.T) {
	for _, p := range []float64{1e-300, 1e-100, 1e-20, 1e-9, 0.001, 0.02425, 0.075, 0.3, 0.5, 0.7, 0.925, 0.999, 1 - 1e-9} {
		got := random.NormalQuantile(p)
		back := 0.5 * math.Erfc(-got/math.Sqrt2)
		if math.Abs(back-p) > 1e-11*p {
			t.Errorf("quantile of %g is %g, whose probability is %g", p, got, back)
		}
	}
	if lo, hi := random.NormalQuantile(0), random.NormalQuantile(1); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("ends are %g and %g", lo, hi)
	}
	for _, p := range []float64{1e-6, 0.01, 0.2, 0.4} {
		if a, b := random.NormalQuantile(p), random.NormalQuantile(1-p); math.Abs(a+b) > 1e-9 {
			t.Errorf("not symmetric at %g: %g and %g", p, a, b)
		}
	}
}

// moments returns mean and deviation of n draws.
func moments(n int, draw func() float64) (mean, deviation float64) {
	var sum, squares float64
	for range n {
		x := draw()
		sum += x
		squares += x * x
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(squares/float64(n) - mean*mean)
}

// TestMoments holds each distribution against its mean and deviation, within
// four standard errors of 200,000 draws.
func TestMoments(t *testing.T) {
	const n = 200_000
	s := random.New(42)
	for _, c := range []struct {
		name            string
		draw            func() float64
		mean, deviation float64
	}{
		{"uniform on [2, 5)", func() float64 { return s.Uniform(2, 5) }, 3.5, 3 / math.Sqrt(12)},
		{"normal", func() float64 { return s.Normal(10, 3) }, 10, 3},
		{"normal within three deviations", func() float64 { return s.Within(0, 1) }, 0, 0.98658},
		{"exponential", func() float64 { return s.Exponential(4) }, 4, 4},
		{"log-normal", func() float64 { return s.LogNormal(2, 0.25) }, 2 * math.Exp(0.03125), 2 * math.Exp(0.03125) * math.Sqrt(math.Expm1(0.0625))},
		{"below 6", func() float64 { return float64(s.Below(6)) }, 2.5, math.Sqrt(35.0 / 12)},
		{"chance of 0.3", func() float64 { return map[bool]float64{true: 1}[s.Chance(0.3)] }, 0.3, math.Sqrt(0.21)},
	} {
		mean, deviation := moments(n, c.draw)
		if e := 4 * c.deviation / math.Sqrt(n); math.Abs(mean-c.mean) > e {
			t.Errorf("%s: mean %.4f, want %.4f ± %.4f", c.name, mean, c.mean, e)
		}
		if math.Abs(deviation/c.deviation-1) > 0.02 {
			t.Errorf("%s: deviation %.4f, want %.4f", c.name, deviation, c.deviation)
		}
	}
}

func TestNormalTails(t *testing.T) {
	s, beyond := random.New(3), 0
	const n = 200_000
	for range n {
		if z := s.Normal(0, 1); z > 1.959964 || z < -1.959964 {
			beyond++
		}
	}
	if share := float64(beyond) / n; math.Abs(share-0.05) > 4*math.Sqrt(0.05*0.95/n) {
		t.Errorf("%.4f of the numbers lie outside the 95 %% interval", share)
	}
}

func TestChoiceFollowsTheWeights(t *testing.T) {
	s, counts := random.New(9), [4]int{}
	const n = 100_000
	for range n {
		counts[s.Choice([]float64{1, 0, 3, -5})]++
	}
	if counts[1] != 0 || counts[3] != 0 || math.Abs(float64(counts[2])/n-0.75) > 4*math.Sqrt(0.75*0.25/n) {
		t.Errorf("chosen %v times for weights 1, 0, 3, -5", counts)
	}
}

// TestPermutations counts all orders of four things.
func TestPermutations(t *testing.T) {
	s, counts := random.New(5), map[[4]int]int{}
	const n = 24_000
	for range n {
		p := s.Permutation(4)
		counts[[4]int(p)]++
		slices.Sort(p)
		if !slices.Equal(p, []int{0, 1, 2, 3}) {
			t.Fatalf("not a permutation: %v", p)
		}
	}
	for p, c := range counts {
		if math.Abs(float64(c)-1000) > 5*math.Sqrt(1000) {
			t.Errorf("order %v came %d times, want about 1000", p, c)
		}
	}
	if len(counts) != 24 {
		t.Errorf("%d orders came, want 24", len(counts))
	}
}
