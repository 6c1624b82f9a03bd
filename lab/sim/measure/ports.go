package measure

import (
	"fmt"
	"strconv"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// port is what a port or NIC counts: of the link that it sends on and of the
// one that it receives from.
type port struct {
	tx, rx *state.Link
	nic    *state.NIC // nil of a switch's port
	old    bool       // its PortXmitWait ticks are those of older ASICs
}

const (
	// mtu is the bytes of a full packet on the wire: 4,096 of payload and RoCE's
	// headers.
	mtu = 4180
	// lossless is how many bytes arrive after a port has sent pause: at 400 Gbit/s
	// some 2 µs of cable, forwarding and two packets.
	lossless = 110e3
)

// wires are the metrics of every port, switch's or NIC's.
func wires() []column[port] {
	return []column[port]{
		{name: "port_tx_bytes_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.tx.SentTotal }},
		{name: "port_rx_bytes_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.rx.TakenTotal }},
		{name: "port_up", as: telemetry.Uint, how: level, of: func(p *port) float64 { return bit(p.tx.Up && p.rx.Up) }},
		{name: "port_speed_bits_per_second", as: telemetry.Uint, how: level, of: func(p *port) float64 { return p.tx.Speed }},
		{name: "port_link_downs_total", as: telemetry.Uint, how: total, small: true, of: func(p *port) float64 { return p.rx.DownsTotal }},
		{name: "port_tx_discards_total", as: telemetry.Uint, how: total, small: true, of: func(p *port) float64 { return p.tx.DroppedTotal }},
		{name: "port_rx_errors_total", as: telemetry.Uint, how: total, small: true, of: func(p *port) float64 { return p.rx.DamagedTotal }},
		{name: "port_rx_crc_errors_total", as: telemetry.Uint, how: total, small: true, of: func(p *port) float64 { return p.rx.DamagedTotal }},
		{name: "port_fec_uncorrectable_total", as: telemetry.Uint, how: total, small: true, of: func(p *port) float64 { return p.rx.UncorrectableTotal }},
		{name: "port_fec_corrected_bits_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.rx.CorrectedTotal }},
		{name: "port_pre_fec_ber", as: telemetry.Decimal, exp: 15, how: mean, noise: 0.05, of: func(p *port) float64 { return p.rx.BER }},
		{name: "optic_temperature_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 1.5, noise: 0.002, of: moduleHeat},
	}
}

// moduleHeat is the temperature of the module in a port; where a NIC's own chip
// runs hot, its module does not stay cooler.
func moduleHeat(p *port) float64 {
	if p.nic != nil {
		return max(p.tx.Celsius, p.nic.Celsius)
	}
	return p.tx.Celsius
}

// pauses are flow control and marks of Ethernet.
func pauses() []column[port] {
	return []column[port]{
		{name: "port_pfc_tx_pause_frames_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.rx.FramesTotal }},
		{name: "port_pfc_rx_pause_frames_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.tx.FramesTotal }},
		{name: "port_pfc_tx_pause_seconds_total", as: telemetry.Decimal, exp: 6, how: total, of: func(p *port) float64 { return p.rx.StoppedTotal }},
		{name: "port_pfc_rx_pause_seconds_total", as: telemetry.Decimal, exp: 6, how: total, of: func(p *port) float64 { return p.tx.StoppedTotal }},
		{name: "port_ecn_marked_packets_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.tx.MarkedTotal }},
	}
}

// credits are flow control of InfiniBand.
func credits() []column[port] {
	return []column[port]{
		{name: "port_xmit_wait_ticks_total", as: telemetry.Uint, how: total, sticks: true, small: true, of: ticks},
	}
}

// waited is NVOS's xmit-wait, in seconds.
func waited() column[port] {
	return column[port]{name: "port_xmit_wait_seconds_total", as: telemetry.Decimal, exp: 6, how: total, small: true,
		of: func(p *port) float64 { return p.tx.WaitTotal }}
}

// ticks is PortXmitWait: a tick is the time of 8 bytes on the link, on older
// ASICs that of 32 bytes on one of its four lanes.
func ticks(p *port) float64 {
	if p.old {
		return float64(p.tx.WaitTotal * (p.tx.Speed / (8 * 4 * 32)))
	}
	return float64(p.tx.WaitTotal * (p.tx.Speed / (8 * 8)))
}

// buffers are the metrics that only a switch reports of its ports.
func buffers() []column[port] {
	return []column[port]{
		{name: "port_queue_bytes", as: telemetry.Uint, how: level, of: func(p *port) float64 { return p.tx.Queue }},
		{name: "port_queue_max_bytes", as: telemetry.Uint, how: peak, of: func(p *port) float64 { return max(p.tx.Queue, p.tx.QueueMost) }},
	}
}

// bit is 1 for true.
func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// transport is what an RDMA NIC counts of its queue pairs. These counters are
// 32 bits wide and wrap (mlx5 hw_counters).
func transport(infiniBand bool) []column[port] {
	out := []column[port]{
		{name: "roce_out_of_sequence_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.OutOfOrderTotal }},
		{name: "roce_packet_seq_errors_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.SequenceTotal }},
		{name: "roce_ack_timeouts_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.TimeoutTotal }},
		{name: "nic_pcie_stalled_ratio", as: telemetry.Decimal, exp: 2, how: mean, quantum: 0.01, of: func(p *port) float64 { return p.nic.Stalled }},
		{name: "pcie_link_width", as: telemetry.Uint, how: level, of: func(p *port) float64 { return p.nic.Width }},
		{name: "pcie_link_speed_transfers_per_second", as: telemetry.Uint, how: level, of: func(p *port) float64 { return p.nic.Transfers }},
		{name: "rdma_tx_bytes_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.tx.SentTotal }},
		{name: "rdma_rx_bytes_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.rx.TakenTotal }},
	}
	if infiniBand {
		return out
	}
	return append(out, []column[port]{
		{name: "roce_cnp_sent_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.CNPSentTotal }},
		{name: "roce_cnp_handled_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.CNPHandledTotal }},
		{name: "roce_cnp_ignored_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.CNPIgnoredTotal }},
		{name: "roce_ecn_marked_packets_total", as: telemetry.Uint, how: total, bits: 32, of: func(p *port) float64 { return p.nic.MarkedTotal }},
	}...)
}

// packets are what a port counts that nothing is concluded from here.
func packets() []column[port] {
	return []column[port]{
		{name: "port_tx_packets_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.tx.SentTotal / mtu }},
		{name: "port_rx_packets_total", as: telemetry.Uint, how: total, of: func(p *port) float64 { return p.rx.TakenTotal / mtu }},
	}
}

// flow is the flow control of the site's fabric.
func (m *Meter) flow() []column[port] {
	if m.cfg.InfiniBand {
		if m.cfg.Instruments.WaitSeconds {
			return append(credits(), waited())
		}
		return credits()
	}
	return pauses()
}

// nics adds the source of a node's NICs.
func (m *Meter) nics(node int) {
	s := m.site
	cols := append(append(wires(), m.flow()...), transport(m.cfg.InfiniBand)...)
	if m.cfg.Set == Lean {
		cols = padded(append(cols, packets()...), telemetry.NIC, 60)
	}
	t := &table[port]{cols: cols}
	var es []telemetry.Entity
	for i := range s.GPUs {
		es = append(es, site.NICName(node, i))
		t.index = append(t.index, int32(node*s.GPUs+i))
	}
	t.old = m.oldASICs(t.index, "nic")
	old := t.old[0]
	t.view = func(st *state.State, i int32) port {
		return port{tx: &st.Links[2*i], rx: &st.Links[2*i+1], nic: &st.NICs[i], old: old}
	}
	m.add(plan{source: telemetry.Source{Collector: "sysfs", Target: site.NodeName(node).Name, Part: "nics"}, entities: es, body: t,
		period: second, clock: &m.hosts[node], node: int32(node), sw: -1, takes: prompt(), jitter: 0.003})
}

// oldASICs returns for which of a device's ports PortXmitWait has long ticks and 32
// bits: all or none, one device in four.
func (m *Meter) oldASICs(index []int32, kind string) []bool {
	out := make([]bool, len(index))
	r := m.stream("asic/" + kind + "/" + strconv.Itoa(int(index[0])))
	old := m.cfg.InfiniBand && m.cfg.Imperfect && r.Chance(0.25)
	for i := range out {
		out[i] = old
	}
	return out
}

// prompt is how long a host or a switch takes to answer.
func prompt() [2]float64 { return [2]float64{0.008, 0.05} }

// addSwitches adds the sources of all switches.
func (m *Meter) addSwitches() {
	ends := m.ends()
	clocks := m.clocks(m.site.Switches(), "switch")
	for sw := range m.site.Switches() {
		m.ports(sw, ends[sw], &clocks[sw])
		m.chassis(sw, &clocks[sw])
	}
}

// end is a switch's port: its entity and the link it sends on.
type end struct {
	port telemetry.Entity
	link int32
}

// ends lists the ports of each switch in the order of the cables.
func (m *Meter) ends() [][]end {
	s := m.site
	number := map[string]int{}
	for sw := range s.Switches() {
		number[s.SwitchName(sw).Name] = sw
	}
	out := make([][]end, s.Switches())
	for c := range s.Cables() {
		lower, upper := s.Cable(c)
		if lower.Kind == telemetry.Port {
			sw := number[lower.Prefix()]
			out[sw] = append(out[sw], end{lower, site.Up(c)})
		}
		sw := number[upper.Prefix()]
		out[sw] = append(out[sw], end{upper, site.Down(c)})
	}
	return out
}

func (m *Meter) ports(sw int, ends []end, c *clock) {
	cols := append(append(wires(), m.flow()...), buffers()...)
	if !m.cfg.InfiniBand {
		cols = append(cols, guards()...)
	}
	if m.cfg.Set == Lean {
		cols = padded(append(cols, packets()...), telemetry.Port, 25)
	}
	t := &table[port]{cols: cols}
	var es []telemetry.Entity
	for _, e := range ends {
		es = append(es, e.port)
		t.index = append(t.index, e.link)
	}
	t.old = m.oldASICs([]int32{int32(sw)}, "switch")
	old := t.old[0]
	for range t.index[1:] {
		t.old = append(t.old, old)
	}
	t.view = func(st *state.State, i int32) port { return port{tx: &st.Links[i], rx: &st.Links[i^1], old: old} }
	m.add(plan{source: telemetry.Source{Collector: "gnmi", Target: m.site.SwitchName(sw).Name, Part: "ports"}, entities: es, body: t,
		period: m.cfg.Switches, clock: c, node: -1, sw: int32(sw), takes: prompt(), jitter: 0.003})
}

// guards are the metrics that only a lossless Ethernet switch reports: how much of
// the headroom was taken while pause was in force, and how often its watchdog saw a
// queue that made no progress for longer than its detection time. The watchdog only
// reports.
func guards() []column[port] {
	return []column[port]{
		{name: "port_headroom_max_bytes", as: telemetry.Uint, how: risen, most: lossless, of: func(p *port) float64 { return p.rx.StoppedTotal }},
		{name: "port_pfc_watchdog_storms_total", as: telemetry.Uint, how: spells, small: true, of: func(p *port) float64 { return p.tx.StoppedTotal }},
	}
}

// chassis adds the source of a switch's own sensors.
func (m *Meter) chassis(sw int, c *clock) {
	t := &table[*state.Switch]{index: []int32{int32(sw)}, view: func(st *state.State, i int32) *state.Switch { return &st.Switches[i] },
		cols: []column[*state.Switch]{{name: "inlet_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 0.7, noise: 0.002,
			of: func(s **state.Switch) float64 { return (*s).Inlet }}}}
	m.add(plan{source: telemetry.Source{Collector: "gnmi", Target: m.site.SwitchName(sw).Name, Part: "chassis"},
		entities: []telemetry.Entity{m.site.SwitchName(sw)}, body: t, class: telemetry.Delayed,
		period: 30 * second, clock: c, node: -1, sw: int32(sw), takes: [2]float64{0.1, 2}, jitter: 0.2})
}

// padded appends columns for the other metrics that a kind of device states, in
// the order of the catalogue, until there are n. They rest.
func padded[T any](cols []column[T], kind telemetry.Kind, n int) []column[T] {
	known := map[telemetry.MetricName]bool{}
	for i := range cols {
		known[cols[i].name] = true
	}
	all := telemetry.DefaultCatalogue().Metrics()
	for i := range all {
		k := &all[i]
		if len(cols) < n && k.Type == telemetry.Counter && !known[k.Name] && has(k.Kinds, kind) {
			cols = append(cols, column[T]{name: k.Name, as: telemetry.Uint, how: rest, small: true})
		}
	}
	for i := len(cols); i < n; i++ {
		cols = append(cols, column[T]{name: telemetry.MetricName(fmt.Sprintf("%s_field_%d_total", kind, i)), as: telemetry.Uint, how: rest, small: true})
	}
	return cols
}

func has(ks []telemetry.Kind, k telemetry.Kind) bool {
	for _, x := range ks {
		if x == k {
			return true
		}
	}
	return false
}
