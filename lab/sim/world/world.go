package world

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states what is simulated.
type Config struct {
	Site site.Config
	Seed uint64
	Jobs []work.Spec

	Air             bool // GPUs under heatsinks instead of plates
	InfiniBand      bool // credits and PortXmitWait instead of pause, marks and CNPs
	Adaptive        bool // routing that spreads by load instead of by hash
	ChangesReported bool // a change of a switch's, NIC's or limit's setting is reported by an event
	Plant           plant.Config

	Physics    worlds.Physics
	Noise      worlds.Noise // of step times; only Steps and the shape are read
	Hashed     bool         // paths are hashed in health too, not picked
	Neighbours worlds.Neighbours
}

// World is a simulated site. It is not for concurrent use.
type World struct {
	cfg  Config
	site *site.Site
	seed random.Source
	jobs []*work.Job

	plant    *plant.Plant
	fabric   *fabric
	router   *router
	solver   *solver
	machines []machine
	hosts    []float64 // watts, by node

	training []*training // by job, nil where it serves
	serving  []*serving  // by job, nil where it trains
	incast   []*traffic  // by job, nil where there is none
	surge    []*traffic  // by job, nil where it sends what is its due
	offers   []*offered  // by job, then of what each sends besides
	total    *offered
	others   *offered
	tenants  *tenants // nil where there are none

	condition *condition.Set // of the second
	last      *condition.Set // of the one before
	powered   []bool         // what the plant fed in the one before: switches, then nodes
	dirty     bool           // traffic must be settled anew

	gpuWatts, nodeWatts []float64
	state               state.State
}

// New builds a world at rest, or reports what is wrong with its site or its jobs.
func New(cfg Config) (*World, error) {
	s, err := site.New(cfg.Site)
	if err != nil {
		return nil, err
	}
	w := &World{cfg: cfg, site: s, seed: random.New(cfg.Seed)}
	w.cfg.Plant.Air, w.cfg.Plant.Physics = cfg.Air, cfg.Physics
	if err := w.addJobs(); err != nil {
		return nil, err
	}
	w.plant = plant.New(s, w.seed.Named("plant"), w.cfg.Plant)
	w.fabric = newFabric(s, w.seed.Named("fabric"), cfg.Physics)
	hash := w.seed.Named("hash")
	w.router = newRouter(w.fabric, hash.Uint64(), &w.cfg)
	w.solver = newSolver(w.fabric, &w.cfg)
	w.tenants = newTenants(s, cfg.Neighbours.Tenants)
	w.gpuWatts, w.nodeWatts, w.hosts = make([]float64, s.Nodes*s.GPUs), make([]float64, s.Nodes), make([]float64, s.Nodes)
	w.powered = make([]bool, s.Switches()+s.Nodes)
	w.last = condition.New(s, len(w.jobs))
	w.condition = w.last
	chips := w.seed.Named("gpu")
	for g := range s.Nodes * s.GPUs {
		w.machines = append(w.machines, newMachine(chips.At(uint64(g)), &w.cfg))
	}
	w.newState()
	w.startJobs()
	for n := range w.hosts {
		w.hosts[n] = cfg.Physics.Host.Of(hostIdle)
	}
	w.supply()
	for g := range w.machines {
		w.machines[g].rest()
		w.gpuWatts[g] = w.machines[g].governor.Power
		w.nodeWatts[g/s.GPUs] += w.gpuWatts[g]
	}
	w.dirty = true
	return w, nil
}

// addJobs checks the jobs: on nodes that exist, each on its own.
func (w *World) addJobs() error {
	owner := make([]string, w.site.Nodes)
	for _, spec := range w.cfg.Jobs {
		j, err := work.New(spec, w.site.GPUs)
		if err != nil {
			return err
		}
		for _, n := range spec.Nodes {
			if n < 0 || n >= w.site.Nodes {
				return fmt.Errorf("job %s: the site has no node %d", spec.Name, n)
			}
			if owner[n] != "" {
				return fmt.Errorf("job %s: node %d runs %s", spec.Name, n, owner[n])
			}
			owner[n] = spec.Name
		}
		w.jobs = append(w.jobs, j)
	}
	return nil
}

func (w *World) startJobs() {
	n := len(w.jobs)
	w.training, w.serving = make([]*training, n), make([]*serving, n)
	w.incast, w.surge = make([]*traffic, n), make([]*traffic, n)
	w.others, w.total = newOffered(w.site.Links()), newOffered(w.site.Links())
	w.total.empty = false
	for range 2 * n {
		w.offers = append(w.offers, newOffered(w.site.Links()))
	}
	for i, j := range w.jobs {
		if j.Training != nil {
			w.training[i] = newTraining(w, j, i)
		} else {
			w.serving[i] = newServing(w, j, i)
		}
		for _, t := range w.traffic(i) {
			if t != nil {
				w.router.plan(t)
			}
		}
	}
}

// besidesFrom is from where in traffic's result on it is not in the job's steps
// or requests.
const besidesFrom = 3

// traffic is what a job sends, nil where it does not.
func (w *World) traffic(job int) [5]*traffic {
	out := [5]*traffic{besidesFrom: w.incast[job], besidesFrom + 1: w.surge[job]}
	if t := w.training[job]; t != nil {
		out[0], out[1] = t.ring, t.exchange
	}
	if v := w.serving[job]; v != nil {
		out[2] = v.caches
	}
	return out
}

func (w *World) besidesSteps(job int) [2]*traffic { return [2]*traffic{w.incast[job], w.surge[job]} }

func (w *World) newState() {
	s := w.site
	w.state = state.State{Links: make([]state.Link, s.Links()), NICs: make([]state.NIC, s.Nodes*s.GPUs), GPUs: make([]state.GPU, s.Nodes*s.GPUs),
		Nodes: make([]state.Node, s.Nodes), Switches: make([]state.Switch, s.Switches()), Racks: make([]state.Rack, s.Racks),
		Loops: make([]state.Loop, s.Racks), CDUs: make([]state.CDU, s.CDUs()), Rows: make([]state.Row, s.Rows()),
		PDUs: make([]state.Supply, 2*s.Rows()), UPSs: make([]state.Supply, 2*s.Halls()), Feeds: make([]state.Supply, 2),
		Jobs: make([]state.Job, len(w.jobs))}
	for i := range w.state.Nodes {
		w.state.Nodes[i].Fans = make([]float64, s.Fans)
	}
}

// Site returns the site.
func (w *World) Site() *site.Site { return w.site }

// Jobs returns the jobs, in the order of the configuration.
func (w *World) Jobs() []*work.Job { return w.jobs }

// State returns the state after the last step. What it points to is written
// again by the next.
func (w *World) State() *state.State { return &w.state }

// Carries returns how many bits a second each link carries of a job's own
// traffic in the mean, by links, as after the last step; a job counts from the
// second after it began. The world keeps the slice and writes it again.
func (w *World) Carries(job int) []float64 { return w.offers[job].load }

// Step moves the world a second on under a condition, which it only reads and
// does not keep, and returns the state.
func (w *World) Step(c *condition.Set) *state.State {
	w.condition = c
	from := float64(w.state.Second)
	w.state.Events = w.state.Events[:0]
	for _, t := range w.training {
		if t != nil {
			t.steps = t.steps[:0]
		}
	}
	w.plant.Step(plant.Input{GPUWatts: w.gpuWatts, NodeWatts: w.nodeWatts, Condition: c}, 1)
	w.supply()
	w.observe(from)
	w.fabric.background(&w.state, w.cfg.InfiniBand)
	w.tenants.count(&w.state)
	for _, v := range w.serving {
		if v != nil {
			v.advance(w, from)
		}
	}
	for i := range w.jobs {
		for _, t := range w.besidesSteps(i) {
			if t != nil {
				t.pass(1, true)
			}
		}
	}
	for k := range ticks {
		w.tick(from+float64(float64(k)*tick), from+float64(float64(k+1)*tick))
	}
	w.state.Second++
	w.write(from)
	w.last.Take(c)
	return &w.state
}

func (w *World) tick(from, to float64) {
	for i := range w.jobs {
		if t := w.training[i]; t != nil {
			t.advance(w, from, to)
			continue
		}
		w.serving[i].act(w)
	}
	for g := range w.machines {
		w.machines[g].step()
	}
}

// write fills the state with what the second came to.
func (w *World) write(from float64) {
	st := &w.state
	for i := range st.NICs {
		st.NICs[i].Stalled = 0
	}
	queues := w.seed.Named("queues")
	moment, saving := queues.At(uint64(st.Second)), 0.0
	for i := range w.jobs {
		j := &st.Jobs[i]
		for _, t := range w.traffic(i) {
			if t != nil {
				t.apply(st, moment)
			}
		}
		if t := w.training[i]; t != nil {
			j.Running, j.Steps, j.Begun, j.Collective = t.phase != off, t.steps, t.begun(), t.collective
			saving += t.store(st, from)
			continue
		}
		j.Running, j.Serving = w.serving[i].running, w.serving[i].now
	}
	w.drawn()
	w.answers(saving)
	w.ports()
	for i := range st.Switches {
		st.Switches[i] = state.Switch{Up: w.fabric.powered[i], Inlet: w.plant.Switches[i].Inlet}
	}
	w.plant.Fill(st)
	slices.SortStableFunc(st.Events, func(a, b state.Event) int { return cmp.Compare(a.At, b.At) })
}

// savingQueue is how many requests wait before one while a job saves: it writes as fast as
// storage takes it, so that whoever reads meanwhile waits behind it.
const savingQueue = 2.0

// loadOf is how many requests wait while a job saves that takes so many times as long as
// storage would let it, over those at full speed: of one server, that serves at random
// times, by how much of its time is used (M/M/1).
func loadOf(slower float64) float64 {
	used := savingQueue / (1 + savingQueue) / max(1, slower)
	return used / (1 - used) / savingQueue
}

// answers writes how long storage takes in a second for so much of which jobs saved.
func (w *World) answers(saving float64) {
	p, c, waits := &w.cfg.Physics, &w.condition.Storage, 1+float64(w.cfg.Physics.Saving.Of(savingQueue)*saving)
	w.state.Storage.ReadLatency = float64(p.Storage.Of(0.8e-3)*waits) / max(c.Read, 0.001)
	w.state.Storage.WriteLatency = float64(p.Storage.Of(1.5e-3)*waits) / max(c.Write, 0.001)
}

// ports writes the NICs' gauges.
func (w *World) ports() {
	st := &w.state
	for i := range st.NICs {
		n, c := &st.NICs[i], &w.condition.NICs[i]
		n.Width, n.Transfers = float64(int(float64(16*c.PCIe)+0.5)), 32e9
		load := st.GPUs[i].Engine
		n.Celsius = 58 + float64(8*load) + c.Heat
	}
}

func (w *World) event(at float64, e telemetry.Entity, name, text string) {
	w.state.Events = append(w.state.Events, state.Event{At: at, Entity: e, Name: name, Text: text})
}

// store adds what a job read and wrote in the second that began at from, and returns the
// load of storage by it: for how much of the second it saved, at full speed.
func (t *training) store(st *state.State, from float64) (load float64) {
	to := from + 1
	if d := min(to, t.readUntil) - max(from, t.readFrom); d > 0 {
		st.Storage.ReadTotal += float64(d * t.readRate)
	}
	if t.phase == saving || t.until > from && t.save > 0 {
		saved := max(0, min(to, t.until)-max(from, t.until-t.save))
		st.Storage.WrittenTotal += float64(saved * t.writeRate)
		load = float64(saved * t.saveLoad)
	}
	return load
}
