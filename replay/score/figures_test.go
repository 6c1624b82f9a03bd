package score

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(1, math.Abs(b)) }

// The bounds of Garwood's table, one-sided 95 %: half the 0.95 quantile of
// chi-squared with 2(k+1) degrees of freedom.
func TestPoissonUpper(t *testing.T) {
	for k, want := range map[int]float64{0: 2.99573, 1: 4.74386, 2: 6.29579, 5: 10.51303, 10: 16.96222, 100: 118.07968} {
		if got := poissonUpper(k, 0.95); !near(got, want) {
			t.Errorf("after %d: got %.5f, want %.5f", k, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	if quantile(nil, 0.5) != nil {
		t.Error("the median of nothing is not a number")
	}
	tests := []struct {
		xs   []float64
		q    float64
		want float64
	}{
		{[]float64{7}, 0.95, 7},
		{[]float64{3, 1}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.95, 95},
	}
	for _, tc := range tests {
		if got := *quantile(tc.xs, tc.q); !near(got, tc.want) {
			t.Errorf("%v at %v: got %v, want %v", tc.xs, tc.q, got, tc.want)
		}
	}
}

// Three answers: sure and right, fairly sure and wrong, unsure and right.
// (0.1² + 0.8² + 0.5²)/3 = 0.3; always saying 2/3 costs 2/3 × 1/3.
func TestBrier(t *testing.T) {
	fs := []forecast{{0.9, true}, {0.8, false}, {0.5, true}}
	score, constant := brier(fs)
	if !near(*score, 0.3) || !near(*constant, 2.0/9) {
		t.Errorf("got %v beside %v, want 0.3 beside 0.2222", *score, *constant)
	}
	if s, c := brier(nil); s != nil || c != nil {
		t.Error("no forecasts have no score")
	}
}

func TestReliability(t *testing.T) {
	got := reliability([]forecast{{1, true}, {0.92, true}, {0.95, false}, {0.31, false}, {0, false}})
	want := []Bin{{0, 0.1, 1, 0, 0}, {0.3, 0.4, 1, 0, 0.31}, {0.9, 1, 3, 2, (1 + 0.92 + 0.95) / 3}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i].Answers != want[i].Answers || got[i].Right != want[i].Right || !near(got[i].Confidence, want[i].Confidence) ||
			!near(got[i].From, want[i].From) || !near(got[i].To, want[i].To) {
			t.Errorf("bin %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}
