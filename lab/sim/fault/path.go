package fault

import (
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// pathKinds are what impedes traffic: too much of it, or a
// receiver that does not take it.
func pathKinds() []Kind {
	return []Kind{
		{Name: "incast", Domain: "network", Expect: Incident, Loud: 0.25, Quiet: 0.12, Lag: [2]float64{0, 10},
			Severity: "what a job's nodes together send to one of its NICs besides, up to three times its speed",
			strike:   []telemetry.Kind{telemetry.Port}, eligible: in(many, onReceivers), write: (*writing).incast},
		{Name: "noisy-neighbour", Domain: "network", Expect: Incident, Loud: 0.2, Quiet: 0.08, Lag: [2]float64{0, 10},
			Severity: "what another job's nodes together send to a node of this one, up to three times a NIC's speed",
			strike:   []telemetry.Kind{telemetry.Job}, eligible: in(trains, onOthers), write: (*writing).flood},
		{Name: "slow-receiver", Domain: "network", Expect: Incident, Loud: 0.8, Quiet: 0.5, Lag: [2]float64{0, 6},
			Severity: "share of its link's rate that a NIC does not take", Alike: []string{"pfc-storm"},
			strike: []telemetry.Kind{telemetry.NIC}, eligible: in(roce, onNICs), write: (*writing).drain},
		{Name: "pfc-storm", Domain: "network", Expect: Incident, Stops: true, Loud: 1, Lag: [2]float64{0, 15},
			strike: []telemetry.Kind{telemetry.NIC}, eligible: in(roce, onNICs),
			write: func(w *writing) { w.set.Links[site.Down(w.nic)].Hold = true }},
		{Name: "pcie-downgrade", Domain: "network", Expect: Incident, Loud: 0.3, Quiet: 0.1, Lag: [2]float64{0, 6},
			Severity: "halvings of the slot's lanes: one to four",
			strike:   []telemetry.Kind{telemetry.NIC}, eligible: onNICs,
			write: func(w *writing) { multiply(&w.set.NICs[w.nic].PCIe, 1/float64(int(2)<<min(3, int(4*w.x)))) }},
		{Name: "credit-stall", Domain: "network", Expect: Incident, Loud: 0.8, Quiet: 0.5, Lag: [2]float64{0, 6},
			Severity: "share of its link's rate for which a NIC gives no credits", Alike: []string{"slow-receiver"},
			strike: []telemetry.Kind{telemetry.NIC}, eligible: in(infiniBand, onNICs), write: (*writing).drain},
		{Name: "pfc-deadlock", Domain: "network", Expect: Incident, Stops: true, Loud: 1, Lag: [2]float64{0, 15},
			strike: []telemetry.Kind{telemetry.Switch}, eligible: in(spreadRoCE, onLeaves),
			write: func(w *writing) {
				for _, l := range w.scene.cycle(w.sw) {
					w.set.Links[l].Hold = true
				}
			}},
		{Name: "ecmp-collision", Domain: "network", Expect: Incident, Loud: 0.3, Quiet: 0.08, Lag: [2]float64{0, 6},
			Severity: "share of its switch's flows that a hash puts on one uplink instead of where they went",
			strike:   []telemetry.Kind{telemetry.Port}, eligible: in(hashed, onUplinks),
			write: func(w *writing) { addShare(&w.set.Links[w.link].Pile, w.x) }},
		{Name: "plane-imbalance", Domain: "network", Expect: Incident, Loud: 0.55, Quiet: 0.15, Lag: [2]float64{0, 6},
			Severity: "traffic beyond its due that a plane or the rail of a leaf is given, up to seven times that",
			strike:   []telemetry.Kind{telemetry.Plane, telemetry.Switch}, eligible: onPlanes, write: (*writing).weigh},
	}
}

// incast lets a job's own nodes send to the NIC that a port faces.
func (w *writing) incast() {
	for i, j := range w.scene.Jobs {
		for _, node := range j.Nodes {
			if rate := float64(3 * w.x); node == w.node && rate > w.set.Jobs[i].Rate {
				w.set.Jobs[i].Incast, w.set.Jobs[i].Rate = w.nic, rate
			}
		}
	}
}

// flood lets a job send to a NIC of the largest other job that trains: to what
// it keeps there. Which NIC is drawn for the job.
func (w *writing) flood() {
	to := -1
	for i, j := range w.scene.Jobs {
		if i != w.job && !j.Serving && (to < 0 || len(j.Nodes) > len(w.scene.Jobs[to].Nodes)) {
			to = i
		}
	}
	if to < 0 {
		return
	}
	r := random.New(2)
	r = r.Named(w.fault.Entity.Name)
	nodes := w.scene.Jobs[to].Nodes
	nic := nodes[r.Below(len(nodes))]*w.scene.Site.GPUs + r.Below(w.scene.Site.GPUs)
	if j, rate := &w.set.Jobs[w.job], float64(3*w.x); rate > j.Rate {
		j.Incast, j.Rate = nic, rate
	}
}

// drain leaves a hundredth of the rate at least: a receiver that takes nothing
// at all is a storm.
func (w *writing) drain() {
	multiply(&w.set.Links[site.Down(w.nic)].Drain, 1-float64(0.99*w.x))
}

// cycle is four links that wait for each other: from a leaf up, down to
// another, up again and down to the first. It is the smallest cycle that two
// tiers have; packets that turn around at a leaf after a failure close it.
func (s *Scene) cycle(sw int) []int32 {
	perFabric := s.Site.Leaves + s.Site.Spines
	f, a := sw/perFabric, sw%perFabric
	if a >= s.Site.Leaves {
		a = 0
	}
	b := (a + 1) % s.Site.Leaves
	return []int32{
		site.Up(s.Site.UplinkCable(f, a, 0)), site.Down(s.Site.UplinkCable(f, b, 0)),
		site.Up(s.Site.UplinkCable(f, b, 1)), site.Down(s.Site.UplinkCable(f, a, 1)),
	}
}

// onPlanes are planes where there are any, else the leaves of a job's rails.
func onPlanes(s *Scene, job int) (out []telemetry.Entity) {
	if s.Site.Wiring == site.Rails {
		return onLeaves(s, job)
	}
	for f := range s.Site.Fabrics {
		out = append(out, planeEntity(f))
	}
	return out
}

// weigh gives more to all switches of a plane, or to all leaves of a rail: a
// collective sends to the NIC of the same number, so that both ends of a hop
// have the same preference.
func (w *writing) weigh() {
	more := 1 + float64(7*w.x)
	if w.sw >= 0 {
		for _, sw := range w.scene.rail(w.sw) {
			multiply(&w.set.Switches[sw].Weight, more)
		}
		return
	}
	perFabric := w.scene.Site.Leaves + w.scene.Site.Spines
	for n := range perFabric {
		multiply(&w.set.Switches[w.fabric*perFabric+n].Weight, more)
	}
}

// rail lists the leaves of the rail that a leaf is one of, itself included.
func (s *Scene) rail(sw int) (out []int) {
	perFabric := s.Site.Leaves + s.Site.Spines
	first, leaf := sw/perFabric*perFabric, sw%perFabric
	for n := range s.Site.Leaves {
		if n%s.Site.GPUs == leaf%s.Site.GPUs {
			out = append(out, first+n)
		}
	}
	return out
}

// both writes to both directions of the cable at an entity.
func (w *writing) both(write func(*condition.Link)) {
	c := int(w.link / 2)
	write(&w.set.Links[site.Up(c)])
	write(&w.set.Links[site.Down(c)])
}
