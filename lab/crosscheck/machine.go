package crosscheck

import "math"

const (
	tdp          = 700.0 // watts
	idleWatts    = 95.0
	nodeWatts    = 1900.0 // of a node without its GPUs
	nominalClock = 1.755e9
	hotLimit     = 87.0 // degrees at which clocks come down
)

// activity is what a GPU does over an interval.
type activity struct {
	engine, sm, tensor, dram float64
	power                    float64 // share of the power between idle and full at its clock
}

// The activities of a GPU: a kernel that waits for others spins.
func computing() activity { return activity{1, .88, .52, .41, .93} }
func waiting() activity   { return activity{1, .19, 0, .07, .42} }
func resting() activity   { return activity{0, 0, 0, .01, .06} }

// mixed is the mean of an activity over a share of time, resting over the rest.
func mixed(a activity, share float64) activity {
	r := resting()
	m := func(x, y float64) float64 { return x*share + y*(1-share) }
	return activity{m(a.engine, r.engine), m(a.sm, r.sm), m(a.tensor, r.tensor), m(a.dram, r.dram), m(a.power, r.power)}
}

// gpu is the state of one GPU between events.
type gpu struct {
	index     int
	silicon   float64 // share of the nominal clock that it reaches
	seat      float64 // degrees more than its neighbours, for good
	at        float64
	die       float64 // degrees
	clock     float64 // share of the nominal clock
	reasons   uint64
	doing     activity
	watts     float64
	joules    float64
	throttled [3]float64 // seconds slowed by power, heat, brake
	engine    float64    // integrals of the activity
	sm        float64
	tensor    float64
	dram      float64
	nvlink    float64 // bytes sent
	readings  []float64
}

// Bits of the reasons for a lower clock.
const (
	reasonIdle    = 0x1
	reasonCap     = 0x4
	reasonThermal = 0x20
	reasonBrake   = 0x80
)

// resistance returns kelvin per watt from die to coolant, and the time constant.
func (w *world) resistance(g *gpu) (kelvinPerWatt, tau float64) {
	n := g.index / gpusPerNode
	if w.site.liquid {
		flow := max(w.plant.flow[w.site.rackOf(n)].value(g.at), .05)
		return (.016+.027*math.Pow(flow, -.8))*w.cond.plate[g.index] + .006/flow, 9
	}
	air := 0.0
	for _, f := range w.cond.fans[n] {
		air += f / fansPerNode
	}
	return (.017+.044*math.Pow(max(air, .1), -.8))*w.cond.plate[g.index] + .006/max(air, .1), 55
}

// coolant returns the temperature of what reaches a node.
func (w *world) coolant(n int, at float64) float64 {
	if w.site.liquid {
		return w.plant.supply[w.site.cduOf(n)].value(at)
	}
	return w.plant.inlet[w.site.rowOf(n)].value(at)
}

// draw returns the watts of an activity at a clock.
func draw(a activity, clock float64) float64 {
	return idleWatts + (tdp*1.0-idleWatts)*a.power*math.Pow(clock, 2.2)
}

// clockFor returns the clock at which an activity draws some watts.
func clockFor(a activity, watts float64) float64 {
	return math.Pow(max((watts-idleWatts)/((tdp-idleWatts)*a.power), .02), 1/2.2)
}

// govern sets the clock and its reasons for the interval that begins, and
// returns the clock as a share of the nominal one.
func (w *world) govern(g *gpu, a activity) float64 {
	c := &w.cond
	g.clock, g.reasons = g.silicon*c.clock[g.index], 0
	lower := func(to float64, reason uint64) {
		if to < g.clock {
			g.clock, g.reasons = to, reason
		}
	}
	if a.power > .5 {
		lower(clockFor(a, c.limit[g.index]), reasonCap)
	}
	if g.die >= hotLimit-1.5 {
		r, _ := w.resistance(g)
		lower(clockFor(a, (hotLimit-g.seat-w.coolant(g.index/gpusPerNode, g.at))/r), reasonThermal)
	}
	if share := c.brake[g.index]; share < 1 {
		lower(g.silicon*share, reasonBrake)
	}
	if g.doing.engine == 0 && a.engine == 0 {
		g.reasons |= reasonIdle
	}
	g.clock = max(g.clock, .15)
	return g.clock
}

// begin changes what a GPU does from now on.
func (w *world) begin(g *gpu, now float64, a activity) float64 {
	w.advance(g, now)
	clock := w.govern(g, a)
	g.doing, g.watts = a, draw(a, clock)
	return clock
}

// advance carries a GPU to an instant, reading it where its node's exporter does.
func (w *world) advance(g *gpu, to float64) {
	for w.rec != nil && len(g.readings) > 0 && g.readings[0] <= to {
		w.relax(g, g.readings[0])
		if !w.cond.dead[g.index/gpusPerNode] {
			w.rec.readGPU(w, g)
		}
		g.readings = g.readings[1:]
	}
	w.relax(g, to)
}

// relax lets heat, energy and activity pass in closed form.
func (w *world) relax(g *gpu, to float64) {
	dt := to - g.at
	if dt <= 0 {
		return
	}
	r, tau := w.resistance(g)
	steady := w.coolant(g.index/gpusPerNode, to) + g.seat + g.watts*r
	g.die = steady + (g.die-steady)*math.Exp(-dt/tau)
	g.joules += g.watts * dt
	g.engine += g.doing.engine * dt
	g.sm += g.doing.sm * dt
	g.tensor += g.doing.tensor * dt
	g.dram += g.doing.dram * dt
	for i, bit := range []uint64{reasonCap, reasonThermal, reasonBrake} {
		if g.reasons&bit != 0 {
			g.throttled[i] += dt
		}
	}
	g.at = to
}

// newGPUs draws the GPUs of a site, each near its temperature at rest.
func newGPUs(s *site, d dice) []gpu {
	out := make([]gpu, len(s.nodes)*gpusPerNode)
	for i := range out {
		out[i] = gpu{index: i, silicon: 1 - .02*d.Float64(), seat: 3*float64(i%2) + d.between(-1.5, 1.5), die: 45, clock: 1, doing: resting(), watts: draw(resting(), 1)}
		out[i].joules = d.between(1e8, 9e9)
	}
	return out
}
