package crosscheck

import (
	"math"
	"slices"
)

// The counters of a port.
const (
	sent = iota
	received
	waited  // seconds in which the far end kept this port from sending
	pausing // seconds in which this port kept the far end from sending
	marked
	dropped // packets, on the way in
	damaged // packets received with an error
	downs
	ceReceived
	cnpSent
	cnpHandled
	outOfOrder
	sequence
	timeouts
	counters
)

// meter counts at one port.
type meter struct {
	at        float64
	count     [counters]float64
	rate      [counters]float64
	queued    bool
	queueMost float64
	stalled   float64
	up        bool
	readings  []float64
	read      int
	last      map[string]float64 // of states, as last sent
}

// pass lets time pass at a port.
func (m *meter) pass(to float64) {
	if dt := to - m.at; dt > 0 {
		for i, r := range m.rate {
			m.count[i] += r * dt
		}
		m.at = to
	}
}

// pass lets time pass at a port, reading it where its device is read.
func (r *recorder) pass(w *world, p int, to float64) {
	m := &r.meters[p]
	for len(m.readings) > 0 && m.readings[0] <= to {
		m.pass(m.readings[0])
		r.readPort(w, p, m)
		m.readings = m.readings[1:]
	}
	m.pass(to)
}

// wires makes the meters follow the fabric's solution.
func (r *recorder) wires(w *world) {
	for _, p := range r.busy {
		r.pass(w, p, w.now)
		m := &r.meters[p]
		m.rate, m.queued, m.stalled = r.background(p), false, 0
	}
	r.busy = r.busy[:0]
	touch := func(p int) *meter {
		m := &r.meters[p]
		if m.at < w.now || len(m.readings) > 0 && m.readings[0] <= w.now {
			r.pass(w, p, w.now)
		}
		r.busy = append(r.busy, p)
		return m
	}
	for i := range w.fabric.current.flows {
		f := &w.fabric.current.flows[i]
		a, b := touch(f.port), touch(w.site.ports[f.port].peer)
		a.rate[sent] += f.rate
		b.rate[received] += f.rate
		wait := f.wait
		if wait < .05 { // bursts differ from exchange to exchange
			wait *= .4 + 1.2*uniform(r.plan.seed, uint64(f.port), uint64(w.now*100))
		}
		a.rate[waited] += wait
		b.rate[pausing] += wait
		a.rate[marked] += f.marks
		r.queue(w, a, f)
		r.damage(w, a, b, f)
	}
	for _, e := range w.fabric.current.endings {
		m := touch(e.port)
		m.rate[ceReceived] += e.marked
		m.rate[cnpSent] += min(e.marked, 40000)
		if w.cond.disturb[e.port] != "class" {
			m.rate[cnpHandled] += e.notified
		}
		m.rate[outOfOrder] += e.lost
		m.rate[sequence] += e.resent * .8
		m.rate[timeouts] += e.gone * .01
	}
	r.carriers(w)
}

// queue sets what a port's queue shows.
func (r *recorder) queue(w *world, m *meter, f *flowState) {
	kmax := w.site.speed * 32e-6
	burst := kmax * .25 * f.rate / w.site.speed * (.5 + uniform(uint64(f.port), uint64(w.now*10)))
	if f.queued || f.wait > .05 && !w.site.ports[f.port].nic {
		m.queued = f.queued
		burst = kmax * (.7 + .6*uniform(uint64(f.port), uint64(w.now*10)))
	}
	m.queueMost = max(m.queueMost, burst)
	if peer := w.site.ports[f.port].peer; w.site.ports[peer].nic && w.cond.bus(peer) < 1 && f.rate > 0 {
		r.meters[peer].stalled = 1 - w.cond.bus(peer)
	}
	if w.site.ports[f.port].nic && w.cond.bus(f.port) < 1 && f.rate > 0 {
		m.stalled = max(m.stalled, .6*(1-w.cond.bus(f.port)))
	}
}

// damage counts what a lossy cable shows, by the way in which it loses.
func (r *recorder) damage(w *world, a, b *meter, f *flowState) {
	loss := w.cond.loss[f.port]
	if loss == 0 {
		return
	}
	packets := f.rate / packetBytes * loss
	b.rate[received] -= packets * packetBytes
	switch w.cond.disturb[f.port] {
	case "errors":
		b.rate[damaged] += packets
	case "class", "headroom":
		b.rate[dropped] += packets
	case "reorder":
		b.rate[received] += packets * packetBytes
	}
}

// carriers notices links that have come up or gone down.
func (r *recorder) carriers(w *world) {
	for p := range r.meters {
		m := &r.meters[p]
		up := !w.cond.down[p] && !w.cond.down[w.site.ports[p].peer]
		if up == m.up {
			continue
		}
		r.pass(w, p, w.now)
		m.up = up
		name := "link_up"
		if !up {
			m.count[downs]++
			name = "link_down"
		}
		if r.profile.linkEvents {
			r.event(w.now, w.site.ports[p].entity, name, "")
		}
	}
}

// background is what a port carries for its management.
func (r *recorder) background(p int) (rate [counters]float64) {
	rate[sent], rate[received] = 2000+30000*uniform(uint64(p), 77), 2000+30000*uniform(uint64(p), 78)
	rate[damaged] = r.tickling[p]
	return rate
}

// readPort sends what a device shows of a port.
func (r *recorder) readPort(w *world, p int, m *meter) {
	port, pr := &w.site.ports[p], &r.profile
	if port.nic && w.cond.dead[port.node] || !port.nic && r.darkSwitch(w, port.sw) {
		return
	}
	send := func(metric string, v float64) { r.send(r.portClock(port), m.at, port.entity, metric, v) }
	whole := func(metric string, i int) { send(metric, math.Floor(m.count[i])) }
	words := func(metric string, i int) { send(metric, 4*math.Floor(m.count[i]/4)) }
	words("port_tx_bytes_total", sent)
	words("port_rx_bytes_total", received)
	if w.site.kind == IB {
		r.readCredits(m, send, whole)
	} else {
		r.readPause(w, port, m, send, whole)
	}
	if pr.errors && m.read%2 == 0 {
		r.readErrors(w, port, send, whole)
	}
	if port.nic && pr.stall && w.site.kind == RoCE {
		send("nic_pcie_stalled_ratio", math.Round(m.stalled*100)/100)
	}
	r.readStates(w, p, m)
	m.read++
	m.queueMost = 0
}

func (r *recorder) readErrors(w *world, port *port, send func(string, float64), whole func(string, int)) {
	if w.site.kind == IB {
		whole("port_symbol_errors_total", damaged)
		whole("port_rx_errors_total", damaged)
	} else {
		whole("port_rx_crc_errors_total", damaged)
	}
	if !port.nic && w.site.kind == RoCE {
		whole("port_rx_discards_total", dropped)
	}
	whole("port_link_downs_total", downs)
}

// readCredits sends the wait counter of InfiniBand.
func (r *recorder) readCredits(m *meter, send func(string, float64), whole func(string, int)) {
	if r.profile.waitTicks {
		send("port_xmit_wait_ticks_total", math.Floor(m.count[waited]*r.profile.tick))
	} else {
		send("port_xmit_wait_seconds_total", m.count[waited])
	}
}

// readPause sends what Ethernet shows of congestion.
func (r *recorder) readPause(w *world, port *port, m *meter, send func(string, float64), whole func(string, int)) {
	pr := &r.profile
	if pr.pauseFrames {
		send("port_pfc_rx_pause_frames_total", math.Floor(m.count[waited]*r.framesASecond))
		send("port_pfc_tx_pause_frames_total", math.Floor(m.count[pausing]*r.framesASecond))
	}
	if pr.pauseSeconds {
		send("port_pfc_rx_pause_seconds_total", m.count[waited])
		send("port_pfc_tx_pause_seconds_total", m.count[pausing])
	}
	if port.nic {
		if pr.notifications {
			whole("roce_cnp_sent_total", cnpSent)
			whole("roce_cnp_handled_total", cnpHandled)
		}
		if pr.errors {
			whole("roce_out_of_sequence_total", outOfOrder)
			whole("roce_packet_seq_errors_total", sequence)
			whole("roce_ack_timeouts_total", timeouts)
		}
		return
	}
	if pr.marks {
		whole("port_ecn_marked_packets_total", marked)
	}
	kmax := w.site.speed * 32e-6
	if pr.queueNow {
		q := 0.0
		if m.queued {
			q = kmax * (.4 + .6*uniform(uint64(port.peer), uint64(m.at*10)))
		}
		send("port_queue_bytes", math.Floor(q))
	}
	if pr.queueMax {
		send("port_queue_max_bytes", math.Floor(m.queueMost))
	}
}

// readStates sends what seldom changes: on change, and now and then.
func (r *recorder) readStates(w *world, p int, m *meter) {
	port, pr := &w.site.ports[p], &r.profile
	state := func(metric string, v float64) {
		if last, known := m.last[metric]; !known || last != v || m.read%12 == 0 {
			m.last[metric] = v
			r.send(r.portClock(port), m.at, port.entity, metric, v)
		}
	}
	state("port_up", b2f(m.up))
	share := min(w.cond.cable[p], w.cond.cable[port.peer])
	if pr.speed {
		if w.cond.disturb[p] == "unseen" || w.cond.disturb[port.peer] == "unseen" {
			share = 1
		}
		state("port_speed_bits_per_second", 8*w.site.speed*share)
	}
	if pr.lanes && port.nic {
		state("pcie_link_width", math.Round(16*w.cond.pcie[p]))
	}
	if m.read%4 != 0 {
		return
	}
	send := func(metric string, v float64) { r.send(r.portClock(port), m.at, port.entity, metric, v) }
	if pr.ber {
		ber := 1e-9 * math.Pow(10, 1.5*uniform(uint64(p), 79)+.1*normal(uint64(p), uint64(m.read), 80)) * r.decay(w, p, m.at)
		send("port_pre_fec_ber", ber)
	}
	if pr.optics {
		send("optic_temperature_celsius", math.Round(41+9*uniform(uint64(p), 81)+w.plant.nic[p].value(m.at)+.5*normal(uint64(p), uint64(m.read), 82)))
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// darkSwitch reports whether a switch cannot answer: all its cables are down.
func (r *recorder) darkSwitch(w *world, sw int) bool {
	for _, p := range w.site.switches[sw].ports {
		if !w.cond.down[p] {
			return false
		}
	}
	return true
}

// decay is the factor on the error ratio of a port whose optics wear out.
func (r *recorder) decay(w *world, p int, at float64) float64 {
	if w.strike == nil || !slices.Contains(w.strike.drift, p) || at < w.strike.onset {
		return 1
	}
	return math.Pow(10, 3.2*(at-w.strike.onset)/(w.strike.end-w.strike.onset))
}
