package fabric

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// History gives the values of a series in the closed grids: the rate per second of
// a counter, or the last value of a gauge, in the grid that ends at g, and the
// usual time between its samples.
type History interface {
	Slot(telemetry.Series) (int, bool)
	At(slot int, g telemetry.Time) (float64, bool)
	Held(dst []float64, slot int, first telemetry.Time, n int) []float64
	Cadence(slot int) telemetry.Duration
	// Unmoved reports whether a slot is of a counter whose every rate is 0.
	Unmoved(slot int) bool
	// Last returns the time of a slot's last sample, and false before the first.
	Last(slot int) (telemetry.Time, bool)
}

// signal is one of the series read at each end of a link.
type signal uint8

const (
	txBytes signal = iota
	rxBytes
	receivedSeconds // port_pfc_rx_pause_seconds_total: this end received pause
	sentSeconds     // port_pfc_tx_pause_seconds_total: this end sent pause to its peer
	receivedFrames  // port_pfc_rx_pause_frames_total: read where the seconds are not reported
	sentFrames      // port_pfc_tx_pause_frames_total: the same
	queueBytes
	queuePeak // port_queue_max_bytes: read where the queue itself is not reported
	markedPackets
	sentPackets // of which some are marked
	waitSeconds // port_xmit_wait_*: it had data and no credit to send it (InfiniBand)
	waitTicks
	linkSpeed // bits per second; read where a queue is inferred, see infer
	linkUp
	damagedPackets // what Counts holds, in its order
	erredPackets
	lostCodewords
	droppedPackets
	refusedPackets
	disorderedPackets
	sequenceErrors
	timeouts
	ignoredNotices
	handledNotices
	linkFalls
	signals
)

// waits reports whether a signal shows traffic that waits at an end.
func (s signal) waits() bool { return s >= receivedSeconds && s <= waitTicks && s != sentPackets }

// zeroIsNone reports whether a signal that is 0 reads as one that is not known.
func (s signal) zeroIsNone() bool {
	return s == sentSeconds || s == sentFrames || s == markedPackets
}

var signalMetrics = [signals]telemetry.MetricName{
	"port_tx_bytes_total", "port_rx_bytes_total",
	"port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_seconds_total",
	"port_pfc_rx_pause_frames_total", "port_pfc_tx_pause_frames_total",
	"port_queue_bytes", "port_queue_max_bytes", "port_ecn_marked_packets_total", "port_tx_packets_total",
	"port_xmit_wait_seconds_total", "port_xmit_wait_ticks_total", "port_speed_bits_per_second", "port_up",
	"port_rx_crc_errors_total", "port_rx_errors_total", "port_fec_uncorrectable_total", "port_tx_discards_total", "port_rx_discards_total",
	"roce_out_of_sequence_total", "roce_packet_seq_errors_total", "roce_ack_timeouts_total", "roce_cnp_ignored_total", "roce_cnp_handled_total",
	"port_link_downs_total",
}

// bufferDiscards is read where an end does not report all that it drops on the way in: what it
// drops of single priorities for want of a buffer.
const bufferDiscards telemetry.MetricName = "port_rx_buffer_discards_total"

// End is one end of a link: a NIC or a switch port, or one priority of it where its
// queues report pause themselves: then the walk is per port and priority. A NIC that
// contains ports has an end at each.
type End struct {
	Entity telemetry.Entity // the NIC or the switch's port
	Port   telemetry.Entity // what the link is connected to: Entity, or a port of the NIC
	Lane   string           // the priority, as its queue's name ends; empty for the whole port
	Owner  telemetry.Entity // the node or switch that contains it
	Peer   int              // the other end's index, -1 if not known
	Speed  float64          // nominal bytes per second, 0 if not known
	Main   bool             // it represents its port where bytes are summed
	slots  [signals]int     // -1 where the series does not exist
	lanes  []int            // the ends of its NIC or port
	owner  int              // Owner by number
}

// IsNIC reports whether the end is a host's.
func (e *End) IsNIC() bool { return e.Entity.Kind == telemetry.NIC }

// place names an end.
type place struct {
	port telemetry.Entity
	lane string
}

// Map is every link end of the site in identity order, a port's priorities
// together.
type Map struct {
	Ends  []End
	index map[place]int
	of    map[telemetry.Entity][]int // ends by nic, and by port
	ports map[telemetry.Entity][]int // ends by owner, in identity order
	// Switches and Planes are those with ends on the map, in identity order.
	Switches, Planes []Group
	facing           []bool // by number of owner: it has ports that face hosts
}

// Survey draws the map from the topology as of its last grid.
func Survey(t *topology.Graph, h History) *Map {
	m := &Map{index: map[place]int{}, of: map[telemetry.Entity][]int{}, ports: map[telemetry.Entity][]int{}}
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
		for _, e := range t.Entities(kind) {
			if _, _, ok := t.Peer(e); ok {
				m.survey(e, t, h)
			}
		}
	}
	for i := range m.Ends {
		m.link(i, t)
		m.Ends[i].lanes = m.of[m.Ends[i].Port]
	}
	for i := range m.Ends {
		m.exchange(i)
	}
	for _, ends := range m.ports { // order-independent: numbers are only compared
		for _, i := range ends {
			m.Ends[i].owner = len(m.facing)
		}
		m.facing = append(m.facing, slices.ContainsFunc(ends, m.FacesHost))
	}
	m.group(t)
	return m
}

// survey adds a NIC or port: one end for each of its queues that reports pause,
// else one for itself. Metrics that a queue does not report are taken from the
// port, and those that a port of a NIC does not from the NIC.
func (m *Map) survey(e telemetry.Entity, t *topology.Graph, h History) {
	whole := End{Entity: e, Port: e, Peer: -1, Main: true, slots: slotsOf(e, h)}
	if nic, ok := t.NIC(e); ok && nic != e {
		whole.Entity = nic
		whole.fill(slotsOf(nic, h), whole.slots)
	}
	whole.Owner, _ = t.Container(whole.Entity)
	lanes := false
	for _, q := range t.Contents(e) {
		own := slotsOf(q, h)
		if q.Kind != telemetry.Queue || own[receivedSeconds] < 0 && own[sentSeconds] < 0 && own[receivedFrames] < 0 && own[sentFrames] < 0 {
			continue
		}
		lane := whole
		lane.Lane, lane.Main = q.Name[strings.LastIndexByte(q.Name, '/')+1:], !lanes
		lane.fill(whole.slots, own)
		lane.prefer()
		m.add(lane)
		lanes = true
	}
	if !lanes {
		whole.prefer()
		m.add(whole)
	}
}

// fill takes the signals of a whole, and in their place those that a part of it reports.
func (e *End) fill(whole, own [signals]int) {
	e.slots = whole
	for s, slot := range own {
		if slot >= 0 {
			e.slots[s] = slot
		}
	}
}

// prefer leaves out signals that only substitute for better ones which are
// reported.
func (e *End) prefer() {
	for _, by := range []struct{ better, worse signal }{{receivedSeconds, receivedFrames}, {sentSeconds, sentFrames}, {queueBytes, queuePeak}} {
		if e.slots[by.better] >= 0 {
			e.slots[by.worse] = -1
		}
	}
	if e.slots[markedPackets] < 0 {
		e.slots[sentPackets] = -1
	}
}

// exchange lets an end and its peer read each other's bytes and pause where they do not
// report them: what one sends the other receives, and seconds are counted better than
// frames. Bytes are those of the whole port, pause is that of one priority.
func (m *Map) exchange(i int) {
	e := &m.Ends[i]
	if e.Peer < 0 {
		return
	}
	p := &m.Ends[e.Peer]
	e.slots[txBytes], _ = either(e.slots[txBytes], p.slots[rxBytes])
	e.slots[rxBytes], _ = either(e.slots[rxBytes], p.slots[txBytes])
	if e.Peer < i || p.Peer != i || p.Lane != e.Lane {
		return // done from the other end, or no pair
	}
	for _, by := range []struct{ mine, theirs signal }{
		{sentSeconds, receivedSeconds}, {receivedSeconds, sentSeconds}, {sentFrames, receivedFrames}, {receivedFrames, sentFrames},
	} {
		e.slots[by.mine], p.slots[by.theirs] = either(e.slots[by.mine], p.slots[by.theirs])
	}
	e.prefer()
	p.prefer()
}

// either gives the slot that is missing of two the other one.
func either(a, b int) (int, int) {
	switch {
	case a < 0:
		return b, b
	case b < 0:
		return a, a
	}
	return a, b
}

// Shows reports whether an end has an instrument of waiting: pause, credits, a
// queue or marks. What no instrument shows is unknown, not zero.
func (e *End) Shows() bool {
	for _, s := range []signal{receivedSeconds, sentSeconds, receivedFrames, sentFrames, queueBytes, queuePeak, markedPackets} {
		if e.slots[s] >= 0 {
			return true
		}
	}
	return e.credits()
}

// showsQueue reports whether an end has an instrument of its own queue: its length, or
// marks. That it is held back, or holds back others, is none.
func (e *End) showsQueue() bool {
	return e.first(queueBytes, queuePeak, markedPackets) >= 0
}

// PausedBy returns the slot that shows for how long end i may not send; -1 where
// none does.
func (m *Map) PausedBy(i int) int {
	return m.Ends[i].first(receivedSeconds, receivedFrames, waitSeconds, waitTicks)
}

// PausingBy returns the slot that shows for how long end i stops its peer: its own
// pause, else the time that the peer is without a credit; -1 where none does.
func (m *Map) PausingBy(i int) int {
	if slot := m.Ends[i].first(sentSeconds, sentFrames); slot >= 0 {
		return slot
	}
	if p := m.Ends[i].Peer; p >= 0 {
		return m.PausedBy(p)
	}
	return -1
}

// QueuedBy returns the slot that shows traffic waiting at end i; -1 where none does.
func (m *Map) QueuedBy(i int) int {
	return m.Ends[i].first(queueBytes, queuePeak, markedPackets, waitSeconds, waitTicks, receivedSeconds, receivedFrames)
}

// SentBy returns the slot of the bytes that end i sends, by its own count or by that of
// the other end; -1 where neither counts.
func (m *Map) SentBy(i int) int { return m.Ends[i].slots[txBytes] }

// CountedBy returns the slots of the counts given, at the ends given and at their
// peers, each once.
func (m *Map) CountedBy(ends []int, of ...Count) (slots []int) {
	for _, i := range ends {
		for _, end := range []int{i, m.Ends[i].Peer} {
			for _, k := range of {
				if end < 0 {
					continue
				}
				if slot := m.Ends[end].slots[damagedPackets+signal(k)]; slot >= 0 && !slices.Contains(slots, slot) {
					slots = append(slots, slot)
				}
			}
		}
	}
	return slots
}

// UpBy returns the slot that shows whether the link of end i is up; -1 where none
// does.
func (m *Map) UpBy(i int) int { return m.Ends[i].slots[linkUp] }

func (e *End) first(of ...signal) int {
	for _, s := range of {
		if e.slots[s] >= 0 {
			return e.slots[s]
		}
	}
	return -1
}

func slotsOf(e telemetry.Entity, h History) (slots [signals]int) {
	for s := range signals {
		slots[s] = -1
		if slot, ok := h.Slot(telemetry.Series{Entity: e, Metric: signalMetrics[s]}); ok {
			slots[s] = slot
		}
	}
	if slot, ok := h.Slot(telemetry.Series{Entity: e, Metric: bufferDiscards}); ok && slots[refusedPackets] < 0 {
		slots[refusedPackets] = slot
	}
	return slots
}

func (m *Map) add(end End) {
	i := len(m.Ends)
	m.index[place{end.Port, end.Lane}] = i
	m.of[end.Port] = append(m.of[end.Port], i)
	if end.Entity != end.Port {
		m.of[end.Entity] = append(m.of[end.Entity], i)
	}
	m.ports[end.Owner] = append(m.ports[end.Owner], i)
	m.Ends = append(m.Ends, end)
}

// link joins an end with the same priority of its peer, else with the peer's
// main end.
func (m *Map) link(i int, t *topology.Graph) {
	e := &m.Ends[i]
	peer, bits, _ := t.Peer(e.Port)
	e.Speed = bits / 8
	if p, ok := m.index[place{peer, e.Lane}]; ok {
		e.Peer = p
	} else if p, ok := m.Index(peer); ok {
		e.Peer = p
	}
}

// Index returns the position of a NIC's or port's main end; the first of a NIC with ports.
func (m *Map) Index(e telemetry.Entity) (int, bool) {
	if ends := m.of[e]; len(ends) > 0 {
		return ends[0], true
	}
	return 0, false
}

// Port lists the ends of the NIC or port of end i.
func (m *Map) Port(i int) []int { return m.Ends[i].lanes }

// Lanes lists the ends of one NIC or port.
func (m *Map) Lanes(e telemetry.Entity) []int { return m.of[e] }

// Of lists the ends that an owner (a node or a switch) contains.
func (m *Map) Of(owner telemetry.Entity) []int { return m.ports[owner] }

// Links lists the main ends that an owner contains: one to a link, for sums of
// bytes.
func (m *Map) Links(owner telemetry.Entity) []int {
	var out []int
	for _, i := range m.ports[owner] {
		if m.Ends[i].Main {
			out = append(out, i)
		}
	}
	return out
}

// Between reports whether end i joins two switches.
func (m *Map) Between(i int) bool {
	e := &m.Ends[i]
	return !e.IsNIC() && e.Peer >= 0 && !m.Ends[e.Peer].IsNIC()
}

// FacesHost reports whether end i is a switch port whose peer is a NIC.
func (m *Map) FacesHost(i int) bool {
	e := &m.Ends[i]
	return !e.IsNIC() && e.Peer >= 0 && m.Ends[e.Peer].IsNIC()
}
