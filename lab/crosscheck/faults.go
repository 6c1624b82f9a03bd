package crosscheck

import (
	"fmt"
	"slices"
)

// fault is something that can be wrong with a site.
type fault struct {
	name, domain string
	kind         Kind // "": any
	draw         func(p *plan, d dice) *strike
}

// faultsOf returns what can be wrong with a kind of site.
func faultsOf(kind Kind) []fault {
	var out []fault
	for _, list := range [][]fault{adapterFaults(), cableFaults(), trafficFaults(), switchFaults(), computeFaults(), powerFaults(), coolingFaults(), softwareFaults()} {
		for _, f := range list {
			if f.kind == "" || f.kind == kind {
				out = append(out, f)
			}
		}
	}
	return out
}

// victim draws an adapter of the first job, and the leaf's port that it is
// plugged into.
func (p *plan) victim(d dice) (node, nic, leaf int) {
	n := choose(d, p.jobs[0].nodes...)
	r := d.IntN(p.site.rails)
	return n, p.site.nics[n][r], p.site.leafPort[n][r]
}

// before returns the node that sends to a node in the first job's rings.
func (p *plan) before(n int) int {
	j := &p.jobs[0]
	for stage := range j.stages {
		if nodes := j.stageNodes(stage); slices.Contains(nodes, n) {
			return nodes[(slices.Index(nodes, n)+len(nodes)-1)%len(nodes)]
		}
	}
	return n
}

// crossing draws an uplink of a leaf that the first job's streams cross.
func (p *plan) crossing(d dice) (leaf, up int, ok bool) {
	s := p.site
	seen := map[int]bool{}
	n := choose(d, p.jobs[0].nodes...)
	leaf = s.leafOf[n][d.IntN(s.rails)]
	for _, m := range p.jobs[0].nodes {
		for _, l := range s.leafOf[m] {
			seen[l] = true
		}
	}
	return leaf, d.IntN(len(s.ups[leaf])), len(seen) > 1
}

func (p *plan) entity(port int) string { return p.site.ports[port].entity }

func (p *plan) peer(port int) string { return p.entity(p.site.ports[port].peer) }

func adapterFaults() []fault {
	return []fault{
		{"slow-receiver", "network", RoCE, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n)}, apply: func(c *conditions, l float64) { c.take[leaf] = 1 - .93*l }}
		}},
		{"credit-stall", "network", IB, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n)}, apply: func(c *conditions, l float64) { c.take[leaf] = 1 - .93*l }}
		}},
		{"pfc-storm", "network", RoCE, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n)}, acceptSignatures: []string{"slow-receiver"}, apply: func(c *conditions, l float64) { c.storm[leaf] = .97 * l }}
		}},
		{"pcie-downgrade", "network", "", func(p *plan, d dice) *strike {
			n, nic, _ := p.victim(d)
			lanes := choose(d, 8., 4, 4)
			s := &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n)}, fixed: true, apply: func(c *conditions, l float64) { c.pcie[nic] = lanes / 16 }}
			if !p.profile.lanes && (!p.profile.stall || p.site.kind == IB) {
				s.acceptSignatures = []string{"slow-receiver", "credit-stall"}
			}
			return s
		}},
		{"reordering", "network", RoCE, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			if !p.profile.errors {
				return nil
			}
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n), p.entity(leaf)}, acceptSignatures: []string{"silent-drop"}, apply: func(c *conditions, l float64) { c.loss[leaf], c.disturb[leaf] = .004*l, "reorder" }}
		}},
		{"qos-misconfig", "network", RoCE, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			if !p.profile.errors {
				return nil
			}
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n), p.entity(leaf)}, acceptSignatures: []string{"headroom-misconfig"}, apply: func(c *conditions, l float64) {
				c.loss[nic], c.disturb[nic] = .004*l, "class"
			}}
		}},
		{"nic-hot", "cooling", "", func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			if !p.profile.optics {
				return nil
			}
			return &strike{entity: p.entity(nic), accept: []string{p.site.nodeEntity(n), p.entity(leaf)}, apply: func(c *conditions, l float64) {
				c.nicHeat[nic], c.take[leaf] = 25+20*l, 1-.9*l
			}}
		}},
	}
}

func cableFaults() []fault {
	return []fault{
		{"link-degraded", "network", "", degradedLink},
		{"link-errors", "network", "", func(p *plan, d dice) *strike {
			_, nic, leaf := p.victim(d)
			if !p.profile.errors {
				return nil
			}
			return &strike{entity: p.entity(leaf), accept: []string{p.entity(nic)}, apply: func(c *conditions, l float64) { c.loss[nic], c.disturb[nic] = .004*l, "errors" }}
		}},
		{"silent-drop", "network", RoCE, func(p *plan, d dice) *strike {
			n, nic, leaf := p.victim(d)
			if !p.profile.errors {
				return nil
			}
			accept := []string{p.entity(nic), p.site.nodeEntity(n)}
			if before := p.before(n); !p.jobs[0].moe { // a ring shows only between which two it is
				r := slices.Index(p.site.nics[n], nic)
				accept = append(accept, p.entity(p.site.nics[before][r]), p.entity(p.site.leafPort[before][r]))
			}
			return &strike{entity: p.entity(leaf), accept: accept, acceptSignatures: []string{"link-errors", "reordering"}, apply: func(c *conditions, l float64) { c.loss[leaf], c.disturb[leaf] = .004*l, "silent" }}
		}},
		{"link-flap", "network", "", func(p *plan, d dice) *strike {
			_, nic, leaf := p.victim(d)
			if !p.profile.errors && !p.profile.linkEvents {
				return nil
			}
			return &strike{entity: p.entity(leaf), accept: []string{p.entity(nic)}, fixed: true, on: d.between(1.5, 6), off: d.between(15, 60), apply: func(c *conditions, l float64) { c.down[leaf] = true }}
		}},
		{"link-down", "network", "", func(p *plan, d dice) *strike {
			leaf, up, ok := p.crossing(d)
			if !ok {
				return nil
			}
			port := p.site.ups[leaf][up]
			return &strike{entity: p.entity(port), accept: []string{p.peer(port)}, fixed: true, apply: func(c *conditions, l float64) { c.down[port] = true }}
		}},
		{"ber-drift", "network", "", func(p *plan, d dice) *strike {
			_, nic, leaf := p.victim(d)
			if !p.profile.ber {
				return nil
			}
			return &strike{entity: p.entity(leaf), accept: []string{p.entity(nic)}, expect: "risk", drift: []int{leaf}, apply: func(*conditions, float64) {}}
		}},
	}
}

func degradedLink(p *plan, d dice) *strike {
	port := 0
	if leaf, up, ok := p.crossing(d); ok && d.chance(.5) {
		port = p.site.ups[leaf][up]
	} else {
		_, _, port = p.victim(d)
	}
	s := &strike{entity: p.entity(port), accept: []string{p.peer(port)}, fixed: true, apply: func(c *conditions, l float64) { c.cable[port] = .5 }}
	if d.chance(.5) {
		s.fixed = false
		s.apply = func(c *conditions, l float64) { c.cable[port], c.disturb[port] = 1-.9*l, "unseen" }
	}
	return s
}

func trafficFaults() []fault {
	return []fault{
		{"incast", "network", "", incast},
		{"noisy-neighbour", "network", "", noisyNeighbour},
		{"ecmp-collision", "network", "", func(p *plan, d dice) *strike {
			leaf, up, ok := p.crossing(d)
			if !ok || p.site.adaptive {
				return nil
			}
			port := p.site.ups[leaf][up]
			return &strike{entity: p.entity(port), accept: []string{p.peer(port)}, apply: func(c *conditions, l float64) {
				c.crowd.leaf, c.crowd.up, c.crowd.count, c.crowd.first = leaf, up, 12, int(12*l+.5)
			}}
		}},
	}
}

// incast has hosts that run no job write to one of the job's.
func incast(p *plan, d dice) *strike {
	if len(p.spare) < 4 {
		return nil
	}
	_, nic, leaf := p.victim(d)
	s := &strike{entity: p.entity(leaf), accept: []string{p.peer(leaf)}}
	s.streams = func(w *world) []*pattern {
		var out []*pattern
		for i, n := range p.spare {
			q := &pattern{job: -1, hops: w.fabric.spread(p.site.nics[n][i%p.site.rails], nic, i), demand: p.site.speed * .6 * s.size}
			out = append(out, w.fabric.register(q))
		}
		return out
	}
	s.apply = func(c *conditions, l float64) { c.foreign[0] = true }
	return s
}

// noisyNeighbour has another job fill the uplinks that the first one uses.
func noisyNeighbour(p *plan, d dice) *strike {
	if len(p.jobs) < 2 || p.jobs[1].begin > 0 || p.jobs[1].end > 0 {
		return nil
	}
	other := p.jobs[1]
	s := &strike{entity: other.entity, judged: []string{p.jobs[0].entity}}
	s.streams = func(w *world) []*pattern {
		var out []*pattern
		for i, n := range other.nodes {
			for r := range p.site.rails {
				to := p.site.nics[other.nodes[(i+len(other.nodes)/2)%len(other.nodes)]][r]
				hops := w.fabric.spread(p.site.nics[n][r], to, i+r)
				if hops[0].up < 0 {
					continue
				}
				out = append(out, w.fabric.register(&pattern{job: 1, hops: hops, demand: p.site.speed * .9 * s.size}))
			}
		}
		return out
	}
	s.apply = func(c *conditions, l float64) { c.foreign[0] = true }
	return s
}

func switchFaults() []fault {
	return []fault{
		{"switch-down", "network", "", func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			sw := p.site.leafOf[n][d.IntN(p.site.rails)]
			s := &strike{entity: p.site.switches[sw].entity, stalls: true}
			s.apply = func(c *conditions, l float64) {
				for _, port := range p.site.switches[sw].ports {
					c.down[port] = true
				}
			}
			return s
		}},
		{"pfc-deadlock", "network", RoCE, deadlock},
		{"ecn-misconfig", "network", RoCE, func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			sw := p.site.leafOf[n][d.IntN(p.site.rails)]
			if !p.profile.marks {
				return nil
			}
			return &strike{entity: p.site.switches[sw].entity, apply: func(c *conditions, l float64) {
				for _, port := range p.site.switches[sw].ports {
					c.slack[port] = .85 * l
				}
			}}
		}},
		{"headroom-misconfig", "network", RoCE, func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			sw := p.site.leafOf[n][d.IntN(p.site.rails)]
			if !p.profile.errors {
				return nil
			}
			return &strike{entity: p.site.switches[sw].entity, apply: func(c *conditions, l float64) {
				for _, port := range p.site.switches[sw].ports {
					peer := p.site.ports[port].peer
					c.loss[peer], c.disturb[peer] = .003*l, "headroom"
				}
			}}
		}},
		{"sm-failover", "network", IB, func(p *plan, d dice) *strike {
			return &strike{entity: "sm:" + p.site.switches[len(p.site.switches)-1].entity[len("switch:"):], expect: "risk", event: "sm_master_changed", apply: func(*conditions, float64) {}}
		}},
	}
}

// deadlock has the ports of a cycle over two leaves and two spines wait for
// each other for ever.
func deadlock(p *plan, d dice) *strike {
	leaf, up, ok := p.crossing(d)
	s := p.site
	if !ok || s.adaptive {
		return nil
	}
	other := leaf
	for _, n := range p.jobs[0].nodes {
		if l := s.leafOf[n][0]; l != leaf {
			other = l
		}
	}
	back := (up + 1) % len(s.ups[leaf])
	if other == leaf || s.spines < 2 {
		return nil
	}
	cycle := []int{s.ups[leaf][up], s.ports[s.ups[other][up]].peer, s.ups[other][back], s.ports[s.ups[leaf][back]].peer}
	out := &strike{stalls: true, apply: func(c *conditions, l float64) {
		for _, port := range cycle {
			c.storm[port] = 1
		}
	}}
	for _, port := range cycle {
		out.accept = append(out.accept, s.switches[s.ports[port].sw].entity)
	}
	out.entity, out.accept = out.accept[0], out.accept[1:]
	return out
}

func computeFaults() []fault {
	return []fault{
		{"gpu-slow", "computing", "", func(p *plan, d dice) *strike {
			g := choose(d, p.jobs[0].nodes...)*gpusPerNode + d.IntN(gpusPerNode)
			return &strike{entity: p.site.gpuEntity(g), apply: func(c *conditions, l float64) { c.clock[g] = 1 - .75*l }}
		}},
		{"gpu-error", "computing", "", func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			g := n*gpusPerNode + d.IntN(gpusPerNode)
			text := choose(d, "79, GPU has fallen off the bus", "48, DBE (double bit error)", "94, contained ECC error", "119, GSP RPC timeout")
			return &strike{entity: p.site.gpuEntity(g), accept: []string{p.site.nodeEntity(n)}, stalls: true, xid: text, apply: func(c *conditions, l float64) { c.broken[g] = true }}
		}},
		{"nvlink-degraded", "computing", "", func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			g := n*gpusPerNode + d.IntN(gpusPerNode)
			s := &strike{entity: p.site.gpuEntity(g), accept: []string{p.site.nodeEntity(n)}, apply: func(c *conditions, l float64) { c.nvlink[g] = 1 / (1 + 11*l) }}
			if !p.profile.nvlink {
				s.entity, s.accept = s.accept[0], []string{s.entity}
				s.acceptSignatures = []string{"slow-rank"}
			}
			return s
		}},
		{"node-down", "computing", "", func(p *plan, d dice) *strike {
			n := choose(d, p.jobs[0].nodes...)
			return &strike{entity: p.site.nodeEntity(n), stalls: true, apply: func(c *conditions, l float64) {
				c.dead[n] = true
				for _, nic := range p.site.nics[n] {
					c.down[nic] = true
				}
			}}
		}},
	}
}

func (p *plan) rackGPUs(rack int) []int {
	var out []int
	for n := range p.site.nodes {
		for g := range gpusPerNode {
			if p.site.rackOf(n) == rack {
				out = append(out, n*gpusPerNode+g)
			}
		}
	}
	return out
}

func (p *plan) rackEntity(rack int) string { return fmt.Sprintf("rack:%s", p.site.racks[rack]) }
