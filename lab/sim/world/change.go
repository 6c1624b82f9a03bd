package world

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// observe takes in what has changed since the last second: what links can do,
// which GPUs work, what jobs send.
func (w *World) observe(from float64) {
	c, first := w.condition, w.state.Second == 0
	wired := first || !slices.Equal(c.Links, w.last.Links) || !slices.Equal(c.NICs, w.last.NICs) ||
		!slices.Equal(c.Switches, w.last.Switches) || w.fed()
	machines := first || wired || !slices.Equal(c.GPUs, w.last.GPUs) || !slices.Equal(c.Nodes, w.last.Nodes)
	jobs := first || !slices.Equal(c.Jobs, w.last.Jobs)
	if machines {
		for _, t := range w.training {
			if t != nil {
				t.look(w)
			}
		}
	}
	w.dirty = w.fabric.pass() || w.dirty || w.cfg.Neighbours.Phased && !first
	w.dirty = w.tenants.begin(w.state.Second) || w.dirty
	if wired || machines && w.nodesChanged() {
		before := w.fabric.mark
		w.fabric.update(c, w.plant)
		w.dirty = w.dirty || first || before != w.fabric.mark || !slices.Equal(c.NICs, w.last.NICs) || !slices.Equal(c.Switches, w.last.Switches)
		w.fabric.show(&w.state, c, func(cable int, up bool) { w.cable(from, cable, up) })
	}
	if !first {
		w.happen(from)
	}
	if jobs {
		w.dirty = true
	}
	if w.dirty {
		w.settle(jobs)
		w.dirty = false
	}
}

// fed reports whether the plant feeds others than it did, and keeps whom.
func (w *World) fed() bool {
	changed := false
	for i := range w.plant.Switches {
		changed = changed || w.powered[i] != w.plant.Switches[i].Powered
		w.powered[i] = w.plant.Switches[i].Powered
	}
	for i := range w.plant.Nodes {
		k := len(w.plant.Switches) + i
		changed = changed || w.powered[k] != w.plant.Nodes[i].Powered
		w.powered[k] = w.plant.Nodes[i].Powered
	}
	return changed
}

func (w *World) nodesChanged() bool {
	for i := range w.last.Nodes {
		if w.last.Nodes[i].Down != w.condition.Nodes[i].Down {
			return true
		}
	}
	return false
}

// cable emits that both ends of a cable lost or found their link.
func (w *World) cable(at float64, cable int, up bool) {
	name := "link_down"
	if up {
		name = "link_up"
	}
	lower, upper := w.site.Cable(cable)
	l := site.Up(cable)
	if nic := w.fabric.nic[l]; nic < 0 || w.machines[nic].on {
		if w.fabric.alive(w.fabric.sender[l]) {
			w.event(at, lower, name, "")
		}
	}
	if w.fabric.alive(w.fabric.receiver[l]) {
		w.event(at, upper, name, "")
	}
}

// happen emits failures, and settings that were changed.
func (w *World) happen(at float64) {
	c, o := w.condition, w.last
	for g := range c.GPUs {
		if text := c.GPUs[g].Broken; text != o.GPUs[g].Broken && text != "" {
			w.event(at, site.GPUName(g/w.site.GPUs, g%w.site.GPUs), "xid", text)
			w.state.GPUs[g].XIDs++
		}
	}
	if c.Subnet.Failover && !o.Subnet.Failover {
		w.event(at, telemetry.Entity{Kind: telemetry.SM, Name: fmt.Sprintf("p%d", c.Subnet.Fabric)}, "sm_master_changed", "a standby took over")
	}
	if w.cfg.ChangesReported {
		w.settings(at)
	}
}

// settings emits changed settings as configuration management would.
func (w *World) settings(at float64) {
	c, o := w.condition, w.last
	record := func(e telemetry.Entity, key, before, after string) {
		if before != after {
			w.event(at, e, "config_changed", key+": "+before+" -> "+after)
		}
	}
	for i := range c.Switches {
		if a, b := &c.Switches[i], &o.Switches[i]; *a != *b {
			e := w.site.SwitchName(i)
			record(e, "ecn", onOff(!b.NoMarks), onOff(!a.NoMarks))
			record(e, "ecn_min_bytes", w.threshold(b), w.threshold(a))
			record(e, "pfc_headroom", ratio(b.Headroom), ratio(a.Headroom))
			record(e, "rdma_class", class(b.Class), class(a.Class))
		}
	}
	for i := range c.NICs {
		if a, b := &c.NICs[i], &o.NICs[i]; a.Class != b.Class {
			record(site.NICName(i/w.site.GPUs, i%w.site.GPUs), "rdma_class", class(b.Class), class(a.Class))
		}
	}
	for i := range c.GPUs {
		if a, b := c.GPUs[i].Limit, o.GPUs[i].Limit; a != b {
			record(site.GPUName(i/w.site.GPUs, i%w.site.GPUs), "power_limit_watts", w.watts(b, w.machines[i].model.Limit), w.watts(a, w.machines[i].model.Limit))
		}
	}
	for i := range c.Nodes {
		if a, b := c.Nodes[i].Limit, o.Nodes[i].Limit; a != b {
			record(site.NodeName(i), "power_limit_watts", w.watts(b, 0), w.watts(a, 0))
		}
	}
	for i := range c.Racks {
		if a, b := c.Racks[i].Limit, o.Racks[i].Limit; a != b {
			record(site.RackName(i), "power_limit_watts", w.watts(b, 0), w.watts(a, 0))
		}
	}
}

func (w *World) threshold(s *condition.Switch) string {
	return fmt.Sprintf("%.0f", float64(w.solver.marking.Min*s.Eager))
}

func (w *World) watts(x, otherwise float64) string {
	if x <= 0 {
		x = otherwise
	}
	if x <= 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f", x)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

func class(wrong bool) string {
	if wrong {
		return "best effort"
	}
	return "lossless"
}

// settle finds the rates of all traffic: each job's concurrent with what the others
// offer in the mean. What they offer depends on their rates, so it is done
// twice, from the same beginning each time.
func (w *World) settle(jobs bool) {
	if jobs {
		w.incasts()
		w.surges()
	}
	w.solver.condition = w.condition
	for i := range w.router.load {
		clear(w.router.load[i])
	}
	for i := range w.jobs {
		w.weigh(i)
		for _, t := range w.traffic(i) {
			if t != nil {
				w.router.route(t)
				t.nominal(w.site.Speed)
			}
		}
	}
	for range 2 {
		for i := range w.jobs {
			w.offer(i)
		}
		w.sum()
		for i := range w.jobs {
			w.besides(w.offers[i])
			for k, t := range w.traffic(i) {
				if k == besidesFrom {
					w.besides(w.offers[len(w.jobs)+i])
				}
				if t != nil {
					w.solver.solve(t, w.others)
				}
			}
		}
	}
}

// nominal is a first guess for settle.
func (t *traffic) nominal(speed float64) {
	t.links = t.links[:0]
	t.seconds = 0
	for i := range t.flows {
		f := &t.flows[i]
		f.wire = 1
		t.seconds = max(t.seconds, float64(f.bytes*8)/float64(useful*speed))
	}
	if t.always {
		t.seconds = 1
	}
}

// weigh works out what a job's flows carry now: more where it sends more, and
// where routing gives a plane or rail more than its due.
func (w *World) weigh(job int) {
	c := &w.condition.Jobs[job]
	factor := min(1, c.Traffic) // what is more is a surge
	for _, t := range w.traffic(job) {
		if t == nil {
			continue
		}
		for i := range t.flows {
			f := &t.flows[i]
			f.bytes = float64(f.due * factor * w.weight(f.from))
		}
	}
	if v := w.serving[job]; v != nil {
		v.offer(float64(c.Load * factor))
	}
}

// weight is a NIC's part of its node's bytes over an even part.
func (w *World) weight(nic int32) float64 {
	s := w.site
	node := int(nic) / s.GPUs
	own, sum := 0.0, 0.0
	for i := range s.GPUs {
		fabric, leaf := s.Leaf(node, i)
		x := w.condition.Switches[s.Switch(fabric, leaf)].Weight
		sum += x
		if i == int(nic)%s.GPUs {
			own = x
		}
	}
	if sum <= 0 {
		return 1
	}
	return float64(own*float64(s.GPUs)) / sum
}

// offer works out what a job offers each link in the mean, and what its incast
// does, which is concurrent with the rest of the job's traffic.
func (w *World) offer(job int) {
	o, perSecond, running, phased := w.offers[job], 1.0, false, false
	o.clear()
	if t := w.training[job]; t != nil {
		perSecond, running = 1/t.estimate(), t.phase != off
		phased = w.cfg.Neighbours.Phased && w.state.Second > 0
	} else {
		running = w.serving[job].running
	}
	for _, t := range w.traffic(job) {
		if t != nil && !t.fluid && running {
			if phased {
				perSecond = t.recent
			}
			o.add(t, perSecond)
		}
	}
	o = w.offers[len(w.jobs)+job]
	o.clear()
	for _, t := range w.besidesSteps(job) {
		if t != nil {
			o.add(t, 1)
		}
	}
}

// sum adds up what all offer.
func (w *World) sum() {
	w.total.empty = false
	w.total.clear()
	for _, o := range w.offers {
		if o.empty {
			continue
		}
		for l := range o.load {
			w.total.load[l] += o.load[l]
			w.total.flows[l] += o.flows[l]
			w.total.stop[l] += o.stop[l]
		}
	}
	w.tenants.add(w.total)
}

// besides is what all but one offer. The rest of a difference that is nothing
// but rounding is taken for nothing.
func (w *World) besides(o *offered) {
	for l := range o.load {
		w.others.load[l] = most(w.total.load[l]-o.load[l], 1)
		w.others.flows[l] = most(w.total.flows[l]-o.flows[l], 1e-9)
		w.others.stop[l] = most(w.total.stop[l]-o.stop[l], 1e-9)
	}
}

func most(x, least float64) float64 {
	if x < least {
		return 0
	}
	return x
}
