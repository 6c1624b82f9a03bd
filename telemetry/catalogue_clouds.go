package telemetry

// hisiliconMetrics are those of hns.
func hisiliconMetrics() []Metric {
	software := rows(Metric{Domain: Software, Kinds: kinds(NIC), Unit: "events", Origin: "hns hw_counters/"},
		row{"hns_async_events_total", "aeqe", "Asynchronous events."},
		row{"hns_completion_events_total", "ceqe", "Completion events."},
		row{"hns_commands_total", "cmds", "Commands given to the device."},
		row{"hns_mailboxes_posted_total", "posted_mbx", "Mailboxes posted."},
		row{"hns_mailboxes_polled_total", "polled_mbx", "Mailboxes polled."},
		row{"hns_mailbox_events_total", "mbx_event", "Mailbox events."},
	)
	failed := rows(Metric{Domain: Software, Kinds: kinds(NIC), Unit: "events", Rise: Worse, Origin: "hns hw_counters/"},
		row{"hns_command_errors_total", "cmds_err", "Commands that failed."},
		row{"hns_qp_create_errors_total", "qp_create_err", "Queue pairs not made."},
		row{"hns_qp_modify_errors_total", "qp_modify_err", "Queue pairs not changed."},
		row{"hns_cq_create_errors_total", "cq_create_err", "Completion queues not made."},
		row{"hns_srq_create_errors_total", "srq_create_err", "Shared receive queues not made."},
		row{"hns_xrcd_alloc_errors_total", "xrcd_alloc_err", "XRC domains not made."},
		row{"hns_mr_reg_errors_total", "mr_reg_err", "Memory regions not registered."},
		row{"hns_mr_rereg_errors_total", "mr_rereg_err", "Memory regions not registered again."},
		row{"hns_ah_create_errors_total", "ah_create_err", "Address handles not made."},
		row{"hns_mmap_errors_total", "mmap_err", "Mappings that failed."},
		row{"hns_uctx_alloc_errors_total", "uctx_alloc_err", "User contexts not made."},
	)
	packets := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "packets", Origin: "hns hw_counters/"},
		row{"hns_rx_rc_packets_total", "rx_rc_pkt", "Reliably connected packets received (HIP09 and later, physical function)."},
		row{"hns_rx_uc_packets_total", "rx_uc_pkt", "Unreliably connected packets received (HIP09 and later, physical function)."},
		row{"hns_rx_ud_packets_total", "rx_ud_pkt", "Datagrams received (HIP09 and later, physical function)."},
		row{"hns_rx_xrc_packets_total", "rx_xrc_pkt", "XRC packets received (HIP09 and later, physical function)."},
		row{"hns_rx_packets_total", "rx_pkt", "RoCE packets received (HIP09 and later, physical function)."},
		row{"hns_rx_error_packets_total", "rx_err_pkt", "Packets with an error received (HIP09 and later, physical function)."},
		row{"hns_tx_rc_packets_total", "tx_rc_pkt", "Reliably connected packets sent (HIP09 and later, physical function)."},
		row{"hns_tx_uc_packets_total", "tx_uc_pkt", "Unreliably connected packets sent (HIP09 and later, physical function)."},
		row{"hns_tx_ud_packets_total", "tx_ud_pkt", "Datagrams sent (HIP09 and later, physical function)."},
		row{"hns_tx_xrc_packets_total", "tx_xrc_pkt", "XRC packets sent (HIP09 and later, physical function)."},
		row{"hns_tx_packets_total", "tx_pkt", "RoCE packets sent (HIP09 and later, physical function)."},
		row{"hns_tx_error_packets_total", "tx_err_pkt", "Packets with an error sent (HIP09 and later, physical function)."},
		row{"hns_tx_cnp_packets_total", "tx_cnp_pkt", "Congestion notifications sent."},
		row{"hns_cq_cqe_total", "cq_cqe", "Completions."},
		row{"hns_cq_poe_total", "cq_poe", "Completion queue polls."},
		row{"hns_cq_notify_total", "cq_notify", "Completion queue notifications."},
	)
	return append(append(software, failed...), packets...)
}

// elasticMetrics are those of efa, which has neither pause nor marks: its events
// of retransmission, unresponsive and impaired peers are the sign of congestion.
func elasticMetrics() []Metric {
	work := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "requests", Origin: "efa hw_counters/"},
		row{"efa_send_requests_total", "send_wrs", "Sends posted."},
		row{"efa_receive_requests_total", "recv_wrs", "Receives completed."},
		row{"efa_rdma_read_requests_total", "rdma_read_wrs", "RDMA reads posted."},
		row{"efa_rdma_write_requests_total", "rdma_write_wrs", "RDMA writes posted."},
		row{"efa_submitted_commands_total", "submitted_cmds", "Commands submitted."},
		row{"efa_completed_commands_total", "completed_cmds", "Commands completed."},
		row{"efa_keep_alives_total", "keep_alive_rcvd", "Keep-alives from the device."},
	)
	bytes := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "bytes", Origin: "efa hw_counters/"},
		row{"efa_send_bytes_total", "send_bytes", "Bytes sent by sends."},
		row{"efa_receive_bytes_total", "recv_bytes", "Bytes received by sends."},
		row{"efa_rdma_read_bytes_total", "rdma_read_bytes", "Bytes read from others."},
		row{"efa_rdma_read_response_bytes_total", "rdma_read_resp_bytes", "Bytes others read here."},
		row{"efa_rdma_write_bytes_total", "rdma_write_bytes", "Bytes written to others."},
		row{"efa_rdma_write_receive_bytes_total", "rdma_write_recv_bytes", "Bytes others wrote here."},
		row{"efa_retransmitted_bytes_total", "retrans_bytes", "Bytes sent again."},
	)
	trouble := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "events", Rise: Worse, Detectors: shapes(ShapeBurst), Origin: "efa hw_counters/"},
		row{"efa_rdma_read_errors_total", "rdma_read_wr_err", "RDMA reads that failed."},
		row{"efa_rdma_write_errors_total", "rdma_write_wr_err", "RDMA writes that failed."},
		row{"efa_retransmitted_packets_total", "retrans_pkts", "Packets sent again."},
		row{"efa_impaired_connections_total", "impaired_remote_conn_events", "Connections throttled."},
		row{"efa_command_errors_total", "cmds_err", "Commands that failed."},
		row{"efa_lost_commands_total", "no_completion_cmds", "Commands that never completed."},
		row{"efa_protection_domain_errors_total", "alloc_pd_err", "Protection domains not made."},
		row{"efa_queue_pair_errors_total", "create_qp_err", "Queue pairs not made."},
		row{"efa_completion_queue_errors_total", "create_cq_err", "Completion queues not made."},
		row{"efa_memory_region_errors_total", "reg_mr_err", "Memory regions not registered."},
		row{"efa_address_handle_errors_total", "create_ah_err", "Address handles not made."},
		row{"efa_mapping_errors_total", "mmap_err", "Mappings that failed."},
	)
	return append(append(work, bytes...), trouble...)
}

// azureMetrics are those of mana.
func azureMetrics() []Metric {
	trouble := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "events", Rise: Worse, Origin: "mana hw_counters/"},
		row{"mana_read_response_mismatches_total", "requester_readresp_psn_mismatch", "Read responses out of sequence."},
		row{"mana_invalid_request_naks_total", "nak_inv_req", "Invalid requests refused."},
		row{"mana_access_naks_total", "nak_access_error", "Requests refused for want of access."},
		row{"mana_operation_naks_total", "nak_opp_error", "Operations refused."},
		row{"mana_invalid_read_naks_total", "nak_inv_read", "Reads refused."},
		row{"mana_local_protection_errors_total", "requestor_local_prot_error", "Local memory protection errors."},
		row{"mana_responder_local_errors_total", "responder_local_qp_error", "Responder: local queue pair errors."},
		row{"mana_responder_malformed_requests_total", "responder_malformed_wqe", "Responder: malformed work requests."},
		row{"mana_hardware_errors_total", "general_hw_error", "Hardware errors."},
		row{"mana_fatal_errors_total", "total_fatal_error", "Fatal errors."},
		row{"mana_duplicate_requests_total", "dup_rx_requests", "Requests received twice."},
		row{"mana_device_cnps_total", "received_cnp_count", "Congestion notifications received by the device."},
		row{"mana_device_congestions_total", "qp_congested_events", "Queue pairs that became congested, by the device."},
	)
	load := rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "events", Origin: "mana hw_counters/"},
		row{"mana_congested_queue_pairs_total", "num_qps_congested", "Queue pairs that became congested."},
		row{"mana_recovered_queue_pairs_total", "num_qps_recovered", "Queue pairs that recovered."},
		row{"mana_device_recoveries_total", "qp_recovered_events", "Queue pairs that recovered, by the device."},
		row{"mana_rate_increases_total", "rate_inc_events", "Rates raised again; the name is at both levels."},
		row{"mana_rx_send_requests_total", "rx_send_requests", "Send requests received."},
		row{"mana_current_rate", "current_rate", "The rate in force, in the driver's unit."},
	)
	return append(trouble, load...)
}

// pensandoMetrics are what only AMD's ionic (Pollara, Vulcano) counts, as its
// device metrics exporter names it. A guest sees no port statistics.
func pensandoMetrics() []Metric {
	return rows(Metric{Domain: Network, Kinds: kinds(NIC), Unit: "frames", Origin: "ionic NIC_PORT_STATS_"},
		row{"ionic_rx_good_frames_total", "FRAMES_RX_OK", "Good frames received."},
		row{"ionic_rx_all_frames_total", "FRAMES_RX_ALL", "Frames received."},
		row{"ionic_rx_pause_frames_total", "FRAMES_RX_PAUSE", "802.3x pause frames received."},
		row{"ionic_rx_priority_pause_frames_total", "FRAMES_RX_PRIPAUSE", "Priority pause frames received."},
		row{"ionic_rx_bad_frames_total", "FRAMES_RX_BAD", "Bad frames received, of all sorts."},
		row{"ionic_rx_dropped_frames_total", "FRAMES_RX_DROPPED", "Frames dropped that were to be received."},
		row{"ionic_tx_good_frames_total", "FRAMES_TX_OK", "Good frames sent."},
		row{"ionic_tx_all_frames_total", "FRAMES_TX_ALL", "Frames sent."},
		row{"ionic_tx_pause_frames_total", "FRAMES_TX_PAUSE", "802.3x pause frames sent."},
		row{"ionic_tx_priority_pause_frames_total", "FRAMES_TX_PRIPAUSE", "Priority pause frames sent."},
		row{"ionic_tx_bad_frames_total", "FRAMES_TX_BAD", "Bad frames sent, of all sorts."},
		row{"ionic_tx_dropped_frames_total", "FRAMES_TX_DROPPED", "Frames dropped that were to be sent."},
		row{"ionic_fec_correctable_words_total", "RSFEC_CORRECTABLE_WORD", "Codewords corrected."},
		row{"ionic_fec_symbol_errors_total", "RSFEC_CH_SYMBOL_ERR_CNT", "Symbols corrected."},
	)
}
