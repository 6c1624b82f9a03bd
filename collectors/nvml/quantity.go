package nvml

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// quantity is one of the values that are read of a GPU.
type quantity int

const (
	engineActive quantity = iota
	smActive
	tensorActive
	dramActive
	smClock
	memoryClock
	power
	energy
	powerLimit
	temperature
	memoryTemperature
	clockReasons
	throttlePower
	throttleThermal
	throttleBrake
	memoryUsed
	pcieReplays
	pcieWidth
	pcieSpeed
	eccSingle
	eccDouble
	remappedRows
	nvlinkSent
	nvlinkReceived
	nvlinkReplays
	nvlinkRecoveries
	quantities
)

// columns are the metrics of the quantities, in the units in which NVML counts:
// milliwatts, millijoules, nanoseconds.
var columns = [quantities]telemetry.Column{
	engineActive:      {Metric: "gpu_engine_active_ratio", Type: telemetry.Decimal, Exp: 4},
	smActive:          {Metric: "gpu_sm_active_ratio", Type: telemetry.Decimal, Exp: 4},
	tensorActive:      {Metric: "gpu_tensor_active_ratio", Type: telemetry.Decimal, Exp: 4},
	dramActive:        {Metric: "gpu_dram_active_ratio", Type: telemetry.Decimal, Exp: 4},
	smClock:           {Metric: "gpu_sm_clock_hertz", Type: telemetry.Uint},
	memoryClock:       {Metric: "gpu_memory_clock_hertz", Type: telemetry.Uint},
	power:             {Metric: "gpu_power_watts", Type: telemetry.Decimal, Exp: 3},
	energy:            {Metric: "gpu_energy_joules_total", Type: telemetry.Decimal, Exp: 3},
	powerLimit:        {Metric: "gpu_power_limit_watts", Type: telemetry.Decimal, Exp: 3},
	temperature:       {Metric: "gpu_temperature_celsius", Type: telemetry.Uint},
	memoryTemperature: {Metric: "gpu_memory_temperature_celsius", Type: telemetry.Uint},
	clockReasons:      {Metric: "gpu_clock_event_reasons", Type: telemetry.Uint},
	throttlePower:     {Metric: "gpu_throttle_power_seconds_total", Type: telemetry.Decimal, Exp: 9},
	throttleThermal:   {Metric: "gpu_throttle_thermal_seconds_total", Type: telemetry.Decimal, Exp: 9},
	throttleBrake:     {Metric: "gpu_throttle_brake_seconds_total", Type: telemetry.Decimal, Exp: 9},
	memoryUsed:        {Metric: "gpu_memory_used_bytes", Type: telemetry.Uint},
	pcieReplays:       {Metric: "gpu_pcie_replays_total", Type: telemetry.Uint},
	pcieWidth:         {Metric: "pcie_link_width", Type: telemetry.Uint},
	pcieSpeed:         {Metric: "pcie_link_speed_transfers_per_second", Type: telemetry.Uint},
	eccSingle:         {Metric: "gpu_ecc_correctable_errors_total", Type: telemetry.Uint},
	eccDouble:         {Metric: "gpu_ecc_uncorrectable_errors_total", Type: telemetry.Uint},
	remappedRows:      {Metric: "gpu_remapped_rows_uncorrectable_total", Type: telemetry.Uint},
	nvlinkSent:        {Metric: "nvlink_tx_bytes_total", Type: telemetry.Uint},
	nvlinkReceived:    {Metric: "nvlink_rx_bytes_total", Type: telemetry.Uint},
	nvlinkReplays:     {Metric: "nvlink_replay_errors_total", Type: telemetry.Uint},
	nvlinkRecoveries:  {Metric: "nvlink_recovery_errors_total", Type: telemetry.Uint},
}

// sheet is what was read of a GPU at one instant.
type sheet struct {
	words [quantities]uint64
	known [quantities]bool
}

func (s *sheet) set(q quantity, word uint64) { s.words[q], s.known[q] = word, true }

// share records a percentage as a share; a value that is not a percentage is
// unknown.
func (s *sheet) share(q quantity, percent float64) {
	if percent >= 0 && percent <= 100.5 { // a reading may overshoot by its rounding
		s.set(q, uint64(math.Round(float64(min(percent, 100)*100))))
	}
}
