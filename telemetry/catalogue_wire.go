package telemetry

// wireMetrics are the traffic of a NIC, a switch port or one of its queues.
func wireMetrics() []Metric {
	all := like(Metric{Domain: Network, Kinds: kinds(NIC, Port, Queue)},
		Metric{Name: "port_tx_bytes_total", Unit: "bytes", Evidence: true, Detectors: shapes(ShapeShift, ShapeSilence), Help: "Every byte sent on the wire.", Origin: "OpenConfig out-octets; ethtool tx_bytes_phy, tx_prio[p]_bytes; InfiniBand PMA port_xmit_data times 4"},
		Metric{Name: "port_rx_bytes_total", Unit: "bytes", Evidence: true, Detectors: shapes(ShapeShift, ShapeSilence), Help: "Every byte received from the wire.", Origin: "OpenConfig in-octets; ethtool rx_bytes_phy, rx_prio[p]_bytes; InfiniBand PMA port_rcv_data times 4"},
		Metric{Name: "port_tx_packets_total", Unit: "packets", Help: "Packets sent.", Origin: "OpenConfig out-pkts; ethtool tx_packets_phy, tx_prio[p]_packets; PMA port_xmit_packets"},
		Metric{Name: "port_rx_packets_total", Unit: "packets", Help: "Packets received.", Origin: "OpenConfig in-pkts; ethtool rx_packets_phy, rx_prio[p]_packets; PMA port_rcv_packets"},
		Metric{Name: "port_tx_unicast_packets_total", Unit: "packets", Help: "Unicast packets sent.", Origin: "PMA unicast_xmit_packets"},
		Metric{Name: "port_rx_unicast_packets_total", Unit: "packets", Help: "Unicast packets received; present only where data counters are 64-bit.", Origin: "PMA unicast_rcv_packets"},
		Metric{Name: "port_tx_multicast_packets_total", Unit: "packets", Help: "Multicast packets sent.", Origin: "PMA multicast_xmit_packets"},
		Metric{Name: "port_rx_multicast_packets_total", Unit: "packets", Help: "Multicast packets received.", Origin: "PMA multicast_rcv_packets"},
	)
	noise := like(Metric{Domain: Network, Kinds: kinds(NIC, Port)},
		Metric{Name: "port_rx_bits_total", Unit: "bits", Help: "Bits received, in or out of packets: what corrected bits are a share of.", Origin: "ethtool rx_bits_phy"},
		Metric{Name: "port_tx_broadcast_packets_total", Unit: "packets", Help: "Broadcast packets sent.", Origin: "ionic FRAMES_TX_BROADCAST"},
		Metric{Name: "port_rx_broadcast_packets_total", Unit: "packets", Help: "Broadcast packets received.", Origin: "ionic FRAMES_RX_BROADCAST"},
	)
	rdma := like(Metric{Domain: Network, Kinds: kinds(NIC)},
		Metric{Name: "rdma_tx_bytes_total", Unit: "bytes", Help: "RDMA bytes sent; TCP and the rest are not in it.", Origin: "mlx5 RoCE counters/port_xmit_data times 4, hw_counters/rdma_tx_bytes; efa tx_bytes; mana tx_bytes; ionic tx_rdma_ucast_bytes"},
		Metric{Name: "rdma_rx_bytes_total", Unit: "bytes", Help: "RDMA bytes received.", Origin: "mlx5 RoCE counters/port_rcv_data times 4, hw_counters/rdma_rx_bytes; efa rx_bytes; mana rx_bytes; ionic rx_rdma_ucast_bytes"},
		Metric{Name: "rdma_tx_packets_total", Unit: "packets", Help: "RDMA packets sent.", Origin: "mlx5 RoCE counters/port_xmit_packets, hw_counters/rdma_tx_packets; efa tx_pkts; mana tx_packets; ionic tx_rdma_ucast_pkts"},
		Metric{Name: "rdma_rx_packets_total", Unit: "packets", Help: "RDMA packets received.", Origin: "mlx5 RoCE counters/port_rcv_packets, hw_counters/rdma_rx_packets; efa rx_pkts; mana rx_packets; ionic rx_rdma_ucast_pkts"},
		Metric{Name: "rdma_vport_tx_unicast_packets_total", Unit: "packets", Help: "RDMA unicast packets sent through this vport.", Origin: "ethtool tx_vport_rdma_unicast_packets"},
		Metric{Name: "rdma_vport_rx_unicast_packets_total", Unit: "packets", Help: "RDMA unicast packets received through this vport.", Origin: "ethtool rx_vport_rdma_unicast_packets"},
		Metric{Name: "rdma_vport_tx_unicast_bytes_total", Unit: "bytes", Help: "RDMA unicast bytes sent through this vport.", Origin: "ethtool tx_vport_rdma_unicast_bytes"},
		Metric{Name: "rdma_vport_rx_unicast_bytes_total", Unit: "bytes", Help: "RDMA unicast bytes received through this vport.", Origin: "ethtool rx_vport_rdma_unicast_bytes"},
		Metric{Name: "rdma_vport_tx_multicast_packets_total", Unit: "packets", Help: "RDMA multicast packets sent through this vport.", Origin: "ethtool tx_vport_rdma_multicast_packets"},
		Metric{Name: "rdma_vport_rx_multicast_packets_total", Unit: "packets", Help: "RDMA multicast packets received through this vport.", Origin: "ethtool rx_vport_rdma_multicast_packets"},
		Metric{Name: "rdma_vport_tx_multicast_bytes_total", Unit: "bytes", Help: "RDMA multicast bytes sent through this vport.", Origin: "ethtool tx_vport_rdma_multicast_bytes"},
		Metric{Name: "rdma_vport_rx_multicast_bytes_total", Unit: "bytes", Help: "RDMA multicast bytes received through this vport.", Origin: "ethtool rx_vport_rdma_multicast_bytes"},
	)
	return append(append(all, noise...), rdma...)
}

// pauseMetrics are flow control: RoCE's pause and InfiniBand's missing credits.
func pauseMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC, Port, Queue), Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "port_pfc_tx_pause_frames_total", Unit: "frames", Evidence: true, Help: "Pause frames sent: this port paused its peer.", Origin: "IEEE 802.1Qbb; ethtool tx_prio[p]_pause; SAI PFC_<p>_TX_PKTS"},
		Metric{Name: "port_pfc_rx_pause_frames_total", Unit: "frames", Evidence: true, Help: "Pause frames received: the peer paused this port.", Origin: "IEEE 802.1Qbb; ethtool rx_prio[p]_pause; SAI PFC_<p>_RX_PKTS"},
		Metric{Name: "port_pfc_tx_pause_seconds_total", Unit: "seconds", Evidence: true, Help: "Time for which this port held its peer stopped.", Origin: "ethtool tx_prio[p]_pause_duration (µs); SAI PFC_<p>_TX_PAUSE_DURATION_US; Cumulus out-pause-duration (µs)"},
		Metric{Name: "port_pfc_rx_pause_seconds_total", Unit: "seconds", Evidence: true, Help: "Time for which this port was held stopped by its peer.", Origin: "ethtool rx_prio[p]_pause_duration (µs); SAI PFC_<p>_RX_PAUSE_DURATION_US; Cumulus in-pause-duration (µs)"},
		Metric{Name: "port_pfc_tx_pause_transitions_total", Unit: "events", Help: "Times this port began or ended to hold its peer.", Origin: "bnxt_en pfc_pri<p>_tx_transitions"},
		Metric{Name: "port_pfc_rx_pause_transitions_total", Unit: "events", Help: "Changes from stopped to running seen on this priority.", Origin: "ethtool rx_prio[p]_pause_transition; SAI PFC_<p>_ON2OFF_RX_PKTS"},
		Metric{Name: "port_global_tx_pause_frames_total", Unit: "frames", Help: "802.3x pause frames sent, for all priorities at once.", Origin: "IEEE 802.3 annex 31B; ethtool tx_global_pause; OpenConfig out-mac-pause-frames"},
		Metric{Name: "port_global_rx_pause_frames_total", Unit: "frames", Help: "802.3x pause frames received.", Origin: "IEEE 802.3 annex 31B; ethtool rx_global_pause; OpenConfig in-mac-pause-frames"},
		Metric{Name: "port_global_tx_pause_seconds_total", Unit: "seconds", Help: "Time for which 802.3x pause frames of this port paused the peer.", Origin: "ethtool tx_global_pause_duration (µs)"},
		Metric{Name: "port_global_rx_pause_seconds_total", Unit: "seconds", Help: "Time for which 802.3x pause held this port.", Origin: "ethtool rx_global_pause_duration (µs)"},
		Metric{Name: "port_global_rx_pause_transitions_total", Unit: "events", Help: "Changes from stopped to running by 802.3x pause.", Origin: "ethtool rx_global_pause_transition"},
		Metric{Name: "port_pfc_watchdog_storms_total", Unit: "events", Help: "Times the PFC watchdog declared a storm and took the queue out of lossless service.", Origin: "SONiC PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"},
		Metric{Name: "port_pause_storm_warnings_total", Unit: "events", Help: "Times this NIC paused the fabric for long.", Origin: "ethtool tx_pause_storm_warning_events"},
		Metric{Name: "port_pause_storm_errors_total", Unit: "events", Help: "Times this NIC paused the fabric for so long that it gave up pausing.", Origin: "ethtool tx_pause_storm_error_events"},
		Metric{Name: "port_xmit_wait_ticks_total", Unit: "ticks", Width: 32, Overflow: Sticks, Detectors: shapes(ShapeBurst, ShapeStuck), Help: "Ticks with data queued and nothing sent, for want of credits or arbitration; the length of a tick is the vendor's.", Origin: "InfiniBand PMA PortXmitWait, counters/port_xmit_wait"},
		Metric{Name: "port_xmit_wait_seconds_total", Unit: "seconds", Help: "Time with data queued and nothing sent, where the length of a tick is known.", Origin: "Spectrum tx-wait (byte times at wire speed), NVOS xmit-wait"},
	)
}

// queueMetrics are buffers, marks and drops.
func queueMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC, Port, Queue), Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "port_ecn_marked_packets_total", Unit: "packets", Evidence: true, Help: "Packets marked congestion-experienced by this port or queue.", Origin: "RFC 3168; SAI ECN_MARKED_PACKETS; OpenConfig ecn-marked-pkts; ethtool rx_prio[p]_marked"},
		Metric{Name: "port_queue_bytes", Unit: "bytes", Evidence: true, Detectors: shapes(ShapeShift), Help: "Bytes waiting now.", Origin: "SAI QUEUE_STAT_CURR_OCCUPANCY_BYTES; Cumulus instant-queue-len"},
		Metric{Name: "port_queue_max_bytes", Unit: "bytes", Evidence: true, Detectors: shapes(ShapeShift), Help: "Most bytes that waited since the last sample.", Origin: "SAI QUEUE_STAT_WATERMARK_BYTES (read and clear); OpenConfig max-queue-len"},
		Metric{Name: "port_headroom_max_bytes", Unit: "bytes", Detectors: shapes(ShapeShift), Help: "Most bytes of lossless headroom taken since the last sample.", Origin: "SAI INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"},
		Metric{Name: "port_tx_discards_total", Unit: "packets", Width: 16, Overflow: Sticks, Detectors: shapes(ShapeBurst, ShapeStuck), Help: "Packets dropped on the way out: port down or congested.", Origin: "InfiniBand PMA PortXmitDiscards, counters/port_xmit_discards; ethtool tx_discards_phy; OpenConfig out-discards"},
		Metric{Name: "port_rx_discards_total", Unit: "packets", Help: "Packets dropped on the way in.", Origin: "ethtool rx_discards_phy, rx_prio[p]_discards; OpenConfig in-discards; counters/port_rcv_discards"},
		Metric{Name: "port_rx_buffer_discards_total", Unit: "packets", Help: "Packets dropped for want of a receive buffer.", Origin: "ethtool rx_prio[p]_buf_discard"},
		Metric{Name: "port_rx_congestion_discards_total", Unit: "packets", Help: "Packets dropped because of congestion.", Origin: "ethtool rx_prio[p]_cong_discard"},
		Metric{Name: "port_rx_buffer_threshold_total", Unit: "events", Help: "Times the receive buffer was more than 85 % full.", Origin: "ethtool rx_buffer_passed_thres_phy"},
		Metric{Name: "port_rx_ring_out_of_buffer_total", Unit: "packets", Help: "Packets dropped for want of a descriptor in the host's ring.", Origin: "ethtool rx_out_of_buffer"},
	)
}
