package fault

import (
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// coolingKinds are faults of coolant, air, plates and modules.
func coolingKinds() []Kind {
	return []Kind{
		{Name: "coolant-flow-loss", Domain: "cooling", Expect: Incident, Loud: 0.9, Quiet: 0.86, Ramp: 5, Lag: [2]float64{1, 90},
			Severity: "share of its flow that a loop or a unit's pumps lose; one pump loses 2.25 times that, so that from 0.44 on coolant comes back through it",
			strike:   []telemetry.Kind{telemetry.CDU, telemetry.Pump, telemetry.Loop}, eligible: in(byWater, onFlows), write: (*writing).choke},
		{Name: "coolant-warm", Domain: "cooling", Expect: Incident, Loud: 0.64, Quiet: 0.52, Ramp: 30, Lag: [2]float64{30, 300},
			Severity: "how much too warm a unit's facility water is, up to 75 K, or what of its exchange is lost",
			Variants: []string{"facility", "exchanger"},
			strike:   []telemetry.Kind{telemetry.CDU}, eligible: in(byWater, onCDUs),
			write: func(w *writing) {
				if w.fault.Variant == 1 {
					multiply(&w.set.CDUs[w.unit].Exchange, 1-w.x)
					return
				}
				w.set.CDUs[w.unit].Facility += float64(75 * w.x)
			}},
		{Name: "cold-plate", Domain: "cooling", Expect: Incident, Loud: 0.65, Quiet: 0.5, Ramp: 10, Lag: [2]float64{5, 120},
			Severity: "thermal resistance of its plate or heatsink beyond its due, up to nine times that",
			strike:   []telemetry.Kind{telemetry.GPU}, eligible: onGPUs,
			write: func(w *writing) { multiply(&w.set.GPUs[w.gpu].Plate, 1+float64(9*w.x)) }},
		{Name: "fan-failure", Domain: "cooling", Expect: Incident, Loud: 0.95, Quiet: 0.78, Lag: [2]float64{30, 180},
			Severity: "share of its speed that a fan loses",
			strike:   []telemetry.Kind{telemetry.Fan}, eligible: in(byAir, onFans), write: (*writing).slowFan},
		{Name: "inlet-warm", Domain: "cooling", Expect: Incident, Loud: 0.65, Quiet: 0.45, Ramp: 30, Lag: [2]float64{60, 400},
			Severity: "how much too warm an air handler's supply is, up to 50 K",
			strike:   []telemetry.Kind{telemetry.CRAH}, eligible: in(byAir, onCRAHs),
			write: func(w *writing) { w.set.Rows[w.row].Supply += float64(50 * w.x) }},
		{Name: "nic-hot", Domain: "cooling", Expect: Incident, Loud: 0.9, Quiet: 0.65, Ramp: 20, Lag: [2]float64{0, 30},
			Severity: "how much too warm a NIC is, up to 70 K, or a module, up to 60 K",
			strike:   []telemetry.Kind{telemetry.NIC, telemetry.Optic}, eligible: onHot, write: (*writing).heat},
		{Name: "leak", Domain: "cooling", Expect: Risk,
			strike: []telemetry.Kind{telemetry.Loop}, eligible: in(byWater, onLoops),
			write: func(w *writing) { w.set.Loops[w.rack].Leak = true }},
	}
}

func onFlows(s *Scene, job int) []telemetry.Entity {
	return append(append(onLoops(s, job), onCDUs(s, job)...), s.sides(job, s.unitOf, site.PumpName)...)
}

func (w *writing) choke() {
	switch w.fault.Entity.Kind {
	case telemetry.Loop:
		multiply(&w.set.Loops[w.rack].Flow, 1-w.x)
	case telemetry.Pump:
		w.set.CDUs[w.unit].Pump[w.pump] -= float64(2.25 * w.x)
	default:
		for k := range w.set.CDUs[w.unit].Pump {
			multiply(&w.set.CDUs[w.unit].Pump[k], 1-w.x)
		}
	}
}

func onFans(s *Scene, job int) (out []telemetry.Entity) {
	for _, node := range s.nodes(job) {
		for k := range s.Site.Fans {
			out = append(out, site.FanName(node, k))
		}
	}
	return out
}

// slowFan slows one fan. A condition knows one fan of a node or all: with two
// faults on a node all have what the slower one has left.
func (w *writing) slowFan() {
	n := &w.set.Nodes[w.node]
	if n.Fans < 1 && n.Fan != w.fan+1 {
		n.Fan, n.Fans = 0, min(n.Fans, 1-w.x)
		return
	}
	n.Fan = w.fan + 1
	multiply(&n.Fans, 1-w.x)
}

func onHot(s *Scene, job int) []telemetry.Entity {
	out := onNICs(s, job)
	if s.Site.Optics {
		out = append(out, onModules(s, job)...)
	}
	return out
}

// heat warms a NIC, or a module in what it sends.
func (w *writing) heat() {
	if w.fault.Entity.Kind == telemetry.NIC {
		w.set.NICs[w.nic].Heat += float64(70 * w.x)
		return
	}
	w.set.Links[w.link].Heat += float64(60 * w.x)
}
