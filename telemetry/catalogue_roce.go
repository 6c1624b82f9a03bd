package telemetry

// The host side of RoCE and InfiniBand transport. The mlx5 driver's q-counters
// are 32-bit fields and wrap; its congestion counters have 64 bits (irdma's
// have 32: a window must cope with both). The file is named for each driver
// that has the same thing under another name.

// congestionMetrics are DCQCN: marks and congestion notification packets.
func congestionMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "packets", Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "roce_ecn_marked_packets_total", Evidence: true, Help: "RoCE packets that arrived marked congestion-experienced.", Origin: "mlx5 hw_counters/np_ecn_marked_roce_packets; bnxt_re rx_ecn_marked_pkts; irdma RxECNMrkd; mana received_ecns; ionic rx_rdma_ecn_pkts"},
		Metric{Name: "roce_cnp_sent_total", Evidence: true, Help: "Congestion notifications sent by this receiver; rate limited, so fewer than marks.", Origin: "mlx5 hw_counters/np_cnp_sent; bnxt_re tx_cnp_pkts; irdma cnpSent; mana sent_cnps; ionic tx_rdma_cnp_pkts"},
		Metric{Name: "roce_cnp_handled_total", Evidence: true, Help: "Congestion notifications that slowed a flow of this sender.", Origin: "mlx5 hw_counters/rp_cnp_handled; bnxt_re rx_cnp_pkts; irdma cnpHandled; mana received_cnps; hns rx_cnp_pkt; ionic rx_rdma_cnp_pkts"},
		Metric{Name: "roce_cnp_ignored_total", Help: "Congestion notifications received and not acted on: ECN is off on that priority.", Origin: "mlx5 hw_counters/rp_cnp_ignored; irdma cnpIgnored"},
		Metric{Name: "roce_rx_ce_packets_total", Help: "Marked packets received, where the optional counter is on.", Origin: "mlx5 hw_counters/cc_rx_ce_pkts"},
		Metric{Name: "roce_rx_cnp_packets_total", Help: "Congestion notifications received, where the optional counter is on.", Origin: "mlx5 hw_counters/cc_rx_cnp_pkts"},
		Metric{Name: "roce_tx_cnp_packets_total", Help: "Congestion notifications sent, where the optional counter is on.", Origin: "mlx5 hw_counters/cc_tx_cnp_pkts"},
		Metric{Name: "roce_icrc_errors_total", Help: "Packets whose invariant checksum was wrong: corruption.", Origin: "mlx5 hw_counters/rx_icrc_encapsulated"},
	)
}

// transportMetrics are loss and recovery as queue pairs see them.
func transportMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC), Width: 32, Rise: Worse, Detectors: shapes(ShapeBurst), Origin: "mlx5 hw_counters/"},
		Metric{Name: "roce_out_of_sequence_total", Unit: "packets", Help: "Packets that arrived out of order: loss, or adaptive routing to a receiver that does not expect it.", Origin: "out_of_sequence; bnxt_re oos_drop_count; mana responder_oos; ionic resp_rx_outouf_seq"},
		Metric{Name: "roce_packet_seq_errors_total", Unit: "packets", Help: "Sequence errors that the far end reported: loss on the path.", Origin: "packet_seq_err; bnxt_re seq_err_naks_rcvd; mana requester_oos_nak; ionic req_rx_pkt_seq_err"},
		Metric{Name: "roce_ack_timeouts_total", Unit: "events", Help: "Times no acknowledgement came in time: tail loss or a stalled far end.", Origin: "local_ack_timeout_err; bnxt_re to_retransmits; mana requester_timeout; efa retrans_timeout_events"},
		Metric{Name: "roce_rnr_naks_total", Unit: "packets", Help: "Times the far end was not ready to receive: its software is slow.", Origin: "rnr_nak_retry_err; bnxt_re rnr_naks_rcvd; mana requester_rnr_nak; ionic req_rx_rnr_retry_err"},
		Metric{Name: "roce_implied_nak_seq_errors_total", Unit: "packets", Help: "Responses lost, as a later acknowledgement implies.", Origin: "implied_nak_seq_err; mana requester_implicit_nak; ionic req_rx_impl_nak_seq_err"},
		Metric{Name: "roce_duplicate_requests_total", Unit: "packets", Help: "Requests already executed: the partner retransmits.", Origin: "duplicate_request; bnxt_re dup_req; mana responder_dup_request; ionic resp_rx_dup_request"},
		Metric{Name: "roce_out_of_buffer_total", Unit: "packets", Help: "Packets dropped for want of a posted receive.", Origin: "out_of_buffer; bnxt_re rx_out_of_buffer; mana responder_rnr_nak; efa rx_drops; ionic resp_rx_outof_buf"},
		Metric{Name: "roce_adaptive_retransmissions_total", Unit: "events", Help: "Adaptive retransmissions.", Origin: "roce_adp_retrans"},
		Metric{Name: "roce_adaptive_retransmission_timeouts_total", Unit: "events", Help: "Adaptive retransmissions that timed out.", Origin: "roce_adp_retrans_to"},
		Metric{Name: "roce_slow_restarts_total", Unit: "events", Help: "Times slow restart was used.", Origin: "roce_slow_restart"},
		Metric{Name: "roce_slow_restart_cnps_total", Unit: "packets", Help: "Congestion notifications that slow restart made.", Origin: "roce_slow_restart_cnps"},
		Metric{Name: "roce_slow_restart_transitions_total", Unit: "events", Help: "Changes into slow restart.", Origin: "roce_slow_restart_trans"},
		Metric{Name: "roce_transport_retries_exceeded_total", Unit: "events", Help: "Queue pairs lost because retransmission was given up: fatal to the job.", Origin: "req_transport_retries_exceeded; bnxt_re max_retry_exceeded; mana requester_retries_exceeded; efa unresponsive_remote_events; ionic req_tx_retry_excd_err"},
		Metric{Name: "roce_rnr_retries_exceeded_total", Unit: "events", Help: "Queue pairs lost because the far end was never ready.", Origin: "req_rnr_retries_exceeded; mana requester_rnr_nak_retries_exceeded"},
	)
}

// completionMetrics are operations that ended in error. Flushes rise whenever a
// job ends, so nothing here is judged by default but access errors.
func completionMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(NIC), Unit: "events", Width: 32, Rise: Worse, Origin: "mlx5 hw_counters/"},
		Metric{Name: "roce_responder_local_length_errors_total", Help: "Messages longer than the receive posted for them.", Origin: "resp_local_length_error; mana responder_local_len_error; ionic resp_rx_loc_len_err"},
		Metric{Name: "roce_responder_completion_errors_total", Help: "Receives that completed in error.", Origin: "resp_cqe_error; ionic resp_rx_cqe_err"},
		Metric{Name: "roce_responder_flush_errors_total", Help: "Receives flushed as a queue pair was torn down.", Origin: "resp_cqe_flush_error; ionic resp_rx_cqe_flush"},
		Metric{Name: "roce_responder_remote_access_errors_total", Help: "Requests for memory that was not theirs, refused here.", Origin: "resp_remote_access_errors; mana responder_rem_access_error; ionic resp_tx_rmt_acc_err"},
		Metric{Name: "roce_requester_completion_errors_total", Help: "Sends that completed in error.", Origin: "req_cqe_error; ionic req_rx_cqe_err"},
		Metric{Name: "roce_requester_flush_errors_total", Help: "Sends flushed as a queue pair was torn down.", Origin: "req_cqe_flush_error; ionic req_rx_cqe_flush"},
		Metric{Name: "roce_requester_invalid_requests_total", Help: "Requests that the far end called invalid.", Origin: "req_remote_invalid_request; ionic req_rx_rmt_req_err"},
		Metric{Name: "roce_requester_remote_access_errors_total", Help: "Requests refused by the far end for want of access.", Origin: "req_remote_access_errors; ionic req_rx_rmt_acc_err"},
	)
}

// requestMetrics are load.
func requestMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "requests", Width: 32, Origin: "mlx5 hw_counters/"},
		Metric{Name: "roce_rx_write_requests_total", Help: "Write requests received.", Origin: "rx_write_requests; mana rx_write_requests; bnxt_re rx_write_req"},
		Metric{Name: "roce_rx_read_requests_total", Help: "Read requests received.", Origin: "rx_read_requests; mana rx_read_requests; bnxt_re rx_read_req"},
		Metric{Name: "roce_rx_atomic_requests_total", Help: "Atomic requests received.", Origin: "rx_atomic_requests; bnxt_re rx_atomic_req"},
		Metric{Name: "roce_rx_dct_connects_total", Help: "Connections to dynamically connected targets.", Origin: "rx_dct_connect"},
		Metric{Name: "roce_counter_lifespan_seconds", Unit: "seconds", Help: "For how long these counters repeat an old value: do not read them more often.", Origin: "lifespan (ms)"},
	)
}

// pcieMetrics are the way from the NIC or GPU into the host.
func pcieMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC), Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "nic_pcie_stalled_ratio", Unit: "1", Detectors: shapes(ShapeShift, ShapePeer), Help: "Share of the last second for which PCIe held the NIC back, the worse of reads and writes.", Origin: "ethtool outbound_pci_stalled_rd, outbound_pci_stalled_wr (percent)"},
		Metric{Name: "nic_pcie_read_stall_seconds_total", Unit: "seconds", Help: "Seconds with reads stalled for more than 30 %.", Origin: "ethtool outbound_pci_stalled_rd_events"},
		Metric{Name: "nic_pcie_write_stall_seconds_total", Unit: "seconds", Help: "Seconds with writes stalled for more than 30 %.", Origin: "ethtool outbound_pci_stalled_wr_events"},
		Metric{Name: "nic_pcie_overflow_packets_total", Unit: "packets", Help: "Packets dropped because PCIe did not take them.", Origin: "ethtool outbound_pci_buffer_overflow"},
		Metric{Name: "nic_pcie_rx_integrity_errors_total", Unit: "events", Help: "PCIe signal errors towards the NIC: slot or riser.", Origin: "ethtool rx_pci_signal_integrity"},
		Metric{Name: "nic_pcie_tx_integrity_errors_total", Unit: "events", Help: "PCIe signal errors from the NIC.", Origin: "ethtool tx_pci_signal_integrity"},
		Metric{Name: "pcie_link_width", Unit: "lanes", Domain: Computing, Type: StateOf, Kinds: kinds(NIC, GPU), Rise: Better, Detectors: shapes(ShapeLevel), Help: "PCIe lanes in use.", Origin: "PCI device current_link_width"},
		Metric{Name: "pcie_link_max_width", Unit: "lanes", Domain: Computing, Type: StateOf, Kinds: kinds(NIC, GPU), Rise: Better, Detectors: shapes(), Help: "PCIe lanes that the device could use.", Origin: "PCI device max_link_width"},
		Metric{Name: "pcie_link_speed_transfers_per_second", Unit: "transfers_per_second", Domain: Computing, Type: StateOf, Kinds: kinds(NIC, GPU), Rise: Better, Detectors: shapes(ShapeLevel), Help: "PCIe transfers a second and lane.", Origin: "PCI device current_link_speed"},
		Metric{Name: "pcie_link_max_speed_transfers_per_second", Unit: "transfers_per_second", Domain: Computing, Type: StateOf, Kinds: kinds(NIC, GPU), Rise: Better, Detectors: shapes(), Help: "PCIe transfers a second and lane that the device could make.", Origin: "PCI device max_link_speed"},
	)
}

// priorityMetrics name what only single priorities have.
func priorityMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC, Port, Queue), Rise: Neutral, Detectors: shapes()},
		Metric{Name: "port_pfc_enabled", Unit: "1", Type: StateOf, Detectors: shapes(ShapeLevel), Help: "1 where this priority is lossless.", Origin: "IEEE 802.1Q DCB netlink IEEE_PFC"},
		Metric{Name: "port_ecn_enabled", Unit: "1", Type: StateOf, Detectors: shapes(ShapeLevel), Help: "1 where RoCE congestion control is on for this priority.", Origin: "/sys/class/net/<if>/ecn/roce_np/enable/<p>, roce_rp/enable/<p>"},
	)
}
