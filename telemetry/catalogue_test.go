package telemetry

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contractNames are the metrics that other programs rely on: none may be removed.
const contractNames = `port_tx_bytes_total port_rx_bytes_total rdma_tx_bytes_total rdma_rx_bytes_total
port_tx_packets_total port_rx_packets_total port_tx_discards_total port_rx_discards_total
port_pfc_tx_pause_frames_total port_pfc_rx_pause_frames_total port_pfc_tx_pause_seconds_total port_pfc_rx_pause_seconds_total
port_ecn_marked_packets_total port_queue_bytes port_queue_max_bytes port_headroom_max_bytes port_pfc_watchdog_storms_total
port_xmit_wait_ticks_total port_xmit_wait_seconds_total port_up port_speed_bits_per_second port_link_downs_total
port_symbol_errors_total port_rx_errors_total port_fec_uncorrectable_total port_pre_fec_ber
roce_cnp_sent_total roce_cnp_handled_total roce_cnp_ignored_total roce_ecn_marked_packets_total roce_out_of_sequence_total
roce_packet_seq_errors_total roce_ack_timeouts_total nic_pcie_stalled_ratio pcie_link_width pcie_link_speed_transfers_per_second
gpu_engine_active_ratio gpu_sm_active_ratio gpu_tensor_active_ratio gpu_dram_active_ratio gpu_sm_clock_hertz
gpu_temperature_celsius gpu_memory_temperature_celsius gpu_power_watts gpu_energy_joules_total gpu_power_limit_watts
gpu_clock_event_reasons gpu_throttle_power_seconds_total gpu_throttle_thermal_seconds_total gpu_throttle_brake_seconds_total
nvlink_tx_bytes_total nvlink_rx_bytes_total nvlink_replay_errors_total nvlink_up
node_power_watts rack_power_watts rack_power_limit_watts feed_up psu_up battery_charge_ratio coolant_flow_liters_per_minute
coolant_supply_celsius coolant_return_celsius coolant_pressure_pascals inlet_celsius fan_speed_ratio leak_detected optic_temperature_celsius
job_step_seconds job_mfu_ratio job_tokens_per_second job_data_wait_seconds job_checkpoint_seconds
rank_compute_seconds rank_comm_wait_seconds rank_comm_transfer_seconds
job_ttft_seconds_p50 job_ttft_seconds_p99 job_itl_seconds_p50 job_itl_seconds_p99 job_queue_requests job_kv_cache_ratio`

// The files of the kernel's drivers and the strings of ethtool, a priority or
// lane written [p] or [l].
const kernelNames = `symbol_error link_error_recovery link_downed port_rcv_errors port_rcv_remote_physical_errors
port_rcv_switch_relay_errors port_xmit_discards port_xmit_constraint_errors port_rcv_constraint_errors
local_link_integrity_errors excessive_buffer_overrun_errors VL15_dropped port_xmit_data port_rcv_data port_xmit_packets
port_rcv_packets unicast_xmit_packets unicast_rcv_packets multicast_xmit_packets multicast_rcv_packets port_xmit_wait port_rcv_discards
np_ecn_marked_roce_packets np_cnp_sent rp_cnp_handled rp_cnp_ignored out_of_sequence packet_seq_err local_ack_timeout_err
rnr_nak_retry_err implied_nak_seq_err duplicate_request out_of_buffer rx_icrc_encapsulated roce_adp_retrans roce_adp_retrans_to
roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans rx_write_requests rx_read_requests rx_atomic_requests rx_dct_connect
resp_local_length_error resp_cqe_error resp_cqe_flush_error resp_remote_access_errors req_cqe_error req_cqe_flush_error
req_remote_invalid_request req_remote_access_errors req_transport_retries_exceeded req_rnr_retries_exceeded lifespan
cc_rx_ce_pkts cc_rx_cnp_pkts cc_tx_cnp_pkts rdma_tx_packets rdma_rx_packets rdma_tx_bytes rdma_rx_bytes
rx_prio[p]_pause rx_prio[p]_pause_duration rx_prio[p]_pause_transition tx_prio[p]_pause tx_prio[p]_pause_duration
rx_prio[p]_discards rx_prio[p]_buf_discard rx_prio[p]_cong_discard rx_prio[p]_marked rx_prio[p]_bytes tx_prio[p]_bytes
rx_prio[p]_packets tx_prio[p]_packets rx_global_pause tx_global_pause rx_global_pause_duration tx_global_pause_duration
rx_global_pause_transition rx_discards_phy tx_discards_phy rx_out_of_buffer rx_buffer_passed_thres_phy
tx_pause_storm_warning_events tx_pause_storm_error_events outbound_pci_stalled_rd outbound_pci_stalled_wr
outbound_pci_stalled_rd_events outbound_pci_stalled_wr_events outbound_pci_buffer_overflow rx_pci_signal_integrity
tx_pci_signal_integrity rx_bits_phy rx_pcs_symbol_err_phy rx_corrected_bits_phy rx_err_lane_[l]_phy link_down_events_phy
module_unplug module_bus_stuck module_high_temp module_bad_shorted rx_vport_rdma_unicast_packets tx_vport_rdma_unicast_packets
rx_vport_rdma_unicast_bytes tx_vport_rdma_unicast_bytes rx_vport_rdma_multicast_packets tx_vport_rdma_multicast_packets
rx_vport_rdma_multicast_bytes tx_vport_rdma_multicast_bytes
active_pds active_ahs active_qps active_srqs active_cqs active_mrs active_mws rx_pkts rx_bytes tx_pkts tx_bytes recoverable_errors
rx_roce_errors rx_roce_discards to_retransmits seq_err_naks_rcvd max_retry_exceeded rnr_naks_rcvd missing_resp unrecoverable_err
bad_resp_err local_qp_op_err local_protection_err mem_mgmt_op_err remote_invalid_req_err remote_access_err remote_op_err dup_req
res_exceed_max res_length_mismatch res_exceeds_wqe res_opcode_err res_rx_invalid_rkey res_rx_domain_err res_rx_no_perm
res_rx_range_err res_tx_invalid_rkey res_tx_domain_err res_tx_no_perm res_tx_range_err res_irrq_oflow res_unsup_opcode
res_unaligned_atomic res_rem_inv_err res_mem_err res_srq_err res_cmp_err res_invalid_dup_rkey res_wqe_format_err res_cq_load_err
res_srq_load_err res_tx_pci_err res_rx_pci_err oos_drop_count tx_atomic_req tx_read_req tx_read_resp tx_write_req tx_send_req
rx_atomic_req rx_read_req rx_read_resp rx_write_req rx_send_req rx_roce_good_pkts rx_roce_good_bytes tx_roce_only_pkts
tx_roce_only_bytes rx_roce_only_pkts rx_roce_only_bytes tx_cnp_pkts rx_cnp_pkts rx_ecn_marked_pkts pacing_reschedule
pacing_complete pacing_alerts db_fifo_register
ip4InDiscards ip4InTruncatedPkts ip4OutNoRoutes ip6InDiscards ip6InTruncatedPkts ip6OutNoRoutes tcpRetransSegs tcpInOptErrors
tcpInProtoErrors rxVlanErrors cnpHandled cnpIgnored cnpSent ip4InOctets ip4InPkts ip4InReasmRqd ip4InMcastPkts ip4OutOctets
ip4OutPkts ip4OutSegRqd ip4OutMcastPkts ip6InOctets ip6InPkts ip6InReasmRqd ip6InMcastPkts ip6OutOctets ip6OutPkts ip6OutSegRqd
ip6OutMcastPkts tcpInSegs tcpOutSegs InRdmaReads InRdmaSends InRdmaWrites OutRdmaReads OutRdmaSends OutRdmaWrites RdmaBnd RdmaInv
RxUDP TxUDP RxECNMrkd
aeqe ceqe cmds cmds_err posted_mbx polled_mbx mbx_event qp_create_err qp_modify_err cq_create_err srq_create_err xrcd_alloc_err
mr_reg_err mr_rereg_err ah_create_err mmap_err uctx_alloc_err rx_rc_pkt rx_uc_pkt rx_ud_pkt rx_xrc_pkt rx_pkt rx_err_pkt rx_cnp_pkt
tx_rc_pkt tx_uc_pkt tx_ud_pkt tx_xrc_pkt tx_pkt tx_err_pkt tx_cnp_pkt cq_cqe cq_poe cq_notify
rx_drops send_bytes send_wrs recv_bytes recv_wrs rdma_read_wrs rdma_read_bytes rdma_read_wr_err rdma_read_resp_bytes rdma_write_wrs
rdma_write_bytes rdma_write_wr_err rdma_write_recv_bytes submitted_cmds completed_cmds no_completion_cmds keep_alive_rcvd
alloc_pd_err create_qp_err create_cq_err reg_mr_err create_ah_err retrans_bytes retrans_pkts retrans_timeout_events
unresponsive_remote_events impaired_remote_conn_events
requester_timeout requester_oos_nak requester_rnr_nak responder_rnr_nak responder_oos responder_dup_request requester_implicit_nak
requester_readresp_psn_mismatch nak_inv_req nak_access_error nak_opp_error nak_inv_read responder_local_len_error
requestor_local_prot_error responder_rem_access_error responder_local_qp_error responder_malformed_wqe general_hw_error
requester_rnr_nak_retries_exceeded requester_retries_exceeded total_fatal_error received_cnps num_qps_congested rate_inc_events
num_qps_recovered current_rate dup_rx_requests tx_packets rx_packets rx_send_requests sent_cnps received_ecns received_cnp_count
qp_congested_events qp_recovered_events`

func TestDefaultCatalogueHasEveryName(t *testing.T) {
	c := DefaultCatalogue()
	for _, name := range strings.Fields(contractNames) {
		if _, ok := c.Lookup(MetricName(name)); !ok {
			t.Errorf("%s: other programs rely on it, the catalogue does not declare it", name)
		}
	}
	if _, ok := c.Lookup("no_such_metric"); ok {
		t.Error("an undeclared metric is declared")
	}
}

// Every counter file of the drivers is the origin of some metric.
func TestDefaultCatalogueHasEveryHostCounter(t *testing.T) {
	origins := map[string]bool{}
	for _, m := range DefaultCatalogue().Metrics() {
		for _, word := range regexp.MustCompile(`[\w\[\]]+`).FindAllString(m.Origin, -1) {
			origins[word] = true
		}
	}
	for _, file := range strings.Fields(kernelNames) {
		if !origins[file] {
			t.Errorf("%s: no metric has this origin", file)
		}
	}
}

func TestDefaultCatalogueIsConsistent(t *testing.T) {
	ms := DefaultCatalogue().Metrics()
	if !slices.IsSortedFunc(ms, func(a, b Metric) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
		t.Error("metrics are not sorted by name")
	}
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*[a-z0-9]$`)
	for _, m := range ms {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if !form.MatchString(string(m.Name)) {
			t.Errorf("%s: not a Prometheus name in our manner", m.Name)
		}
		if m.Help == "" || !strings.HasSuffix(m.Help, ".") || m.Origin == "" {
			t.Errorf("%s: help %q, origin %q", m.Name, m.Help, m.Origin)
		}
		if m.Overflow == Sticks && (m.Width == 0 || m.Width > 32 || !slices.Contains(m.Detectors, ShapeStuck)) {
			t.Errorf("%s: sticks at %d bits, detectors %v", m.Name, m.Width, m.Detectors)
		}
		if m.Type == Counter && slices.Contains(m.Detectors, ShapeLevel) {
			t.Errorf("%s: a counter has no level", m.Name)
		}
		if m.Type != Counter && slices.Contains(m.Detectors, ShapeBurst) {
			t.Errorf("%s: a burst is one of a counter's rate", m.Name)
		}
	}
}

func TestDefaultCatalogueSaysWhatSourcesSay(t *testing.T) {
	c := DefaultCatalogue()
	for _, want := range []Metric{
		{Name: "port_xmit_wait_ticks_total", Width: 32, Overflow: Sticks, Evidence: true},
		{Name: "port_link_downs_total", Width: 8, Overflow: Sticks, Evidence: true},
		{Name: "port_buffer_overruns_total", Width: 4, Overflow: Sticks, Evidence: true},
		{Name: "roce_out_of_sequence_total", Width: 32, Overflow: Wraps, Evidence: true},
		{Name: "roce_cnp_sent_total", Width: 64, Overflow: Wraps, Evidence: true},
		{Name: "port_queue_bytes", Evidence: true},
		{Name: "job_step_seconds", PerStep: true},
		{Name: "rank_compute_seconds", PerStep: true},
		{Name: "job_ttft_seconds_p99", Evidence: true},
	} {
		m, _ := c.Lookup(want.Name)
		if m == nil || m.Width != want.Width || m.Overflow != want.Overflow || m.Evidence != want.Evidence || m.PerStep != want.PerStep {
			t.Errorf("%s: %+v", want.Name, m)
		}
	}
}

func TestEvidenceIsDeclaredOnceAndKeptByGrid(t *testing.T) {
	c := DefaultCatalogue()
	read := evidence()
	for i, name := range read {
		if m, ok := c.Lookup(name); !ok || m.PerStep || !m.Evidence {
			t.Errorf("%s is read as evidence, but is declared as %+v", name, m)
		}
		if slices.Contains(read[:i], name) {
			t.Errorf("%s twice", name)
		}
	}
}

func TestNewCatalogueRefuses(t *testing.T) {
	good := Metric{Name: "a_total", Domain: Network, Kinds: kinds(NIC), Unit: "1", Type: Counter, Width: 64}
	for name, spoil := range map[string]func(*Metric){
		"no name":         func(m *Metric) { m.Name = "" },
		"no domain":       func(m *Metric) { m.Domain = 0 },
		"no type":         func(m *Metric) { m.Type = 0 },
		"gauge _total":    func(m *Metric) { m.Type, m.Width = Gauge, 0 },
		"no unit":         func(m *Metric) { m.Unit = "" },
		"no kinds":        func(m *Metric) { m.Kinds = nil },
		"unknown kind":    func(m *Metric) { m.Kinds = kinds("toaster") },
		"no width":        func(m *Metric) { m.Width = 0 },
		"odd width":       func(m *Metric) { m.Width = 12 },
		"detector twice":  func(m *Metric) { m.Detectors = shapes(ShapeBurst, ShapeBurst) },
		"detector beyond": func(m *Metric) { m.Detectors = shapes(99) },
		"counted by step": func(m *Metric) { m.PerStep = true },
	} {
		m := good
		spoil(&m)
		if _, err := NewCatalogue([]Metric{m}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewCatalogue([]Metric{good, good}); err == nil {
		t.Error("declared twice: no error")
	}
	if c, err := NewCatalogue([]Metric{good}); err != nil || len(c.Metrics()) != 1 {
		t.Errorf("a good one: %v", err)
	}
}

// TestContractNamesAreComplete compares the list with the design, where that is
// available next to the checkout.
func TestContractNamesAreComplete(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "shared", "design.md"))
	if err != nil {
		t.Skip("no ../shared/design.md beside the module: ", err)
	}
	_, text, _ := strings.Cut(string(b), "## A2.")
	text, _, _ = strings.Cut(text, "## A3.")
	want := strings.Fields(contractNames)
	for _, name := range regexp.MustCompile("`((?:port|rdma|roce|nic|pcie|gpu|nvlink|node|rack|feed|psu|battery|coolant|inlet|fan|leak|optic|job|rank)_[a-z0-9_{},]+)`").FindAllStringSubmatch(text, -1) {
		for _, n := range expand(name[1]) {
			if !slices.Contains(want, n) && !strings.HasPrefix(n, "job_started") && !isEvent(n) {
				t.Errorf("%s: in the design, not in this test's list", n)
			}
		}
	}
}

func isEvent(n string) bool {
	return slices.Contains([]EventName{EventJobStarted, EventJobFailed, EventJobRestarted, EventJobEnded}, EventName(n))
}

// expand writes out one {a,b} of a name.
func expand(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}
	}
	list, after, _ := strings.Cut(rest, "}")
	var out []string
	for _, one := range strings.Split(list, ",") {
		out = append(out, expand(before+one+after)...)
	}
	return out
}
