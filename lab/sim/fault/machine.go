package fault

import (
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// machineKinds are faults of GPUs and nodes, and of what runs on one node.
func machineKinds() []Kind {
	gpu, node := []telemetry.Kind{telemetry.GPU}, []telemetry.Kind{telemetry.Node}
	return []Kind{
		{Name: "gpu-slow", Domain: "computing", Expect: Incident, Loud: 0.6, Quiet: 0.3, Lag: [2]float64{0, 6},
			Severity: "share of the top clock that is missing, up to 0.8",
			strike:   gpu, eligible: onGPUs,
			write: func(w *writing) { multiply(&w.set.GPUs[w.gpu].Clock, 1-float64(0.8*w.x)) }},
		{Name: "gpu-error", Domain: "computing", Expect: Incident, Stops: true, Loud: 1, Lag: [2]float64{0, 15},
			strike: gpu, eligible: onGPUs, write: (*writing).breakGPU},
		{Name: "nvlink-degraded", Domain: "computing", Expect: Incident, Loud: 0.85, Quiet: 0.5, Lag: [2]float64{0, 6},
			Severity: "share of NVLink bandwidth that is missing; traffic is striped, so that one bad link holds back the rest",
			strike:   []telemetry.Kind{telemetry.GPU, telemetry.NVLink, telemetry.NVSwitch}, eligible: in(trains, onNVLinks), write: (*writing).unlink},
		{Name: "node-down", Domain: "computing", Expect: Incident, Stops: true, Loud: 1, Lag: [2]float64{0, 15},
			strike: node, eligible: onNodes, write: func(w *writing) { w.set.Nodes[w.node].Down = true }},
		{Name: "host-jitter", Domain: "software", Expect: Incident, Loud: 0.7, Quiet: 0.15, Lag: [2]float64{0, 10},
			Severity: "mean delay that strikes one of a node's ranks in each step, up to 3 s",
			strike:   node, eligible: in(trains, onNodes),
			write: func(w *writing) { w.set.Nodes[w.node].Jitter += w.scene.Pace.Of(float64(3 * w.x)) }},
		{Name: "slow-rank", Domain: "software", Expect: Incident, Loud: 0.35, Quiet: 0.07, Lag: [2]float64{0, 6},
			Severity: "seconds by which it is late in each step, up to 5",
			strike:   []telemetry.Kind{telemetry.Rank, telemetry.Node}, eligible: in(trains, onRanks), write: (*writing).late},
	}
}

// breakGPU breaks it with one of the errors that end a job most often.
func (w *writing) breakGPU() {
	texts := [...]string{"79, GPU has fallen off the bus", "48, Double Bit ECC Error", "94, Contained ECC error",
		"95, Uncontained ECC error", "119, Timeout waiting for RPC from GSP", "74, NVLink error"}
	r := random.New(1)
	r = r.Named(w.fault.Entity.Name)
	w.set.GPUs[w.gpu].Broken = texts[r.Below(len(texts))]
}

func (w *writing) unlink() {
	if !w.nvswitch {
		multiply(&w.set.GPUs[w.gpu].NVLink, 1-float64(0.95*w.x))
		return
	}
	for i := range w.scene.Site.GPUs {
		multiply(&w.set.GPUs[w.node*w.scene.Site.GPUs+i].NVLink, 1-float64(0.95*w.x))
	}
}

func onNVLinks(s *Scene, job int) []telemetry.Entity {
	out := onGPUs(s, job)
	if s.Site.NVLinks == 0 {
		return out
	}
	for _, node := range s.nodes(job) {
		for n := range s.Site.NVSwitches {
			out = append(out, nvswitch(node, n))
		}
		for gpu := range s.Site.GPUs {
			out = append(out, site.NVLinkName(node, gpu, 0))
		}
	}
	return out
}

// late makes one rank late, or all of a node.
func (w *writing) late() {
	if w.gpu >= 0 {
		w.set.GPUs[w.gpu].Delay += w.scene.Pace.Of(float64(5 * w.x))
		return
	}
	for i := range w.scene.Site.GPUs {
		w.set.GPUs[w.node*w.scene.Site.GPUs+i].Delay += w.scene.Pace.Of(float64(5 * w.x))
	}
}

func onRanks(s *Scene, job int) (out []telemetry.Entity) {
	for r := range len(s.nodes(job)) * s.Site.GPUs {
		out = append(out, s.rank(job, r))
	}
	return append(out, onNodes(s, job)...)
}
