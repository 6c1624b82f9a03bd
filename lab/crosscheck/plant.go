package crosscheck

import "math"

// lagging is a quantity that follows its target with one time constant.
type lagging struct{ from, target, since, tau float64 }

func (l *lagging) value(at float64) float64 {
	return l.target + (l.from-l.target)*math.Exp(-max(at-l.since, 0)/l.tau)
}

// aim changes the target from an instant on.
func (l *lagging) aim(at, target float64) {
	if target != l.target {
		l.from, l.since, l.target = l.value(at), at, target
	}
}

// plant is the slow part of power and cooling.
type plant struct {
	flow   []lagging // share of nominal, of a rack's loop
	supply []lagging // degrees, of a CDU
	inlet  []lagging // degrees, of a row
	nic    []lagging // degrees of an adapter's module above its usual, by port
	base   struct{ supply, inlet, litres float64 }
}

func newPlant(s *site, d dice) *plant {
	p := &plant{}
	p.base.supply, p.base.inlet, p.base.litres = d.between(32, 42), d.between(20, 27), d.between(35, 90)
	p.flow = all(len(s.racks), lagging{1, 1, 0, d.between(4, 15)})
	p.supply = all(s.cdus(), lagging{p.base.supply, p.base.supply, 0, d.between(40, 150)})
	p.inlet = all(s.rowCount, lagging{p.base.inlet, p.base.inlet, 0, d.between(60, 180)})
	p.nic = all(len(s.ports), lagging{0, 0, 0, 60})
	return p
}

// follow aims everything at what the conditions ask for.
func (p *plant) follow(s *site, c *conditions, at float64) {
	for r := range p.flow {
		p.flow[r].aim(at, c.flow[r]*c.cduFlow[r%s.cdus()])
	}
	for i := range p.supply {
		p.supply[i].aim(at, p.base.supply+c.warm[i])
	}
	for i := range p.inlet {
		p.inlet[i].aim(at, p.base.inlet+c.row[i])
	}
	for i := range p.nic {
		p.nic[i].aim(at, c.nicHeat[i])
	}
}
