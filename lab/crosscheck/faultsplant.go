package crosscheck

func powerFaults() []fault {
	return []fault{
		{"power-brake", "power", "", powerBrake},
		{"power-cap", "power", "", powerCap},
		{"feed-loss", "power", "", func(p *plan, d dice) *strike {
			rack, side := d.IntN(len(p.site.racks)), d.IntN(2)
			if !p.profile.feeds {
				return nil
			}
			if d.chance(.5) {
				return &strike{entity: p.site.pduEntity(rack, side), expect: "risk", apply: func(c *conditions, l float64) { c.pduDown[rack][side] = true }}
			}
			return &strike{entity: p.site.feedEntity(side), expect: "risk", apply: func(c *conditions, l float64) { c.feedDown[side] = true }}
		}},
	}
}

// powerBrake has a supply fail, or a side of a rack, and what is left brake.
func powerBrake(p *plan, d dice) *strike {
	n := choose(d, p.jobs[0].nodes...)
	rack, side, unit := p.site.rackOf(n), d.IntN(2), d.IntN(psusPerNode)
	if d.chance(.35) && p.profile.feeds {
		s := &strike{entity: p.site.pduEntity(rack, side), accept: []string{p.rackEntity(rack)}}
		s.apply = func(c *conditions, l float64) {
			c.pduDown[rack][side] = true
			for _, g := range p.rackGPUs(rack) {
				c.brake[g] = 1 - .75*l
			}
		}
		return s
	}
	s := &strike{entity: p.site.psuEntity(n, unit), accept: []string{p.site.nodeEntity(n)}}
	for i := range psusPerNode {
		if i != unit {
			s.accept = append(s.accept, p.site.psuEntity(n, i))
		}
	}
	if !p.profile.supplies {
		s.entity, s.accept = p.site.nodeEntity(n), append(s.accept[1:], s.entity)
		if !p.profile.reasons && !p.profile.throttled {
			return nil // nothing would show why
		}
	}
	s.apply = func(c *conditions, l float64) {
		c.psu[n][unit] = false
		for g := range gpusPerNode {
			c.brake[n*gpusPerNode+g] = 1 - .75*l
		}
	}
	return s
}

// powerCap lowers the limit of a GPU, a node or a rack.
func powerCap(p *plan, d dice) *strike {
	n := choose(d, p.jobs[0].nodes...)
	one := n*gpusPerNode + d.IntN(gpusPerNode)
	rack := p.site.rackOf(n)
	if !p.profile.limit && !p.profile.reasons && !p.profile.throttled {
		return nil
	}
	cap := func(gpus []int) func(*conditions, float64) {
		return func(c *conditions, l float64) {
			for _, g := range gpus {
				c.limit[g] = tdp - 520*l
			}
		}
	}
	switch d.IntN(3) {
	case 0:
		return &strike{entity: p.site.gpuEntity(one), apply: cap([]int{one})}
	case 1:
		gpus := p.rackGPUs(rack)[0:0]
		for g := range gpusPerNode {
			gpus = append(gpus, n*gpusPerNode+g)
		}
		return &strike{entity: p.site.nodeEntity(n), apply: cap(gpus)}
	}
	gpus := p.rackGPUs(rack)
	s := &strike{entity: p.rackEntity(rack), accept: []string{p.site.pduEntity(rack, 0), p.site.pduEntity(rack, 1)}}
	s.apply = func(c *conditions, l float64) {
		cap(gpus)(c, l)
		c.rackLimit[rack] = float64(len(gpus)/gpusPerNode) * (nodeWatts + gpusPerNode*(tdp-520*l))
	}
	return s
}

func coolingFaults() []fault {
	return []fault{
		{"coolant-flow-loss", "cooling", "", flowLoss},
		{"coolant-warm", "cooling", "", func(p *plan, d dice) *strike {
			unit := p.site.cduOf(choose(d, p.jobs[0].nodes...))
			if !p.site.liquid || !p.profile.coolant {
				return nil
			}
			return &strike{entity: p.site.cduEntity(unit), accept: p.loopsOf(unit), apply: func(c *conditions, l float64) { c.warm[unit] = 32 * l }}
		}},
		{"cold-plate", "cooling", "", func(p *plan, d dice) *strike {
			g := choose(d, p.jobs[0].nodes...)*gpusPerNode + d.IntN(gpusPerNode)
			return &strike{entity: p.site.gpuEntity(g), apply: func(c *conditions, l float64) { c.plate[g] = 1 + 4*l }}
		}},
		{"fan-failure", "cooling", "", func(p *plan, d dice) *strike {
			n, count := choose(d, p.jobs[0].nodes...), 3+d.IntN(3)
			if p.site.liquid {
				return nil
			}
			s := &strike{entity: p.site.nodeEntity(n), apply: func(c *conditions, l float64) {
				for i := range count {
					c.fans[n][i] = 1 - l
				}
			}}
			if p.profile.fans {
				s.entity, s.accept = p.site.fanEntity(n, 0), []string{s.entity}
			} else {
				s.accept = []string{p.site.fanEntity(n, 0)}
			}
			for i := 1; i < count; i++ {
				s.accept = append(s.accept, p.site.fanEntity(n, i))
			}
			return s
		}},
		{"inlet-warm", "cooling", "", func(p *plan, d dice) *strike {
			row := p.site.rowOf(choose(d, p.jobs[0].nodes...))
			if p.site.liquid || !p.profile.inlet {
				return nil
			}
			return &strike{entity: p.site.crahEntity(row), accept: []string{p.site.rowEntity(row), "hall:h1"}, apply: func(c *conditions, l float64) { c.row[row] = 32 * l }}
		}},
		{"leak", "cooling", "", func(p *plan, d dice) *strike {
			rack := d.IntN(len(p.site.racks))
			if !p.site.liquid || !p.profile.leak {
				return nil
			}
			return &strike{entity: p.site.loopEntity(rack), accept: []string{p.rackEntity(rack)}, expect: "risk", apply: func(c *conditions, l float64) { c.leak[rack] = true }}
		}},
	}
}

func (p *plan) loopsOf(unit int) []string {
	var out []string
	for rack := unit; rack < len(p.site.racks); rack += p.site.cdus() {
		out = append(out, p.site.loopEntity(rack))
	}
	return out
}

// flowLoss has a pump fail, or a rack's branch clog.
func flowLoss(p *plan, d dice) *strike {
	n := choose(d, p.jobs[0].nodes...)
	unit, rack := p.site.cduOf(n), p.site.rackOf(n)
	if !p.site.liquid {
		return nil
	}
	if d.chance(.5) && p.profile.loops {
		return &strike{entity: p.site.loopEntity(rack), apply: func(c *conditions, l float64) { c.flow[rack] = 1 - .92*l }}
	}
	s := &strike{entity: p.site.cduEntity(unit), accept: p.loopsOf(unit), apply: func(c *conditions, l float64) { c.cduFlow[unit] = 1 - .92*l }}
	if p.profile.pumps {
		s.accept = []string{s.entity}
		s.entity = p.site.pumpEntity(unit, 0)
	} else if len(s.accept) > 1 {
		s.accept = nil
	}
	return s
}

func softwareFaults() []fault {
	node := func(p *plan, d dice) int { return choose(d, p.jobs[0].nodes...) }
	return []fault{
		{"input-stall", "software", "", func(p *plan, d dice) *strike {
			return &strike{entity: p.jobs[0].entity, apply: func(c *conditions, l float64) { c.input[0] = p.jobs[0].step * 1.6 * l }}
		}},
		{"storage-slow", "software", "", func(p *plan, d dice) *strike {
			s := &strike{entity: storageEntity, apply: func(c *conditions, l float64) { c.storage = 1 + 5*l }}
			if !p.profile.storage {
				for i := range p.jobs {
					s.accept = append(s.accept, p.jobs[i].entity)
				}
				s.acceptSignatures = []string{"input-stall"}
			}
			return s
		}},
		{"checkpoint-stall", "software", "", func(p *plan, d dice) *strike {
			j := &p.jobs[0]
			if !p.profile.saveTime {
				return nil
			}
			j.interval, j.ckpt, j.inside, j.grow = max(6*j.step, d.between(40, 80)), d.between(.2, .5)*j.step, true, 0
			return &strike{entity: j.entity, apply: func(c *conditions, l float64) { c.ckpt[0] = 1 + 60*l }}
		}},
		{"stage-imbalance", "software", "", func(p *plan, d dice) *strike {
			if p.jobs[0].stages < 2 || !p.profile.ranks && !p.profile.sm {
				return nil
			}
			return &strike{entity: p.jobs[0].entity, apply: func(c *conditions, l float64) { c.stage[0] = 1 + 1.8*l }}
		}},
		{"expert-imbalance", "software", "", func(p *plan, d dice) *strike {
			if !p.jobs[0].moe || !p.profile.ranks && !p.profile.sm {
				return nil
			}
			return &strike{entity: p.jobs[0].entity, apply: func(c *conditions, l float64) { c.experts[0] = 1 + 2*l }}
		}},
		{"host-jitter", "software", "", func(p *plan, d dice) *strike {
			n := node(p, d)
			s := &strike{entity: p.site.nodeEntity(n), apply: func(c *conditions, l float64) { c.jitter[n] = l }}
			if !p.profile.ranks {
				s.acceptSignatures = []string{"slow-rank"}
			}
			return s
		}},
		{"slow-rank", "software", "", func(p *plan, d dice) *strike {
			n := node(p, d)
			return &strike{entity: p.site.nodeEntity(n), acceptSignatures: []string{"host-jitter"}, apply: func(c *conditions, l float64) { c.delay[n] = 1 + 1.8*l }}
		}},
		{"serving-overload", "software", RoCE, func(p *plan, d dice) *strike {
			for i := range p.jobs {
				if p.jobs[i].serving {
					return &strike{entity: p.jobs[i].entity, apply: func(c *conditions, l float64) { c.arrivals[i] = 1 + 1.5*l }}
				}
			}
			return nil
		}},
		{"workload-change", "software", "", func(p *plan, d dice) *strike {
			return &strike{entity: p.jobs[0].entity, expect: "benign", apply: func(c *conditions, l float64) { c.work[0] = 1 + 1.2*l }}
		}},
	}
}
