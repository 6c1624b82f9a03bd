package fault

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// port and module are what faults of cables strike.
func cableEnds() []telemetry.Kind {
	return []telemetry.Kind{telemetry.Port, telemetry.Optic, telemetry.NIC}
}

// qualityKinds are cables and switches that carry less, wrongly or nothing.
func qualityKinds() []Kind {
	return []Kind{
		{Name: "link-degraded", Domain: "network", Expect: Incident, Loud: 0.8, Quiet: 0.45, Lag: [2]float64{0, 6},
			Severity: "share of a cable's lanes that are lost, in eighths, both ways",
			strike:   cableEnds(), eligible: onCables, write: (*writing).narrow},
		{Name: "link-errors", Domain: "network", Expect: Incident, Loud: 0.93, Quiet: 0.75, Lag: [2]float64{0, 10},
			Severity: "packets damaged on their way from the port: from 1 in 100,000 to 3 in 100, by its logarithm",
			strike:   cableEnds(), eligible: onPorts, write: (*writing).corrupt},
		{Name: "silent-drop", Domain: "network", Expect: Incident, Loud: 0.93, Quiet: 0.75, Lag: [2]float64{0, 10},
			Severity: "packets lost on their way from the port that nothing counts: as for link-errors",
			strike:   []telemetry.Kind{telemetry.Port}, eligible: onPorts,
			write: func(w *writing) { addShare(&w.set.Links[w.link].Loss, seldom(w.x)) }},
		{Name: "reordering", Domain: "network", Expect: Incident, Loud: 0.93, Quiet: 0.75, Lag: [2]float64{0, 10},
			Severity: "packets that come out of order to a NIC which takes them for lost: as for link-errors",
			strike:   []telemetry.Kind{telemetry.NIC}, eligible: onNICs,
			write: func(w *writing) {
				w.set.NICs[w.nic].Strict = true
				addShare(&w.set.Links[site.Down(w.nic)].Reorder, seldom(w.x))
			}},
		{Name: "link-flap", Domain: "network", Expect: Incident, Loud: 0.85, Quiet: 0.62, Lag: [2]float64{0, 30},
			Severity: "how often and long the link goes: at one half 1 to 4 s each 15 to 40 s, from 0.4 to 2.4 times as long and as often",
			strike:   []telemetry.Kind{telemetry.Port, telemetry.NIC}, eligible: onCables, write: (*writing).flap},
		{Name: "link-down", Domain: "network", Expect: Incident, Lag: [2]float64{0, 10},
			strike: []telemetry.Kind{telemetry.Port}, eligible: onUplinks,
			write: func(w *writing) { w.both(func(l *condition.Link) { l.Down = true }) }},
		{Name: "switch-down", Domain: "network", Expect: Incident, Stops: true, Loud: 1, Lag: [2]float64{0, 15},
			strike: []telemetry.Kind{telemetry.Switch}, eligible: onLeaves,
			write: func(w *writing) { w.set.Switches[w.sw].Down = true }},
		{Name: "ber-drift", Domain: "network", Expect: Risk, Ramp: 1800,
			Severity: "decades by which the bit error ratio rises during the ramp, up to 3.3: to just under what FEC can mend",
			strike:   cableEnds(), eligible: onModules,
			write: func(w *writing) { w.set.Links[w.link].Decades += float64(3.3 * w.x) }},
	}
}

// narrow takes away lanes: a port of 400 Gb/s has eight, and a cable loses them
// one by one; one stays.
func (w *writing) narrow() {
	lanes := max(1, math.Floor(float64(8*(1-w.x))+0.5))
	w.both(func(l *condition.Link) { multiply(&l.Speed, lanes/8) })
}

// corrupt damages packets in bursts that FEC cannot mend, and raises the bit
// error ratio to where FEC still mends what comes at random.
func (w *writing) corrupt() {
	l := &w.set.Links[w.link]
	addShare(&l.Corrupt, seldom(w.x))
	l.Decades += float64(3 * min(1, float64(2*w.x)))
}

const ln10 = 2.302585092994046

// seldom is a share of packets: 1e-5 to 3e-2 in proportion to its logarithm. A
// sender that goes back N notices from some 1e-4 on.
func seldom(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return stats.Exp(float64(ln10 * (float64(3.5*x) - 5)))
}

// flap takes a link down now and then. When is drawn for the entity, so that
// runs agree; the first time is the onset.
func (w *writing) flap() {
	from := random.New(0)
	from = from.Named(w.fault.Entity.String())
	often := 0.4 + float64(w.x*(0.4+float64(1.6*w.x))) // 1 at one half
	begins := 0.0
	for n := uint64(0); begins <= w.since; n++ {
		r := from.At(n)
		down, each := float64(r.Uniform(1, 4)*often), r.Uniform(15, 40)/often
		if w.since < begins+down {
			w.both(func(l *condition.Link) { l.Down = true })
			return
		}
		begins += max(each, down+1)
	}
}
