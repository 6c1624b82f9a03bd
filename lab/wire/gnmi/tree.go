package gnmi

import (
	"fmt"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// lossless is the priority and queue that a site's RDMA traffic is in. What a
// port counts is there; the others rest.
const lossless = 3

// treeDialect is a dialect with a tree of YANG.
type treeDialect struct {
	name, port string
	enc        []gpb.Encoding
	get        bool
	grow       func(*device, *socket) []leaf
}

func (t treeDialect) native(n int) string       { return fmt.Sprintf(t.port, n+1) }
func (t treeDialect) encodings() []gpb.Encoding { return t.enc }
func (t treeDialect) gets() bool                { return t.get }

func (t treeDialect) may(s *gpb.Subscription) error {
	if t.name == Cumulus && s.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED {
		return status.Error(codes.InvalidArgument, "mode: SAMPLE or ON_CHANGE")
	}
	if i := time.Duration(s.GetSampleInterval()); s.GetMode() == gpb.SubscriptionMode_SAMPLE && i > 0 && i < 100*time.Millisecond {
		return status.Errorf(codes.InvalidArgument, "sample_interval: %s, at least 100ms", i)
	}
	return nil
}

// leaves lists those below a path.
func (t treeDialect) leaves(s *device, prefix, path *gpb.Path) ([]leaf, error) {
	want := append(append([]*gpb.PathElem(nil), prefix.GetElem()...), path.GetElem()...)
	for _, e := range want {
		for _, v := range e.GetKey() {
			if t.name == Cumulus && v != "*" && strings.Contains(v, "*") {
				return nil, status.Errorf(codes.InvalidArgument, "%q: a wildcard stands for a whole key", v)
			}
		}
	}
	var out []leaf
	for _, l := range s.tree() {
		if below(append(append([]elem(nil), l.prefix...), l.path...), want) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		return nil, status.Errorf(codes.NotFound, "no such path: %v", path)
	}
	return out, nil
}

// below states that a leaf's path begins as is asked for.
func below(have []elem, want []*gpb.PathElem) bool {
	if len(want) > len(have) {
		return false
	}
	for i, w := range want {
		h := have[i]
		if w.GetName() != "*" && w.GetName() != h.name {
			return false
		}
		for k, v := range w.GetKey() {
			if k != h.key || v != "*" && v != h.value {
				return false
			}
		}
	}
	return true
}

// tree lists every leaf of the switch, made once.
func (s *device) tree() []leaf {
	s.once.Do(func() {
		t := s.speaks.(treeDialect)
		for i := range s.ports {
			s.grown = append(s.grown, t.grow(s, &s.ports[i])...)
		}
		s.grown = append(s.grown, under(celsius("Inlet"), "instant", s.level(s.entity, "inlet_celsius")))
	})
	return s.grown
}

// under is a leaf of a container.
func under(container []elem, name string, read func() (value, telemetry.Time, bool)) leaf {
	return leaf{prefix: container, path: el(strings.Split(name, "/")...), read: read}
}

func celsius(component string) []elem {
	return append(append(el("components"), keyed("component", "name", component)), el("state", "temperature")...)
}

func face(p *socket, names ...string) []elem {
	return append(append(el("interfaces"), keyed("interface", "name", p.native)), el(names...)...)
}

func qos(p *socket, more ...elem) []elem {
	return append(append(el("qos", "interfaces"), keyed("interface", "interface-id", p.native)), more...)
}

// usual are the leaves that all trees share.
func usual(s *device, p *socket) []leaf {
	state, counters := face(p, "state"), face(p, "state", "counters")
	out := []leaf{
		under(state, "name", s.fixed(p, textOf(p.native))),
		under(state, "description", s.fixed(p, textOf(p.site))),
		under(state, "admin-status", s.fixed(p, textOf("UP"))),
		under(state, "oper-status", s.upWord(p, "UP", "DOWN")),
		under(celsius("transceiver-"+p.native), "instant", s.level(p.entity, "optic_temperature_celsius")),
	}
	for _, x := range [...]struct {
		name   string
		metric telemetry.MetricName
	}{
		{"in-octets", "port_rx_bytes_total"}, {"out-octets", "port_tx_bytes_total"},
		{"in-pkts", "port_rx_packets_total"}, {"out-pkts", "port_tx_packets_total"},
		{"in-errors", "port_rx_errors_total"}, {"out-discards", "port_tx_discards_total"},
	} {
		out = append(out, under(counters, x.name, s.reading(p, x.metric)))
	}
	return out
}

// ethernet are the leaves of Ethernet's flow control, queues and neighbours.
func ethernet(s *device, p *socket) []leaf {
	out := usual(s, p)
	out = append(out,
		under(face(p, "ethernet", "state"), "port-speed", s.speedWord(p, func(bits uint64) string { return fmt.Sprintf("SPEED_%dGB", bits/1e9) })),
		under(face(p, "state", "counters"), "in-fcs-errors", s.reading(p, "port_rx_crc_errors_total")))
	for priority := range 8 {
		name := fmt.Sprint(priority)
		state := qos(p, keyed("switch-priority", "priority", name), elem{name: "state"})
		queue := qos(p, elem{name: "output"}, elem{name: "queues"}, keyed("queue", "name", name), elem{name: "state"})
		here := func(m telemetry.MetricName, read func(*socket, telemetry.MetricName) func() (value, telemetry.Time, bool)) func() (value, telemetry.Time, bool) {
			if priority == lossless {
				return read(p, m)
			}
			return s.rest(p, m)
		}
		out = append(out,
			under(state, "counters/in-pause-pkts", here("port_pfc_rx_pause_frames_total", s.reading)),
			under(state, "counters/out-pause-pkts", here("port_pfc_tx_pause_frames_total", s.reading)),
			under(state, "in-pause-duration", here("port_pfc_rx_pause_seconds_total", s.micros)),
			under(state, "out-pause-duration", here("port_pfc_tx_pause_seconds_total", s.micros)),
			under(queue, "name", s.fixed(p, textOf(name))),
			under(queue, "ecn-marked-pkts", here("port_ecn_marked_packets_total", s.reading)),
			under(queue, "instant-queue-len", here("port_queue_bytes", s.reading)),
			under(queue, "max-queue-len", here("port_queue_max_bytes", s.reading)))
	}
	return append(out, neighbours(s, p)...)
}

// rest is a count that stays at zero wherever the port has one.
func (s *device) rest(p *socket, m telemetry.MetricName) func() (value, telemetry.Time, bool) {
	return s.read(p.entity, m, func(board.Reading) value { return value{} })
}

func neighbours(s *device, p *socket) []leaf {
	n, ok := s.neighbours[p.entity]
	if !ok {
		return nil
	}
	at := append(append(el("lldp", "interfaces"), keyed("interface", "name", p.native)), elem{name: "neighbors"}, keyed("neighbor", "id", "1"))
	out := []leaf{
		under(append(at[:len(at):len(at)], elem{name: "state"}), "system-name", s.fixed(p, textOf(n.system))),
		under(append(at[:len(at):len(at)], elem{name: "state"}), "port-id", s.fixed(p, textOf(n.port))),
		under(append(at[:len(at):len(at)], elem{name: "state"}), "port-description", s.fixed(p, textOf(n.description))),
	}
	if n.bridge {
		capability := append(at[:len(at):len(at)], elem{name: "capabilities"}, keyed("capability", "name", "BRIDGE"), elem{name: "state"})
		out = append(out, under(capability, "enabled", s.fixed(p, value{kind: truth, u: 1})))
	}
	return out
}

// openconfig is a switch with a full OpenConfig tree.
func openconfig(s *device, p *socket) []leaf {
	state := face(p, "ethernet", "state")
	up := s.upWord(p, "UP", "DOWN")
	return append(ethernet(s, p),
		// It counts both ways; the port was down when the switch started.
		under(face(p, "state", "counters"), "carrier-transitions", s.read(p.entity, "port_link_downs_total", func(r board.Reading) value {
			n := 2 * r.Uint()
			if v, _, ok := up(); ok && v.s == "UP" {
				n++
			}
			return value{u: n}
		})),
		under(append(state[:len(state):len(state)], elem{name: "counters"}), "fec-uncorrectable-blocks", s.reading(p, "port_fec_uncorrectable_total")),
		under(append(state[:len(state):len(state)], elem{name: "counters"}), "in-mac-pause-frames", s.reading(p, "port_global_rx_pause_frames_total")),
		under(append(state[:len(state):len(state)], elem{name: "pre-fec-ber"}), "instant", s.level(p.entity, "port_pre_fec_ber")))
}

// cumulus is Cumulus Linux on Spectrum.
func cumulus(s *device, p *socket) []leaf {
	out := append(ethernet(s, p),
		under(face(p, "state", "counters"), "carrier-down-transitions", s.reading(p, "port_link_downs_total")),
		under(face(p, "phy", "fec", "state"), "corrected-bits", s.reading(p, "port_fec_corrected_bits_total")),
		under(face(p, "phy", "fec", "state"), "rs-fec-uncorrectable-blocks", s.reading(p, "port_fec_uncorrectable_total")),
		under(qos(p, elem{name: "input"}, keyed("headroom-buffer", "buffer-type", "primary"), keyed("priority-group", "pg-id", "3"),
			elem{name: "state"}, elem{name: "shared-buffer"}, elem{name: "data"}), "max-occupancy-since-last-sample", s.reading(p, "port_headroom_max_bytes")))
	for lane := range 8 {
		at := append(face(p, "phy", "channels"), keyed("channel", "id", fmt.Sprint(lane)), elem{name: "ber"}, elem{name: "state"})
		out = append(out, under(at, "raw-ber", s.level(p.entity, "port_pre_fec_ber")))
	}
	return out
}

// nvos is NVOS on a Quantum InfiniBand switch: numbers of bit errors are text.
func nvos(s *device, p *socket) []leaf {
	counters := face(p, "infiniband", "state", "counters", "port")
	return append(usual(s, p),
		under(face(p, "infiniband", "state"), "speed", s.speedWord(p, func(bits uint64) string { return fmt.Sprintf("%dG", bits/1e9) })),
		under(counters, "xmit-wait", s.reading(p, "port_xmit_wait_ticks_total")),
		under(counters, "link-downed", s.reading(p, "port_link_downs_total")),
		under(counters, "excessive-buffer-overrun", s.reading(p, "port_buffer_overruns_total")),
		under(face(p, "phy-diag", "state"), "plr-rcv-uncorrectable-code", s.reading(p, "port_fec_uncorrectable_total")),
		under(face(p, "phy-diag", "state"), "raw-ber", s.read(p.entity, "port_pre_fec_ber", func(r board.Reading) value {
			return textOf(strings.ToUpper(fmt.Sprintf("%g", r.Float())))
		})))
}
