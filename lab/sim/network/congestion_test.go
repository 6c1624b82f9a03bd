package network_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/network"
)

func TestMarking(t *testing.T) {
	m := network.DefaultMarking(100e9)
	for _, c := range []struct{ queue, p float64 }{{0, 0}, {400e3, 0}, {1000e3, 0.1}, {1600e3, 0.2}, {1600e3 + 1, 1}} {
		near(t, "probability", m.Probability(c.queue), c.p, 1e-9)
	}
	near(t, "there and back", m.Probability(m.Length(0.13)), 0.13, 1e-9)
}

// TestEquilibriumAgainstItsExpansion: for rare marks the fixed point tends to
// p³ = R_AI·(1/B + 1/(T·R))² / (τ'·R²), the cube root that Zhu et al. (CoNEXT
// 2016) derive. Marks are rare where the target hardly rises.
func TestEquilibriumAgainstItsExpansion(t *testing.T) {
	r := network.DefaultReaction(1000)
	slow := r
	slow.Increase *= 1e-9
	for _, rate := range []float64{0.1e6, 0.5e6, 1e6, 2.5e6, 5e6} { // packets per second
		per := 1/r.Bytes + 1/(r.Timer*rate)
		near(t, "probability", slow.Equilibrium(rate), math.Cbrt(slow.Increase*per*per/(r.AlphaTimer*rate*rate)), 0.01)
	}
	if a, b := r.Equilibrium(0.5e6), r.Equilibrium(5e6); a <= b {
		t.Errorf("slower flows, of which there are more, are marked with %g, faster with %g", a, b)
	}
}

// TestSendersSettleAtTheFixedPoint runs a dumbbell of two senders that began
// apart: they come to share the link alike, and marks to the fixed point.
func TestSendersSettleAtTheFixedPoint(t *testing.T) {
	const packet, speed = 1000.0, 40e9 / 8 / 1000.0 // packets per second
	r, m := network.DefaultReaction(packet), network.Marking{Min: 5e3, Max: 200e3, Most: 0.01}
	a, b := network.Sender{Rate: 0.8 * speed, Target: 0.8 * speed, Alpha: 1}, network.Sender{Rate: 0.2 * speed, Target: 0.2 * speed, Alpha: 1}
	queue := 0.0
	const dt = 1e-6
	var p, rate, marks, n float64
	for i := range 400_000 {
		p = m.Probability(queue)
		a, b = r.Step(a, p, dt), r.Step(b, p, dt)
		queue = max(0, queue+dt*packet*(a.Rate+b.Rate-speed))
		if i >= 300_000 {
			rate, marks, n = rate+a.Rate, marks+p, n+1
		}
	}
	near(t, "half the link", rate/n, speed/2, 0.03)
	near(t, "marks", marks/n, r.Equilibrium(speed/2), 0.15)
	if cnp := r.CNPRate(speed/2, 1); cnp != 20_000 {
		t.Errorf("%g CNPs a second where every packet is marked, want one each 50 µs", cnp)
	}
}
