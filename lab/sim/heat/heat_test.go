package heat_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %g, want %g ± %g", what, got, want, tolerance)
	}
}

var plate = heat.Body{DieCapacity: 40, DieResistance: 0.015, PlateCapacity: 440, PlateResistance: 0.02, FlowExponent: 0.8}

func TestSteadyStateIsOhmsLaw(t *testing.T) {
	s := plate.Steady(700, 30, 1)
	near(t, "plate", s.Plate, 30+14, 1e-9)
	near(t, "die", s.Die, 30+14+10.5, 1e-9)
	after := plate.Step(heat.State{Die: 30, Plate: 30}, heat.Input{Power: 700, Inlet: 30, Flow: 1}, 1e4)
	near(t, "long after", after.Die, s.Die, 1e-9)
	warm := plate.Steady(700, 37, 1)
	near(t, "inlet warmer by 7", warm.Die-s.Die, 7, 1e-9)
}

// TestStepAgainstSmallSteps: the naive oracle is Euler's method.
func TestStepAgainstSmallSteps(t *testing.T) {
	in := heat.Input{Power: 700, Inlet: 30, Flow: 0.5}
	outer := plate.PlateResistance / math.Pow(0.5, 0.8)
	s, e := heat.State{Die: 50, Plate: 41}, heat.State{Die: 50, Plate: 41}
	const dt = 1e-4
	for range int(5 / dt) {
		flow := (e.Die - e.Plate) / plate.DieResistance
		e.Die, e.Plate = e.Die+dt*(in.Power-flow)/plate.DieCapacity, e.Plate+dt*(flow-(e.Plate-in.Inlet)/outer)/plate.PlateCapacity
	}
	for range 5 {
		s = plate.Step(s, in, 1)
	}
	near(t, "die", s.Die, e.Die, 1e-3)
	near(t, "plate", s.Plate, e.Plate, 1e-3)
	once := plate.Step(heat.State{Die: 50, Plate: 41}, in, 5)
	near(t, "in one step", once.Die, s.Die, 1e-9)
}

// TestEnergyIsKept: over a short time all power goes into the masses. A 1 kW
// GPU whose flow stops warms its plate by 2.3 K/s at first (rca.md C.1).
func TestEnergyIsKept(t *testing.T) {
	b := plate
	b.PlateResistance = 1e4
	start := heat.State{Die: 40, Plate: 40}
	s := b.Step(start, heat.Input{Power: 1000, Inlet: 40, Flow: 1}, 10)
	near(t, "joules", (s.Die-40)*b.DieCapacity+(s.Plate-40)*b.PlateCapacity, 10_000, 0.1)
	near(t, "kelvins per second", 1000/b.PlateCapacity, 2.27, 0.01)
}

// TestLags: the plate of a liquid-cooled GPU follows in about 9 s, an air
// heatsink in about 65 s; both dies answer within two seconds.
func TestLags(t *testing.T) {
	for seed := range uint64(20) {
		for _, c := range []struct {
			b         heat.Body
			low, high float64
		}{{heat.Plate(random.New(seed)), 7, 12}, {heat.Heatsink(random.New(seed)), 55, 80}} {
			from, to := c.b.Steady(100, 30, 1), c.b.Steady(700, 30, 1)
			lag := 0.0
			for s := from; s.Plate < from.Plate+(1-1/math.E)*(to.Plate-from.Plate); lag += 0.1 {
				s = c.b.Step(s, heat.Input{Power: 700, Inlet: 30, Flow: 1}, 0.1)
			}
			if lag < c.low || lag > c.high {
				t.Errorf("seed %d: plate follows in %.1f s, want %g to %g", seed, lag, c.low, c.high)
			}
		}
	}
}

// TestTwiceThePowerIsTwiceTheRise: the body is linear, and time scales with
// its masses.
func TestTwiceThePowerIsTwiceTheRise(t *testing.T) {
	start := heat.State{Die: 30, Plate: 30}
	one := plate.Step(start, heat.Input{Power: 350, Inlet: 30, Flow: 1}, 3)
	two := plate.Step(start, heat.Input{Power: 700, Inlet: 30, Flow: 1}, 3)
	near(t, "rise", two.Die-30, 2*(one.Die-30), 1e-9)
	heavy := plate
	heavy.DieCapacity, heavy.PlateCapacity = 5*heavy.DieCapacity, 5*heavy.PlateCapacity
	later := heavy.Step(start, heat.Input{Power: 350, Inlet: 30, Flow: 1}, 15)
	near(t, "five times the mass, five times later", later.Die, one.Die, 1e-9)
}

func TestLessFlowIsHotter(t *testing.T) {
	full, half := plate.Steady(700, 30, 1), plate.Steady(700, 30, 0.5)
	near(t, "plate over inlet", half.Plate-30, 14*math.Pow(2, 0.8), 1e-9)
	if still := plate.Steady(700, 30, 0); still.Die < full.Die+300 {
		t.Errorf("without flow it rests at %g °C", still.Die)
	}
}

// TestLoop holds the figures of rca.md C.1.
func TestLoop(t *testing.T) {
	for flow, want := range map[float64]float64{1: 14.3, 1.5: 9.6, 2: 7.2} {
		near(t, "rise of 1 kW", heat.Rise(1000, flow), want, 0.06)
	}
	l := heat.Loop{Liters: 20, Effectiveness: 0.8}
	near(t, "132 kW on 20 L without flow, K/s", l.Supply(30, heat.LoopInput{Load: 132e3}, 1)-30, 1.58, 0.01)
	in := heat.LoopInput{Load: 132e3, Flow: 130, Facility: 25}
	rest := l.Rest(in)
	near(t, "at rest it gives what it takes", l.Effectiveness*in.Flow*4186/60*(rest+heat.Rise(in.Load, in.Flow)-in.Facility), in.Load, 1e-6)
	near(t, "stays at rest", l.Supply(rest, in, 100), rest, 1e-9)
	near(t, "two steps are one", l.Supply(l.Supply(40, in, 3), in, 4), l.Supply(40, in, 7), 1e-9)
	if later := l.Supply(40, in, 1e4); math.Abs(later-rest) > 1e-6 {
		t.Errorf("comes to %g, want %g", later, rest)
	}
	// Euler, as an oracle.
	e := 40.0
	for range 50_000 {
		e += 1e-4 * (in.Load - l.Effectiveness*in.Flow*4186/60*(e+heat.Rise(in.Load, in.Flow)-in.Facility)) / (20 * 4186)
	}
	near(t, "against small steps", l.Supply(40, in, 5), e, 1e-3)
}

func TestInlets(t *testing.T) {
	got := heat.Inlets(nil, 22, [][]float64{{0, 1e-3}, {2e-3, 0}}, []float64{1000, 3000})
	near(t, "first", got[0], 25, 1e-12)
	near(t, "second", got[1], 24, 1e-12)
}
