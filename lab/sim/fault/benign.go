package fault

import (
	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// benignKinds are what is usual and looks like a fault.
func benignKinds() []Kind {
	job := []telemetry.Kind{telemetry.Job}
	return []Kind{
		{Name: "workload-change", Domain: "software", Expect: Benign, Loud: 0.5, Quiet: 0.1, Lag: [2]float64{0, 6},
			Severity: "work in a step beyond what it was, up to as much again",
			strike:   job, eligible: in(trains, onJob),
			write: func(w *writing) { multiply(&w.set.Jobs[w.job].Work, 1+w.x) }},
		{Name: "checkpoint-pattern", Domain: "software", Expect: Benign,
			Severity: "time that checkpoints take beyond what they took, up to 0.15: a model that grew",
			strike:   job, eligible: in(saves, onJob),
			write: func(w *writing) { multiply(&w.set.Jobs[w.job].Checkpoint, 1+float64(0.15*w.x)) }},
		{Name: "load-rise", Domain: "software", Expect: Benign, Ramp: 20,
			Severity: "requests beyond a serving job's due that it still takes, up to 0.15 of that",
			strike:   job, eligible: in(serves, onJob),
			write: func(w *writing) { multiply(&w.set.Jobs[w.job].Load, 1+float64(0.15*w.x)) }},
		{Name: "evaluation", Domain: "software", Expect: Benign,
			strike: job, eligible: in(trains, onJob), write: func(w *writing) { w.set.Jobs[w.job].Evaluates = true }},
		{Name: "job-stop", Domain: "software", Expect: Benign,
			strike: job, eligible: onOthers, write: func(w *writing) { w.set.Jobs[w.job].Stopped = true }},
		{Name: "job-start", Domain: "software", Expect: Benign, before: true,
			strike: job, eligible: onOthers, write: func(w *writing) {
				if w.since < 0 {
					w.set.Jobs[w.job].Stopped = true
				}
			}},
		{Name: "diurnal-heat", Domain: "cooling", Expect: Benign, Ramp: 900,
			Severity: "how much a warm day adds to facility water and to all air handlers' supply, up to 3 K",
			strike:   []telemetry.Kind{telemetry.CDU, telemetry.CRAH}, eligible: func(s *Scene, job int) []telemetry.Entity {
				if s.Air {
					return onCRAHs(s, job)
				}
				return onCDUs(s, job)
			},
			write: func(w *writing) {
				for i := range w.set.CDUs {
					w.set.CDUs[i].Facility += float64(3 * w.x)
				}
				for i := range w.set.Rows {
					w.set.Rows[i].Supply += float64(3 * w.x)
				}
			}},
		{Name: "power-capping", Domain: "power", Expect: Benign,
			Severity: "share by which a rack's limit is lowered without being reached, up to 0.03",
			strike:   []telemetry.Kind{telemetry.Rack}, eligible: onRacks,
			write: func(w *writing) {
				first := w.rack * w.scene.Site.NodesPerRack
				nodes := min(w.scene.Site.Nodes-first, w.scene.Site.NodesPerRack)
				most := float64(float64(nodes)*w.scene.nodeMost()) / plant.ShelfEfficiency
				lower(&w.set.Racks[w.rack].Limit, float64(most*(1-float64(0.03*w.x))))
			}},
		{Name: "benign-reorder", Domain: "network", Expect: Benign,
			Severity: "share of packets that come out of order to a NIC that can place them, up to 0.3",
			strike:   []telemetry.Kind{telemetry.NIC}, eligible: onNICs,
			write: func(w *writing) { addShare(&w.set.Links[site.Down(w.nic)].Reorder, float64(0.3*w.x)) }},
	}
}
