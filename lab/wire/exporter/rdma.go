package exporter

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// portFamily is a name of node_exporter's infiniband collector.
type portFamily struct {
	metric telemetry.MetricName
	name   string
	is     string
	of     func(board.Reading) float64
}

// portFamilies are those that the site's NICs have. State 4 is ACTIVE, 1 DOWN.
func portFamilies() []portFamily {
	same := func(r board.Reading) float64 { return r.Float() }
	state := func(r board.Reading) float64 { return 1 + 3*r.Float() }
	bytes := func(r board.Reading) float64 { return r.Float() / 8 }
	out := []portFamily{{"port_up", "state_id", "gauge", state}, {"port_speed_bits_per_second", "rate_bytes_per_second", "gauge", bytes}}
	for _, c := range [][2]string{
		{"rdma_tx_bytes_total", "port_data_transmitted_bytes_total"}, {"rdma_rx_bytes_total", "port_data_received_bytes_total"},
		{"port_link_downs_total", "link_downed_total"}, {"port_rx_errors_total", "port_errors_received_total"},
		{"port_tx_discards_total", "port_discards_transmitted_total"}, {"port_symbol_errors_total", "symbol_error_total"},
		{"port_xmit_wait_ticks_total", "port_transmit_wait_total"},
		{"roce_cnp_sent_total", "np_cnp_packets_sent_total"}, {"roce_cnp_handled_total", "rp_cnp_packets_handled_total"},
		{"roce_cnp_ignored_total", "rp_cnp_ignored_packets_received_total"}, {"roce_ecn_marked_packets_total", "np_ecn_marked_roce_packets_received_total"},
		{"roce_out_of_sequence_total", "out_of_sequence_packets_received_total"}, {"roce_packet_seq_errors_total", "packet_sequence_errors_total"},
		{"roce_ack_timeouts_total", "local_ack_timeout_errors_total"},
	} {
		out = append(out, portFamily{telemetry.MetricName(c[0]), c[1], "counter", same})
	}
	return out
}

// node is node_exporter's page of a node: its RDMA ports.
func (f *Fleet) node(p *page, node telemetry.Entity) {
	nics := f.inside(node, telemetry.NIC)
	for _, c := range portFamilies() {
		name, described := "node_infiniband_"+c.name, false
		for _, x := range nics {
			r, ok := f.board.Read(x, c.metric)
			if !ok || r.Gap {
				continue
			}
			if !described {
				p.family(name, c.is, "Read from sysfs.")
				described = true
			}
			p.line(name, fmt.Sprintf(`device=%q,port="1"`, last(x)), shortest(c.of(r)))
		}
	}
}

// links is NMX-T's page of a site: the state of every NVLink. Its samples carry
// their times.
func (f *Fleet) links(p *page, site telemetry.Entity) {
	if _, ok := f.board.Outside(site); ok || len(f.board.Inside(site)) == 0 {
		return
	}
	p.family("nvlink_port_state", "gauge", "Logical state of the port.")
	for _, node := range f.board.Entities(telemetry.Node) {
		for _, gpu := range f.inside(node, telemetry.GPU) {
			for _, x := range f.inside(gpu, telemetry.NVLink) {
				r, ok := f.board.Read(x, "nvlink_up")
				if !ok || r.Gap {
					continue
				}
				p.line("nvlink_port_state", fmt.Sprintf(`hostname=%q,gpu_id="%d",port_num="%d"`, node.Name, number(gpu), number(x)),
					fmt.Sprintf("%d %d", 1+3*r.Uint(), r.At/1e6))
			}
		}
	}
}
