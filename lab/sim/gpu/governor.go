package gpu

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// Reasons are clock event reasons, the device's own bits.
type Reasons uint64

// The reasons (NVML; reference telemetry.md).
const (
	Idle           Reasons = 0x1
	Setting        Reasons = 0x2 // an applications clock below the top
	PowerCap       Reasons = 0x4
	HardwareSlow   Reasons = 0x8 // also set with HeatHard and Brake
	HeatSoft       Reasons = 0x20
	HeatHard       Reasons = 0x40
	Brake          Reasons = 0x80
	settle                 = 0.1 // seconds in which the cap's control comes near: 50 to 100 ms, rca.md C.3
	relax                  = 3.0 // kelvins below Hottest from which the ceiling rises again; ours
	slowdownMargin         = 2.0 // kelvins above Hottest: hardware slowdown, H100 capture
)

// State is what a governor remembers and what it shows.
type State struct {
	Clock   float64 // hertz
	Ceiling float64 // hertz: what heat leaves
	Power   float64 // watts
	Reasons Reasons
}

// Input is what acts on a GPU during a step.
type Input struct {
	Activity Activity
	Celsius  float64 // of the die
	Limit    float64 // watts that a policy allows; 0 is the board's own
	Setting  float64 // hertz that an operator allows; 0 is Top
	Brake    bool    // the power brake's pin is drawn
}

// Start is an idle GPU.
func (m *Model) Start() State {
	return State{Clock: m.Bottom, Ceiling: m.Top, Power: m.Static, Reasons: Idle}
}

// Step advances a GPU by dt seconds under constant input. The clock moves towards
// the lowest of what is requested, what power allows and what heat allows; brake
// and hardware slowdown halve it at once (at least a factor of two, rca.md C.3).
// Heat takes one bin each 100 ms while there is no margin.
//
// Reasons name what limits the clock: PowerCap alone is normal for dense work. Idle
// is set only where nothing is launched, never in a collective's wait.
func (m *Model) Step(s State, in Input, dt float64) State {
	s.Ceiling = m.ceiling(s.Ceiling, in.Celsius, dt)
	if in.Activity.Engine <= 0 {
		return State{Clock: m.Bottom, Ceiling: s.Ceiling, Power: m.Power(m.Bottom, in.Celsius, 0), Reasons: Idle}
	}
	limit, asked := m.Limit, m.Top
	if in.Limit > 0 {
		limit = min(limit, in.Limit)
	}
	if in.Setting > 0 {
		asked = min(asked, in.Setting)
	}
	load := in.Activity.Load()
	capped := m.Highest(limit, in.Celsius, load)
	target := min(asked, capped, s.Ceiling)
	reasons := m.reasons(asked, capped, s.Ceiling)
	hard := in.Celsius >= m.Hottest+slowdownMargin
	if hard {
		reasons |= HeatHard | HardwareSlow
	}
	if in.Brake {
		reasons |= Brake | HardwareSlow
	}
	if hard || in.Brake {
		target = max(m.Bottom, min(target, m.Top/2))
		s.Clock = min(s.Clock, target)
	}
	clock := target + float64((s.Clock-target)*stats.Exp(-dt/settle))
	return State{Clock: clock, Ceiling: s.Ceiling, Power: m.Power(clock, in.Celsius, load), Reasons: reasons}
}

// reasons names what binds at the target; of several, all that are as low.
func (m *Model) reasons(asked, capped, ceiling float64) (r Reasons) {
	target := min(asked, capped, ceiling)
	if target >= m.Top {
		return 0
	}
	if asked <= target {
		r |= Setting
	}
	if capped <= target {
		r |= PowerCap
	}
	if ceiling <= target {
		r |= HeatSoft
	}
	return r
}

// ceiling moves what heat leaves: down a bin each 100 ms without margin, up
// again where it is cooler by relax.
func (m *Model) ceiling(now, celsius, dt float64) float64 {
	bins := math.Floor(dt/settle + 0.5)
	switch {
	case celsius >= m.Hottest:
		return max(m.Bottom, now-float64(bins*m.Bin))
	case celsius < m.Hottest-relax:
		return min(m.Top, now+float64(bins*m.Bin))
	}
	return now
}
