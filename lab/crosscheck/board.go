package crosscheck

import "math"

// readBoard sends what a node's management controller shows.
func (r *recorder) readBoard(w *world, n int) {
	pr, s := &r.profile, w.site
	c := r.clockOf("bmc " + s.nodes[n])
	k := uint64(w.now * 100)
	send := func(entity, metric string, v float64) { r.send(c, w.now, entity, metric, v) }
	if pr.nodePower {
		send(s.nodeEntity(n), "node_power_watts", math.Round(w.nodeWatts(n)*(1+.01*normal(uint64(n), k, 3))))
	}
	if pr.inlet {
		send(s.nodeEntity(n), "inlet_celsius", math.Round(w.plant.inlet[s.rowOf(n)].value(w.now)+1.5*uniform(uint64(n), 4)))
	}
	if pr.supplies {
		for i := range psusPerNode {
			up := w.cond.psu[n][i] && !w.cond.pduDown[s.rackOf(n)][i%2] && !w.cond.feedDown[i%2]
			send(s.psuEntity(n, i), "psu_up", b2f(up))
		}
	}
	if pr.fans && !s.liquid {
		for i := range fansPerNode {
			speed := .62 + .05*uniform(uint64(n), uint64(i), 5) + .01*normal(uint64(n*fansPerNode+i), k, 6)
			if f := w.cond.fans[n][i]; f < 1 {
				speed *= f
			}
			send(s.fanEntity(n, i), "fan_speed_ratio", math.Round(100*max(speed, 0))/100)
		}
	}
}

// nodeWatts is what a node draws now.
func (w *world) nodeWatts(n int) float64 {
	if w.cond.dead[n] {
		return 140
	}
	sum := nodeWatts
	for g := range gpusPerNode {
		sum += w.gpus[n*gpusPerNode+g].watts
	}
	return sum
}

// beginPlant lays out the readings of racks, coolant, air and storage.
func (r *recorder) beginPlant(w *world) {
	s, pr := w.site, &r.profile
	every := func(period float64, do func()) {
		for _, at := range r.instants(period) {
			w.agenda.add(at, do)
		}
	}
	for i := range s.racks {
		if pr.racks {
			every(pr.plantEvery, func() { r.readRack(w, i) })
		}
		if pr.feeds {
			every(pr.plantEvery, func() { r.readFeeds(w, i) })
		}
		if s.liquid {
			every(pr.plantEvery, func() { r.readLoop(w, i) })
		}
	}
	for i := range s.cdus() {
		if s.liquid {
			every(pr.plantEvery, func() { r.readCDU(w, i) })
		}
	}
	for i := range s.rowCount {
		if pr.inlet && !s.liquid {
			every(pr.plantEvery, func() {
				r.send(r.clockOf("bms"), w.now, s.crahEntity(i), "inlet_celsius", round1(w.plant.inlet[i].value(w.now)-1+.1*normal(uint64(i), uint64(w.now), 7)))
			})
		}
	}
	if pr.storage {
		every(10, func() { r.readStorage(w) })
	}
}

func round1(v float64) float64 { return math.Round(10*v) / 10 }

func (r *recorder) readRack(w *world, rack int) {
	s, c := w.site, r.clockOf("bms")
	sum, nodes := 0.0, 0
	for n := range s.nodes {
		if s.rackOf(n) == rack {
			sum += w.nodeWatts(n)
			nodes++
		}
	}
	limit := w.cond.rackLimit[rack]
	if limit == 0 {
		limit = 9500 * float64(nodes)
	}
	r.send(c, w.now, "rack:"+s.racks[rack], "rack_power_watts", math.Round(sum*1.03))
	r.send(c, w.now, "rack:"+s.racks[rack], "rack_power_limit_watts", math.Round(limit))
}

func (r *recorder) readFeeds(w *world, rack int) {
	s, c := w.site, r.clockOf("bms")
	for side := range 2 {
		r.send(c, w.now, s.pduEntity(rack, side), "feed_up", b2f(!w.cond.pduDown[rack][side] && !w.cond.feedDown[side]))
		if rack == 0 {
			r.send(c, w.now, s.feedEntity(side), "feed_up", b2f(!w.cond.feedDown[side]))
		}
	}
}

func (r *recorder) readLoop(w *world, rack int) {
	s, pr, c := w.site, &r.profile, r.clockOf("bms")
	e := s.loopEntity(rack)
	flow := w.plant.flow[rack].value(w.now)
	k := uint64(w.now * 10)
	watts := 0.0
	for n := range s.nodes {
		if s.rackOf(n) == rack {
			watts += w.nodeWatts(n)
		}
	}
	litres := w.plant.base.litres * flow
	supply := w.plant.supply[rack%s.cdus()].value(w.now)
	if pr.loops {
		r.send(c, w.now, e, "coolant_flow_liters_per_minute", round1(litres*(1+.008*normal(uint64(rack), k, 8))))
	}
	if pr.coolant {
		r.send(c, w.now, e, "coolant_supply_celsius", round1(supply+.1*normal(uint64(rack), k, 9)))
		r.send(c, w.now, e, "coolant_return_celsius", round1(supply+.75*watts/(69.7*max(litres, 1))+.1*normal(uint64(rack), k, 10)))
	}
	if pr.leak {
		r.send(c, w.now, e, "leak_detected", b2f(w.cond.leak[rack]))
	}
}

func (r *recorder) readCDU(w *world, i int) {
	s, pr, c := w.site, &r.profile, r.clockOf("bms")
	k := uint64(w.now * 10)
	racks, flow := 0.0, 0.0
	for rack := i; rack < len(s.racks); rack += s.cdus() {
		racks++
		flow += w.plant.flow[rack].value(w.now)
	}
	r.send(c, w.now, s.cduEntity(i), "coolant_flow_liters_per_minute", round1(w.plant.base.litres*flow*(1+.005*normal(uint64(i), k, 11))))
	if pr.coolant {
		r.send(c, w.now, s.cduEntity(i), "coolant_supply_celsius", round1(w.plant.supply[i].value(w.now)+.1*normal(uint64(i), k, 12)))
	}
	for p := 0; pr.pumps && p < 2; p++ {
		share := .5
		if w.cond.cduFlow[i] < 1 && p == 0 { // the first pump is the one that fails
			share = max(0, w.cond.cduFlow[i]-.5)
		}
		v := w.plant.base.litres * racks * share
		r.send(c, w.now, s.pumpEntity(i, p), "coolant_flow_liters_per_minute", round1(v*(1+.01*normal(uint64(i), k, 13+uint64(p)))))
	}
}

func (r *recorder) readStorage(w *world) {
	c, k := r.clockOf("storage"), uint64(w.now*10)
	r.send(c, w.now, storageEntity, "storage_read_latency_seconds", .0011*w.cond.storage*(1+.12*math.Abs(normal(k, 15))))
	r.send(c, w.now, storageEntity, "storage_write_latency_seconds", .0023*w.cond.storage*(1+.12*math.Abs(normal(k, 16))))
}

const storageEntity = "storage:scratch0"
