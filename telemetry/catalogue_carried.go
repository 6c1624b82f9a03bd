package telemetry

// carriedMetrics are collected but not judged: they are shown, stored and can be
// queried in the history, and produce no findings. Most corroborate a metric that
// is judged, from another meter or in another form; judging both would count one
// fault twice.
func carriedMetrics() []Metric {
	gpu := like(Metric{Domain: Computing, Kinds: kinds(GPU), Unit: "1"},
		Metric{Name: "gpu_busy_ratio", Help: "Share of the last second or less in which a kernel ran, as the driver samples it; gpu_engine_active_ratio is the better measure.", Origin: "DCGM field 203 GPU_UTIL (%); amd_gpu_gfx_activity"},
		Metric{Name: "gpu_sm_occupancy_ratio", Help: "Share of the warps that the multiprocessors could hold.", Origin: "DCGM field 1003 SM_OCCUPANCY"},
		Metric{Name: "gpu_last_xid", Help: "The code of the latest XID, 0 if there was none: neither when nor how often. XIDs are counted from the kernel's log.", Origin: "DCGM field 230 XID_ERRORS"},
		Metric{Name: "gpu_pcie_rx_bytes_per_second", Unit: "bytes_per_second", Help: "Bytes received over PCIe, headers included.", Origin: "DCGM field 1010 PCIE_RX_BYTES"},
		Metric{Name: "gpu_pcie_tx_bytes_per_second", Unit: "bytes_per_second", Help: "Bytes sent over PCIe, headers included.", Origin: "DCGM field 1009 PCIE_TX_BYTES"},
		Metric{Name: "gpu_xid_errors_total", Unit: "errors", Rise: Worse, Help: "XIDs of the GPU in the kernel's log, repeats too; each kind is reported as an event.", Origin: "NVIDIA, XID errors: NVRM: Xid lines"},
	)
	nvlink := like(Metric{Domain: Computing, Kinds: kinds(NVLink, GPU)},
		Metric{Name: "nvlink_rx_bytes_per_second", Unit: "bytes_per_second", Help: "Bytes received over NVLink, as the device's own mean.", Origin: "DCGM field 1012 NVLINK_RX_BYTES"},
		Metric{Name: "nvlink_tx_bytes_per_second", Unit: "bytes_per_second", Help: "Bytes sent over NVLink, as the device's own mean.", Origin: "DCGM field 1011 NVLINK_TX_BYTES"},
		Metric{Name: "nvlink_xmit_wait_ticks_total", Unit: "ticks", Rise: Worse, Help: "Ticks in which there was data to send and no credit; how long a tick is, is not known.", Origin: "NMX-T PortXmitWait"},
		Metric{Name: "nvswitch_sxid_errors_total", Unit: "errors", Rise: Worse, Kinds: kinds(NVSwitch), Help: "SXids of the switch in the kernel's log, repeats too; each kind is reported as an event.", Origin: "NVIDIA, fabric manager guide: SXid lines"},
	)
	host := like(Metric{Domain: Computing, Kinds: kinds(Node, NIC, GPU), Unit: "errors", Rise: Worse},
		Metric{Name: "pcie_aer_errors_total", Help: "Errors that a PCIe device or its root port reported to the kernel.", Origin: "Linux: AER lines of the kernel's log"},
	)
	return append(append(gpu, nvlink...), host...)
}

// carriedPlantMetrics are supplies, fans and pumps by meters that the judged
// ones of their kind make up for.
func carriedPlantMetrics() []Metric {
	power := like(Metric{Domain: Power, Kinds: kinds(PSU, Shelf, Node), Unit: "watts"},
		Metric{Name: "psu_input_volts", Unit: "volts", Help: "Voltage at the supply's input.", Origin: "Redfish PowerSupplyMetrics InputVoltage; OpenConfig power-supply input-voltage"},
		Metric{Name: "psu_input_watts", Help: "Power that the supply takes.", Origin: "Redfish PowerSupplyMetrics InputPowerWatts"},
		Metric{Name: "psu_output_watts", Help: "Power that the supply gives.", Origin: "Redfish PowerSupplyMetrics OutputPowerWatts; SONiC PSU_INFO power"},
		Metric{Name: "psu_temperature_celsius", Unit: "celsius", Domain: Cooling, Rise: Worse, Help: "Temperature of the supply.", Origin: "Redfish PowerSupplyMetrics TemperatureCelsius"},
	)
	cooling := like(Metric{Domain: Cooling, Unit: "1"},
		Metric{Name: "fan_speed_revolutions_per_minute", Kinds: kinds(Fan), Unit: "revolutions_per_minute", Help: "Fan speed where its maximum is not known.", Origin: "Redfish Fan SpeedRPM"},
		Metric{Name: "pump_speed_ratio", Kinds: kinds(Pump, CDU), Help: "Pump speed as a share of its maximum.", Origin: "Redfish Pump PumpSpeedPercent"},
	)
	return append(power, cooling...)
}

// carriedManagerMetrics are an InfiniBand subnet's manager as it answers.
func carriedManagerMetrics() []Metric {
	return like(Metric{Domain: Network, Kinds: kinds(SM), Unit: "1"},
		Metric{Name: "sm_up", Type: StateOf, Rise: Better, Help: "1 while a master manages the subnet; sm_master_changed reports which.", Origin: "InfiniBand 1.4, SMInfo SMState"},
		Metric{Name: "sm_priority", Help: "Priority of the manager that answers.", Origin: "InfiniBand 1.4, SMInfo Priority"},
		Metric{Name: "sm_activity_total", Unit: "sweeps", Width: 32, Help: "The manager's heartbeat.", Origin: "InfiniBand 1.4, SMInfo ActCount"},
	)
}

// carriedJobMetrics are jobs as a scheduler, a library or a serving engine
// counts them.
func carriedJobMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(Job), Unit: "1"},
		Metric{Name: "job_places", Unit: "places", Help: "GPUs, or nodes where GPUs are not known, that the job runs on.", Origin: "Slurm REST, Kubernetes, prolog"},
		Metric{Name: "job_restarts_total", Unit: "events", Rise: Worse, Help: "Times the scheduler started the job again.", Origin: "Slurm restart_cnt; Kubernetes restartCount"},
		Metric{Name: "job_ranks_missing", Unit: "ranks", Rise: Worse, Help: "Ranks that do not answer in a communicator.", Origin: "NCCL RAS missing_ranks"},
		Metric{Name: "job_running_requests", Unit: "requests", Help: "Requests being worked on.", Origin: "vllm:num_requests_running; sglang:num_running_reqs"},
		Metric{Name: "job_generation_tokens_total", Unit: "tokens", Help: "Tokens generated.", Origin: "vllm:generation_tokens_total"},
		Metric{Name: "job_prompt_tokens_total", Unit: "tokens", Help: "Tokens read in.", Origin: "vllm:prompt_tokens_total"},
		Metric{Name: "job_preemptions_total", Unit: "events", Rise: Worse, Help: "Requests put aside for want of room in the key-value cache.", Origin: "vllm:num_preemptions_total"},
		Metric{Name: "rank_collectives_total", Kinds: kinds(Rank), Unit: "collectives", Help: "Collectives that the rank has begun: who has begun fewer is waited for.", Origin: "NCCL RAS collective_counts"},
	)
}
