package telemetry

// linkMetrics are a link's state and health. The narrow ones are InfiniBand's
// performance management attributes: they stick at their maximum until reset.
func linkMetrics() []Metric {
	state := like(Metric{Domain: Network, Kinds: kinds(NIC, Port)},
		Metric{Name: "port_up", Unit: "1", Type: StateOf, Rise: Better, Detectors: shapes(ShapeLevel, ShapeFlap, ShapeSilence), Help: "1 while the link carries traffic.", Origin: "ports/<n>/state (4: ACTIVE); OpenConfig oper-status"},
		Metric{Name: "port_speed_bits_per_second", Unit: "bits_per_second", Type: StateOf, Rise: Better, Detectors: shapes(ShapeLevel), Help: "The rate that was negotiated.", Origin: "ports/<n>/rate; OpenConfig negotiated-port-speed; ethtool"},
		Metric{Name: "port_logical_state", Unit: "1", Type: StateOf, Help: "1 down, 2 initialized and waiting for the subnet manager, 3 armed, 4 active, 5 active and deferred.", Origin: "ports/<n>/state"},
		Metric{Name: "port_physical_state", Unit: "1", Type: StateOf, Help: "1 sleep, 2 polling, 3 disabled, 4 training, 5 up, 6 recovering, 7 test.", Origin: "ports/<n>/phys_state"},
		Metric{Name: "port_pre_fec_ber", Unit: "1", Rise: Worse, Detectors: shapes(ShapeDrift, ShapePeer), Help: "Bit error ratio before forward error correction.", Origin: "OpenConfig pre-fec-ber; SONiC RATES FEC_PRE_BER; NVOS raw-ber"},
	)
	wide := like(Metric{Domain: Network, Kinds: kinds(NIC, Port), Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "port_fec_uncorrectable_total", Unit: "codewords", Help: "Codewords that forward error correction could not mend: packets were lost.", Origin: "SAI IF_IN_FEC_NOT_CORRECTABLE_FRAMES; OpenConfig fec-uncorrectable-blocks"},
		Metric{Name: "port_fec_corrected_bits_total", Unit: "bits", Detectors: shapes(ShapeDrift), Help: "Bits corrected by forward error correction.", Origin: "ethtool rx_corrected_bits_phy; SAI IF_IN_FEC_CORRECTED_BITS"},
		Metric{Name: "port_pcs_symbol_errors_total", Unit: "errors", Help: "Symbols that were no code, on Ethernet.", Origin: "ethtool rx_pcs_symbol_err_phy; OpenConfig in-symbol-error"},
		Metric{Name: "port_lane_errors_total", Unit: "bits", Help: "Raw bit errors of a lane, summed over lanes.", Origin: "ethtool rx_err_lane_[l]_phy"},
		Metric{Name: "port_rx_crc_errors_total", Unit: "packets", Help: "Packets with a wrong frame check sequence.", Origin: "OpenConfig in-fcs-errors, in-crc-errors; ethtool rx_crc_errors_phy"},
	)
	sticking := like(Metric{Domain: Network, Kinds: kinds(NIC, Port), Rise: Worse, Overflow: Sticks, Width: 16, Detectors: shapes(ShapeBurst, ShapeStuck)},
		Metric{Name: "port_symbol_errors_total", Unit: "errors", Help: "Minor errors on a lane.", Origin: "InfiniBand PMA SymbolErrorCounter, counters/symbol_error"},
		Metric{Name: "port_link_downs_total", Unit: "events", Width: 8, Help: "Times the link failed to retrain and went down.", Origin: "InfiniBand PMA LinkDownedCounter, counters/link_downed; ethtool link_down_events_phy; OpenConfig carrier-transitions"},
		Metric{Name: "port_link_recoveries_total", Unit: "events", Width: 8, Help: "Times the link retrained and came back.", Origin: "InfiniBand PMA LinkErrorRecoveryCounter, counters/link_error_recovery"},
		Metric{Name: "port_rx_errors_total", Unit: "packets", Help: "Packets received with an error.", Origin: "InfiniBand PMA PortRcvErrors, counters/port_rcv_errors; OpenConfig in-errors"},
		Metric{Name: "port_rx_remote_physical_errors_total", Unit: "packets", Help: "Packets that an earlier hop had marked bad.", Origin: "InfiniBand PMA PortRcvRemotePhysicalErrors, counters/port_rcv_remote_physical_errors"},
		Metric{Name: "port_rx_switch_relay_errors_total", Unit: "packets", Help: "Packets that a switch could not forward.", Origin: "InfiniBand PMA PortRcvSwitchRelayErrors, counters/port_rcv_switch_relay_errors"},
		Metric{Name: "port_tx_constraint_errors_total", Unit: "packets", Width: 8, Help: "Packets not sent: partition or raw filter.", Origin: "InfiniBand PMA PortXmitConstraintErrors, counters/port_xmit_constraint_errors"},
		Metric{Name: "port_rx_constraint_errors_total", Unit: "packets", Width: 8, Help: "Packets not taken: partition or raw filter.", Origin: "InfiniBand PMA PortRcvConstraintErrors, counters/port_rcv_constraint_errors"},
		Metric{Name: "port_local_integrity_errors_total", Unit: "events", Width: 4, Help: "Times the threshold of local physical errors was passed.", Origin: "InfiniBand PMA LocalLinkIntegrityErrors, counters/local_link_integrity_errors"},
		Metric{Name: "port_buffer_overruns_total", Unit: "events", Width: 4, Help: "Times the threshold of buffer overruns was passed.", Origin: "InfiniBand PMA ExcessiveBufferOverrunErrors, counters/excessive_buffer_overrun_errors"},
	)
	return append(append(state, wide...), sticking...)
}

// managementMetrics are those of subnet management.
func managementMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC, Port), Rise: Worse, Overflow: Sticks, Width: 16, Detectors: shapes(ShapeBurst, ShapeStuck)},
		Metric{Name: "port_vl15_dropped_total", Unit: "packets", Help: "Subnet management packets dropped.", Origin: "InfiniBand PMA VL15Dropped, counters/VL15_dropped"},
		Metric{Name: "port_qp1_dropped_total", Unit: "packets", Help: "General management packets dropped.", Origin: "InfiniBand PMA QP1Dropped"},
	)
}

// moduleMetrics are the optic or cable in a port.
func moduleMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(NIC, Port, Optic), Rise: Worse, Detectors: shapes(ShapeBurst), Origin: "ethtool "},
		Metric{Name: "port_module_unplugs_total", Unit: "events", Help: "Times the module was pulled.", Origin: "module_unplug"},
		Metric{Name: "port_module_bus_stuck_total", Unit: "events", Help: "Times the module's management bus hung.", Origin: "module_bus_stuck"},
		Metric{Name: "port_module_overheats_total", Unit: "events", Domain: Cooling, Help: "Times the module was too hot.", Origin: "module_high_temp"},
		Metric{Name: "port_module_shorts_total", Unit: "events", Help: "Times the module was bad or shorted.", Origin: "module_bad_shorted"},
	)
}
