package fault_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/telemetry"
)

// The world of these tests: 128 GPUs, train-a on eight nodes from n0000 on,
// two more jobs. A fault begins at onset; what moves is compared with the same
// seed without it, over the seconds from settled to the end.
const (
	onset   = 100
	settled = 190
	end     = 300
)

// flavour is what kind of site a case needs.
type flavour string

const (
	water flavour = "water"
	blown flavour = "air"
	ib    flavour = "InfiniBand"
)

// direction is where a number is expected to go.
type direction int

const (
	down direction = iota - 1
	same
	up
)

// probe is one number that telemetry shows: gauges are taken in the mean over
// the seconds, counters by what they rise.
type probe struct {
	name   string
	counts bool
	of     func(*state.State) float64
}

func gauge(name string, of func(*state.State) float64) probe { return probe{name, false, of} }
func total(name string, of func(*state.State) float64) probe { return probe{name, true, of} }

// track is what a run showed.
type track struct {
	values map[string]float64
	events map[string]int // by entity and name, from onset on
	steps  []float64      // seconds, of train-a, ended from settled on
	before string         // digest of the last state before the onset
}

// lab runs worlds, and each flavour's healthy one once.
type lab struct {
	t       *testing.T
	uplink  int
	scenes  map[flavour]*fault.Scene
	healthy map[flavour]track
}

func (l *lab) config(f flavour) world.Config {
	cfg := world.Standard(128, 8)
	cfg.Air, cfg.InfiniBand, cfg.Site.Optics = f == blown, f == ib, true
	for i := range cfg.Jobs {
		if t := cfg.Jobs[i].Training; t != nil {
			often := *t
			often.Checkpoint, often.EvaluateEvery, often.Ranks = 20, 0, true
			if i == 0 {
				often.Pipeline, often.Experts, often.Exchange = 2, 2, often.Ring/8
			}
			cfg.Jobs[i].Training = &often
		}
	}
	return cfg
}

func (l *lab) run(f flavour, faults ...fault.Fault) track {
	l.t.Helper()
	w, err := world.New(l.config(f))
	if err != nil {
		l.t.Fatal(err)
	}
	if l.scenes[f] == nil {
		l.scenes[f] = sceneOf(w, f)
	}
	p := plan(l.t, l.scenes[f], faults...)
	out := track{values: map[string]float64{}, events: map[string]int{}}
	first := map[string]float64{}
	all := probes(l.uplink)
	c := condition.New(w.Site(), len(w.Jobs()))
	for second := range end {
		if second == onset {
			out.before = fmt.Sprintf("%+v", *w.State())
		}
		p.Apply(c, float64(second))
		st := w.Step(c)
		for _, e := range st.Events {
			if second >= onset {
				out.events[e.Entity.String()+" "+e.Name]++
			}
		}
		if second < settled {
			continue
		}
		for _, s := range st.Jobs[0].Steps {
			out.steps = append(out.steps, s.Seconds)
		}
		for _, b := range all {
			now := b.of(st)
			if second == settled {
				first[b.name] = now
			}
			if b.counts {
				out.values[b.name] = now - first[b.name]
			} else {
				out.values[b.name] += now / (end - settled)
			}
		}
	}
	out.values["step"] = math.Inf(1)
	if n := len(out.steps); n > 0 {
		sum := 0.0
		for _, s := range out.steps {
			sum += s
		}
		out.values["step"] = sum / float64(n)
	}
	return out
}

func sceneOf(w *world.World, f flavour) *fault.Scene {
	s := &fault.Scene{Site: w.Site(), Air: f == blown, InfiniBand: f == ib}
	for _, j := range w.Jobs() {
		job := fault.Job{Name: j.Name, Nodes: j.Nodes, Serving: j.Serving != nil}
		if t := j.Training; t != nil {
			job.Stages, job.Experts, job.Checkpoints = t.Pipeline, t.Experts, true
		}
		s.Jobs = append(s.Jobs, job)
	}
	return s
}

// sum adds up what of says of each of n things.
func sum(n int, of func(int) float64) (x float64) {
	for i := range n {
		x += of(i)
	}
	return x
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The parts that the cases below strike, all of train-a: NIC 2 and GPU 3 of
// n0000, the link to that NIC, node n0001, rack r000 with its loop and shelf.
const (
	nic     = 2
	gpu     = 3
	node    = 1
	hostGPU = 8 // the first of n0001
)

var toNIC, fromNIC = int(site.Down(nic)), int(site.Up(nic))

// probes are what the cases look at.
func probes(uplink int) []probe {
	return slices.Concat(linkProbes(uplink), machineProbes(), siteProbes(), jobProbes())
}

func linkProbes(uplink int) []probe {
	return []probe{
		total("to NIC: told to stop", func(s *state.State) float64 { return s.Links[toNIC].StoppedTotal }),
		total("to NIC: pause frames", func(s *state.State) float64 { return s.Links[toNIC].FramesTotal }),
		total("to NIC: waits", func(s *state.State) float64 { return s.Links[toNIC].WaitTotal }),
		total("to NIC: sent", func(s *state.State) float64 { return s.Links[toNIC].SentTotal }),
		total("to NIC: lost", func(s *state.State) float64 { return s.Links[toNIC].SentTotal - s.Links[toNIC].TakenTotal }),
		total("to NIC: marked", func(s *state.State) float64 { return s.Links[toNIC].MarkedTotal }),
		total("to NIC: dropped", func(s *state.State) float64 { return s.Links[toNIC].DroppedTotal }),
		total("to NIC: damaged", func(s *state.State) float64 { return s.Links[toNIC].DamagedTotal }),
		total("to NIC: uncorrectable", func(s *state.State) float64 { return s.Links[toNIC].UncorrectableTotal }),
		total("to NIC: mended", func(s *state.State) float64 { return s.Links[toNIC].CorrectedTotal }),
		total("to NIC: downs", func(s *state.State) float64 { return s.Links[toNIC].DownsTotal }),
		gauge("to NIC: BER", func(s *state.State) float64 { return s.Links[toNIC].BER }),
		gauge("to NIC: module", func(s *state.State) float64 { return s.Links[toNIC].Celsius }),
		gauge("to NIC: longest queue", func(s *state.State) float64 { return s.Links[toNIC].QueueMost }),
		total("from another NIC: sent", func(s *state.State) float64 { return s.Links[fromNIC+2].SentTotal }),
		gauge("NIC: stalled", func(s *state.State) float64 { return s.NICs[nic].Stalled }),
		gauge("NIC: lanes", func(s *state.State) float64 { return s.NICs[nic].Width }),
		gauge("NIC: celsius", func(s *state.State) float64 { return s.NICs[nic].Celsius }),
		total("NIC: CNPs sent", func(s *state.State) float64 { return s.NICs[nic].CNPSentTotal }),
		total("NIC: out of order", func(s *state.State) float64 { return s.NICs[nic].OutOfOrderTotal }),
		total("NICs: sequence errors", func(s *state.State) float64 {
			return sum(len(s.NICs), func(i int) float64 { return s.NICs[i].SequenceTotal })
		}),
		total("NICs: CNPs ignored", func(s *state.State) float64 {
			return sum(len(s.NICs), func(i int) float64 { return s.NICs[i].CNPIgnoredTotal })
		}),
		gauge("uplink: up", func(s *state.State) float64 { return flag(s.Links[uplink].Up) }),
		gauge("uplink: speed", func(s *state.State) float64 { return s.Links[uplink].Speed }),
		total("uplink: sent", func(s *state.State) float64 { return s.Links[uplink].SentTotal }),
		gauge("uplink: longest queue", func(s *state.State) float64 { return s.Links[uplink].QueueMost }),
	}
}

func machineProbes() []probe {
	return []probe{
		gauge("GPU: clock", func(s *state.State) float64 { return s.GPUs[gpu].Clock }),
		gauge("GPU: SM", func(s *state.State) float64 { return s.GPUs[gpu].SM }),
		gauge("GPU: celsius", func(s *state.State) float64 { return s.GPUs[gpu].Celsius }),
		gauge("GPU: limit", func(s *state.State) float64 { return s.GPUs[gpu].Limit }),
		gauge("GPU: NVLinks up", func(s *state.State) float64 { return float64(s.GPUs[gpu].NVLinksUp) }),
		total("GPU: slowed by heat", func(s *state.State) float64 { return s.GPUs[gpu].HeatTotal }),
		total("GPU: slowed by power", func(s *state.State) float64 { return s.GPUs[gpu].PowerTotal }),
		total("GPU: slowed by brake", func(s *state.State) float64 { return s.GPUs[gpu].BrakeTotal }),
		gauge("GPU beside: celsius", func(s *state.State) float64 { return s.GPUs[gpu-1].Celsius }),
		gauge("GPU beside: SM", func(s *state.State) float64 { return s.GPUs[gpu-1].SM }),
		gauge("node: up", func(s *state.State) float64 { return flag(s.Nodes[node].Up) }),
		gauge("node: engine", func(s *state.State) float64 { return s.GPUs[hostGPU].Engine }),
		gauge("node: watts", func(s *state.State) float64 { return s.Nodes[node].Watts }),
		gauge("node: inlet", func(s *state.State) float64 { return s.Nodes[0].Inlet }),
		gauge("node: fan 3", func(s *state.State) float64 { return s.Nodes[0].Fans[2] }),
		gauge("node: fan 4", func(s *state.State) float64 { return s.Nodes[0].Fans[3] }),
	}
}

func siteProbes() []probe {
	return []probe{
		gauge("rack: limit", func(s *state.State) float64 { return s.Racks[0].Limit }),
		gauge("rack: watts", func(s *state.State) float64 { return s.Racks[0].Watts }),
		gauge("shelf: capacity", func(s *state.State) float64 { return s.Racks[0].Shelf[0].Capacity }),
		gauge("PDU a: up", func(s *state.State) float64 { return flag(s.PDUs[0].Up) }),
		gauge("PDU b: watts", func(s *state.State) float64 { return s.PDUs[1].Watts }),
		gauge("UPS a: charge", func(s *state.State) float64 { return s.UPSs[0].Charge }),
		gauge("loop: flow", func(s *state.State) float64 { return s.Loops[0].Flow }),
		gauge("loop: pressure", func(s *state.State) float64 { return s.Loops[0].Pressure }),
		gauge("loop: return", func(s *state.State) float64 { return s.Loops[0].Return }),
		gauge("loop: leak", func(s *state.State) float64 { return flag(s.Loops[0].Leak) }),
		gauge("unit: supply", func(s *state.State) float64 { return s.CDUs[0].Supply }),
		gauge("unit: flow", func(s *state.State) float64 { return s.CDUs[0].Flow }),
		gauge("pump 1: flow", func(s *state.State) float64 { return s.CDUs[0].Pump[0] }),
		gauge("pump 2: flow", func(s *state.State) float64 { return s.CDUs[0].Pump[1] }),
		gauge("row: supply", func(s *state.State) float64 { return s.Rows[0].Supply }),
		gauge("storage: read latency", func(s *state.State) float64 { return s.Storage.ReadLatency }),
		gauge("job b: runs", func(s *state.State) float64 { return flag(s.Jobs[1].Running) }),
		gauge("serving: queue", func(s *state.State) float64 { return s.Jobs[2].Serving.Queue }),
		gauge("serving: tokens", func(s *state.State) float64 { return s.Jobs[2].Serving.Tokens }),
		gauge("serving: TTFT", func(s *state.State) float64 { return s.Jobs[2].Serving.TTFT99 }),
	}
}

// jobProbes are numbers of train-a's last step.
func jobProbes() []probe {
	var data, save, compute, last, wait float64
	held := func(x *float64, of func(*state.Step) float64) func(*state.State) float64 {
		return func(s *state.State) float64 {
			if n := len(s.Jobs[0].Steps); n > 0 {
				*x = of(&s.Jobs[0].Steps[n-1])
			}
			return *x
		}
	}
	return []probe{
		gauge("job: input wait", held(&data, func(s *state.Step) float64 { return s.DataWait })),
		gauge("job: longest checkpoint", held(&save, func(s *state.Step) float64 { return max(save, s.Checkpoint) })),
		gauge("job: rank 3 computes", held(&compute, func(s *state.Step) float64 { return rank(s.Compute, gpu) })),
		gauge("job: last rank computes", held(&last, func(s *state.Step) float64 { return rank(s.Compute, len(s.Compute)-1) })),
		gauge("job: rank 2 waits", held(&wait, func(s *state.Step) float64 { return rank(s.Wait, gpu-1) })),
	}
}

func rank(xs []float32, r int) float64 {
	if r < 0 || r >= len(xs) {
		return 0
	}
	return float64(xs[r])
}

// effect is what a fault is to move, and what not: words of probes with a sign
// before them, + - or =.
type effect struct {
	name, entity string
	flavour      flavour
	severity     float64
	variant      int
	moves        string // separated by ;
	events       string // separated by ;
}

// effects are the changes that each kind causes in telemetry, by rca.md B.2, C.1
// and C.5. The step is stated for all: it rises, = is unchanged, and ! never ends.
func effects() []effect {
	port, up := "port:p2-leaf00/eth1", "uplink"
	return []effect{
		{"incast", port, water, 0.3, 0, "+step; +to NIC: longest queue; +to NIC: marked; +NIC: CNPs sent; +to NIC: sent; =NIC: stalled", ""},
		{"noisy-neighbour", "job:train-b", water, 0.5, 0, "+step", ""},
		{"slow-receiver", "nic:n0000/mlx5_2", water, 0.85, 0, "+step; +to NIC: told to stop; +to NIC: pause frames; =NIC: stalled; =NIC: lanes; =to NIC: damaged; -GPU: celsius", ""},
		{"pfc-storm", "nic:n0000/mlx5_2", water, 1, 0, "!step; +to NIC: told to stop; +to NIC: pause frames; -to NIC: sent", ""},
		{"pcie-downgrade", "nic:n0000/mlx5_2", water, 0.3, 0, "+step; +NIC: stalled; -NIC: lanes; +to NIC: told to stop", ""},
		{"credit-stall", "nic:n0000/mlx5_2", ib, 0.85, 0, "+step; +to NIC: waits; =to NIC: told to stop; =to NIC: marked", ""},
		{"pfc-deadlock", "switch:p2-leaf00", water, 1, 0, "!step", ""},
		{"link-degraded", up, water, 0.8, 0, "+step; -uplink: speed; =to NIC: damaged", ""},
		{"ecmp-collision", up, water, 0.8, 0, "+step; +uplink: longest queue; =uplink: speed", ""},
		{"plane-imbalance", "plane:2", water, 0.7, 0, "+step; -from another NIC: sent", ""},
		{"link-errors", port, water, 1, 0, "+step; +to NIC: damaged; +to NIC: uncorrectable; +to NIC: BER; +NIC: out of order; +NICs: sequence errors", ""},
		{"silent-drop", port, water, 1, 0, "+step; =to NIC: damaged; =to NIC: dropped; =to NIC: BER; +to NIC: lost; +NIC: out of order; +NICs: sequence errors", ""},
		{"reordering", "nic:n0000/mlx5_2", water, 1, 0, "+step; +NIC: out of order; +NICs: sequence errors; =to NIC: lost", ""},
		{"benign-reorder", "nic:n0000/mlx5_2", water, 1, 0, "=step; +NIC: out of order; =NICs: sequence errors; =to NIC: lost", ""},
		{"link-flap", port, water, 1, 0, "+step; +to NIC: downs", port + " link_down;" + port + " link_up;nic:n0000/mlx5_2 link_down"},
		{"link-down", up, water, 1, 0, "-uplink: up; -uplink: sent", "uplink link_down"},
		{"switch-down", "switch:p2-leaf00", water, 1, 0, "!step; -to NIC: sent", "nic:n0000/mlx5_2 link_down;job:train-a job_failed"},
		{"ber-drift", "optic:p2-leaf00/eth1", water, 1, 0, "=step; +to NIC: BER; +to NIC: mended; =to NIC: lost", ""},
		{"ecn-misconfig", "switch:p2-leaf00", water, 1, 0, "+step; +to NIC: marked; -to NIC: longest queue; =to NIC: dropped", ""},
		{"ecn-misconfig", "switch:p2-leaf00", water, 1, 1, "-to NIC: marked; -NIC: CNPs sent", ""},
		{"headroom-misconfig", "switch:p2-leaf00", water, 1, 0, "+to NIC: dropped; +NICs: sequence errors", ""},
		{"qos-misconfig", "nic:n0000/mlx5_2", water, 1, 0, "+NICs: CNPs ignored", ""},
		{"sm-failover", "sm:p0", ib, 1, 0, "=step", "sm:p0 sm_master_changed"},
		{"gpu-slow", "gpu:n0000/3", water, 0.6, 0, "+step; -GPU: clock; =GPU: slowed by heat; =GPU: slowed by brake; =GPU: limit; -GPU beside: SM; +job: rank 3 computes; +job: rank 2 waits", ""},
		{"gpu-error", "gpu:n0000/3", water, 1, 0, "!step; -GPU: SM", "gpu:n0000/3 xid;job:train-a job_failed"},
		{"nvlink-degraded", "gpu:n0000/3", water, 0.9, 0, "+step; -GPU: NVLinks up; =GPU: slowed by heat", ""},
		{"node-down", "node:n0001", water, 1, 0, "!step; -node: up; -node: watts", "job:train-a job_failed"},
		{"host-jitter", "node:n0001", water, 0.8, 0, "+step; =GPU: slowed by heat; =GPU: limit; -GPU beside: SM", ""},
		{"slow-rank", "rank:train-a/3", water, 0.4, 0, "+step; +job: rank 2 waits; =GPU: slowed by heat; =GPU: limit; -GPU beside: SM", ""},
		{"power-brake", "shelf:r000/a", water, 0.85, 0, "+step; -shelf: capacity; +GPU: slowed by brake; -GPU: clock; =GPU: slowed by heat; -rack: watts", ""},
		{"power-brake", "pdu:row00/a", water, 0.85, 0, "+step; =shelf: capacity; +GPU: slowed by brake; -GPU: clock", ""},
		{"power-cap", "gpu:n0000/3", water, 0.75, 0, "+step; -GPU: limit; -GPU: clock; +GPU: slowed by power; =GPU: slowed by heat; -GPU: celsius; =rack: limit", ""},
		{"power-cap", "node:n0000", water, 0.7, 0, "+step; -GPU: limit; -GPU: clock; +GPU: slowed by power; -GPU beside: celsius", ""},
		{"power-cap", "rack:r000", water, 0.7, 0, "+step; -GPU: limit; -GPU: clock; -rack: limit; -rack: watts", ""},
		{"power-capping", "rack:r000", water, 1, 0, "=step; -rack: limit; =rack: watts; =GPU: clock", ""},
		{"feed-loss", "pdu:row00/a", water, 1, 0, "=step; -PDU a: up; +PDU b: watts; =GPU: slowed by brake", ""},
		{"feed-loss", "feed:a", water, 1, 0, "=step; -UPS a: charge; =PDU b: watts", ""},
		{"coolant-flow-loss", "loop:r000", water, 0.92, 0, "+step; -loop: flow; -loop: pressure; +loop: return; +GPU: celsius; +GPU: slowed by heat; -GPU: clock; =unit: supply", ""},
		{"coolant-flow-loss", "pump:cdu00/1", water, 0.95, 0, "+step; -loop: flow; -unit: flow; -pump 1: flow; -pump 2: flow; +GPU: slowed by heat", ""},
		{"coolant-flow-loss", "cdu:cdu00", water, 0.95, 0, "+step; -loop: flow; -unit: flow; -pump 1: flow; -pump 2: flow; +GPU: slowed by heat", ""},
		{"coolant-warm", "cdu:cdu00", water, 0.9, 0, "+step; +unit: supply; =unit: flow; =loop: flow; +GPU: celsius; +GPU: slowed by heat; -GPU: clock", ""},
		{"cold-plate", "gpu:n0000/3", water, 0.9, 0, "+step; +GPU: celsius; +GPU: slowed by heat; -GPU: clock; -GPU beside: celsius; =loop: flow; =unit: supply", ""},
		{"fan-failure", "fan:n0000/fan3", blown, 1, 0, "+step; -node: fan 3; +node: fan 4; +GPU: celsius; +GPU: slowed by heat; =row: supply", ""},
		{"inlet-warm", "crah:row00", blown, 0.9, 0, "+step; +row: supply; +node: inlet; +node: fan 4; +GPU: celsius; +GPU: slowed by heat", ""},
		{"nic-hot", "nic:n0000/mlx5_2", water, 1, 0, "+step; +NIC: celsius; =NIC: lanes; -GPU: celsius", ""},
		{"nic-hot", "optic:p2-leaf00/eth1", water, 1, 0, "+step; +to NIC: module; +to NIC: BER", ""},
		{"leak", "loop:r000", water, 1, 0, "=step; +loop: leak; -loop: pressure; =unit: supply", ""},
		{"input-stall", "job:train-a", water, 0.3, 0, "+step; +job: input wait; -GPU: SM; -node: engine", ""},
		{"input-stall", "node:n0001", water, 0.3, 0, "+step; -node: engine; =GPU: slowed by heat; +job: rank 2 waits", ""},
		{"storage-slow", "storage:lustre0", water, 0.95, 0, "+step; +storage: read latency; +job: input wait", ""},
		{"checkpoint-stall", "job:train-a", water, 0.3, 0, "+step; +job: longest checkpoint; =GPU: limit", ""},
		{"checkpoint-pattern", "job:train-a", water, 1, 0, "+job: longest checkpoint", ""},
		{"stage-imbalance", "job:train-a", water, 0.6, 0, "+step; +job: last rank computes; +job: rank 2 waits", ""},
		{"expert-imbalance", "job:train-a", water, 0.8, 0, "+step; +job: rank 3 computes", ""},
		{"serving-overload", "job:serve-a", water, 1, 0, "=step; +serving: queue; +serving: TTFT", ""},
		{"load-rise", "job:serve-a", water, 1, 0, "=step; +serving: tokens", ""},
		{"workload-change", "job:train-a", water, 0.5, 0, "+step; +job: rank 3 computes; +job: last rank computes; =GPU: slowed by heat", ""},
		{"evaluation", "job:train-a", water, 1, 0, "-step", ""},
		{"job-stop", "job:train-b", water, 1, 0, "-job b: runs", "job:train-b job_ended"},
		{"job-start", "job:train-b", water, 1, 0, "=step; =job b: runs", "job:train-b job_started"},
		{"diurnal-heat", "cdu:cdu00", water, 1, 0, "=step; +unit: supply; +GPU: celsius; +row: supply; =loop: flow", ""},
	}
}

// moved states where a number went: by a hundredth at least.
func moved(before, after float64) direction {
	by := max(0.01*math.Abs(before), 1e-9)
	switch {
	case after > before+by:
		return up
	case after < before-by:
		return down
	}
	return same
}

// TestFaultsShowWhereTheyShould runs each kind in the world and compares what
// telemetry could show with the same seed in health.
func TestFaultsShowWhereTheyShould(t *testing.T) {
	l := &lab{t: t, scenes: map[flavour]*fault.Scene{}, healthy: map[flavour]track{}}
	uplink := l.busiest()
	signs := map[byte]direction{'+': up, '-': down, '=': same}
	seen := map[string]bool{}
	for _, e := range effects() {
		seen[e.name] = true
		name := strings.ReplaceAll(e.entity, "uplink", uplink)
		events := strings.ReplaceAll(e.events, "uplink", uplink)
		t.Run(e.name+" at "+name, func(t *testing.T) {
			l.t = t
			if _, ok := l.healthy[e.flavour]; !ok {
				l.healthy[e.flavour] = l.run(e.flavour)
			}
			kind, of, _ := strings.Cut(name, ":")
			healthy := l.healthy[e.flavour]
			got := l.run(e.flavour, fault.Fault{Name: e.name, Entity: telemetry.Entity{Kind: telemetry.Kind(kind), Name: of},
				Severity: e.severity, Variant: e.variant, Onset: onset})
			if got.before != healthy.before && e.name != "job-start" {
				t.Error("the state before the onset is not that of the healthy run")
			}
			for m := range strings.SplitSeq(e.moves, ";") {
				m = strings.TrimSpace(m)
				sign, what := m[0], m[1:]
				a, ok := healthy.values[what]
				b := got.values[what]
				switch {
				case !ok:
					t.Errorf("no probe is called %q", what)
				case sign == '!' && len(got.steps) > 0:
					t.Errorf("%d steps ended", len(got.steps))
				case sign != '!' && moved(a, b) != signs[sign]:
					t.Errorf("%s went from %g to %g, expected %c", what, a, b, sign)
				}
			}
			for event := range strings.SplitSeq(events, ";") {
				if event != "" && got.events[event] <= healthy.events[event] {
					t.Errorf("no event %q among %v", event, got.events)
				}
			}
		})
	}
	for _, k := range fault.Kinds() {
		if !seen[k.Name] {
			t.Errorf("nothing is said of what %s shows", k.Name)
		}
	}
}

// busiest finds the uplink of train-a's that carries most, and returns its
// leaf's port.
func (l *lab) busiest() string {
	w, err := world.New(l.config(water))
	if err != nil {
		l.t.Fatal(err)
	}
	c := condition.New(w.Site(), len(w.Jobs()))
	for range 60 {
		w.Step(c)
	}
	s, most := w.Site(), -1.0
	for u := range s.Uplinks {
		cable := s.UplinkCable(2, 0, u)
		if x := w.State().Links[site.Up(cable)].SentTotal; x > most {
			most, l.uplink = x, int(site.Up(cable))
		}
	}
	lower, _ := s.Cable(l.uplink / 2)
	return lower.String()
}
