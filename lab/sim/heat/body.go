package heat

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

// Body is a GPU as two masses in a row: die with lid, then cold plate or
// heatsink, which gives its heat to coolant or air (reference rca.md C.3):
//
//	C1 dT1/dt = P − (T1−T2)/R1    C2 dT2/dt = (T1−T2)/R1 − (T2−Tin)/R2
type Body struct {
	DieCapacity, PlateCapacity     float64 // C1, C2: joules per kelvin
	DieResistance, PlateResistance float64 // R1, R2 at nominal flow: kelvin per watt
	FlowExponent                   float64 // R2 falls with flow to this power
}

// State is a body's temperatures.
type State struct{ Die, Plate float64 }

// Plate draws a liquid-cooled GPU. Ranges of rca.md C.3: die and lid 20 to
// 60 J/K behind 0.01 to 0.02 K/W; a plate of 0.6 kg copper and 50 mL water,
// 440 J/K, at about 0.02 K/W, so that it follows in some 9 s. Turbulent flow
// carries heat as its 0.8th power (Dittus and Boelter).
func Plate(r random.Source) Body {
	return Body{DieCapacity: r.Uniform(20, 60), DieResistance: r.Uniform(0.01, 0.02),
		PlateCapacity: r.Within(440, 15), PlateResistance: r.Within(0.02, 0.001), FlowExponent: 0.8}
}

// Heatsink draws an air-cooled GPU: 1,250 to 1,350 J/K at about 0.05 K/W, some
// 65 s (rca.md C.3).
func Heatsink(r random.Source) Body {
	return Body{DieCapacity: r.Uniform(20, 60), DieResistance: r.Uniform(0.01, 0.02),
		PlateCapacity: r.Uniform(1250, 1350), PlateResistance: r.Within(0.05, 0.002), FlowExponent: 0.8}
}

// outer is R2 at a flow in parts of the nominal one. Still coolant takes away
// what one percent of the flow would: natural convection.
func (b Body) outer(flow float64) float64 {
	return b.PlateResistance / stats.Pow(max(flow, 0.01), b.FlowExponent)
}

// Steady is where a body comes to rest under a power, at an inlet temperature
// and a flow in parts of the nominal one.
func (b Body) Steady(power, inlet, flow float64) State {
	plate := inlet + float64(power*b.outer(flow))
	return State{Die: plate + float64(power*b.DieResistance), Plate: plate}
}

// Input is what acts on a body during a step.
type Input struct {
	Power float64 // watts
	Inlet float64 // °C of coolant or air
	Flow  float64 // parts of the nominal flow
}

// Step moves a body dt seconds on under constant input: the exact solution, so
// steps of any length agree.
func (b Body) Step(s State, in Input, dt float64) State {
	m := b.Over(in.Flow, dt)
	return m.Step(s, in.Power, in.Inlet)
}

// Motion is a body's motion over one length of step at one flow: what Step
// works out again each time, for those who take many alike.
type Motion struct {
	die, plate         float64 // R1, and R2 at the flow
	m11, m12, m21, m22 float64
}

// Over returns the motion over dt seconds at a flow in parts of the nominal one.
func (b Body) Over(flow, dt float64) Motion {
	// The distance x from rest obeys x' = A·x with A of two real negative
	// eigenvalues m ± d.
	resistance := b.outer(flow)
	inner, outer := 1/b.DieResistance, 1/resistance
	a11, a12 := -inner/b.DieCapacity, inner/b.DieCapacity
	a21, a22 := inner/b.PlateCapacity, -(inner+outer)/b.PlateCapacity
	m, half := (a11+a22)/2, (a11-a22)/2
	d := math.Sqrt(float64(half*half) + float64(a12*a21))
	// m + d is the determinant over m - d, which does not cancel.
	fall := float64(inner*outer) / float64(b.DieCapacity*b.PlateCapacity) / (m - d)
	fast, slow := stats.Exp(float64((m-d)*dt)), stats.Exp(float64(fall*dt))
	// exp(A·dt) = even·I + odd·(A − m·I)
	even, odd := (slow+fast)/2, (slow-fast)/(2*d)
	return Motion{die: b.DieResistance, plate: resistance, m11: even + float64(odd*half), m12: float64(odd * a12),
		m21: float64(odd * a21), m22: even - float64(odd*half)}
}

// Step moves a body on under a power in watts and an inlet temperature.
func (m *Motion) Step(s State, power, inlet float64) State {
	plate := inlet + float64(power*m.plate)
	die := plate + float64(power*m.die)
	x, y := s.Die-die, s.Plate-plate
	return State{Die: die + float64(x*m.m11) + float64(m.m12*y), Plate: plate + float64(m.m21*x) + float64(y*m.m22)}
}
