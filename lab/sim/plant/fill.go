package plant

import "github.com/quintet-dc/quintet/lab/sim/state"

// Fill writes the plant's part of a state whose slices have the site's sizes:
// racks, loops, coolant units, rows, supplies, and of nodes and switches the
// air and coolant they get.
func (p *Plant) Fill(s *state.State) {
	p.fillPower(s)
	for i := range p.water.loops {
		l := &p.water.loops[i]
		s.Loops[i] = state.Loop{Flow: l.flow, Supply: l.supply, Return: l.back, Pressure: l.pressure, Leak: l.leak}
	}
	for i := range p.water.units {
		u := &p.water.units[i]
		s.CDUs[i] = state.CDU{Flow: u.flow, Supply: u.supply, Return: u.back, Pressure: u.pressure, Facility: u.facility, Pump: u.each}
	}
	for i := range p.air.rows {
		w := &p.air.rows[i]
		s.Rows[i] = state.Row{Supply: w.supply, Inlet: w.inlet, Fan: w.fan}
	}
	for rack := range p.power.racks {
		s.Rows[rack/p.site.RacksPerRow].Watts += s.Racks[rack].Watts
	}
	for i := range p.Nodes {
		n, f := &s.Nodes[i], &p.air.fans[i]
		n.Inlet, n.Exhaust, n.Supply, n.Limit = p.Nodes[i].Inlet, f.exhaust, p.Nodes[i].Supply, p.Nodes[i].Limit
		n.Fans = append(n.Fans[:0], f.fans...)
	}
	for i := range p.Switches {
		s.Switches[i].Inlet = p.Switches[i].Inlet
	}
}

// fillPower writes racks and supplies. A supply is up where it gets power and
// is in order: a UPS on its battery is not.
func (p *Plant) fillPower(s *state.State) {
	for i := range p.power.racks {
		r, to := &p.power.racks[i], &s.Racks[i]
		to.Watts = (r.load[0] + r.load[1]) / p.power.efficiency.shelf
		to.Limit = r.limit
		for side := range 2 {
			shelf := &to.Shelf[side]
			shelf.Watts, shelf.Capacity = r.load[side], r.capacity[side]
			shelf.PSUs = shelf.PSUs[:0]
			for k := range p.site.PSUs {
				shelf.PSUs = append(shelf.PSUs, r.live[side] && k >= r.failed[side])
			}
		}
	}
	fill(s.PDUs, p.power.pdus)
	fill(s.UPSs, p.power.upss)
	fill(s.Feeds, p.power.feeds)
	for i := range s.UPSs {
		s.UPSs[i].Charge = p.power.upss[i].store.energy / p.power.upss[i].store.most
	}
}

func fill(dst []state.Supply, src []supply) {
	for i := range dst {
		dst[i] = state.Supply{Up: src[i].fed, Watts: src[i].load, Limit: src[i].capacity}
	}
}
