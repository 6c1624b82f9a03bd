package fabric

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// History is what the closed grids say of a series: the rate per second of a
// counter, or the last value of a gauge, in the grid that ends at g, and the
// usual time between its samples.
type History interface {
	Slot(telemetry.Series) (int, bool)
	At(slot int, g telemetry.Time) (float64, bool)
	Cadence(slot int) telemetry.Duration
}

// signal is one of the series read at each end of a link.
type signal uint8

const (
	txBytes signal = iota
	rxBytes
	toldSeconds  // port_pfc_rx_pause_seconds_total: this end was told to stop
	tellsSeconds // port_pfc_tx_pause_seconds_total: this end told its peer to stop
	queueBytes
	markedPackets
	txPackets
	signals
)

var signalMetrics = [signals]telemetry.MetricName{
	"port_tx_bytes_total", "port_rx_bytes_total",
	"port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_seconds_total",
	"port_queue_bytes", "port_ecn_marked_packets_total", "port_tx_packets_total",
}

// End is one end of a link: a nic or a switch port.
type End struct {
	Entity telemetry.Entity
	Owner  telemetry.Entity // the node or switch that contains it
	Peer   int              // the other end's index, -1 if not known
	Speed  float64          // nominal bytes per second, 0 if not known
	slots  [signals]int     // -1 where the series does not exist
}

// IsNIC reports whether the end is a host's.
func (e *End) IsNIC() bool { return e.Entity.Kind == telemetry.NIC }

// Map is every link end of the site in identity order.
type Map struct {
	Ends   []End
	index  map[telemetry.Entity]int
	ports  map[telemetry.Entity][]int // ends by owner, in identity order
	owners []telemetry.Entity         // in identity order
}

// Survey draws the map from the topology as of its last grid.
func Survey(t *topology.Graph, h History) *Map {
	m := &Map{index: map[telemetry.Entity]int{}, ports: map[telemetry.Entity][]int{}}
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
		for _, e := range t.Entities(kind) {
			if _, _, ok := t.Peer(e); ok {
				m.add(e, t, h)
			}
		}
	}
	for i := range m.Ends {
		m.link(i, t)
	}
	slices.SortFunc(m.owners, telemetry.Entity.Compare)
	return m
}

func (m *Map) add(e telemetry.Entity, t *topology.Graph, h History) {
	end := End{Entity: e, Peer: -1}
	end.Owner, _ = t.Container(e)
	for s := range signals {
		end.slots[s] = -1
		if slot, ok := h.Slot(telemetry.Series{Entity: e, Metric: signalMetrics[s]}); ok {
			end.slots[s] = slot
		}
	}
	i := len(m.Ends)
	m.index[e] = i
	if _, known := m.ports[end.Owner]; !known {
		m.owners = append(m.owners, end.Owner)
	}
	m.ports[end.Owner] = append(m.ports[end.Owner], i)
	m.Ends = append(m.Ends, end)
}

func (m *Map) link(i int, t *topology.Graph) {
	e := &m.Ends[i]
	peer, bits, _ := t.Peer(e.Entity)
	e.Speed = bits / 8
	if p, ok := m.index[peer]; ok {
		e.Peer = p
	}
}

// Index returns the position of an end.
func (m *Map) Index(e telemetry.Entity) (int, bool) {
	i, ok := m.index[e]
	return i, ok
}

// Of lists the ends that an owner (a node or a switch) contains.
func (m *Map) Of(owner telemetry.Entity) []int { return m.ports[owner] }

// Between reports whether end i joins two switches.
func (m *Map) Between(i int) bool {
	e := &m.Ends[i]
	return !e.IsNIC() && e.Peer >= 0 && !m.Ends[e.Peer].IsNIC()
}

// FacesHost reports whether end i is a switch port whose peer is a nic.
func (m *Map) FacesHost(i int) bool {
	e := &m.Ends[i]
	return !e.IsNIC() && e.Peer >= 0 && m.Ends[e.Peer].IsNIC()
}
