package plant

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
)

// water is the way of the heat out of plates: facility water → exchanger of a
// coolant unit, whose two pumps drive the loops of its racks → plates. Where
// nodes are cooled by air, it is there and carries nothing.
type water struct {
	air      bool
	follows  float64 // seconds in which pump controllers find a new speed
	facility float64 // °C, the day's mean
	swing    float64 // kelvins up and down in a day
	turn     float64 // where in the day the run starts, 0 to 1
	units    []unit
	loops    []loop
	slots    []float64 // of each node: its flow over its loop's, in parts of nominal
}

// unit is a coolant unit.
type unit struct {
	heat     heat.Loop
	nominal  float64 // litres per minute
	supply   float64 // °C
	back     float64 // °C of what returns
	flow     float64 // litres per minute
	pressure float64 // pascals
	facility float64 // °C
	speed    float64 // of its pumps, over the nominal one
	each     [2]float64
}

// loop is a rack's.
type loop struct {
	heat     heat.Loop
	nominal  float64 // litres per minute
	supply   float64 // °C
	back     float64
	flow     float64
	pressure float64
	load     float64 // watts
	leak     bool
}

// Constants of coolant hardware. Flow per heat and litres per heat: rca.md C.1
// (1.0 to 1.5 L/min per kW; 20 L in a rack of 132 kW). Loop inertia behind the
// exchanger 30 to 300 s: C.1. The rest are catalogue values; ours.
const (
	litersPerKW   = 1.2   // per minute, nominal
	loopLiters    = 0.15  // per kW
	head          = 2.0e5 // pascals across the loops at nominal flow
	steep         = 0.25  // how much of it a pump loses on the way from no flow to nominal flow
	fastest       = 1.3   // a pump's speed over the nominal one
	pumpFollows   = 15.0  // seconds in which the controller finds a new speed
	hottest       = 95.0  // °C that coolant reaches at most
	mostRise      = 60.0  // kelvins: above that coolant boils somewhere, and readings end
	leakFlow      = 0.98  // what is left of a loop's flow while it leaks …
	leakPressure  = 0.96  // … and of its pressure
	slotDeviation = 0.015 // of the flow from slot to slot
)

func newWater(s *site.Site, r random.Source, cfg Config) water {
	w := water{air: cfg.Air, follows: cfg.Physics.Pumps.Of(pumpFollows), facility: r.Uniform(20, 27), swing: r.Uniform(0.5, 1.5), turn: r.Float64(),
		units: make([]unit, s.CDUs()), loops: make([]loop, s.Racks), slots: make([]float64, s.Nodes)}
	slots := r.Named("slots")
	for i := range w.slots {
		w.slots[i] = slots.Within(1, slotDeviation)
	}
	loops := r.Named("loops")
	for rack := range w.loops {
		first, last := nodesOf(s, rack)
		kw := float64((last-first)*s.GPUs) * cfg.gpuMost() / 1000
		l := &w.loops[rack]
		l.nominal = float64(kw * loops.Within(litersPerKW, 0.03))
		l.heat = heat.Loop{Liters: cfg.Physics.Coolant.Of(float64(kw * loopLiters)), Effectiveness: 1}
		w.units[rack/s.RacksPerCDU].nominal += l.nominal
	}
	for i := range w.units {
		u, at := &w.units[i], r.At(uint64(i))
		u.speed = 1
		u.heat = heat.Loop{Liters: cfg.Physics.Coolant.Of(float64(u.nominal * at.Uniform(0.35, 0.7))), Effectiveness: at.Uniform(0.75, 0.85)}
		u.supply, u.back, u.flow = w.facility, w.facility, u.nominal
	}
	for rack := range w.loops {
		w.loops[rack].supply = w.facility
	}
	return w
}

// span is a coolant unit and its racks, first to before last.
type span struct{ unit, first, last int }

func (w *water) step(pl *Plant, in Input, dt float64) {
	s := pl.site
	for rack := range w.loops {
		w.loops[rack].load = 0
		first, last := nodesOf(s, rack)
		for gpu := first * s.GPUs; gpu < last*s.GPUs && !w.air; gpu++ {
			w.loops[rack].load += in.GPUWatts[gpu]
		}
	}
	today := w.facility + float64(w.swing*wave(pl.seconds/day+w.turn))
	for i := range w.units {
		g := span{unit: i, first: i * s.RacksPerCDU, last: min(s.Racks, (i+1)*s.RacksPerCDU)}
		w.units[i].facility = today + in.Condition.CDUs[i].Facility
		w.pump(g, in.Condition, dt)
		w.warm(g, in.Condition.CDUs[i].Exchange, dt)
	}
	for rack := range w.loops {
		l := &w.loops[rack]
		from := w.units[rack/s.RacksPerCDU].supply
		l.supply = min(hottest, l.heat.Supply(l.supply, heat.LoopInput{Load: l.load, Flow: l.flow, Facility: from}, dt))
		l.back = back(l.supply, l.load, l.flow)
		first, last := nodesOf(s, rack)
		for node := first; node < last && !w.air; node++ {
			n := &pl.Nodes[node]
			n.Supply, n.Flow = l.supply, float64(w.slots[node]*l.flow/l.nominal)
		}
	}
}

// pump finds flows and pressures. Pumps in parallel give flow in proportion to
// their speed and head in proportion to its square (affinity laws), along a
// curve that falls by steep up to nominal flow; a loop takes flow as the root of
// the pressure across it. One pump's controller makes up for the other up to
// fastest; what comes back through a stopped pump is lost.
func (w *water) pump(g span, c *condition.Set, dt float64) {
	u := &w.units[g.unit]
	able, lost := 0.0, 0.0
	for _, p := range c.CDUs[g.unit].Pump {
		able += max(0, p) / 2
		lost += max(0, -p) / 2
	}
	wanted := fastest
	if able > 0 {
		wanted = max(1, min(fastest, (1+lost)/able))
	}
	u.speed += float64((wanted - u.speed) * (1 - stats.Exp(-dt/w.follows)))
	drive := max(0, float64(able*u.speed)-lost)
	open := 0.0 // how well the loops let through, over nominal
	for rack := g.first; rack < g.last; rack++ {
		open += float64(w.loops[rack].nominal * max(0, c.Loops[rack].Flow))
	}
	open /= u.nominal
	flow := 0.0 // over nominal
	if open > 0 {
		flow = float64(drive * math.Sqrt((1+steep)/(1/float64(open*open)+steep)))
	}
	across := 0.0 // root of the pressure over nominal
	if open > 0 {
		across = flow / open
	} else {
		across = float64(drive * math.Sqrt(1+steep))
	}
	u.flow, u.pressure = float64(u.nominal*flow), float64(head*across*across)
	for k, p := range c.CDUs[g.unit].Pump {
		u.each[k] = 0
		if able > 0 && p > 0 {
			u.each[k] = float64(u.flow * p / 2 / able)
		}
	}
	for rack := g.first; rack < g.last; rack++ {
		l, cond := &w.loops[rack], &c.Loops[rack]
		l.flow, l.pressure, l.leak = float64(l.nominal*max(0, cond.Flow)*across), float64(u.pressure*min(1, cond.Flow)), cond.Leak
		if l.leak {
			l.flow, l.pressure = float64(leakFlow*l.flow), float64(leakPressure*l.pressure)
		}
	}
}

// warm moves a unit's own coolant on under what its loops bring.
func (w *water) warm(g span, exchange, dt float64) {
	u, load := &w.units[g.unit], 0.0
	for rack := g.first; rack < g.last; rack++ {
		load += w.loops[rack].carried()
	}
	h := u.heat
	h.Effectiveness = float64(h.Effectiveness * max(0, exchange))
	u.supply = min(hottest, h.Supply(u.supply, heat.LoopInput{Load: load, Flow: u.flow, Facility: u.facility}, dt))
	u.back = back(u.supply, load, u.flow)
}

// carried is what of its load a loop brings back to its unit; with hardly any
// flow the rest stays in it.
func (l *loop) carried() float64 {
	if l.flow <= 0 {
		return 0
	}
	return min(l.load, float64(l.load*mostRise/heat.Rise(max(1, l.load), l.flow)))
}

// back is the temperature at which coolant returns.
func back(supply, load, flow float64) float64 {
	if load <= 0 {
		return supply
	}
	if flow <= 0 {
		return supply + mostRise
	}
	return supply + min(mostRise, heat.Rise(load, flow))
}
