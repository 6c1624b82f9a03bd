package attribute_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/telemetry"
)

func explains(d telemetry.Domain, x float64) attribute.Explained {
	return attribute.Explained{Domain: d, Explains: x}
}

// TestSharesOfTwoRoots, by hand.
func TestSharesOfTwoRoots(t *testing.T) {
	for name, c := range map[string]struct {
		doses []attribute.Explained
		want  []float64
	}{
		"alone":                               {[]attribute.Explained{explains(telemetry.Network, 0.9)}, []float64{0.9}},
		"two as late as each other":           {[]attribute.Explained{explains(telemetry.Cooling, 1), explains(telemetry.Computing, 1)}, []float64{0.5, 0.5}},
		"one later":                           {[]attribute.Explained{explains(telemetry.Cooling, 1), explains(telemetry.Computing, 0.4)}, []float64{0.8, 0.2}},
		"late, and then slow to send":         {[]attribute.Explained{explains(telemetry.Cooling, 0.6), explains(telemetry.Network, 0.4)}, []float64{0.6, 0.4}},
		"both explain more than there is":     {[]attribute.Explained{explains(telemetry.Cooling, 0.8), explains(telemetry.Network, 0.8)}, []float64{0.5, 0.5}},
		"nothing explained is nothing shared": {[]attribute.Explained{explains(telemetry.Cooling, 0), explains(telemetry.Network, 0)}, []float64{0, 0}},
	} {
		for i, x := range attribute.Shares(c.doses) {
			equal(t, name, x, c.want[i])
		}
	}
	if got := attribute.Shares(nil); len(got) != 0 {
		t.Errorf("nobody's shares: %v", got)
	}
}

// byOrders is the definition: the mean of what each root adds, over all orders.
func byOrders(fractions []attribute.Explained) []float64 {
	out, all := make([]float64, len(fractions)), 0.0
	cost := func(of []int) float64 {
		late, stuck := 0.0, 0.0
		for _, i := range of {
			if fractions[i].Domain == telemetry.Network {
				stuck = max(stuck, fractions[i].Explains)
			} else {
				late = max(late, fractions[i].Explains)
			}
		}
		return min(1, late+stuck)
	}
	var walk func(order []int)
	walk = func(order []int) {
		if len(order) == len(fractions) {
			all++
			for k, i := range order {
				out[i] += cost(order[:k+1]) - cost(order[:k])
			}
			return
		}
	next:
		for i := range fractions {
			for _, k := range order {
				if k == i {
					continue next
				}
			}
			walk(append(order[:len(order):len(order)], i))
		}
	}
	walk(nil)
	for i := range out {
		out[i] /= all
	}
	return out
}

// TestSharesAreTheMeanOverAllOrders, and keep their laws.
func TestSharesAreTheMeanOverAllOrders(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		fractions := make([]attribute.Explained, 1+rnd.IntN(6))
		for i := range fractions {
			fractions[i] = explains(telemetry.Domain(1+rnd.IntN(5)), rnd.Float64())
		}
		got, want, sum := attribute.Shares(fractions), byOrders(fractions), 0.0
		for i := range got {
			equal(t, "share", got[i], want[i])
			sum += got[i]
			if got[i] < 0 || got[i] > fractions[i].Explains+1e-12 {
				t.Fatalf("%v of a dose of %v", got[i], fractions[i].Explains)
			}
		}
		if sum > 1+1e-9 {
			t.Fatalf("shares add up to %v", sum)
		}
		// Without the last root the others together explain no more than before.
		less := 0.0
		for _, x := range attribute.Shares(fractions[:len(fractions)-1]) {
			less += x
		}
		if less > sum+1e-9 {
			t.Fatalf("without one root the others explain %v, with it all explain %v", less, sum)
		}
	}
}

// TestManyRoots: more than can be weighed against each other.
func TestManyRoots(t *testing.T) {
	fractions := make([]attribute.Explained, 40)
	for i := range fractions {
		fractions[i] = explains(telemetry.Computing, float64(i+1)/40)
	}
	sum := 0.0
	for i, x := range attribute.Shares(fractions) {
		sum += x
		if (x > 0) != (i >= 30) {
			t.Errorf("root %d gets %v", i, x)
		}
	}
	equal(t, "all", sum, 1)
}
