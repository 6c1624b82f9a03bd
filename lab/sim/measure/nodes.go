package measure

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// addNodes adds the sources of all nodes.
func (m *Meter) addNodes() {
	for n := range m.site.Nodes {
		m.gpus(n)
		m.nics(n)
		m.board(n)
	}
}

// chips are the metrics of a GPU as DCGM states them: profiling fields averaged
// over the second, in thousandths; temperatures in whole degrees; clocks in
// steps of 15 MHz.
func chips() []column[*state.GPU] {
	ratio := column[*state.GPU]{as: telemetry.Decimal, exp: 3, how: mean, noise: 0.01, quantum: 0.001}
	named := func(c column[*state.GPU], name telemetry.MetricName, of func(**state.GPU) float64) column[*state.GPU] {
		c.name, c.of = name, of
		return c
	}
	heat := column[*state.GPU]{as: telemetry.Uint, how: mean, shift: 0.8, quantum: 1}
	slow := column[*state.GPU]{as: telemetry.Decimal, exp: 6, how: total}
	return []column[*state.GPU]{
		named(ratio, "gpu_engine_active_ratio", func(g **state.GPU) float64 { return (*g).Engine }),
		named(ratio, "gpu_sm_active_ratio", func(g **state.GPU) float64 { return (*g).SM }),
		named(ratio, "gpu_tensor_active_ratio", func(g **state.GPU) float64 { return (*g).Tensor }),
		named(ratio, "gpu_dram_active_ratio", func(g **state.GPU) float64 { return (*g).DRAM }),
		{name: "gpu_sm_clock_hertz", as: telemetry.Uint, how: mean, quantum: 15e6, of: func(g **state.GPU) float64 { return (*g).Clock }},
		named(heat, "gpu_temperature_celsius", func(g **state.GPU) float64 { return (*g).Celsius }),
		named(heat, "gpu_memory_temperature_celsius", func(g **state.GPU) float64 { return (*g).MemoryCelsius }),
		{name: "gpu_power_watts", as: telemetry.Decimal, exp: 1, how: mean, bias: 0.02, noise: 0.005, of: func(g **state.GPU) float64 { return (*g).Watts }},
		{name: "gpu_energy_joules_total", as: telemetry.Decimal, exp: 3, how: total, of: func(g **state.GPU) float64 { return (*g).EnergyTotal }},
		{name: "gpu_power_limit_watts", as: telemetry.Decimal, exp: 1, how: level, of: func(g **state.GPU) float64 { return (*g).Limit }},
		{name: "gpu_clock_event_reasons", as: telemetry.Uint, how: level, of: func(g **state.GPU) float64 { return float64((*g).Reasons) }},
		named(slow, "gpu_throttle_power_seconds_total", func(g **state.GPU) float64 { return (*g).PowerTotal }),
		named(slow, "gpu_throttle_thermal_seconds_total", func(g **state.GPU) float64 { return (*g).HeatTotal }),
		named(slow, "gpu_throttle_brake_seconds_total", func(g **state.GPU) float64 { return (*g).BrakeTotal }),
		{name: "nvlink_tx_bytes_total", as: telemetry.Uint, how: total, of: func(g **state.GPU) float64 { return (*g).NVLinkTotal }},
		{name: "nvlink_rx_bytes_total", as: telemetry.Uint, how: total, of: func(g **state.GPU) float64 { return (*g).NVLinkTotal }},
		{name: "nvlink_replay_errors_total", as: telemetry.Uint, how: total, small: true, of: func(g **state.GPU) float64 { return (*g).NVLinkReplayTotal }},
	}
}

// gpus adds the sources of a node's GPUs and, where the site states them, of
// their NVLinks.
func (m *Meter) gpus(node int) {
	s := m.site
	cols := chips()
	if m.cfg.Set == Lean {
		cols = padded(cols, telemetry.GPU, 40)
	}
	t := &table[*state.GPU]{cols: cols, view: func(st *state.State, i int32) *state.GPU { return &st.GPUs[i] }}
	var es []telemetry.Entity
	for i := range s.GPUs {
		es = append(es, site.GPUName(node, i))
		t.index = append(t.index, int32(node*s.GPUs+i))
	}
	dcgm := telemetry.Source{Collector: "dcgm", Target: site.NodeName(node).Name, Part: "gpus"}
	m.add(plan{source: dcgm, entities: es, body: t, period: second, clock: &m.hosts[node], node: int32(node), sw: -1, gpus: true,
		takes: prompt(), jitter: 0.003})
	if s.NVLinks > 0 {
		m.nvlinks(node)
	}
}

// nvlink is one of a GPU's links: up while enough of them are.
type nvlink struct {
	gpu    *state.GPU
	number int
}

func (m *Meter) nvlinks(node int) {
	s := m.site
	links := int32(s.NVLinks)
	t := &table[nvlink]{view: func(st *state.State, i int32) nvlink { return nvlink{&st.GPUs[i/links], int(i % links)} },
		cols: []column[nvlink]{{name: "nvlink_up", as: telemetry.Uint, how: level, of: func(l *nvlink) float64 { return bit(l.number < l.gpu.NVLinksUp) }}}}
	var es []telemetry.Entity
	for g := range s.GPUs {
		for l := range s.NVLinks {
			es = append(es, site.NVLinkName(node, g, l))
			t.index = append(t.index, int32((node*s.GPUs+g)*s.NVLinks+l))
		}
	}
	m.add(plan{source: telemetry.Source{Collector: "dcgm", Target: site.NodeName(node).Name, Part: "nvlinks"}, entities: es, body: t,
		period: 10 * second, clock: &m.hosts[node], node: int32(node), sw: -1, takes: prompt(), jitter: 0.02})
}

// board adds the sources of a node's board controller, which runs on standby power
// and so reports a node that is down.
func (m *Meter) board(node int) {
	t := &table[*state.Node]{index: []int32{int32(node)}, view: func(st *state.State, i int32) *state.Node { return &st.Nodes[i] },
		cols: []column[*state.Node]{
			{name: "node_power_watts", as: telemetry.Uint, how: mean, bias: 0.02, noise: 0.005, of: func(n **state.Node) float64 { return (*n).Watts }},
			{name: "node_power_limit_watts", as: telemetry.Uint, how: mean, of: func(n **state.Node) float64 { return limit((*n).Limit) }},
			{name: "inlet_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 0.7, of: func(n **state.Node) float64 { return (*n).Inlet }},
		}}
	name := site.NodeName(node)
	p := m.controller(telemetry.Source{Collector: "redfish", Target: name.Name, Part: "bmc"})
	p.entities, p.body = []telemetry.Entity{name}, t
	m.add(p)
	f := &table[float64]{view: func(st *state.State, i int32) float64 { return fan(st, int(i), m.site.Fans) },
		cols: []column[float64]{{name: "fan_speed_ratio", as: telemetry.Decimal, exp: 2, how: mean, noise: 0.004, quantum: 0.01, of: func(v *float64) float64 { return *v }}}}
	p.source.Part, p.entities, p.body = "fans", nil, f
	for i := range m.site.Fans {
		p.entities = append(p.entities, site.FanName(node, i))
		f.index = append(f.index, int32(node*m.site.Fans+i))
	}
	if len(f.index) > 0 {
		m.add(p)
	}
}

// limit is a power limit; where none is set the controller answers null.
func limit(watts float64) float64 {
	if watts <= 0 {
		return math.NaN()
	}
	return watts
}

func fan(st *state.State, i, each int) float64 {
	if f := st.Nodes[i/each].Fans; i%each < len(f) {
		return f[i%each]
	}
	return math.NaN()
}

// controller is what the sources of Redfish services have in common: one is
// asked every 10 to 30 s, answers after 0.3 to 3 s and has no clock worth
// trusting (reference telemetry.md, 5.5 and 10).
func (m *Meter) controller(s telemetry.Source) plan {
	period := m.cfg.Boards
	if period == 0 {
		r := m.stream("cadence/" + s.Collector + "/" + s.Target)
		period = second * telemetry.Duration(10+r.Below(21))
		if !m.cfg.Imperfect {
			period = 10 * second
		}
	}
	return plan{source: s, class: telemetry.Slow, period: period, node: -1, sw: -1, takes: [2]float64{0.3, 3}, jitter: 0.4}
}
