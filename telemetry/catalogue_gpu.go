package telemetry

// gpuMetrics are a GPU at work: the compute, power and heat faces of one thing.
func gpuMetrics() []Metric {
	work := like(Metric{Domain: Computing, Kinds: kinds(GPU), Unit: "1", Rise: Better, Detectors: shapes(ShapeShift, ShapePeer)},
		Metric{Name: "gpu_activity_ratio", Help: "How much a GPU computes: it waits for others where this is low and its engine is busy.", Origin: "whichever of its instruments is stated",
			Evidence: true, Instruments: []MetricName{"gpu_tensor_active_ratio", "gpu_sm_active_ratio", "gpu_power_watts"}},
		Metric{Name: "gpu_engine_active_ratio", Detectors: shapes(ShapeShift, ShapePeer, ShapeSilence), Help: "Share of time the graphics or compute engine was active.", Origin: "DCGM field 1001 GR_ENGINE_ACTIVE"},
		Metric{Name: "gpu_sm_active_ratio", Help: "Share of time and of multiprocessors with a warp in them.", Origin: "DCGM field 1002 SM_ACTIVE"},
		Metric{Name: "gpu_tensor_active_ratio", Help: "Share of time the tensor pipes were active.", Origin: "DCGM field 1004 PIPE_TENSOR_ACTIVE"},
		Metric{Name: "gpu_dram_active_ratio", Help: "Share of time the memory interface was active.", Origin: "DCGM field 1005 DRAM_ACTIVE"},
		Metric{Name: "gpu_sm_clock_hertz", Unit: "hertz", Help: "Multiprocessor clock.", Origin: "DCGM field 100 SM_CLOCK (MHz)"},
		Metric{Name: "gpu_memory_clock_hertz", Unit: "hertz", Detectors: shapes(ShapeLevel), Help: "Memory clock.", Origin: "DCGM field 101 MEM_CLOCK (MHz)"},
	)
	body := like(Metric{Domain: Power, Kinds: kinds(GPU), Rise: Neutral},
		Metric{Name: "gpu_power_watts", Unit: "watts", Detectors: shapes(ShapeShift, ShapePeer), Help: "Board power, averaged by the device.", Origin: "DCGM field 155 POWER_USAGE"},
		Metric{Name: "gpu_energy_joules_total", Unit: "joules", Help: "Energy since the driver was loaded.", Origin: "DCGM field 156 TOTAL_ENERGY_CONSUMPTION (mJ)"},
		Metric{Name: "gpu_power_limit_watts", Unit: "watts", Rise: Better, Detectors: shapes(ShapeLevel, ShapePeer), Help: "The power limit in force.", Origin: "DCGM field 164 BOARD_POWER_LIMIT_ENFORCED_WATTS"},
		Metric{Name: "gpu_temperature_celsius", Unit: "celsius", Domain: Cooling, Rise: Worse, Detectors: shapes(ShapeShift, ShapePeer, ShapeDrift, ShapeStuck), Help: "Core temperature.", Origin: "DCGM field 150 GPU_TEMP"},
		Metric{Name: "gpu_memory_temperature_celsius", Unit: "celsius", Domain: Cooling, Rise: Worse, Detectors: shapes(ShapeShift, ShapePeer, ShapeDrift, ShapeStuck), Help: "Memory temperature.", Origin: "DCGM field 140 MEMORY_TEMP"},
		Metric{Name: "gpu_temperature_margin_celsius", Unit: "celsius", Domain: Cooling, Rise: Better, Detectors: shapes(ShapeShift, ShapePeer), Help: "Degrees left to the nearest slowdown limit.", Origin: "DCGM field 153 GPU_TEMP_MARGIN_CELSIUS"},
	)
	errors := like(Metric{Domain: Computing, Kinds: kinds(GPU), Unit: "errors", Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "gpu_ecc_correctable_errors_total", Help: "Single-bit memory errors since the driver was loaded.", Origin: "DCGM field 310 ECC_SBE_VOL_TOTAL"},
		Metric{Name: "gpu_ecc_uncorrectable_errors_total", Help: "Double-bit memory errors since the driver was loaded.", Origin: "DCGM field 311 ECC_DBE_VOL_TOTAL"},
		Metric{Name: "gpu_remapped_rows_uncorrectable_total", Unit: "rows", Help: "Memory rows replaced after uncorrectable errors.", Origin: "DCGM field 393 ROW_REMAP_UNCORRECTABLE_TOTAL"},
		Metric{Name: "gpu_pcie_replays_total", Help: "PCIe packets sent again.", Origin: "DCGM field 202 PCIE_REPLAY_COUNTER"},
		Metric{Name: "gpu_memory_used_bytes", Unit: "bytes", Rise: Neutral, Detectors: shapes(), Help: "Frame buffer in use.", Origin: "DCGM field 252 FB_USED (MiB)"},
	)
	return append(append(work, body...), errors...)
}

// gpuThrottleMetrics state why a GPU runs slower than it could.
func gpuThrottleMetrics() []Metric {
	return like(Metric{Kinds: kinds(GPU), Unit: "seconds", Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "gpu_clock_event_reasons", Domain: Computing, Unit: "bit_mask", Type: StateOf, Detectors: shapes(ShapeLevel), Help: "Why clocks are below their maximum: 4 software power cap, 8 hardware slowdown, 16 sync boost, 32 software and 64 hardware thermal slowdown, 128 power brake.", Origin: "NVML nvmlClocksEventReasons; DCGM field 112"},
		Metric{Name: "gpu_throttle_power_seconds_total", Domain: Power, Help: "Time slowed by the power limit.", Origin: "DCGM field 240 POWER_VIOLATION, 1420 (ns)"},
		Metric{Name: "gpu_throttle_thermal_seconds_total", Domain: Cooling, Help: "Time slowed by heat.", Origin: "DCGM field 241 THERMAL_VIOLATION, 1422, 1423 (ns)"},
		Metric{Name: "gpu_throttle_brake_seconds_total", Domain: Power, Help: "Time slowed by the power brake: the supply's own signal.", Origin: "DCGM field 1424 HW_POWER_BRAKE_SLOWDOWN_NS"},
	)
}

// nvlinkMetrics are the scale-up fabric.
func nvlinkMetrics() []Metric {
	return like(Metric{Domain: Computing, Kinds: kinds(NVLink, GPU, NVSwitch), Unit: "errors", Rise: Worse, Detectors: shapes(ShapeBurst)},
		Metric{Name: "nvlink_up", Unit: "1", Type: StateOf, Rise: Better, Detectors: shapes(ShapeLevel, ShapeFlap), Help: "1 while the link is active.", Origin: "NVML nvmlDeviceGetNvLinkState"},
		Metric{Name: "nvlink_replay_errors_total", Help: "Packets sent again.", Origin: "DCGM field 429 NVLINK_REPLAY_ERROR_TOTAL"},
		Metric{Name: "nvlink_recovery_errors_total", Help: "Times the link was trained again.", Origin: "DCGM field 439 NVLINK_RECOVERY_ERROR_TOTAL"},
		Metric{Name: "nvlink_crc_errors_total", Help: "Flits and data with a wrong checksum.", Origin: "DCGM fields 409, 419"},
	)
}

// nvlinkTraffic are the bytes of the scale-up fabric.
func nvlinkTraffic() []Metric {
	return like(Metric{Domain: Computing, Kinds: kinds(NVLink, GPU, NVSwitch), Unit: "bytes"},
		Metric{Name: "nvlink_tx_bytes_total", Detectors: shapes(ShapeShift), Help: "Bytes sent, headers included.", Origin: "DCGM field 1011 PROF_NVLINK_TX_BYTES, 1040 to 1057"},
		Metric{Name: "nvlink_rx_bytes_total", Detectors: shapes(ShapeShift), Help: "Bytes received, headers included.", Origin: "DCGM field 1012 PROF_NVLINK_RX_BYTES, 1058 to 1075"},
	)
}
