package telemetry

import "strings"

// evidence lists the metrics that explanations read grid by grid beside those
// that their tables mark: what signatures ask of a job's GPUs, links, hosts,
// power and cooling. Each costs the window four bytes a grid and series, so
// what no explanation asks is not here.
func evidence() []MetricName {
	var out []MetricName
	for _, name := range strings.Fields(`
		gpu_engine_active_ratio gpu_sm_active_ratio gpu_tensor_active_ratio gpu_dram_active_ratio
		gpu_sm_clock_hertz gpu_memory_clock_hertz gpu_temperature_celsius gpu_temperature_margin_celsius gpu_memory_temperature_celsius
		gpu_power_watts gpu_power_limit_watts gpu_clock_event_reasons
		gpu_throttle_power_seconds_total gpu_throttle_thermal_seconds_total gpu_throttle_brake_seconds_total
		gpu_ecc_correctable_errors_total gpu_ecc_uncorrectable_errors_total gpu_pcie_replays_total
		nvlink_up nvlink_tx_bytes_total nvlink_rx_bytes_total nvlink_replay_errors_total nvlink_recovery_errors_total nvlink_crc_errors_total

		port_up port_speed_bits_per_second port_link_downs_total port_rx_errors_total port_rx_crc_errors_total port_symbol_errors_total
		port_fec_uncorrectable_total port_pre_fec_ber optic_temperature_celsius
		port_tx_discards_total port_rx_discards_total port_rx_buffer_discards_total port_headroom_max_bytes port_pfc_watchdog_storms_total
		port_xmit_wait_ticks_total port_xmit_wait_seconds_total port_buffer_overruns_total
		roce_cnp_ignored_total roce_out_of_sequence_total roce_packet_seq_errors_total roce_ack_timeouts_total roce_adaptive_retransmissions_total
		nic_pcie_stalled_ratio pcie_link_width pcie_link_max_width pcie_link_speed_transfers_per_second pcie_link_max_speed_transfers_per_second

		node_power_watts node_power_limit_watts rack_power_watts rack_power_limit_watts
		feed_up psu_up battery_charge_ratio
		coolant_flow_liters_per_minute coolant_supply_celsius coolant_return_celsius coolant_pressure_pascals
		inlet_celsius fan_speed_ratio leak_detected

		storage_read_bytes_total storage_write_bytes_total storage_read_latency_seconds storage_write_latency_seconds
		job_ttft_seconds_p50 job_ttft_seconds_p99 job_itl_seconds_p50 job_itl_seconds_p99 job_queue_requests job_kv_cache_ratio`) {
		out = append(out, MetricName(name))
	}
	return out
}
