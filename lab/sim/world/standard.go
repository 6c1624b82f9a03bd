package world

import (
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// Standard is a site of so many GPUs with jobs as sites have them, drawn from a
// seed: one training job on six nodes and a small one on two at 64 GPUs; at 256
// one on twenty nodes, two others of which one serves, and idle nodes; six jobs
// from 1,024 on and nine from 8,192. A job's nodes are scattered over leaves, so
// that its rings cross the spines.
func Standard(gpus int, seed uint64) Config { return Drawn(gpus, seed, worlds.World{}) }

// Drawn is Standard in another world: what the world leaves at zero is the
// same, to the last bit.
func Drawn(gpus int, seed uint64, v worlds.World) Config {
	cfg := Config{Site: varied(gpus, &v), Seed: seed, Physics: v.Physics, Noise: v.Noise, Hashed: v.Fabric.Spread == worlds.Hashed, Neighbours: v.Neighbours}
	r := random.New(seed)
	r = r.Named("standard")
	nodes := cfg.Site.Nodes
	p := &placer{free: interleaved(nodes), random: &r, world: &v.Jobs, speed: cfg.Site.Speed}
	if p.speed == 0 {
		p.speed = 400e9
	}
	switch {
	case v.Jobs.Split != nil && nodes >= len(v.Jobs.Split):
		p.split(nodes)
	case nodes <= 3:
		p.train("train-a", nodes)
	case nodes < 16:
		p.train("train-a", nodes*3/4/2*2)
		p.train("train-b", nodes/4)
	case nodes < 96:
		p.train("train-a", nodes*5/8/4*4)
		p.train("train-b", max(2, nodes/8/2*2))
		p.serve("serve-a", max(3, nodes/10))
	default:
		p.train("train-a", nodes*3/8/16*16)
		p.train("train-b", nodes*3/16/8*8)
		p.train("train-c", nodes/8/8*8)
		p.train("train-d", nodes/16/4*4)
		p.serve("serve-a", max(4, nodes/16))
		p.train("train-e", nodes/32/2*2)
		if nodes >= 1024 {
			p.train("train-f", nodes/32/8*8)
			p.train("train-g", nodes/64/4*4)
			p.serve("serve-b", nodes/64)
		}
	}
	cfg.Jobs = p.jobs
	return cfg
}

// placer gives nodes to jobs.
type placer struct {
	free   []int
	random *random.Source
	jobs   []work.Spec
	world  *worlds.Jobs
	speed  float64 // of a link, bits per second
}

// interleaved orders nodes so that neighbours are far from each other: under
// different leaves.
func interleaved(nodes int) []int {
	half := (nodes + 1) / 2
	var out []int
	for i := range half {
		out = append(out, i)
		if i+half < nodes {
			out = append(out, i+half)
		}
	}
	return out
}

func (p *placer) take(n int) []int {
	n = min(n, len(p.free))
	out := p.free[:n:n]
	p.free = p.free[n:]
	return out
}

// train adds a training job with parameters drawn from ranges: ours, of large
// language models as published (steps of 3 to 6 s, MFU about 0.4).
func (p *placer) train(name string, nodes int) {
	r := p.random.Named(name)
	list := p.take(nodes)
	n := len(list)
	t := &work.Training{Tensor: 8, Pipeline: 1, Seconds: r.Uniform(2.4, 4), Bound: r.Uniform(0.65, 0.85), TensorShare: r.Uniform(0.08, 0.15),
		Microbatches: 16 + 8*r.Below(4), Overlap: r.Uniform(0.5, 0.65), Every: 1, Ranks: r.Chance(0.8),
		Announced: r.Chance(0.6), Timeout: r.Uniform(30, 90), Restart: r.Uniform(60, 180)}
	p.pace(t)
	switch {
	case n%4 == 0 && n >= 8 && r.Chance(0.5):
		t.Pipeline = 4
	case n%2 == 0 && n >= 4:
		t.Pipeline = 2
	}
	if perStage := n / t.Pipeline; perStage%2 == 0 && r.Chance(0.4) {
		t.Experts = 2
		for t.Experts < 8 && perStage%(2*t.Experts) == 0 {
			t.Experts *= 2
		}
	}
	// A NIC's rate times parts of a step's computing.
	line := float64(useful*p.speed) / 8
	t.Ring = float64(line * t.Seconds * r.Uniform(0.45, 0.65))
	t.Stage = float64(line * t.Seconds * r.Uniform(0.005, 0.015))
	if t.Experts > 1 {
		t.Exchange = float64(line * t.Seconds * r.Uniform(0.05, 0.12))
	}
	t.NVLink = float64(450e9 * t.Seconds * t.TensorShare)
	t.Input = float64(t.Seconds * r.Uniform(0.3, 0.6))
	t.InputBytes = float64(float64(n) * r.Uniform(0.2e9, 1e9))
	t.Checkpoint = 20 + r.Below(50)
	t.CheckpointSeconds = r.Uniform(6, 15)
	t.CheckpointBytes = float64(float64(n) * r.Uniform(5e9, 20e9))
	if r.Chance(0.3) {
		t.EvaluateEvery, t.EvaluateFor = 150+r.Below(100), 5
	}
	if r.Chance(0.15) {
		t.Every = 2 + r.Below(4)
	}
	p.rhythm(t)
	// Tokens such that the work at the top clock is what about half the peak
	// would do: what is lost to clocks, bubbles and the network comes off.
	t.FLOPs = r.Uniform(2e11, 8e11)
	t.Tokens = float64(0.52*work.Peak*t.Seconds*float64(8*n)) / t.FLOPs
	p.jobs = append(p.jobs, work.Spec{Name: name, Nodes: list, Training: t})
}

// serve adds a serving job at about half its capacity.
func (p *placer) serve(name string, nodes int) {
	r := p.random.Named(name)
	list := p.take(nodes)
	n := len(list)
	v := &work.Serving{Prefill: max(1, n/3), Swing: 0.2, Prompt: r.Uniform(1500, 3000), Output: r.Uniform(300, 600),
		PrefillTokens: r.Uniform(8000, 12000), DecodeTokens: r.Uniform(1200, 2000), Step: r.Uniform(0.012, 0.02),
		CacheRequests: 80, Bound: 0.25}
	v.CacheBytes = float64(v.Prompt * r.Uniform(160e3, 320e3))
	prefill := float64(float64(8*v.Prefill)*v.PrefillTokens) / v.Prompt
	decode := float64(float64(8*(n-v.Prefill))*v.DecodeTokens) / v.Output
	v.Requests = float64(min(prefill, decode) * r.Uniform(0.45, 0.6))
	p.jobs = append(p.jobs, work.Spec{Name: name, Nodes: list, Serving: v})
}
