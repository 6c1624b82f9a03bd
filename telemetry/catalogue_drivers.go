package telemetry

// Counters that only one maker's RDMA driver has. What several have under
// different names is in catalogue_roce.go. None is judged by default but
// where its table states it: their meanings shift between driver versions. The
// hundreds of hfi1 (Omni-Path) are carried undeclared.

// row is a metric of a driver's table: its name, the driver's file, and what it
// counts.
type row struct {
	name MetricName
	file string
	help string
}

// rows makes metrics that share everything but name, file and help.
func rows(d Metric, rs ...row) []Metric {
	ms := make([]Metric, len(rs))
	for i, r := range rs {
		ms[i] = Metric{Name: r.name, Origin: r.file, Help: r.help}
	}
	return like(d, ms...)
}

// broadcomMetrics are bnxt_re's load and resources.
func broadcomMetrics() []Metric {
	active := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "1", Origin: "bnxt_re hw_counters/"},
		row{"bnxt_active_pds", "active_pds", "Protection domains in use."},
		row{"bnxt_active_ahs", "active_ahs", "Address handles in use."},
		row{"bnxt_active_qps", "active_qps", "Queue pairs in use."},
		row{"bnxt_active_srqs", "active_srqs", "Shared receive queues in use."},
		row{"bnxt_active_cqs", "active_cqs", "Completion queues in use."},
		row{"bnxt_active_mrs", "active_mrs", "Memory regions in use."},
		row{"bnxt_active_mws", "active_mws", "Memory windows in use."},
		row{"bnxt_doorbell_fifo", "db_fifo_register", "Doorbell queue register."},
	)
	load := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "packets", Origin: "bnxt_re hw_counters/"},
		row{"bnxt_function_rx_packets_total", "rx_pkts", "Unicast Ethernet packets received by the function, not RDMA only."},
		row{"bnxt_rx_read_responses_total", "rx_read_resp", "Read responses received."},
		row{"bnxt_rx_send_requests_total", "rx_send_req", "Send requests received."},
		row{"bnxt_roce_only_rx_packets_total", "rx_roce_only_pkts", "RoCE packets received."},
		row{"bnxt_function_tx_packets_total", "tx_pkts", "Unicast Ethernet packets sent by the function, not RDMA only."},
		row{"bnxt_tx_atomic_requests_total", "tx_atomic_req", "Atomic requests sent."},
		row{"bnxt_tx_read_requests_total", "tx_read_req", "Read requests sent."},
		row{"bnxt_tx_read_responses_total", "tx_read_resp", "Read responses sent."},
		row{"bnxt_tx_write_requests_total", "tx_write_req", "Write requests sent."},
		row{"bnxt_tx_send_requests_total", "tx_send_req", "Send requests sent."},
		row{"bnxt_roce_only_tx_packets_total", "tx_roce_only_pkts", "RoCE packets sent."},
		row{"bnxt_rx_good_packets_total", "rx_roce_good_pkts", "Good RoCE packets received."},
	)
	bytes := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "bytes", Origin: "bnxt_re hw_counters/"},
		row{"bnxt_function_rx_bytes_total", "rx_bytes", "Unicast Ethernet bytes received by the function, not RDMA only."},
		row{"bnxt_roce_only_rx_bytes_total", "rx_roce_only_bytes", "RoCE bytes received."},
		row{"bnxt_function_tx_bytes_total", "tx_bytes", "Unicast Ethernet bytes sent by the function, not RDMA only."},
		row{"bnxt_roce_only_tx_bytes_total", "tx_roce_only_bytes", "RoCE bytes sent."},
		row{"bnxt_rx_good_bytes_total", "rx_roce_good_bytes", "Good RoCE bytes received."},
	)
	return append(append(active, load...), bytes...)
}

// broadcomErrorMetrics are bnxt_re's errors.
func broadcomErrorMetrics() []Metric {
	return rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "events", Rise: Worse, Origin: "bnxt_re hw_counters/"},
		row{"bnxt_recoverable_errors_total", "recoverable_errors", "Filled from sent broadcast packets in the driver read: do not alert on it."},
		row{"bnxt_rx_errors_total", "rx_roce_errors", "RoCE packets received with an error."},
		row{"bnxt_rx_discards_total", "rx_roce_discards", "RoCE packets dropped on the way in."},
		row{"bnxt_missing_responses_total", "missing_resp", "Responses that never came."},
		row{"bnxt_unrecoverable_errors_total", "unrecoverable_err", "Errors that ended a queue pair."},
		row{"bnxt_bad_responses_total", "bad_resp_err", "Responses that made no sense."},
		row{"bnxt_local_operation_errors_total", "local_qp_op_err", "Local queue pair operation errors."},
		row{"bnxt_local_protection_errors_total", "local_protection_err", "Local memory protection errors."},
		row{"bnxt_memory_management_errors_total", "mem_mgmt_op_err", "Memory management operation errors."},
		row{"bnxt_remote_invalid_requests_total", "remote_invalid_req_err", "Requests that the far end called invalid."},
		row{"bnxt_remote_access_errors_total", "remote_access_err", "Requests refused by the far end for want of access."},
		row{"bnxt_remote_operation_errors_total", "remote_op_err", "Operations that failed at the far end."},
		row{"bnxt_responder_exceed_max_total", "res_exceed_max", "Responder: requests beyond the maximum."},
		row{"bnxt_responder_length_mismatch_total", "res_length_mismatch", "Responder: lengths that do not match."},
		row{"bnxt_responder_exceeds_wqe_total", "res_exceeds_wqe", "Responder: messages longer than the work request."},
		row{"bnxt_responder_opcode_errors_total", "res_opcode_err", "Responder: wrong opcodes."},
		row{"bnxt_responder_rx_invalid_rkey_total", "res_rx_invalid_rkey", "Responder: invalid keys received."},
		row{"bnxt_responder_rx_domain_errors_total", "res_rx_domain_err", "Responder: wrong domains received."},
		row{"bnxt_responder_rx_no_perm_total", "res_rx_no_perm", "Responder: receives without permission."},
		row{"bnxt_responder_rx_range_errors_total", "res_rx_range_err", "Responder: receives out of range."},
		row{"bnxt_responder_tx_invalid_rkey_total", "res_tx_invalid_rkey", "Responder: invalid keys sent."},
		row{"bnxt_responder_tx_domain_errors_total", "res_tx_domain_err", "Responder: wrong domains sent."},
		row{"bnxt_responder_tx_no_perm_total", "res_tx_no_perm", "Responder: sends without permission."},
		row{"bnxt_responder_tx_range_errors_total", "res_tx_range_err", "Responder: sends out of range."},
		row{"bnxt_responder_irrq_overflows_total", "res_irrq_oflow", "Responder: inbound read queue overflows."},
		row{"bnxt_responder_unsup_opcode_total", "res_unsup_opcode", "Responder: unsupported opcodes."},
		row{"bnxt_responder_unaligned_atomic_total", "res_unaligned_atomic", "Responder: unaligned atomics."},
		row{"bnxt_responder_rem_inv_errors_total", "res_rem_inv_err", "Responder: remote invalidation errors."},
		row{"bnxt_responder_mem_errors_total", "res_mem_err", "Responder: memory errors."},
		row{"bnxt_responder_srq_errors_total", "res_srq_err", "Responder: shared receive queue errors."},
		row{"bnxt_responder_cmp_errors_total", "res_cmp_err", "Responder: completion errors."},
		row{"bnxt_responder_invalid_dup_rkey_total", "res_invalid_dup_rkey", "Responder: invalid keys in repeats."},
		row{"bnxt_responder_wqe_format_errors_total", "res_wqe_format_err", "Responder: malformed work requests."},
		row{"bnxt_responder_cq_load_errors_total", "res_cq_load_err", "Responder: completion queue load errors."},
		row{"bnxt_responder_srq_load_errors_total", "res_srq_load_err", "Responder: shared receive queue load errors."},
		row{"bnxt_responder_tx_pci_errors_total", "res_tx_pci_err", "Responder: PCIe errors while sending."},
		row{"bnxt_responder_rx_pci_errors_total", "res_rx_pci_err", "Responder: PCIe errors while receiving."},
		row{"bnxt_pacing_reschedule_total", "pacing_reschedule", "Pacing put off."},
		row{"bnxt_pacing_complete_total", "pacing_complete", "Pacing ended."},
		row{"bnxt_pacing_alerts_total", "pacing_alerts", "Doorbell queue was filling."},
	)
}

// intelMetrics are those of irdma and i40iw; 32 bits in the first table. Older
// versions publish them at device and at port level: count one.
func intelMetrics() []Metric {
	narrow := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "packets", Width: 32, Rise: Worse, Origin: "irdma hw_counters/"},
		row{"irdma_ip4_in_discards_total", "ip4InDiscards", "IPv4 packets dropped on the way in."},
		row{"irdma_ip4_in_truncated_packets_total", "ip4InTruncatedPkts", "IPv4 packets cut short."},
		row{"irdma_ip4_out_no_routes_total", "ip4OutNoRoutes", "IPv4 packets without a route."},
		row{"irdma_ip6_in_discards_total", "ip6InDiscards", "IPv6 packets dropped on the way in."},
		row{"irdma_ip6_in_truncated_packets_total", "ip6InTruncatedPkts", "IPv6 packets cut short."},
		row{"irdma_ip6_out_no_routes_total", "ip6OutNoRoutes", "IPv6 packets without a route."},
		row{"irdma_tcp_retransmitted_segments_total", "tcpRetransSegs", "TCP segments sent again (iWARP)."},
		row{"irdma_tcp_in_opt_errors_total", "tcpInOptErrors", "TCP option errors (iWARP)."},
		row{"irdma_tcp_in_proto_errors_total", "tcpInProtoErrors", "TCP protocol errors (iWARP)."},
		row{"irdma_rx_vlan_errors_total", "rxVlanErrors", "Packets of a wrong VLAN."},
	)
	wide := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "packets", Origin: "irdma hw_counters/"},
		row{"irdma_ip4_in_packets_total", "ip4InPkts", "IPv4 packets received."},
		row{"irdma_ip4_in_fragments_total", "ip4InReasmRqd", "IPv4 fragments received."},
		row{"irdma_ip4_in_multicast_packets_total", "ip4InMcastPkts", "IPv4 multicast packets received."},
		row{"irdma_ip4_out_packets_total", "ip4OutPkts", "IPv4 packets sent."},
		row{"irdma_ip4_out_segmentations_total", "ip4OutSegRqd", "IPv4 packets to be cut."},
		row{"irdma_ip4_out_multicast_packets_total", "ip4OutMcastPkts", "IPv4 multicast packets sent."},
		row{"irdma_ip6_in_packets_total", "ip6InPkts", "IPv6 packets received."},
		row{"irdma_ip6_in_fragments_total", "ip6InReasmRqd", "IPv6 fragments received."},
		row{"irdma_ip6_in_multicast_packets_total", "ip6InMcastPkts", "IPv6 multicast packets received."},
		row{"irdma_ip6_out_packets_total", "ip6OutPkts", "IPv6 packets sent."},
		row{"irdma_ip6_out_segmentations_total", "ip6OutSegRqd", "IPv6 packets to be cut."},
		row{"irdma_ip6_out_multicast_packets_total", "ip6OutMcastPkts", "IPv6 multicast packets sent."},
		row{"irdma_tcp_in_segments_total", "tcpInSegs", "TCP segments received (iWARP)."},
		row{"irdma_tcp_out_segments_total", "tcpOutSegs", "TCP segments sent (iWARP)."},
		row{"irdma_rdma_in_reads_total", "InRdmaReads", "RDMA reads received."},
		row{"irdma_rdma_in_sends_total", "InRdmaSends", "RDMA sends received."},
		row{"irdma_rdma_in_writes_total", "InRdmaWrites", "RDMA writes received."},
		row{"irdma_rdma_out_reads_total", "OutRdmaReads", "RDMA reads sent."},
		row{"irdma_rdma_out_sends_total", "OutRdmaSends", "RDMA sends sent."},
		row{"irdma_rdma_out_writes_total", "OutRdmaWrites", "RDMA writes sent."},
		row{"irdma_rdma_binds_total", "RdmaBnd", "Memory windows bound."},
		row{"irdma_rdma_invalidations_total", "RdmaInv", "Keys invalidated."},
		row{"irdma_udp_rx_packets_total", "RxUDP", "UDP packets received."},
		row{"irdma_udp_tx_packets_total", "TxUDP", "UDP packets sent."},
	)
	octets := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "bytes", Origin: "irdma hw_counters/"},
		row{"irdma_ip4_in_bytes_total", "ip4InOctets", "IPv4 bytes received."},
		row{"irdma_ip4_out_bytes_total", "ip4OutOctets", "IPv4 bytes sent."},
		row{"irdma_ip6_in_bytes_total", "ip6InOctets", "IPv6 bytes received."},
		row{"irdma_ip6_out_bytes_total", "ip6OutOctets", "IPv6 bytes sent."},
	)
	return append(append(narrow, wide...), octets...)
}
