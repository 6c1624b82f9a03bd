package sysfs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// Every name means a metric that is declared, of the unit that is read, for the
// kind of entity it is stated of, and the declaration names the file.
func TestEveryMeaningIsDeclared(t *testing.T) {
	v := newVocabulary()
	c := telemetry.DefaultCatalogue()
	check := func(file string, metric telemetry.MetricName, kind telemetry.Kind) {
		t.Helper()
		m, ok := c.Lookup(metric)
		if !ok || !slices.Contains(m.Kinds, kind) {
			t.Errorf("%s: metric %s is not declared for a %s", file, metric, kind)
			return
		}
		if words := regexp.MustCompile(`[\w\[\]]+`).FindAllString(m.Origin, -1); file != "" && !slices.Contains(words, file) {
			t.Errorf("%s: metric %s is declared to come from %q", file, metric, m.Origin)
		}
	}
	for driver, files := range v.hardware {
		if driver == "i40iw" {
			continue
		}
		for file, metric := range files {
			check(file, metric, telemetry.NIC)
		}
	}
	for file, list := range v.managed {
		for _, m := range list {
			if strings.HasPrefix(string(m.metric), "rdma_vport") {
				file = ""
			}
			check(file, m.metric, telemetry.NIC)
		}
	}
	for _, p := range v.strings {
		kind, file := telemetry.NIC, ""
		if p.prio {
			kind = telemetry.Queue
		}
		if p.family == "mlx5" {
			file = p.before
			if p.numbered {
				file += map[bool]string{true: "[p]", false: "[l]"}[p.prio] + p.after
			}
		}
		check(file, p.means.metric, kind)
		m, _ := c.Lookup(p.means.metric)
		if seconds := strings.Contains(string(p.means.metric), "pause_seconds"); m != nil && seconds != (p.means.exp == 6) {
			t.Errorf("%s%s: %s with exponent %d", p.before, p.after, p.means.metric, p.means.exp)
		}
	}
	for _, metric := range []telemetry.MetricName{"port_up", "port_logical_state", "port_physical_state", "port_speed_bits_per_second",
		"pcie_link_width", "pcie_link_max_width", "pcie_link_speed_transfers_per_second", "pcie_link_max_speed_transfers_per_second", "roce_counter_lifespan_seconds", "optic_temperature_celsius"} {
		check("", metric, telemetry.NIC)
	}
	for _, metric := range []telemetry.MetricName{"port_pfc_enabled", "port_ecn_enabled"} {
		check("", metric, telemetry.Queue)
	}
}

// Every counter's file that a declaration names is known here.
func TestEveryDeclaredFileIsKnown(t *testing.T) {
	v := newVocabulary()
	for _, m := range telemetry.DefaultCatalogue().Metrics() {
		for _, part := range strings.Split(m.Origin, "; ") {
			driver, rest, ok := strings.Cut(part, " hw_counters/")
			if !ok || v.hardware[driver] == nil {
				continue
			}
			for _, file := range strings.Split(rest, ", ") {
				file = strings.TrimPrefix(file, "hw_counters/")
				if file != lifespanFile+" (ms)" && v.hardware[driver][file] != m.Name {
					t.Errorf("%s: %s of %s is known as %q", m.Name, file, driver, v.hardware[driver][file])
				}
			}
		}
	}
}

// The width that the engine needs to see a counter stand at its end.
func TestWidthsAreThoseOfTheField(t *testing.T) {
	c := telemetry.DefaultCatalogue()
	for file, want := range map[string]uint8{
		"symbol_error": 16, "link_error_recovery": 8, "link_downed": 8, "port_rcv_errors": 16, "port_rcv_remote_physical_errors": 16,
		"port_rcv_switch_relay_errors": 16, "port_xmit_discards": 16, "port_xmit_constraint_errors": 8, "port_rcv_constraint_errors": 8,
		"local_link_integrity_errors": 4, "excessive_buffer_overrun_errors": 4, "VL15_dropped": 16, "port_xmit_wait": 32,
	} {
		for _, m := range newVocabulary().managed[file] {
			if d, _ := c.Lookup(m.metric); d == nil || d.Width != want || d.Overflow != telemetry.Sticks {
				t.Errorf("%s: %s has %+v, want %d bits that stick", file, m.metric, d, want)
			}
			if m.scale != 1 {
				t.Errorf("%s: %s is scaled: its end would not be seen", file, m.metric)
			}
		}
	}
	for file, metric := range newVocabulary().hardware["mlx5"] {
		d, _ := c.Lookup(metric)
		wide := strings.Contains(file, "cnp") || strings.Contains(file, "ecn") || strings.HasPrefix(file, "rdma_") || strings.HasPrefix(file, "cc_") || file == "rx_icrc_encapsulated"
		if strings.HasPrefix(file, "roce_slow") {
			wide = false
		}
		if d != nil && (d.Width == 64) != wide || d != nil && d.Overflow != telemetry.Wraps {
			t.Errorf("%s: %s has %d bits, overflow %d", file, metric, d.Width, d.Overflow)
		}
	}
}

func TestStatisticNames(t *testing.T) {
	v := newVocabulary()
	for _, c := range []struct {
		driver, name, want string
	}{
		{"mlx5_core", "rx_prio3_pause_duration", "port_pfc_rx_pause_seconds_total 3"},
		{"mlx5_core", "rx_prio7_bytes", "port_rx_bytes_total 7"},
		{"mlx5_core", "rx_prio8_bytes", ""},
		{"mlx5_core", "rx_prio_bytes", ""},
		{"mlx5_core", "tx_bytes", ""},
		{"mlx5_core", "rx_err_lane_11_phy", "port_lane_errors_total -1"},
		{"mlx5_core", "rx_err_lane_111_phy", ""},
		{"mlx5_core", "rx_pfc_ena_frames_pri3", ""},
		{"bnxt_en", "tx_bytes", "port_tx_bytes_total -1"},
		{"bnxt_en", "rx_prio3_pause", ""},
		{"", "tx_bytes", ""},
		{"", "rx_prio3_pause", "port_pfc_rx_pause_frames_total 3"},
		{"", "rx_pfc_ena_frames_pri3", "port_pfc_rx_pause_frames_total 3"},
		{"ice", "rx_priority_0_xoff.nic", "port_pfc_rx_pause_frames_total 0"},
		{"ionic", "frames_rx_all", "port_rx_packets_total -1 ionic_rx_all_frames_total -1"},
	} {
		var got []string
		for _, s := range v.statistic(c.driver, c.name) {
			got = append(got, string(s.means.metric), itoa(s.priority))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s of %q: %q, want %q", c.name, c.driver, strings.Join(got, " "), c.want)
		}
	}
	for name, want := range map[string]bool{"rx0_packets": true, "tx_12_pkts": true, "[3]: rx_ucast_packets": true, "ch4_poll": true, "rx_queue_0_drops": true, "rx_packets": false, "tx": false} {
		if perRing(name) != want {
			t.Errorf("perRing(%q) = %t", name, !want)
		}
	}
}

func itoa(n int) string {
	if n < 0 {
		return "-" + itoa(-n)
	}
	return string(rune('0' + n))
}

func TestDriversAndTransports(t *testing.T) {
	v := newVocabulary()
	for _, c := range []struct {
		module, name string
		files        []string
		want         string
	}{
		{"mlx5_core", "rocep1s0", nil, "mlx5"}, {"mlx5_core.sf", "mlx5_9", nil, "mlx5"}, {"bnxt_en", "x", nil, "bnxt_re"}, {"ice", "x", nil, "irdma"},
		{"cxgb4", "x", nil, "cxgb4"}, {"", "rocep68s0", []string{"lifespan", "req_tx_retry_excd_err"}, "ionic"}, {"", "x", []string{"ip4InDiscards"}, "irdma"},
		{"", "mlx5_bond_0", nil, "mlx5"}, {"", "bnxt_re1", nil, "bnxt_re"}, {"", "hns_0", nil, "hns"}, {"", "rdmap0s31", []string{"submitted_cmds"}, "efa"},
		{"", "mana_0", []string{"requester_oos_nak"}, "mana"}, {"", "hfi1_0", nil, ""}, {"", "ibp3s0", nil, ""},
	} {
		if got := driverOf(c.module, c.name, c.files, v); got != c.want && !(c.name == "hfi1_0" && got == "hfi1") {
			t.Errorf("driverOf(%q, %q, %q) = %q, want %q", c.module, c.name, c.files, got, c.want)
		}
	}
	for _, c := range []struct {
		layer, kind, driver string
		want                transport
	}{
		{"InfiniBand", "1: CA", "mlx5", infiniband}, {"Ethernet", "1: CA", "mlx5", roce}, {"Ethernet", "4: RNIC", "irdma", iwarp},
		{"Unknown", "7: unspecified", "efa", efa}, {"", "5: usNIC", "", usnic}, {"", "1: CA", "mlx4", infiniband}, {"", "", "", unknown}, {"InfiniBand", "", "hfi1", infiniband},
	} {
		if got := transportOf(c.layer, c.kind, c.driver); got != c.want {
			t.Errorf("transportOf(%q, %q, %q) = %s, want %s", c.layer, c.kind, c.driver, got, c.want)
		}
	}
}
