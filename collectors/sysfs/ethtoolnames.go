package sysfs

import (
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// statistics are the names of ethtool -S that are known: the driver's family,
// the name ([p] a priority, [l] a lane), the metric, how the number is to be
// read, and what else is to be known of it:
//
//	us       microseconds of a counter in seconds
//	percent  of a ratio
//	wide     better than the narrow counter of performance management
//	added    the lanes' sum
//	worst    the larger of reads and writes
//	mine     means this only where the driver is known to be this one
//
// The names of bnxt_en and ice are from their documentation; no recording of
// them was available.
const statistics = `
mlx5  rx_bytes_phy                    port_rx_bytes_total
mlx5  tx_bytes_phy                    port_tx_bytes_total
mlx5  rx_packets_phy                  port_rx_packets_total
mlx5  tx_packets_phy                  port_tx_packets_total
mlx5  rx_prio[p]_bytes                port_rx_bytes_total
mlx5  tx_prio[p]_bytes                port_tx_bytes_total
mlx5  rx_prio[p]_packets              port_rx_packets_total
mlx5  tx_prio[p]_packets              port_tx_packets_total
mlx5  rx_prio[p]_pause                port_pfc_rx_pause_frames_total
mlx5  tx_prio[p]_pause                port_pfc_tx_pause_frames_total
mlx5  rx_prio[p]_pause_duration       port_pfc_rx_pause_seconds_total        us
mlx5  tx_prio[p]_pause_duration       port_pfc_tx_pause_seconds_total        us
mlx5  rx_prio[p]_pause_transition     port_pfc_rx_pause_transitions_total
mlx5  rx_prio[p]_discards             port_rx_discards_total
mlx5  rx_prio[p]_buf_discard          port_rx_buffer_discards_total
mlx5  rx_prio[p]_cong_discard         port_rx_congestion_discards_total
mlx5  rx_prio[p]_marked               port_ecn_marked_packets_total
mlx5  rx_global_pause                 port_global_rx_pause_frames_total
mlx5  tx_global_pause                 port_global_tx_pause_frames_total
mlx5  rx_global_pause_duration        port_global_rx_pause_seconds_total     us
mlx5  tx_global_pause_duration        port_global_tx_pause_seconds_total     us
mlx5  rx_global_pause_transition      port_global_rx_pause_transitions_total
mlx5  rx_discards_phy                 port_rx_discards_total                 wide
mlx5  tx_discards_phy                 port_tx_discards_total                 wide
mlx5  rx_out_of_buffer                port_rx_ring_out_of_buffer_total
mlx5  rx_buffer_passed_thres_phy      port_rx_buffer_threshold_total
mlx5  tx_pause_storm_warning_events   port_pause_storm_warnings_total
mlx5  tx_pause_storm_error_events     port_pause_storm_errors_total
mlx5  outbound_pci_stalled_rd         nic_pcie_stalled_ratio                 percent worst
mlx5  outbound_pci_stalled_wr         nic_pcie_stalled_ratio                 percent worst
mlx5  outbound_pci_stalled_rd_events  nic_pcie_read_stall_seconds_total
mlx5  outbound_pci_stalled_wr_events  nic_pcie_write_stall_seconds_total
mlx5  outbound_pci_buffer_overflow    nic_pcie_overflow_packets_total
mlx5  rx_pci_signal_integrity         nic_pcie_rx_integrity_errors_total
mlx5  tx_pci_signal_integrity         nic_pcie_tx_integrity_errors_total
mlx5  rx_bits_phy                     port_rx_bits_total
mlx5  rx_pcs_symbol_err_phy           port_pcs_symbol_errors_total
mlx5  rx_corrected_bits_phy           port_fec_corrected_bits_total
mlx5  rx_err_lane_[l]_phy             port_lane_errors_total                 added
mlx5  rx_crc_errors_phy               port_rx_crc_errors_total
mlx5  link_down_events_phy            port_link_downs_total                  wide
mlx5  module_unplug                   port_module_unplugs_total
mlx5  module_bus_stuck                port_module_bus_stuck_total
mlx5  module_high_temp                port_module_overheats_total
mlx5  module_bad_shorted              port_module_shorts_total
mlx5  rx_vport_rdma_unicast_packets   rdma_vport_rx_unicast_packets_total
mlx5  tx_vport_rdma_unicast_packets   rdma_vport_tx_unicast_packets_total
mlx5  rx_vport_rdma_unicast_bytes     rdma_vport_rx_unicast_bytes_total
mlx5  tx_vport_rdma_unicast_bytes     rdma_vport_tx_unicast_bytes_total
mlx5  rx_vport_rdma_multicast_packets rdma_vport_rx_multicast_packets_total
mlx5  tx_vport_rdma_multicast_packets rdma_vport_tx_multicast_packets_total
mlx5  rx_vport_rdma_multicast_bytes   rdma_vport_rx_multicast_bytes_total
mlx5  tx_vport_rdma_multicast_bytes   rdma_vport_tx_multicast_bytes_total
bnxt  rx_bytes                        port_rx_bytes_total                    mine
bnxt  tx_bytes                        port_tx_bytes_total                    mine
bnxt  rx_bytes_pri[p]                 port_rx_bytes_total
bnxt  tx_bytes_pri[p]                 port_tx_bytes_total
bnxt  rx_packets_pri[p]               port_rx_packets_total
bnxt  tx_packets_pri[p]               port_tx_packets_total
bnxt  rx_pfc_ena_frames_pri[p]        port_pfc_rx_pause_frames_total
bnxt  tx_pfc_ena_frames_pri[p]        port_pfc_tx_pause_frames_total
bnxt  pfc_pri[p]_rx_duration_us       port_pfc_rx_pause_seconds_total        us
bnxt  pfc_pri[p]_tx_duration_us       port_pfc_tx_pause_seconds_total        us
bnxt  pfc_pri[p]_rx_transitions       port_pfc_rx_pause_transitions_total
bnxt  pfc_pri[p]_tx_transitions       port_pfc_tx_pause_transitions_total
bnxt  rx_pause_frames                 port_global_rx_pause_frames_total      mine
bnxt  tx_pause_frames                 port_global_tx_pause_frames_total      mine
bnxt  rx_stat_discard                 port_rx_discards_total                 wide
bnxt  tx_stat_discard                 port_tx_discards_total                 wide
bnxt  rx_fcs_err_frames               port_rx_crc_errors_total
bnxt  rx_bits                         port_rx_bits_total
bnxt  rx_buffer_passed_threshold      port_rx_buffer_threshold_total
bnxt  rx_pcs_symbol_err               port_pcs_symbol_errors_total
bnxt  rx_corrected_bits               port_fec_corrected_bits_total
bnxt  rx_fec_uncorrectable_blocks     port_fec_uncorrectable_total
bnxt  link_down_events                port_link_downs_total                  wide
ice   rx_bytes.nic                    port_rx_bytes_total
ice   tx_bytes.nic                    port_tx_bytes_total
ice   rx_unicast.nic                  port_rx_unicast_packets_total
ice   tx_unicast.nic                  port_tx_unicast_packets_total
ice   rx_multicast.nic                port_rx_multicast_packets_total
ice   tx_multicast.nic                port_tx_multicast_packets_total
ice   rx_broadcast.nic                port_rx_broadcast_packets_total
ice   tx_broadcast.nic                port_tx_broadcast_packets_total
ice   rx_priority_[p]_xoff.nic        port_pfc_rx_pause_frames_total
ice   tx_priority_[p]_xoff.nic        port_pfc_tx_pause_frames_total
ice   link_xoff_rx.nic                port_global_rx_pause_frames_total
ice   link_xoff_tx.nic                port_global_tx_pause_frames_total
ice   rx_crc_errors.nic               port_rx_crc_errors_total
ice   rx_dropped.nic                  port_rx_discards_total                 wide
ionic octets_rx_all                   port_rx_bytes_total
ionic octets_tx_total                 port_tx_bytes_total
ionic frames_rx_all                   port_rx_packets_total
ionic frames_tx_all                   port_tx_packets_total
ionic frames_rx_all                   ionic_rx_all_frames_total
ionic frames_tx_all                   ionic_tx_all_frames_total
ionic frames_rx_ok                    ionic_rx_good_frames_total
ionic frames_tx_ok                    ionic_tx_good_frames_total
ionic frames_rx_bad_all               ionic_rx_bad_frames_total
ionic frames_tx_bad                   ionic_tx_bad_frames_total
ionic frames_rx_bad_fcs               port_rx_crc_errors_total
ionic frames_rx_dropped               port_rx_discards_total                 wide
ionic frames_rx_dropped               ionic_rx_dropped_frames_total
ionic frames_tx_dropped               port_tx_discards_total                 wide
ionic frames_tx_dropped               ionic_tx_dropped_frames_total
ionic frames_rx_unicast               port_rx_unicast_packets_total
ionic frames_tx_unicast               port_tx_unicast_packets_total
ionic frames_rx_multicast             port_rx_multicast_packets_total
ionic frames_tx_multicast             port_tx_multicast_packets_total
ionic frames_rx_broadcast             port_rx_broadcast_packets_total
ionic frames_tx_broadcast             port_tx_broadcast_packets_total
ionic frames_rx_pause                 port_global_rx_pause_frames_total
ionic frames_tx_pause                 port_global_tx_pause_frames_total
ionic frames_rx_pause                 ionic_rx_pause_frames_total
ionic frames_tx_pause                 ionic_tx_pause_frames_total
ionic frames_rx_pripause              ionic_rx_priority_pause_frames_total
ionic frames_tx_pripause              ionic_tx_priority_pause_frames_total
ionic frames_rx_pri_[p]               port_rx_packets_total
ionic frames_tx_pri_[p]               port_tx_packets_total
ionic rx_pripause_[p]_1us_count       port_pfc_rx_pause_seconds_total        us
ionic tx_pripause_[p]_1us_count       port_pfc_tx_pause_seconds_total        us
ionic rx_pause_1us_count              port_global_rx_pause_seconds_total     us
ionic rsfec_correctable_word          ionic_fec_correctable_words_total
ionic rsfec_uncorrectable_word        port_fec_uncorrectable_total
ionic rsfec_ch_symbol_err_cnt         ionic_fec_symbol_errors_total
`

// pattern is one line of statistics.
type pattern struct {
	family         string
	before, after  string // of the number, if there is one
	numbered, prio bool
	mine           bool
	means          meaning
}

func patterns() (out []pattern) {
	for line := range strings.Lines(statistics) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		p := pattern{family: f[0], before: f[1], means: meaning{metric: telemetry.MetricName(f[2]), scale: 1, rank: rankOptional}}
		for _, mark := range []string{"[p]", "[l]"} {
			if before, after, ok := strings.Cut(f[1], mark); ok {
				p.before, p.after, p.numbered, p.prio = before, after, true, mark == "[p]"
			}
		}
		for _, word := range f[3:] {
			p.apply(word)
		}
		out = append(out, p)
	}
	return out
}

func (p *pattern) apply(word string) {
	switch word {
	case "us":
		p.means.exp = 6
	case "percent":
		p.means.exp = 2
	case "wide":
		p.means.rank = rankWide
	case "added":
		p.means.join = added
	case "worst":
		p.means.join = worst
	case "mine":
		p.mine = true
	}
}

// priorities are those of 802.1Q.
const priorities = 8

// whole marks a statistic of no single priority.
const whole = -1

// match reports whether a name is this one, and of which priority.
func (p *pattern) match(name string) (priority int, ok bool) {
	if !p.numbered {
		return whole, name == p.before
	}
	rest, ok := strings.CutPrefix(name, p.before)
	if !ok {
		return whole, false
	}
	digits, ok := strings.CutSuffix(rest, p.after)
	if !ok {
		return whole, false
	}
	n, why := count([]byte(digits))
	switch {
	case why != good || len(digits) > 2:
		return whole, false
	case p.prio:
		return int(n), n < priorities
	}
	return whole, true
}

// statistic is the meaning of a driver statistic, and its priority.
type statistic struct {
	means    meaning
	priority int
}

// statistic returns what a name of ethtool's means: nothing for most of the
// hundreds that a driver has.
func (v *vocabulary) statistic(driver, name string) (out []statistic) {
	family := families(driver)
	for i := range v.strings {
		p := &v.strings[i]
		if family != p.family && (family != "" || p.mine) {
			continue
		}
		if priority, ok := p.match(name); ok {
			out = append(out, statistic{p.means, priority})
		}
	}
	return out
}

// families returns the family of names that a driver's statistics have, "" if
// its names are not known: then any is taken that no two drivers mean
// differently.
func families(driver string) string {
	switch driver {
	case "mlx5_core", "mlx5_core.sf", "mlx5":
		return "mlx5"
	case "bnxt_en", "bnxt_re":
		return "bnxt"
	case "ice", "irdma":
		return "ice"
	case "ionic":
		return "ionic"
	}
	return ""
}

// perRing reports whether a name is one of those that a driver has for each of
// its queues, of which there are as many as processors.
func perRing(name string) bool {
	for _, before := range []string{"rx_queue_", "tx_queue_", "queue_", "rx_", "tx_", "rx-", "tx-", "rx", "tx", "ch", "[", "ptp_ch"} {
		if rest, ok := strings.CutPrefix(name, before); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return false
}
