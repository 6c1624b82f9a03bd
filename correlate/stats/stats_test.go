package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns n values with ties, signs and very different sizes.
func random(r *rand.Rand, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		switch r.IntN(3) {
		case 0:
			xs[i] = float64(r.IntN(5))
		case 1:
			xs[i] = r.NormFloat64()
		default:
			xs[i] = r.NormFloat64() * 1e12
		}
	}
	return xs
}

func sortedMedian(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1]/2 + s[n/2]/2
}

func TestMedianIsTheMiddleOfTheSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		xs := random(r, 1+r.IntN(40))
		if got, want := Median(slices.Clone(xs)), sortedMedian(xs); got != want {
			t.Fatalf("Median(%v) = %v, want %v", xs, got, want)
		}
	}
}

func TestMADIsTheMedianOfDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		xs := random(r, 1+r.IntN(30))
		m := sortedMedian(xs)
		ds := make([]float64, len(xs))
		for i, x := range xs {
			ds[i] = math.Abs(x - m)
		}
		med, mad := MAD(slices.Clone(xs))
		if med != m || mad != sortedMedian(ds) {
			t.Fatalf("MAD(%v) = %v, %v, want %v, %v", xs, med, mad, m, sortedMedian(ds))
		}
	}
}

func TestQuantileInterpolatesRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		xs := random(r, 1+r.IntN(30))
		q := r.Float64()
		s := slices.Sorted(slices.Values(xs))
		h := float64(len(s)-1) * q
		i := int(h)
		want := s[i]
		if i+1 < len(s) {
			d := (h - float64(i)) * (s[i+1] - s[i])
			want += d
		}
		if got := Quantile(slices.Clone(xs), q); got != want {
			t.Fatalf("Quantile(%v, %v) = %v, want %v", xs, q, got, want)
		}
	}
	xs := []float64{3, 1, 2}
	if Quantile(xs, -1) != 1 || Quantile(xs, 2) != 3 {
		t.Errorf("a quantile outside 0…1 is not clamped")
	}
}

func TestNothingHasNoMedian(t *testing.T) {
	med, mad := MAD(nil)
	for _, x := range []float64{Median(nil), med, mad, Quantile(nil, 0.5)} {
		if !math.IsNaN(x) {
			t.Errorf("got %v, want NaN", x)
		}
	}
}

func TestNthSplitsTheSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		xs := random(r, 1+r.IntN(50))
		k := r.IntN(len(xs))
		want := slices.Sorted(slices.Values(xs))[k]
		if got := nth(xs, k); got != want {
			t.Fatalf("nth = %v, want %v", got, want)
		}
		for i, x := range xs {
			if i < k && x > want || i > k && x < want {
				t.Fatalf("xs[%d] = %v on the wrong side of %v", i, x, want)
			}
		}
	}
}

// near reports whether got is within n units in the last place of want.
func near(got, want float64, n int64) bool {
	if math.IsNaN(want) {
		return math.IsNaN(got)
	}
	d := int64(math.Float64bits(got)) - int64(math.Float64bits(want))
	return got == want || (d >= -n && d <= n)
}

func TestExpAndLogAgreeWithMath(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200000 {
		x := (r.Float64() - 0.5) * 1416 // math.Exp overflows early on amd64
		if got, want := Exp(x), math.Exp(x); !near(got, want, 2) {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
		y := math.Float64frombits(r.Uint64()&^(1<<63) | 1<<52) // no subnormals: math.Log is off by more than one there on amd64
		if got, want := Log(y), math.Log(y); !near(got, want, 2) {
			t.Fatalf("Log(%v) = %v, want %v", y, got, want)
		}
		z := 1 + (r.Float64()-0.5)*1e-3
		if got, want := Log(z), math.Log(z); !near(got, want, 2) {
			t.Fatalf("Log(%v) = %v, want %v", z, got, want)
		}
	}
	if got, want := Log(0x1p-1060), -1060*math.Ln2; !near(got, want, 2) {
		t.Errorf("Log of a subnormal = %v, want %v", got, want)
	}
	for _, x := range []float64{0, 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 710, -746, 1e-300, math.MaxFloat64, 0.5, 2} {
		if !near(Exp(x), math.Exp(x), 2) {
			t.Errorf("Exp(%v) = %v, want %v", x, Exp(x), math.Exp(x))
		}
		if !near(Log(x), math.Log(x), 2) {
			t.Errorf("Log(%v) = %v, want %v", x, Log(x), math.Log(x))
		}
	}
}

func TestPowAgreesWithMath(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 50000 {
		x, y := r.Float64()*1000, (r.Float64()-0.5)*200
		got, want := Pow(x, y), math.Pow(x, y)
		if math.IsInf(want, 0) || want < 1e-300 {
			continue
		}
		if math.Abs(got-want) > 3e-13*want {
			t.Fatalf("Pow(%v, %v) = %v, want %v", x, y, got, want)
		}
	}
	for _, c := range [][3]float64{{0, 0, 1}, {1, math.Inf(1), 1}, {0, 2, 0}, {0, -1, math.Inf(1)}, {5, 1, 5}, {-1, 2, math.NaN()}} {
		if got := Pow(c[0], c[1]); !near(got, c[2], 0) {
			t.Errorf("Pow(%v, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// TestGoldenBits pins the results: they must be these on every machine (I7).
func TestGoldenBits(t *testing.T) {
	h := uint64(14695981039346656037)
	add := func(x float64) { h = (h ^ math.Float64bits(x)) * 1099511628211 }
	for i := range 20000 {
		x := float64(i-10000) / 137
		add(Exp(x))
		add(Log(float64(i) + 0.25))
		add(Pow(float64(i)/7, x/40))
	}
	if want := uint64(0xc8422b7258734277); h != want {
		t.Errorf("got %#x, want %#x", h, want)
	}
}
