package worlds

import (
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/telemetry"
)

// Instruments states what of the standard site's telemetry does not exist.
type Instruments struct {
	Profile string // its name, as in docs/simulator.md; "" for the standard site
	Absent  []Absence
	// WaitSeconds adds port_xmit_wait_seconds_total (NVOS) on InfiniBand.
	WaitSeconds bool
	// NoRankTimes states that no job reports the times of its ranks.
	NoRankTimes bool
	// Sensors is the share of the sources of power and cooling that exist: 0.2 to
	// 0.5. 0 is all of them.
	Sensors float64
}

// Absence is a metric that no entity of a kind has; Kind "" is any kind.
type Absence struct {
	Kind   telemetry.Kind
	Metric telemetry.MetricName
}

// Has reports whether entities of a kind have a metric.
func (in *Instruments) Has(k telemetry.Kind, m telemetry.MetricName) bool {
	return !slices.ContainsFunc(in.Absent, func(a Absence) bool { return a.Metric == m && (a.Kind == "" || a.Kind == k) })
}

// without adds absences.
func (in *Instruments) without(k telemetry.Kind, groups ...[]telemetry.MetricName) {
	for _, g := range groups {
		for _, m := range g {
			in.Absent = append(in.Absent, Absence{k, m})
		}
	}
}

// Groups of metrics that a device has or has not as a whole.
var (
	pauseFrames  = []telemetry.MetricName{"port_pfc_tx_pause_frames_total", "port_pfc_rx_pause_frames_total"}
	pauseSeconds = []telemetry.MetricName{"port_pfc_tx_pause_seconds_total", "port_pfc_rx_pause_seconds_total"}
	guards       = []telemetry.MetricName{"port_headroom_max_bytes", "port_pfc_watchdog_storms_total"}
	marks        = []telemetry.MetricName{"port_ecn_marked_packets_total", "roce_ecn_marked_packets_total"}
	cnps         = []telemetry.MetricName{"roce_cnp_sent_total", "roce_cnp_handled_total", "roce_cnp_ignored_total"}
	queues       = []telemetry.MetricName{"port_queue_bytes"}
	watermarks   = []telemetry.MetricName{"port_queue_max_bytes"}
	waits        = []telemetry.MetricName{"port_xmit_wait_ticks_total", "port_xmit_wait_seconds_total"}
	transport    = []telemetry.MetricName{"roce_out_of_sequence_total", "roce_packet_seq_errors_total", "roce_ack_timeouts_total"}
	correction   = []telemetry.MetricName{"port_fec_uncorrectable_total", "port_fec_corrected_bits_total", "port_pre_fec_ber"}
	optics       = []telemetry.MetricName{"optic_temperature_celsius"}
	pcie         = []telemetry.MetricName{"nic_pcie_stalled_ratio", "pcie_link_width", "pcie_link_speed_transfers_per_second"}
	powering     = []telemetry.MetricName{"rack_power_watts", "rack_power_limit_watts", "psu_up", "feed_up", "battery_charge_ratio",
		"node_power_watts", "node_power_limit_watts"}
	cooling = []telemetry.MetricName{"coolant_flow_liters_per_minute", "coolant_supply_celsius", "coolant_return_celsius",
		"coolant_pressure_pascals", "leak_detected", "inlet_celsius", "fan_speed_ratio"}
)

// rarely removes, each with probability 0.3, what vendors often leave out.
func (in *Instruments) rarely(r *random.Source) {
	for _, g := range [][]telemetry.MetricName{correction, optics, pcie, transport} {
		if r.Chance(0.3) {
			in.without("", g)
		}
	}
}

// drawEthernet draws a profile of what RoCE switches and NICs count: after the
// counters of mlx5, bnxt_re and irdma, and the gNMI paths of SONiC, Cumulus and
// OpenConfig (telemetry's catalogue names the origins).
func drawEthernet(r *random.Source) Instruments {
	profiles := []struct {
		name  string
		apply func(in *Instruments)
	}{
		{"pause-frames", func(in *Instruments) { in.without("", pauseSeconds, guards) }},
		{"watermark", func(in *Instruments) { in.without("", pauseFrames, pauseSeconds, guards, marks, cnps, queues) }},
		{"no-marks", func(in *Instruments) { in.without("", marks, cnps) }},
		{"marks-only", func(in *Instruments) { in.without("", pauseFrames, pauseSeconds, guards, queues, watermarks) }},
		{"hosts-only", func(in *Instruments) {
			in.without(telemetry.Port, pauseFrames, pauseSeconds, guards, marks, queues, watermarks, correction, optics)
		}},
		{"switches-only", func(in *Instruments) {
			in.without(telemetry.NIC, pauseFrames, pauseSeconds, marks, cnps, correction, optics)
		}},
		{"bytes-only", func(in *Instruments) {
			in.without("", pauseFrames, pauseSeconds, guards, marks, cnps, queues, watermarks)
		}},
	}
	p := profiles[r.Below(len(profiles))]
	in := Instruments{Profile: p.name}
	p.apply(&in)
	in.rarely(r)
	return in
}

// drawInfiniBand draws a profile of what InfiniBand switches and adapters count:
// PortXmitWait in ticks, NVOS's xmit-wait in seconds, or neither.
func drawInfiniBand(r *random.Source) Instruments {
	profiles := []struct {
		name  string
		apply func(in *Instruments)
	}{
		{"wait-seconds", func(in *Instruments) { in.WaitSeconds = true; in.without("", waits[:1]) }},
		{"no-wait", func(in *Instruments) { in.without("", waits) }},
		{"watermark", func(in *Instruments) { in.without("", waits, queues) }},
		{"hosts-only", func(in *Instruments) { in.without(telemetry.Port, waits, queues, watermarks, correction, optics) }},
		{"switches-only", func(in *Instruments) { in.without(telemetry.NIC, waits, correction, optics) }},
		{"bytes-only", func(in *Instruments) { in.without("", waits, queues, watermarks) }},
	}
	p := profiles[r.Below(len(profiles))]
	in := Instruments{Profile: p.name}
	p.apply(&in)
	in.rarely(r)
	return in
}

// drawFacility draws what is known of power, cooling and ranks.
func drawFacility(r *random.Source) Instruments {
	profiles := []struct {
		name  string
		apply func(in *Instruments)
	}{
		{"no-rank-times", func(in *Instruments) { in.NoRankTimes = true }},
		{"no-power", func(in *Instruments) { in.without("", powering) }},
		{"no-cooling", func(in *Instruments) { in.without("", cooling) }},
		{"no-plant", func(in *Instruments) { in.without("", powering, cooling) }},
		{"few-sensors", func(in *Instruments) { in.Sensors = r.Uniform(0.2, 0.5) }},
		{"bare", func(in *Instruments) { in.NoRankTimes = true; in.without("", powering, cooling, optics) }},
	}
	p := profiles[r.Below(len(profiles))]
	in := Instruments{Profile: p.name}
	p.apply(&in)
	return in
}
