package gnmi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/telemetry"
)

// sonic is community SONiC: rows of Redis databases. A wildcard's answer is one
// object of all ports, every number is text, and the time is that of asking.
type sonic struct{}

func (sonic) native(n int) string { return fmt.Sprintf("Ethernet%d", 4*n) }
func (sonic) gets() bool          { return true }
func (sonic) encodings() []gpb.Encoding {
	return []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO}
}

func (sonic) may(s *gpb.Subscription) error {
	switch i := time.Duration(s.GetSampleInterval()); {
	case s.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED:
		return status.Error(codes.InvalidArgument, "TARGET_DEFINED is not supported")
	case s.GetMode() == gpb.SubscriptionMode_SAMPLE && i > 0 && i < time.Second:
		return status.Errorf(codes.InvalidArgument, "invalid interval: %s. It cannot be less than 1s", i)
	}
	return nil
}

// line is a row of a table.
type line struct {
	key    string // "Ethernet0", "Ethernet0:3"
	port   string // that it is of; "" of none
	fields []column
}

type column struct {
	name string
	read func() (value, telemetry.Time, bool)
}

// table is rows. Those of virtual paths lie below their port.
type table struct {
	name, sub string
	virtual   bool
	rows      []line
}

// databases are the tables by the target that they are asked of.
func (s *device) databases() map[string][]table {
	s.once.Do(func() {
		s.redis = map[string][]table{
			"APPL_DB":     {{name: "PORT_TABLE"}, {name: "LLDP_ENTRY_TABLE"}},
			"STATE_DB":    {{name: "TRANSCEIVER_DOM_SENSOR"}, {name: "TEMPERATURE_INFO"}},
			"COUNTERS_DB": {},
		}
		counters := []table{{name: "COUNTERS", virtual: true}, {name: "COUNTERS", sub: "Queues", virtual: true}, {name: "COUNTERS", sub: "Pfcwd", virtual: true},
			{name: "PERIODIC_WATERMARKS", sub: "Queues", virtual: true}, {name: "PERIODIC_WATERMARKS", sub: "PriorityGroups", virtual: true},
			{name: "RATES", virtual: true}, {name: "COUNTERS_PORT_NAME_MAP"}}
		names := line{}
		for i := range s.ports {
			p := &s.ports[i]
			s.appl(p, s.redis["APPL_DB"])
			s.count(p, counters)
			s.redis["STATE_DB"][0].rows = append(s.redis["STATE_DB"][0].rows, line{p.native, p.native, []column{{"temperature", s.level(p.entity, "optic_temperature_celsius")}}})
			names.fields = append(names.fields, column{p.native, s.fixed(p, textOf(fmt.Sprintf("oid:0x1%012x", i+2)))})
		}
		counters[len(counters)-1].rows = []line{names}
		s.redis["COUNTERS_DB"] = counters
		s.redis["STATE_DB"][1].rows = []line{{"Inlet", "", []column{{"temperature", s.level(s.entity, "inlet_celsius")},
			{"high_threshold", constant(textOf("75.0"))}, {"warning_status", constant(textOf("False"))}}}}
	})
	return s.redis
}

// appl adds a port's rows of the application database.
func (s *device) appl(p *socket, t []table) {
	t[0].rows = append(t[0].rows, line{p.native, p.native, []column{
		{"admin_status", s.fixed(p, textOf("up"))},
		{"alias", s.fixed(p, textOf(p.site))},
		{"description", s.fixed(p, textOf("port "+p.site+" of "+s.entity.Name))},
		{"mtu", s.fixed(p, textOf("9100"))},
		{"oper_status", s.upWord(p, "up", "down")},
		{"speed", s.speedWord(p, func(bits uint64) string { return strconv.FormatUint(bits/1e6, 10) })},
	}})
	if n, ok := s.neighbours[p.entity]; ok {
		capability := "01 00"
		if n.bridge {
			capability = "28 00"
		}
		t[1].rows = append(t[1].rows, line{p.native, p.native, []column{
			{"lldp_rem_port_desc", s.fixed(p, textOf(n.description))},
			{"lldp_rem_port_id", s.fixed(p, textOf(n.port))},
			{"lldp_rem_sys_cap_enabled", s.fixed(p, textOf(capability))},
			{"lldp_rem_sys_name", s.fixed(p, textOf(n.system))},
		}})
	}
}

// count adds a port's rows of the counters.
func (s *device) count(p *socket, t []table) {
	port := line{p.native, p.native, []column{
		{"SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", s.reading(p, "port_rx_crc_errors_total")},
		{"SAI_PORT_STAT_IF_IN_ERRORS", s.reading(p, "port_rx_errors_total")},
		{"SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS", s.reading(p, "port_fec_corrected_bits_total")},
		{"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", s.reading(p, "port_fec_uncorrectable_total")},
		{"SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", s.rest(p, "port_rx_packets_total")},
		{"SAI_PORT_STAT_IF_IN_OCTETS", s.reading(p, "port_rx_bytes_total")},
		{"SAI_PORT_STAT_IF_IN_UCAST_PKTS", s.reading(p, "port_rx_packets_total")},
		{"SAI_PORT_STAT_IF_OUT_DISCARDS", s.reading(p, "port_tx_discards_total")},
		{"SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", s.rest(p, "port_tx_packets_total")},
		{"SAI_PORT_STAT_IF_OUT_OCTETS", s.reading(p, "port_tx_bytes_total")},
		{"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", s.reading(p, "port_tx_packets_total")},
		{"SAI_PORT_STAT_PAUSE_RX_PKTS", s.reading(p, "port_global_rx_pause_frames_total")},
	}}
	for n := range 8 {
		at := func(m telemetry.MetricName, read func(*socket, telemetry.MetricName) func() (value, telemetry.Time, bool)) func() (value, telemetry.Time, bool) {
			if n == lossless {
				return read(p, m)
			}
			return s.rest(p, m)
		}
		name := fmt.Sprintf("SAI_PORT_STAT_PFC_%d_", n)
		port.fields = append(port.fields,
			column{name + "RX_PAUSE_DURATION_US", at("port_pfc_rx_pause_seconds_total", s.micros)},
			column{name + "RX_PKTS", at("port_pfc_rx_pause_frames_total", s.reading)},
			column{name + "TX_PAUSE_DURATION_US", at("port_pfc_tx_pause_seconds_total", s.micros)},
			column{name + "TX_PKTS", at("port_pfc_tx_pause_frames_total", s.reading)})
		key := fmt.Sprintf("%s:%d", p.native, n)
		t[1].rows = append(t[1].rows, line{key, p.native, []column{
			{"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", at("port_queue_bytes", s.reading)},
			{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", at("port_ecn_marked_packets_total", s.reading)}}})
		t[3].rows = append(t[3].rows, line{key, p.native, []column{{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", at("port_queue_max_bytes", s.reading)}}})
		t[4].rows = append(t[4].rows, line{key, p.native, []column{
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", at("port_headroom_max_bytes", s.reading)}}})
	}
	t[0].rows = append(t[0].rows, port)
	key := fmt.Sprintf("%s:%d", p.native, lossless)
	t[2].rows = append(t[2].rows, line{key, p.native, []column{
		{"PFC_WD_ACTION", s.fixed(p, textOf("drop"))},
		{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", s.reading(p, "port_pfc_watchdog_storms_total")},
		{"PFC_WD_STATUS", s.fixed(p, textOf("operational"))}}})
	t[5].rows = append(t[5].rows, line{p.native, p.native, []column{{"FEC_PRE_BER", s.level(p.entity, "port_pre_fec_ber")}}})
}

// leaves answers a path of a database.
func (sonic) leaves(s *device, prefix, path *gpb.Path) ([]leaf, error) {
	target := prefix.GetTarget()
	if target == "" {
		return nil, status.Error(codes.Unimplemented, "Empty target data not supported")
	}
	tables, ok := s.databases()[target]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "unknown target %q", target)
	}
	var names []string
	for _, e := range append(append([]*gpb.PathElem(nil), prefix.GetElem()...), path.GetElem()...) {
		names = append(names, e.GetName())
	}
	if len(names) == 0 {
		return nil, status.Error(codes.InvalidArgument, "no path")
	}
	var out []leaf
	for i := range tables {
		if t := &tables[i]; t.name == names[0] {
			out = append(out, t.answer(names)...)
		}
	}
	if len(out) == 0 {
		return nil, status.Errorf(codes.NotFound, "%s has no %s", target, strings.Join(names, "/"))
	}
	return out, nil
}

// answer is what a path of the table leads to.
func (t *table) answer(names []string) (out []leaf) {
	at := el(names...)
	switch {
	case !t.virtual && len(names) == 1 && len(t.rows) == 1 && t.rows[0].key == "":
		return []leaf{{path: at, read: t.rows[0].object("")}}
	case !t.virtual && len(names) == 1:
		for i := range t.rows {
			out = append(out, leaf{path: el(t.name, t.rows[i].key), read: t.rows[i].object("")})
		}
		return out
	case !t.virtual:
		for i := range t.rows {
			if t.rows[i].key == names[1] {
				out = append(out, leaf{path: at, read: t.rows[i].object("")})
			}
		}
		return out
	case len(names) == 1:
		return nil
	}
	field := ""
	if len(names) > 2 {
		if t.sub == "" {
			field = names[2]
		} else if names[2] != t.sub {
			return nil
		}
	} else if t.sub != "" {
		return nil
	}
	var rows []line
	for _, r := range t.rows {
		if names[1] == "Ethernet*" || r.port == names[1] {
			rows = append(rows, r)
		}
	}
	switch {
	case len(rows) == 0:
		return nil
	case names[1] != "Ethernet*" && t.sub == "" && field != "":
		return rows[0].field(at, field)
	case names[1] != "Ethernet*" && t.sub == "":
		return []leaf{{path: at, read: rows[0].object("")}}
	}
	return []leaf{{path: at, read: objects(rows, field)}}
}

// field is one field of a row, as text.
func (r *line) field(at []elem, name string) []leaf {
	for _, c := range r.fields {
		if c.name == name {
			return []leaf{{path: at, read: func() (value, telemetry.Time, bool) {
				v, _, ok := c.read()
				return textOf(v.plain()), 0, ok
			}}}
		}
	}
	return nil
}

// plain writes a number as Redis keeps it.
func (v value) plain() string {
	switch v.kind {
	case whole:
		return strconv.FormatUint(v.u, 10)
	case real:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	}
	return v.s
}

// object reads a row as JSON: all of it, or one field.
func (r *line) object(field string) func() (value, telemetry.Time, bool) {
	return func() (value, telemetry.Time, bool) {
		b := r.append(nil, field)
		return value{kind: document, s: string(b)}, 0, len(b) > 2
	}
}

func (r *line) append(b []byte, field string) []byte {
	b = append(b, '{')
	for _, c := range r.fields {
		if field != "" && c.name != field {
			continue
		}
		v, _, ok := c.read()
		if !ok {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, c.name), ':')
		b = strconv.AppendQuote(b, v.plain())
	}
	return append(b, '}')
}

// objects reads rows as one object by their keys.
func objects(rows []line, field string) func() (value, telemetry.Time, bool) {
	return func() (value, telemetry.Time, bool) {
		b := []byte{'{'}
		for i := range rows {
			row := rows[i].append(nil, field)
			if len(row) == 2 {
				continue
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(strconv.AppendQuote(b, rows[i].key), ':'), row...)
		}
		b = append(b, '}')
		return value{kind: document, s: string(b)}, 0, len(b) > 2
	}
}
