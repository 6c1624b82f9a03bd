package exporter

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// field is one of DCGM's: its names before and after 4.6.0, and how it is
// written.
type field struct {
	metric  telemetry.MetricName
	before  string
	after   string // "": the same
	is      string
	double  bool
	decimal int // whole numbers: times ten to this
	help    string
}

func (d field) name(renamed bool) string {
	if renamed && d.after != "" {
		return d.after
	}
	return d.before
}

// dcgmFields are those that a site of ours watches: the defaults, and the ones
// that a counter file has to switch on.
func dcgmFields() []field {
	const gauge, counter = "gauge", "counter"
	return []field{
		{metric: "gpu_sm_clock_hertz", before: "DCGM_FI_DEV_SM_CLOCK", is: gauge, decimal: -6, help: "SM clock frequency (in MHz)."},
		{metric: "gpu_memory_clock_hertz", before: "DCGM_FI_DEV_MEM_CLOCK", is: gauge, decimal: -6, help: "Memory clock frequency (in MHz)."},
		{metric: "gpu_memory_temperature_celsius", before: "DCGM_FI_DEV_MEMORY_TEMP", after: "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", is: gauge, help: "Memory temperature (in C)."},
		{metric: "gpu_temperature_celsius", before: "DCGM_FI_DEV_GPU_TEMP", after: "DCGM_FI_DEV_GPU_TEMP_CELSIUS", is: gauge, help: "GPU temperature (in C)."},
		{metric: "gpu_power_watts", before: "DCGM_FI_DEV_POWER_USAGE", after: "DCGM_FI_DEV_BOARD_POWER_WATTS", is: gauge, double: true, help: "Power draw (in W)."},
		{metric: "gpu_energy_joules_total", before: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", is: counter, decimal: 3, help: "Total energy consumption since boot (in mJ)."},
		{metric: "gpu_power_limit_watts", before: "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", after: "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", is: gauge, double: true, help: "Effective power limit (in W)."},
		{metric: "gpu_pcie_replays_total", before: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", after: "DCGM_FI_DEV_PCIE_REPLAY_TOTAL", is: counter, help: "Total number of PCIe retries."},
		{metric: "gpu_clock_event_reasons", before: "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", after: "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", is: gauge, help: "Current clock event reasons (bit mask)."},
		{metric: "gpu_throttle_power_seconds_total", before: "DCGM_FI_DEV_POWER_VIOLATION", is: counter, decimal: 9, help: "Throttling duration due to power constraints (in ns)."},
		{metric: "gpu_throttle_thermal_seconds_total", before: "DCGM_FI_DEV_THERMAL_VIOLATION", is: counter, decimal: 9, help: "Throttling duration due to thermal constraints (in ns)."},
		{metric: "gpu_throttle_brake_seconds_total", before: "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS", is: counter, decimal: 9, help: "Time slowed by the power brake (in ns)."},
		{metric: "gpu_ecc_correctable_errors_total", before: "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", is: counter, help: "Total number of single-bit volatile ECC errors."},
		{metric: "gpu_ecc_uncorrectable_errors_total", before: "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", is: counter, help: "Total number of double-bit volatile ECC errors."},
		{metric: "gpu_remapped_rows_uncorrectable_total", before: "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", after: "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", is: counter, help: "Number of remapped rows for uncorrectable errors."},
		{metric: "nvlink_crc_errors_total", before: "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", after: "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", is: counter, help: "Total number of NVLink data CRC errors."},
		{metric: "nvlink_replay_errors_total", before: "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", after: "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", is: counter, help: "Total number of NVLink retries."},
		{metric: "nvlink_recovery_errors_total", before: "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", after: "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", is: counter, help: "Total number of NVLink recovery errors."},
		{metric: "nvlink_tx_bytes_total", before: "DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES", after: "DCGM_FI_DEV_NVLINK_TX_BYTES_TOTAL", is: counter, help: "Bytes sent over NVLink."},
		{metric: "nvlink_rx_bytes_total", before: "DCGM_FI_DEV_NVLINK_COUNT_RX_BYTES", after: "DCGM_FI_DEV_NVLINK_RX_BYTES_TOTAL", is: counter, help: "Bytes received over NVLink."},
		{metric: "gpu_engine_active_ratio", before: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", after: "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", is: gauge, double: true, help: "Ratio of time the graphics engine is active (in %)."},
		{metric: "gpu_sm_active_ratio", before: "DCGM_FI_PROF_SM_ACTIVE", after: "DCGM_FI_PROF_SM_UTIL_RATIO", is: gauge, double: true, help: "The ratio of cycles an SM has at least 1 warp assigned (in %)."},
		{metric: "gpu_tensor_active_ratio", before: "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", after: "DCGM_FI_PROF_TENSOR_UTIL_RATIO", is: gauge, double: true, help: "Ratio of cycles the tensor (HMMA) pipe is active (in %)."},
		{metric: "gpu_dram_active_ratio", before: "DCGM_FI_PROF_DRAM_ACTIVE", after: "DCGM_FI_PROF_DRAM_UTIL_RATIO", is: gauge, double: true, help: "Ratio of cycles the device memory interface is active sending or receiving data (in %)."},
	}
}

// What DCGM has for no value.
const (
	blankWhole  = "9223372036854775794"
	blankDouble = "140737488355330.000000"
)

// write returns a reading as DCGM has it; false where an exporter leaves it out,
// as newer ones do with what has no value.
func (d field) write(r board.Reading, renamed bool) (string, bool) {
	switch {
	case r.Gap && renamed:
		return "", false
	case r.Gap && d.double:
		return blankDouble, true
	case r.Gap:
		return blankWhole, true
	case d.double:
		return six(r), true
	}
	return whole(r, d.decimal), true
}

// dcgm is the page of a node: on every other node DCGM and its exporter are of
// the time after the renaming.
func (f *Fleet) dcgm(p *page, node telemetry.Entity) {
	gpus := f.inside(node, telemetry.GPU)
	renamed, host := isEven(node), "Hostname"
	if renamed {
		host = "hostname"
	}
	labels := func(x telemetry.Entity) string {
		return fmt.Sprintf(`gpu="%d",UUID=%q,pci_bus_id="00000000:%02X:00.0",device="nvidia%d",modelName="NVIDIA H100 80GB HBM3",%s=%q`,
			number(x), "GPU-"+x.Name, 0x10+number(x), number(x), host, node.Name)
	}
	for _, d := range dcgmFields() {
		described := false
		for _, x := range gpus {
			r, ok := f.board.Read(x, d.metric)
			if !ok {
				continue
			}
			text, ok := d.write(r, renamed)
			if !ok {
				continue
			}
			if !described {
				p.family(d.name(renamed), d.is, d.help)
				described = true
			}
			p.line(d.name(renamed), labels(x), text)
		}
	}
	if len(gpus) == 0 {
		return
	}
	name := map[bool]string{false: "DCGM_FI_DEV_XID_ERRORS", true: "DCGM_FI_DEV_XID_ERROR"}[renamed]
	p.family(name, "gauge", "Value of the last XID error encountered.")
	for _, x := range gpus {
		code := f.xids[x]
		if code == "" {
			code = "0"
		}
		p.line(name, labels(x), code)
	}
}

// isEven distinguishes nodes of two kinds by the last digit of their names.
func isEven(x telemetry.Entity) bool { return x.Name != "" && x.Name[len(x.Name)-1]%2 == 0 }
