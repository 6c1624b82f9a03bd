package plant

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/site"
)

// power is the way of the power: feed → UPS → PDU → shelf → node, sides a and
// b. A node takes half from each side that is live. That is how its supplies
// share: they see their own output, not how a shelf or a PDU before them fares.
// A protection that trips is a Down in the condition, not a consequence.
type power struct {
	nodeMost   float64 // watts at the outputs of a node's supplies
	efficiency efficiency

	racks []rackPower
	pdus  []supply // row·2 + side
	upss  []supply // hall·2 + side
	feeds []supply
	rowOf []int // of each switch
	draw  []float64
}

// ShelfEfficiency is of a shelf of titanium supplies, 480 V AC in.
const ShelfEfficiency = 0.955

// efficiency of conversions: what comes out over what goes in.
type efficiency struct{ shelf, pdu, ups float64 }

// The efficiencies of 480 V AC plants (double-conversion UPS 96 %, transformer
// 99 %, titanium supplies 95.5 %) and of 800 V DC ones, which rectify once.
// Catalogue values; ours.
func efficiencies(direct bool) efficiency {
	if direct {
		return efficiency{shelf: 0.985, pdu: 0.995, ups: 0.98}
	}
	return efficiency{shelf: ShelfEfficiency, pdu: 0.99, ups: 0.96}
}

// rackPower is a rack's two shelves.
type rackPower struct {
	most     float64 // watts its nodes draw at most
	watts    float64 // that they draw now
	nominal  float64 // watts each shelf was built for
	capacity [2]float64
	load     [2]float64
	live     [2]bool
	failed   [2]int  // supplies of each shelf
	limit    float64 // watts at its shelves' inputs: a policy's, or what it was provisioned
	store    [2]reserve
}

// supply is a PDU, UPS or feed.
type supply struct {
	nominal  float64 // watts it was built for, at its output
	capacity float64
	load     float64
	live     bool // it gives power
	fed      bool // it gets power and is in order
	store    reserve
}

// How long stores last at what their owner was built for, seconds, and what a
// release of the brake waits for. A shelf's capacitors shave peaks for half a
// second; a PDU's breaker bears an overload for about as long; a UPS bridges
// minutes.
const (
	shelfStore = 0.5
	pduStore   = 0.5
	upsStore   = 300
	release    = 2   // seconds of the overload that a store must hold again
	charging   = 0.3 // most a store takes, in parts of what its owner was built for
)

func newPower(s *site.Site, cfg Config) power {
	p := power{nodeMost: float64(float64(s.GPUs) * (cfg.gpuMost() + cfg.hostMost())), efficiency: efficiencies(cfg.Direct),
		racks: make([]rackPower, s.Racks), pdus: make([]supply, 2*s.Rows()), upss: make([]supply, 2*s.Halls()),
		feeds: make([]supply, 2), rowOf: make([]int, s.Switches()), draw: make([]float64, s.Nodes)}
	for rack := range p.racks {
		first, last := nodesOf(s, rack)
		r := &p.racks[rack]
		r.most = float64(float64(last-first) * p.nodeMost)
		r.nominal = float64(cfg.Side * r.most)
		for side := range 2 {
			r.store[side] = full(float64(shelfStore * r.nominal))
			p.pdus[rack/s.RacksPerRow*2+side].nominal += r.nominal / p.efficiency.shelf
		}
	}
	for n := range p.rowOf {
		p.rowOf[n] = s.SwitchRow(n)
		for side := range 2 {
			p.pdus[p.rowOf[n]*2+side].nominal += float64(cfg.Side * switchDraw)
		}
	}
	for i := range p.pdus {
		p.pdus[i].store = full(float64(pduStore * p.pdus[i].nominal))
		p.upss[i/2/s.RowsPerHall*2+i%2].nominal += p.pdus[i].nominal / p.efficiency.pdu
	}
	for i := range p.upss {
		p.upss[i].store = full(float64(upsStore * p.upss[i].nominal))
		p.feeds[i%2].nominal += p.upss[i].nominal / p.efficiency.ups
	}
	return p
}

func (p *power) step(pl *Plant, in Input, dt float64) {
	p.sources(pl.site, in.Condition)
	p.share(pl, in)
	p.gather(pl.site)
	p.stores(dt)
	p.give(pl, in, dt)
}

// sources states what is live, from the feed down, and what it can carry.
func (p *power) sources(s *site.Site, c *condition.Set) {
	for i := range p.feeds {
		f := &p.feeds[i]
		f.live = !c.Feeds[i].Down
		f.fed, f.capacity = f.live, float64(f.nominal*left(c.Feeds[i]))
	}
	for i := range p.upss {
		u := &p.upss[i]
		u.fed = p.feeds[i%2].live && !c.UPSs[i].Down
		u.live = !c.UPSs[i].Down && (u.fed || u.store.energy > 0)
		u.capacity = float64(u.nominal * left(c.UPSs[i]) * left(c.Feeds[i%2]))
	}
	for i := range p.pdus {
		d := &p.pdus[i]
		d.live = p.upss[i/2/s.RowsPerHall*2+i%2].live && !c.PDUs[i].Down
		d.fed, d.capacity = d.live, float64(d.nominal*left(c.PDUs[i]))
	}
	for rack := range p.racks {
		r, cond := &p.racks[rack], &c.Racks[rack]
		r.limit, r.failed = r.most/p.efficiency.shelf, cond.PSUs
		if cond.Limit > 0 {
			r.limit = cond.Limit
		}
		for side := range 2 {
			working := float64(s.PSUs-min(cond.PSUs[side], s.PSUs)) / float64(s.PSUs)
			r.capacity[side] = float64(r.nominal * cond.Shelf[side] * working)
			r.live[side] = p.pdus[rack/s.RacksPerRow*2+side].live && !(cond.Branch && cond.Side == side) && r.capacity[side] > 0
		}
	}
}

// left is the part of a supply's capacity that is left.
func left(c condition.Supply) float64 {
	if c.Down {
		return 0
	}
	return max(0, 1-c.Sag)
}

// share puts what nodes draw on their live shelves: half on each, or in a DC
// rack all on the first.
func (p *power) share(pl *Plant, in Input) {
	for rack := range p.racks {
		r := &p.racks[rack]
		r.watts = 0
		first, last := nodesOf(pl.site, rack)
		for node := first; node < last; node++ {
			r.watts += in.NodeWatts[node]
		}
		switch {
		case r.live[0] && r.live[1] && !pl.cfg.Direct:
			r.load = [2]float64{r.watts / 2, r.watts / 2}
		case r.live[0]:
			r.load = [2]float64{r.watts, 0}
		case r.live[1]:
			r.load = [2]float64{0, r.watts}
		default:
			r.load = [2]float64{}
		}
	}
}

// gather adds up what supplies carry, losses included.
func (p *power) gather(s *site.Site) {
	for i := range p.pdus {
		p.pdus[i].load = 0
	}
	for i := range p.upss {
		p.upss[i].load = 0
	}
	for i := range p.feeds {
		p.feeds[i].load = 0
	}
	for rack := range p.racks {
		for side := range 2 {
			p.pdus[rack/s.RacksPerRow*2+side].load += p.racks[rack].load[side] / p.efficiency.shelf
		}
	}
	for _, row := range p.rowOf {
		a, b := &p.pdus[2*row], &p.pdus[2*row+1]
		switch {
		case a.live && b.live:
			a.load += switchDraw / 2
			b.load += switchDraw / 2
		case a.live:
			a.load += switchDraw
		case b.live:
			b.load += switchDraw
		}
	}
	for i := range p.pdus {
		p.upss[i/2/s.RowsPerHall*2+i%2].load += p.pdus[i].load / p.efficiency.pdu
	}
}

// stores draws on what is stored where the load is more than can be carried,
// and adds what goes into a UPS to its feed's load.
func (p *power) stores(dt float64) {
	for rack := range p.racks {
		r := &p.racks[rack]
		for side := range 2 {
			r.store[side].step(r.load[side], r.capacity[side], dt)
		}
	}
	for i := range p.pdus {
		p.pdus[i].store.step(p.pdus[i].load, p.pdus[i].capacity, dt)
	}
	for i := range p.upss {
		u := &p.upss[i]
		from := u.store.step(u.load, u.capacity, dt)
		if !u.live {
			u.store.braking, u.store.lack = false, 0 // nothing is behind it
		}
		if p.feeds[i%2].live {
			p.feeds[i%2].load += max(0, u.load-from) / p.efficiency.ups
		}
	}
}

// give states what nodes and switches get.
func (p *power) give(pl *Plant, in Input, dt float64) {
	s := pl.site
	follow := 1 - stats.Exp(-dt/limitFollows)
	for rack := range p.racks {
		r := &p.racks[rack]
		row := rack / s.RacksPerRow
		hall := row / s.RowsPerHall
		brake := false
		for side := range 2 {
			brake = brake || r.live[side] && (r.store[side].braking || p.pdus[2*row+side].store.braking || p.upss[2*hall+side].store.braking)
		}
		first, last := nodesOf(s, rack)
		for node := first; node < last; node++ {
			n := &pl.Nodes[node]
			n.Powered = r.live[0] || r.live[1]
			n.Brake = brake && n.Powered
		}
		p.limit(pl, in, rack, follow)
	}
	for n := range pl.Switches {
		row := p.rowOf[n]
		pl.Switches[n].Powered = p.pdus[2*row].live || p.pdus[2*row+1].live
	}
}
