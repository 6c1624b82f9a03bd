package gpu_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

// run steps a GPU for so many seconds.
func run(m gpu.Model, s gpu.State, in gpu.Input, seconds float64) gpu.State {
	for range int(seconds*10 + 0.5) {
		s = m.Step(s, in, 0.1)
	}
	return s
}

func TestDenseWorkMeetsTheCapAndNothingElse(t *testing.T) {
	m := gpu.H100()
	s := run(m, m.Start(), gpu.Input{Activity: gpu.Computing(), Celsius: 60}, 5)
	if s.Reasons != gpu.PowerCap || s.Power > m.Limit || s.Power < 0.97*m.Limit || s.Clock >= m.Top {
		t.Errorf("dense work: %+v, want just under %g W with reason 0x4 alone", s, m.Limit)
	}
}

// TestWaitingIsNotIdle: in a collective wait power falls towards idle, the
// clock goes up to the top, and reason 0x1 is not set; without a kernel it is.
func TestWaitingIsNotIdle(t *testing.T) {
	m, r := gpu.H100(), random.New(1)
	for range 50 {
		a := gpu.Waiting(&r)
		s := run(m, m.Start(), gpu.Input{Activity: a, Celsius: 50}, 5)
		if s.Reasons != 0 || s.Power > 0.4*m.Limit || a.Engine != 1 || a.Tensor != 0 || a.SM < 0.1 || a.SM > 0.25 {
			t.Fatalf("waiting as %+v: %+v", a, s)
		}
	}
	s := run(m, m.Start(), gpu.Input{Celsius: 41}, 1)
	if s.Reasons != gpu.Idle || math.Abs(s.Power-70) > 1 {
		t.Errorf("idle: %+v, want 70 W and reason 0x1", s)
	}
}

func TestReasonsNameWhatBinds(t *testing.T) {
	m := gpu.H100()
	for name, c := range map[string]struct {
		in   gpu.Input
		want gpu.Reasons
	}{
		"a lower limit":       {gpu.Input{Limit: 400, Celsius: 60}, gpu.PowerCap},
		"an operator's clock": {gpu.Input{Setting: 1200e6, Celsius: 60}, gpu.Setting},
		"no margin":           {gpu.Input{Celsius: 87.5}, gpu.HeatSoft},
		"too hot":             {gpu.Input{Celsius: 90}, gpu.HeatSoft | gpu.HeatHard | gpu.HardwareSlow},
		"the brake":           {gpu.Input{Brake: true, Celsius: 60}, gpu.PowerCap | gpu.Brake | gpu.HardwareSlow},
	} {
		c.in.Activity = gpu.Computing()
		if s := run(m, m.Start(), c.in, 20); s.Reasons != c.want {
			t.Errorf("%s: reasons %#x, want %#x (%+v)", name, uint64(s.Reasons), uint64(c.want), s)
		}
	}
}

func TestTheBrakeHalvesAtOnce(t *testing.T) {
	m := gpu.H100()
	in := gpu.Input{Activity: gpu.Computing(), Celsius: 60}
	before := run(m, m.Start(), in, 5)
	in.Brake = true
	after := m.Step(before, in, 0.01)
	if after.Clock > m.Top/2 || after.Power > 0.6*before.Power {
		t.Errorf("braked from %+v to %+v", before, after)
	}
	in.Brake = false
	if again := run(m, after, in, 5); math.Abs(again.Clock-before.Clock) > 1 {
		t.Errorf("let go, it comes to %g, was at %g", again.Clock, before.Clock)
	}
}

// TestAWornPlateThrottlesAndHoldsItsLimit closes the loop with heat: a plate of
// five times the resistance brings the clock down until the die rests at its
// hottest, and back when it is repaired.
func TestAWornPlateThrottlesAndHoldsItsLimit(t *testing.T) {
	m := gpu.H100()
	in := gpu.Input{Activity: gpu.Computing()}
	together := func(b heat.Body, s gpu.State, die heat.State, seconds float64) (gpu.State, heat.State) {
		for range int(seconds * 10) {
			in.Celsius = die.Die
			s = m.Step(s, in, 0.1)
			die = b.Step(die, heat.Input{Power: s.Power, Inlet: 35, Flow: 1}, 0.1)
		}
		return s, die
	}
	good := heat.Plate(random.New(4))
	worn := good
	worn.PlateResistance *= 5
	healthy, die := together(good, m.Start(), heat.State{Die: 35, Plate: 35}, 120)
	if healthy.Reasons != gpu.PowerCap || die.Die > 70 {
		t.Errorf("healthy: %+v at %.1f °C", healthy, die.Die)
	}
	hot, die := together(worn, healthy, die, 300)
	if hot.Reasons&gpu.HeatSoft == 0 || hot.Clock > 0.9*healthy.Clock || math.Abs(die.Die-m.Hottest) > 4 {
		t.Errorf("worn: %+v at %.1f °C", hot, die.Die)
	}
	again, die := together(good, hot, die, 300)
	if again.Reasons != gpu.PowerCap || math.Abs(again.Clock/healthy.Clock-1) > 0.01 {
		t.Errorf("repaired: %+v at %.1f °C", again, die.Die)
	}
}

// TestChipsDiffer: at the cap, clocks of one kind spread by some 3 % under a GEMM.
func TestChipsDiffer(t *testing.T) {
	kind, site := gpu.H100(), random.New(11)
	var clocks []float64
	for n := range uint64(2000) {
		m := gpu.Draw(kind, site.At(n))
		clocks = append(clocks, m.Highest(m.Limit, 60, 1.3)) // a GEMM without a pause
	}
	var sum, squares float64
	for _, c := range clocks {
		sum, squares = sum+c, squares+c*c
	}
	n := float64(len(clocks))
	spread := math.Sqrt(squares/n-sum/n*sum/n) / (sum / n)
	if spread < 0.025 || spread > 0.045 {
		t.Errorf("clocks spread by %.3f (%.0f to %.0f MHz)", spread, slices.Min(clocks)/1e6, slices.Max(clocks)/1e6)
	}
}

// TestPowerLaws: power rises with clock, load and heat, and the clock under a
// limit is the highest that keeps it.
func TestPowerLaws(t *testing.T) {
	m := gpu.H100()
	for f := m.Bottom; f < m.Top; f += m.Bin {
		if m.Power(f+m.Bin, 60, 1) <= m.Power(f, 60, 1) || m.Power(f, 61, 1) <= m.Power(f, 60, 1) || m.Power(f, 60, 1.1) <= m.Power(f, 60, 1) {
			t.Fatalf("power does not rise at %g", f)
		}
	}
	for limit := 200.0; limit <= 700; limit += 7 {
		f := m.Highest(limit, 60, 1)
		if m.Power(f, 60, 1) > limit || f < m.Top && m.Power(f+m.Bin, 60, 1) <= limit {
			t.Fatalf("under %g W: %g Hz", limit, f)
		}
	}
	if got := m.Highest(1, 60, 1); got != m.Bottom {
		t.Errorf("under 1 W: %g Hz", got)
	}
	if got := gpu.Stretch(0.5, 0.5); got != 1.5 {
		t.Errorf("half the work at half the clock takes %g", got)
	}
	if got := gpu.Computing().Load(); math.Abs(got-1) > 1e-12 {
		t.Errorf("load of computing %g", got)
	}
}
