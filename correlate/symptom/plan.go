package symptom

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Plan is what a set of signatures reads: by kind of entity, the metrics.
type Plan struct {
	signatures []explain.Signature                             // compiled
	kinds      []telemetry.Kind                                // in order
	columns    [][]column                                      // by kind, in order
	shownBy    map[telemetry.MetricName][]telemetry.MetricName // of quantities: their instruments
	timed      [][]int                                         // by column of GPUs, of reasons: the columns that count their time
}

// column is one thing read of every entity of a kind: a metric, or whether any
// of some of its bits is set.
type column struct {
	metric *telemetry.Metric
	bits   uint64
}

func (c column) compare(o column) int {
	return cmp.Or(cmp.Compare(c.metric.Name, o.metric.Name), cmp.Compare(c.bits, o.bits))
}

// steady reports whether a metric moves slowly or not at all in normal operation,
// so that the median of a longer span represents it and a fault that began a little
// before the degradation does not. Storage latency is one of them: a job is
// affected with its next checkpoint, a minute or two later.
func (c column) steady() bool {
	if c.bits != 0 || c.metric.Type == telemetry.Counter {
		return false
	}
	return c.metric.Type == telemetry.StateOf || c.metric.Domain == telemetry.Cooling || slices.Contains(c.metric.Kinds, telemetry.Storage)
}

// The masks of gpu_clock_event_reasons (NVML): slowed by heat, by software or
// hardware; by the power brake; by the power limit; because nothing runs.
const (
	reasonHeat  = 0x20 | 0x40
	reasonBrake = 0x80
	reasonCap   = 0x4
	reasonIdle  = 0x1
)

const (
	metricClock   telemetry.MetricName = "gpu_sm_clock_hertz"
	metricEngine  telemetry.MetricName = "gpu_engine_active_ratio"
	metricTensor  telemetry.MetricName = "gpu_tensor_active_ratio"
	metricActive  telemetry.MetricName = "gpu_sm_active_ratio"
	metricHeat    telemetry.MetricName = "gpu_temperature_celsius"
	metricReasons telemetry.MetricName = "gpu_clock_event_reasons"
	metricLimit   telemetry.MetricName = "gpu_power_limit_watts"
	metricFlow    telemetry.MetricName = "coolant_flow_liters_per_minute"
	metricInlet   telemetry.MetricName = "inlet_celsius"
	metricCompute telemetry.MetricName = "rank_compute_seconds"
	metricWait    telemetry.MetricName = "job_data_wait_seconds"
	metricSaves   telemetry.MetricName = "job_checkpoint_seconds"
)

// NewPlan lists what compiled signatures read, and what is read of every degraded
// job to determine which of its GPUs and ranks are affected and which domains are
// ruled out.
func NewPlan(signatures []explain.Signature, catalogue *telemetry.Catalogue) *Plan {
	p := &Plan{signatures: signatures, shownBy: map[telemetry.MetricName][]telemetry.MetricName{}}
	add := func(k telemetry.Kind, name telemetry.MetricName, bits uint64) {
		m, ok := catalogue.Lookup(name)
		if !ok || !slices.Contains(m.Kinds, k) || !m.Evidence && !m.PerStep {
			return
		}
		if m.Instruments == nil {
			p.add(k, column{m, bits})
			return
		}
		p.shownBy[name] = m.Instruments
		for _, by := range m.Instruments {
			if m, ok := catalogue.Lookup(by); ok {
				p.add(k, column{m, bits})
			}
		}
	}
	for _, name := range []telemetry.MetricName{metricClock, metricEngine, metricTensor, metricActive, metricHeat, metricLimit} {
		add(telemetry.GPU, name, 0)
	}
	for _, bits := range []uint64{reasonHeat, reasonBrake, reasonCap, reasonIdle} {
		add(telemetry.GPU, metricReasons, bits)
	}
	for _, t := range timers() {
		add(telemetry.GPU, t.by, 0)
	}
	add(telemetry.Rank, metricCompute, 0)
	add(telemetry.Job, metricWait, 0)
	for _, name := range readAnyway() {
		for _, k := range telemetry.Kinds() {
			add(k, name, 0)
		}
	}
	for i := range signatures {
		s := &signatures[i]
		for k := range s.Features {
			if x := s.Features[k].Reading; x != nil && x.Metric != "" {
				for _, kind := range x.Kinds(s.Roots) {
					add(kind, x.Metric, x.Bits)
				}
			}
		}
	}
	p.time()
	return p
}

// timer is the counter of the time for which a GPU is slowed for some reasons.
type timer struct {
	reasons uint64
	by      telemetry.MetricName
}

func timers() []timer {
	return []timer{{reasonHeat, "gpu_throttle_thermal_seconds_total"}, {reasonBrake, "gpu_throttle_brake_seconds_total"}, {reasonCap, "gpu_throttle_power_seconds_total"}}
}

// Timers lists the counters of the time for which a GPU is slowed for any of some reasons,
// by their bits in gpu_clock_event_reasons.
func Timers(reasons uint64) (out []telemetry.MetricName) {
	for _, t := range timers() {
		if t.reasons&reasons != 0 {
			out = append(out, t.by)
		}
	}
	return out
}

// time finds, for each column of reasons, the counters that together count its time; none
// where one of its reasons is in no counter.
func (p *Plan) time() {
	gpu := p.of(telemetry.GPU)
	p.timed = make([][]int, len(gpu))
	for c := range gpu {
		if gpu[c].metric.Name != metricReasons {
			continue
		}
		left, by := gpu[c].bits, []int(nil)
		for _, t := range timers() {
			if k := p.find(telemetry.GPU, t.by, 0); k >= 0 && left&t.reasons == t.reasons {
				left, by = left&^t.reasons, append(by, k)
			}
		}
		if left == 0 {
			p.timed[c] = by
		}
	}
}

// readAnyway lists what is read of supplies, coolers, storage and links whatever
// the signatures read: by these, an entity becomes a suspect whose fault has no
// signature.
func readAnyway() []telemetry.MetricName {
	return []telemetry.MetricName{
		metricFlow, metricInlet, "coolant_supply_celsius", "fan_speed_ratio", "leak_detected",
		"feed_up", "psu_up", "rack_power_limit_watts", "node_power_limit_watts",
		"storage_read_latency_seconds", "storage_write_latency_seconds",
		"nvlink_up", "nvlink_replay_errors_total", "pcie_link_width", "pcie_link_speed_transfers_per_second", "nic_pcie_stalled_ratio",
		"port_up", "port_speed_bits_per_second", "optic_temperature_celsius", "port_fec_uncorrectable_total", "port_rx_crc_errors_total",
	}
}

func (p *Plan) add(k telemetry.Kind, c column) {
	i, ok := slices.BinarySearch(p.kinds, k)
	if !ok {
		p.kinds = slices.Insert(p.kinds, i, k)
		p.columns = slices.Insert(p.columns, i, nil)
	}
	if j, ok := slices.BinarySearchFunc(p.columns[i], c, column.compare); !ok {
		p.columns[i] = slices.Insert(p.columns[i], j, c)
	}
}

// of returns the columns that are read of a kind.
func (p *Plan) of(k telemetry.Kind) []column {
	if i, ok := slices.BinarySearch(p.kinds, k); ok {
		return p.columns[i]
	}
	return nil
}

// find returns where a column of a kind is, -1 where it is not read.
func (p *Plan) find(k telemetry.Kind, name telemetry.MetricName, bits uint64) int {
	for i, c := range p.of(k) {
		if c.metric.Name == name && c.bits == bits {
			return i
		}
	}
	return -1
}
