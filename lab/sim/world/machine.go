package world

import (
	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
)

const (
	tick  = 0.1 // seconds between two looks of the governor
	ticks = 10  // a second
	// The host's own draw, watts: processors, memory, NICs, fans, and what
	// launching work adds; ours, within what a DGX H100's rating leaves.
	hostIdle, hostBusy = 1500.0, 1200.0
	nvlinks            = 18.0   // of an H100
	replays            = 2000.0 // a second on links in trouble while they carry something; ours
	chassis            = 7.0    // kelvins by which air warms before it reaches heatsinks; ours
	hotterSlot         = 3.5    // kelvins: odd slots of an air-cooled node sit behind others, rca.md C.2
)

// machine is one GPU with what cools it.
type machine struct {
	model  gpu.Model
	body   heat.Body
	motion heat.Motion
	flow   float64 // for which motion holds …
	plate  float64 // … and factor of the plate's resistance

	governor gpu.State
	heat     heat.State
	memory   float64 // °C

	act     gpu.Activity // of the tick
	limit   float64
	setting float64
	inlet   float64
	brake   bool
	on      bool // has power and its node runs
	works   bool // and is not broken

	sum sums
}

// sums are what a second adds up, in ticks.
type sums struct {
	engine, sm, tensor, dram, clock, watts float64
	capped, hot, braked                    float64 // seconds
	nvlink                                 float64 // bytes
}

func newMachine(seed random.Source, cfg *Config) machine {
	m := machine{model: chip(seed.Named("chip"), &cfg.Physics), on: true, works: true}
	if cfg.Air {
		m.body = heat.Heatsink(seed.Named("sink"))
	} else {
		m.body = heat.Plate(seed.Named("plate"))
	}
	m.body = cooled(m.body, &cfg.Physics)
	m.governor = m.model.Start()
	return m
}

// rest lets a machine come to rest idle.
func (m *machine) rest() {
	m.heat = m.body.Steady(m.governor.Power, m.inlet, max(m.flow, 0.01))
	m.memory = m.heat.Die + 4
}

// cool sets what the plant gives: inlet and flow, behind a plate of this
// resistance.
func (m *machine) cool(inlet, flow, plate float64) {
	m.inlet = inlet
	if flow != m.flow || plate != m.plate {
		m.flow, m.plate = flow, plate
		b := m.body
		b.PlateResistance = float64(b.PlateResistance * plate)
		m.motion = b.Over(flow, tick)
	}
}

// step moves a machine one tick on under the activity that jobs have left in
// act, and clears it.
func (m *machine) step() {
	if !m.on {
		m.governor = gpu.State{Clock: 0, Ceiling: m.model.Top}
		m.heat = m.motion.Step(m.heat, 0, m.inlet)
		m.act = gpu.Activity{}
		return
	}
	m.governor = m.model.Step(m.governor, gpu.Input{Activity: m.act, Celsius: m.heat.Die, Limit: m.limit, Setting: m.setting, Brake: m.brake}, tick)
	m.governor.Reasons &^= gpu.Setting // firmware that throttles it states no reason, and no operator sets clocks
	m.heat = m.motion.Step(m.heat, m.governor.Power, m.inlet)
	// Memory follows its own load within some seconds; ours.
	m.memory += float64(0.05 * (m.heat.Die + 4 + float64(16*m.act.DRAM) - m.memory))
	s := &m.sum
	s.engine += m.act.Engine
	s.sm += m.act.SM
	s.tensor += m.act.Tensor
	s.dram += m.act.DRAM
	s.clock += m.governor.Clock
	s.watts += m.governor.Power
	if m.governor.Reasons&gpu.PowerCap != 0 {
		s.capped += tick
	}
	if m.governor.Reasons&(gpu.HeatSoft|gpu.HeatHard) != 0 {
		s.hot += tick
	}
	if m.governor.Reasons&gpu.Brake != 0 {
		s.braked += tick
	}
	m.act = gpu.Activity{}
}

// add adds an activity for a share of the tick.
func (m *machine) add(a gpu.Activity, share float64) {
	m.act.Engine += float64(a.Engine * share)
	m.act.SM += float64(a.SM * share)
	m.act.Tensor += float64(a.Tensor * share)
	m.act.DRAM += float64(a.DRAM * share)
}

// waiting is a collective's kernel that spins, moving one that carries data;
// package gpu has the facts.
func waiting(sm float64) gpu.Activity { return gpu.Activity{Engine: 1, SM: sm, DRAM: 0.05} }

func moving() gpu.Activity { return gpu.Activity{Engine: 1, SM: 0.2, DRAM: 0.2} }

// show writes the second's means and sums and starts new ones.
func (m *machine) show(g *state.GPU) {
	s := &m.sum
	g.Engine, g.SM, g.Tensor, g.DRAM = min(1, s.engine/ticks), s.sm/ticks, s.tensor/ticks, s.dram/ticks
	g.Clock, g.Watts = s.clock/ticks, s.watts/ticks
	g.EnergyTotal += s.watts / ticks
	g.Celsius, g.MemoryCelsius = m.heat.Die, m.memory
	g.Limit = m.model.Limit
	if m.limit > 0 {
		g.Limit = min(g.Limit, m.limit)
	}
	g.Reasons = uint64(m.governor.Reasons)
	g.PowerTotal += s.capped
	g.HeatTotal += s.hot
	g.BrakeTotal += s.braked
	g.NVLinkTotal += s.nvlink
	m.sum = sums{}
}

// supply gives every machine what the plant and the policies leave it.
func (w *World) supply() {
	for n := range w.plant.Nodes {
		w.feed(n, &w.plant.Nodes[n])
	}
}

func (w *World) feed(n int, node *plant.Node) {
	c := w.condition
	on := node.Powered && !c.Nodes[n].Down
	for i := range w.site.GPUs {
		g := n*w.site.GPUs + i
		m, cg := &w.machines[g], &c.GPUs[g]
		m.on, m.works = on, on && cg.Broken == ""
		m.brake = node.Brake
		m.limit = cg.Limit
		if node.Limit > 0 {
			// What a node may draw beyond its host goes to its GPUs alike.
			each := max(100, (node.Limit-w.hosts[n])/float64(w.site.GPUs))
			if m.limit <= 0 || each < m.limit {
				m.limit = each
			}
		}
		m.setting = 0
		if cg.Clock < 1 {
			m.setting = float64(cg.Clock * m.model.Top)
		}
		inlet := node.Supply
		if w.cfg.Air {
			inlet = node.Inlet + chassis + float64(hotterSlot*float64(i%2))
		}
		m.cool(inlet, node.FlowAt(i), cg.Plate)
	}
}

// drawn writes what GPUs and nodes have drawn in the second.
func (w *World) drawn() {
	st := &w.state
	for n := range st.Nodes {
		sum, engine := 0.0, 0.0
		for i := range w.site.GPUs {
			g := n*w.site.GPUs + i
			m, s := &w.machines[g], &st.GPUs[g]
			f := w.condition.GPUs[g].NVLink
			if m.sum.nvlink > 0 {
				s.NVLinkReplayTotal += float64(replays * (1 - f))
			}
			m.show(s)
			s.NVLinksUp = int(float64(nvlinks*f) + 0.5)
			w.gpuWatts[g] = s.Watts
			sum, engine = sum+s.Watts, engine+s.Engine
		}
		st.Nodes[n].Up = w.machines[n*w.site.GPUs].on
		w.hosts[n] = 0
		if st.Nodes[n].Up {
			w.hosts[n] = w.cfg.Physics.Host.Of(hostIdle + float64(hostBusy*engine)/float64(w.site.GPUs))
		}
		w.nodeWatts[n] = sum + w.hosts[n]
		st.Nodes[n].Watts = w.nodeWatts[n]
		st.Nodes[n].Limit = w.plant.Nodes[n].Limit
	}
}
