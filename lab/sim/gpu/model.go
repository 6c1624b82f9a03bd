package gpu

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

// Model is one GPU. Power is
//
//	P = Static·exp(Leakage·(T−Reference)) + Dynamic·load·x·v(x)²
//
// with x the clock over Top and v the voltage over that at Top, which falls by
// Slope per x down to Floor (reference rca.md C.3).
type Model struct {
	Limit   float64 // watts: the board's own power limit
	Static  float64 // watts at Reference, doing nothing
	Dynamic float64 // watts at Top and full load; more than the limit leaves
	Slope   float64
	Floor   float64

	Leakage   float64 // per kelvin
	Reference float64 // °C

	Top, Bottom float64 // hertz
	Bin         float64 // hertz between two clocks
	Hottest     float64 // °C of maximal operation: margin zero
}

// H100 is a GPU of the kind of the H100 SXM: 700 W, 1,980 MHz, 70 W idle at
// 41 °C with 46 K to the limit, hardware slowdown 2 K above it (fixtures
// nvidia_smi/captures). The shape of the voltage is that of the V100 (Volta),
// for which the sweeps fit best; a GEMM would draw a tenth more than the limit
// at the top clock, so that cap and reason 0x4 are normal for it.
func H100() Model {
	return Model{Limit: 700, Static: 70, Dynamic: 1.1*700 - 70, Slope: 0.75, Floor: 0.85,
		Leakage:   0.0175, // 0.015 to 0.02, rca.md C.3
		Reference: 41, Top: 1980e6, Bottom: 345e6, Bin: 15e6, Hottest: 87}
}

// Draw returns one chip of a kind. Chips of one kind differ in the power they
// take for the same work: with 8 % deviation, so that at the cap the clock
// differs by 3 to 4 % (rca.md F.1: silicon spread σ 3 to 4 %; SC'22: 8 % mean,
// 22 % at most over whole clusters), and leak by 0.015 to 0.02 per kelvin.
func Draw(m Model, r random.Source) Model {
	m.Dynamic = float64(m.Dynamic * r.Within(1, 0.08))
	m.Static = float64(m.Static * r.Within(1, 0.05))
	m.Leakage = r.Uniform(0.015, 0.02)
	return m
}

// Activity is what the work does to a GPU, shares of 0 to 1 as the device's
// profiling counters state them.
type Activity struct{ Engine, SM, Tensor, DRAM float64 }

// Computing is dense training work between collectives.
func Computing() Activity { return Activity{Engine: 1, SM: 0.85, Tensor: 0.6, DRAM: 0.5} }

// Waiting is a collective's kernel that spins until its peers come: the engine
// is busy, a tenth to a quarter of the SMs, and no tensor core (issue 4, lab's
// facts).
func Waiting(r *random.Source) Activity {
	return Activity{Engine: 1, SM: r.Uniform(0.1, 0.25), DRAM: 0.05}
}

// Load is the dynamic power of an activity in parts of that of Computing. The
// weights are ours: tensor cores take half, SMs a third. A GPU with a kernel
// resident takes a twentieth whatever it does.
func (a Activity) Load() float64 {
	c := Computing()
	return float64(0.05*a.Engine) + float64(0.3*a.SM/c.SM) + float64(0.5*a.Tensor/c.Tensor) + float64(0.15*a.DRAM/c.DRAM)
}

// Power is what the GPU draws in watts.
func (m *Model) Power(clock, celsius, load float64) float64 {
	return m.leak(celsius) + float64(float64(m.Dynamic*load)*m.Shape(clock/m.Top))
}

// leak is the static power at a temperature.
func (m *Model) leak(celsius float64) float64 {
	return float64(m.Static * stats.Exp(float64(m.Leakage*(celsius-m.Reference))))
}

// Shape is dynamic power at x of the top clock over that at the top.
func (m *Model) Shape(x float64) float64 {
	v := max(m.Floor, 1-float64(m.Slope*(1-x)))
	return float64(x * float64(v*v))
}

// Highest is the highest clock, of those the GPU has, whose power keeps within
// a limit, but not below Bottom.
func (m *Model) Highest(limit, celsius, load float64) float64 {
	low, high := 0, int((m.Top-m.Bottom)/m.Bin+0.5)
	static, dynamic := m.leak(celsius), float64(m.Dynamic*load)
	for low < high {
		mid := (low + high + 1) / 2
		if static+float64(dynamic*m.Shape((m.Bottom+float64(float64(mid)*m.Bin))/m.Top)) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return m.Bottom + float64(float64(low)*m.Bin)
}

// Stretch is how many times longer work takes at x of the top clock, if this share
// of it at the top clock is bound by the clock; the rest is bound by memory and
// does not depend on it.
func Stretch(bound, x float64) float64 { return bound/x + 1 - bound }
