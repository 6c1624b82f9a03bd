package scrape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharedPages: recordings of others are read whole, or refused line by line
// with a reason.
func TestSharedPages(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "fixtures")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the recordings of others are not here: ", err)
	}
	for _, c := range []struct {
		file   string
		series int
		want   string // lines of what is heard
	}{
		// A100, all of it and one instance: the instance's four lines are refused.
		{"dcgm/cloud-native-docs/metrics-a100-mig.excerpt.prom", 17, `
gpu:n1/0 gpu_energy_joules_total 319159.391
gpu:n1/0 gpu_engine_active_ratio 0.99563
gpu:n1/0 gpu_last_xid 0
gpu:n1/0 gpu_memory_temperature_celsius 69
gpu:n1/0 gpu_memory_used_bytes 5080350720
gpu:n1/0 gpu_pcie_tx_bytes_per_second 33011804
gpu:n1/0 gpu_power_watts 409.692
gpu:n1/0 gpu_sm_clock_hertz 1215000000
gpu:n1/0 gpu_temperature_celsius 61
gpu:n1/0 gpu_tensor_active_ratio 0.92926
dropped unsupported 4
`},
		// The sentinel for "not supported" is a gap.
		{"dcgm/dcgm-exporter/metrics.readme.excerpt.prom", 3, `
gpu:n1/0 gpu_memory_clock_hertz 405000000
gpu:n1/0 gpu_memory_temperature_celsius gap
gpu:n1/0 gpu_sm_clock_hertz 139000000
dropped unsupported 1
`},
		// Two T4, no tensor traffic, one pod: everything is read.
		{"dcgm/fake-gpu-operator/t4-one-pod.prom", 38, `
gpu:n1/0 gpu_energy_joules_total 9022.652
gpu:n1/0 gpu_engine_active_ratio 3.9e-05
gpu:n1/1 gpu_power_watts 17.035
gpu:n1/1 gpu_sm_clock_hertz 300000000
`},
		// Two scrapes in one file, with a heading and rules: three lines are
		// invalid, and the second scrape repeats everything.
		{"dcgm/fake-gpu-operator/a100-mig-disabled.txt", 23, `
gpu:n1/0 gpu_energy_joules_total 424405.577
gpu:n1/0 gpu_power_watts 45.999
dropped duplicate 23
dropped malformed 3
`},
		// Nothing but an instance.
		{"dcgm/fake-gpu-operator/a100-mig-idle-1g.5gb.txt", 0, "\ndropped malformed 1\ndropped unsupported 14\n"},
		{"dcgm/fake-gpu-operator/a100-mig-active-1g.5gb.txt", 0, "\ndropped malformed 1\ndropped unsupported 14\n"},
		// Names that no mapping has stay the collector's own.
		{"redfish/lambdalabs/golden/gb300_nvlink_happy.golden", 648, `
collector:scrape/page redfish_gpu_nvlink_bit_error_rate{gpu_id="GPU_0",port_id="NVLink_0",port_protocol="NVLink",port_type="BidirectionalPort",system_id="HGX_Baseboard_0"} 1.5e-254
`},
		// A saturated counter, one beyond 2^32, two ports of a device.
		{"sysfs/node_exporter/e2e-output.infiniband.prom", 54, `
nic:n1/i40iw0 port_speed_bits_per_second 10000000000
nic:n1/mlx4_0 port_up 1
nic:n1/mlx4_0 port_xmit_wait_ticks_total 4294967295
nic:n1/mlx4_0 rdma_rx_bytes_total 18527668
nic:n1/mlx4_0 rdma_rx_packets_total 6825908347
nic:n1/mlx4_0:2 port_rx_unicast_packets_total 0
nic:n1/mlx4_0:2 rdma_tx_bytes_total 0
`},
	} {
		text, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Fatal(err)
		}
		e := once(t, Config{}, map[string]string{"node": "n1"}, string(text))
		got := "\n" + e.golden()
		for line := range strings.Lines(strings.TrimPrefix(c.want, "\n")) {
			if !strings.Contains(got, "\n"+line) {
				t.Errorf("%s: no %q in\n%s", c.file, line, got)
			}
		}
		if len(e.Series) != c.series || e.Err() != nil || strings.Count(got, "dropped") != strings.Count(c.want, "dropped") {
			t.Errorf("%s: %d series, want %d; %v\n%s", c.file, len(e.Series), c.series, e.Err(), got)
		}
	}
}
