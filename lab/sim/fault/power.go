package fault

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// powerKinds are faults on the way of the power.
func powerKinds() []Kind {
	return []Kind{
		{Name: "power-brake", Domain: "power", Expect: Incident, Loud: 0.75, Quiet: 0.68, Lag: [2]float64{1, 60},
			Severity: "share of its capacity that a shelf or PDU lacks; it brakes where the rest is less than its half of the load, at about 0.65",
			Variants: []string{"derated", "supplies"},
			strike:   []telemetry.Kind{telemetry.Shelf, telemetry.PDU}, eligible: onBrakes, write: (*writing).weaken},
		{Name: "power-cap", Domain: "power", Expect: Incident, Loud: 0.68, Quiet: 0.5, Lag: [2]float64{0, 20},
			Severity: "share of what it may draw that a policy takes from a GPU, a node or a rack, up to 0.75",
			strike:   []telemetry.Kind{telemetry.GPU, telemetry.Node, telemetry.Rack}, eligible: onLimits, write: (*writing).limit},
		{Name: "feed-loss", Domain: "power", Expect: Risk, Alike: []string{"power-brake"},
			strike: []telemetry.Kind{telemetry.Feed, telemetry.PDU, telemetry.UPS}, eligible: onSupplies, write: (*writing).unplug},
	}
}

func onBrakes(s *Scene, job int) []telemetry.Entity {
	return append(s.sides(job, s.rackOf, site.ShelfName), s.sides(job, s.rowOf, site.PDUName)...)
}

// weaken takes capacity from a shelf or a PDU. In the variant in which supplies
// fail, a shelf loses whole ones, but never all, which would be a lost side; those
// that are left run hot and give less, so that the capacity is the same in both.
func (w *writing) weaken() {
	switch {
	case w.fault.Entity.Kind == telemetry.PDU:
		addShare(&w.set.PDUs[2*w.row+w.side].Sag, w.x)
	case w.fault.Variant == 1:
		n := w.scene.Site.PSUs
		lost := min(n-1, int(math.Floor(float64(float64(n)*w.x))))
		r := &w.set.Racks[w.rack]
		r.PSUs[w.side] = min(n-1, r.PSUs[w.side]+lost)
		multiply(&r.Shelf[w.side], (1-float64(0.99*w.x))*float64(n)/float64(n-lost))
	default:
		multiply(&w.set.Racks[w.rack].Shelf[w.side], 1-float64(0.99*w.x))
	}
}

func onLimits(s *Scene, job int) []telemetry.Entity {
	return append(append(onGPUs(s, job), onNodes(s, job)...), onRacks(s, job)...)
}

func (w *writing) limit() {
	left := 1 - float64(0.75*w.x)
	perNode := w.scene.nodeMost()
	switch w.fault.Entity.Kind {
	case telemetry.GPU:
		lower(&w.set.GPUs[w.gpu].Limit, float64(left*w.scene.gpuMost()))
	case telemetry.Node:
		lower(&w.set.Nodes[w.node].Limit, float64(left*perNode))
	default:
		first := w.rack * w.scene.Site.NodesPerRack
		nodes := min(w.scene.Site.Nodes-first, w.scene.Site.NodesPerRack)
		lower(&w.set.Racks[w.rack].Limit, float64(left*float64(nodes)*perNode)/plant.ShelfEfficiency)
	}
}

func onSupplies(s *Scene, job int) []telemetry.Entity {
	out := append(s.sides(job, s.rowOf, site.PDUName), s.sides(job, s.hallOf, site.UPSName)...)
	return append(out, site.FeedName(0), site.FeedName(1))
}

func (w *writing) unplug() {
	switch w.fault.Entity.Kind {
	case telemetry.PDU:
		w.set.PDUs[2*w.row+w.side].Down = true
	case telemetry.UPS:
		w.set.UPSs[2*(w.row/w.scene.Site.RowsPerHall)+w.side].Down = true
	default:
		w.set.Feeds[w.side].Down = true
	}
}
