package cases

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// Storage is the name of the storage that the jobs of every case use.
const Storage = "lustre0"

// flavour is of what kind a site is, in addition to its size and seed.
type flavour struct {
	air, infiniBand, rails, adaptive bool
	saves                            bool // checkpoints come often enough to be in a short run
}

// stage is where a case plays: what the site is, what runs on it, without any
// fault. Cases of one size, seed and flavour share one.
type stage struct {
	gpus   int
	seed   uint64
	family worlds.Family
	flavour
}

func (s stage) name() string {
	name := fmt.Sprintf("%d/%d/%+v", s.gpus, s.seed, s.flavour)
	if s.family != worlds.Standard {
		name += "/" + string(s.family)
	}
	return name
}

// world is the world of a stage.
func (s stage) world() worlds.World { return worlds.Draw(s.family, s.seed) }

// stage is the kind of site that a case's world and seed have.
func (c Case) stage() stage {
	s := usual(c.GPUs, c.Seed)
	s.family = c.World
	return s.forced()
}

// forced gives a stage what its world states about the network.
func (s stage) forced() stage {
	f := s.world().Fabric
	if f.Transport != worlds.AnyTransport {
		s.infiniBand = f.Transport == worlds.InfiniBand
	}
	if f.Spread != worlds.AnySpread {
		s.adaptive, s.rails = f.Spread == worlds.Adaptive, f.Railed && s.gpus <= 1024
	}
	return s
}

// usual is the kind of site that a seed has: a quarter cooled by air, a fifth
// InfiniBand, a third cabled by rails, a seventh with adaptive routing.
func usual(gpus int, seed uint64) stage {
	return stage{gpus: gpus, seed: seed, flavour: flavour{air: seed%4 == 1, infiniBand: seed%5 == 4, rails: seed%3 == 2 && gpus <= 1024, adaptive: seed%7 == 3}}
}

// others are the kinds of site to try for a fault that the usual one cannot
// have, the likest first.
func (s stage) others() []stage {
	out := []stage{s}
	for _, change := range []func(*stage){
		func(o *stage) { o.infiniBand = !o.infiniBand },
		func(o *stage) { o.air = !o.air },
		func(o *stage) { o.air, o.infiniBand = !o.air, !o.infiniBand },
		func(o *stage) { o.rails = !o.rails },
		func(o *stage) { o.adaptive = !o.adaptive },
	} {
		o := s
		change(&o)
		if o == o.forced() {
			out = append(out, o)
		}
	}
	return out
}

// config is the world of a stage.
func (s stage) config() world.Config {
	c := world.Drawn(s.gpus, s.seed, s.world())
	c.Air, c.InfiniBand, c.Adaptive, c.ChangesReported = s.air, s.infiniBand, s.adaptive, s.seed%2 == 0
	if s.rails {
		c.Site.Wiring = site.Rails
	}
	c.Site.Optics = s.seed%2 == 1 && s.gpus <= 1024
	if !s.saves {
		return c
	}
	for i := range c.Jobs {
		if t := c.Jobs[i].Training; t != nil {
			often := *t
			often.Checkpoint = s.often(t)
			c.Jobs[i].Training = &often
		}
	}
	return c
}

// scene is the stage as faults see it. It plays the world's first seconds.
func (s stage) scene(w *world.World, sent []float64) *fault.Scene {
	v := s.world()
	out := &fault.Scene{Site: w.Site(), Air: s.air, InfiniBand: s.infiniBand, Adaptive: s.adaptive, Storage: Storage, Sent: sent,
		Power: v.Physics.Power, Host: v.Physics.Host, Pace: s.pace().severity()}
	for _, j := range w.Jobs() {
		f := fault.Job{Name: j.Name, Nodes: j.Nodes, Serving: j.Serving != nil}
		if t := j.Training; t != nil {
			f.Stages, f.Experts, f.Checkpoints = t.Pipeline, t.Experts, s.saves
		}
		out.Jobs = append(out.Jobs, f)
	}
	healthy := condition.New(w.Site(), len(w.Jobs()))
	for range 2 { // what a job carries is known a second after it began
		w.Step(healthy)
	}
	for j := range w.Jobs() {
		out.Carried = append(out.Carried, slices.Clone(w.Carries(j)))
	}
	return out
}

// Measured turns the world's jobs into what must be known to measure them.
func Measured(jobs []*work.Job) []measure.Job {
	var out []measure.Job
	for _, j := range jobs {
		m := measure.Job{Entity: entity(j), Storage: Storage, Serving: j.Serving != nil, Start: j.Start}
		if j.Training != nil {
			m.RankTimes, m.Every = j.Training.Ranks, j.Training.Every
		}
		for r := range j.Ranks {
			m.Ranks = append(m.Ranks, placed(j, r))
		}
		out = append(out, m)
	}
	return out
}

func entity(j *work.Job) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Job, Name: j.Name}
}

// placed is where a rank runs, with the coordinates of the parallelism that the
// job uses.
func placed(j *work.Job, rank int) measure.Rank {
	p := j.Place(rank)
	r := measure.Rank{Node: p.Node, GPU: p.GPU, DP: p.Data, TP: -1, PP: -1, EP: -1}
	if v := j.Serving; v != nil {
		r.Role = "decode"
		if rank/j.GPUs < v.Prefill {
			r.Role = "prefill"
		}
		return r
	}
	t := j.Training
	if t.Tensor > 1 {
		r.TP = p.Tensor
	}
	if t.Pipeline > 1 {
		r.PP = p.Pipeline
	}
	if t.Experts > 1 {
		r.EP = p.Expert
	}
	return r
}

// act is a world under a plan of faults, second by second.
type act struct {
	world *world.World
	plan  *fault.Plan // nil: nothing is wrong
	set   *condition.Set
}

// begin builds the world of a stage.
func (s stage) begin() (*act, error) {
	w, err := world.New(s.config())
	if err != nil {
		return nil, fmt.Errorf("case on %s: %w", s.name(), err)
	}
	return &act{world: w, set: condition.New(w.Site(), len(w.Jobs()))}, nil
}

// step moves on by a second. The state is valid until the next.
func (a *act) step() *state.State {
	if a.plan != nil {
		a.plan.Apply(a.set, float64(a.world.State().Second))
	}
	return a.world.Step(a.set)
}

// draws returns the random numbers of a purpose of a case.
func (c Case) draws(of string) random.Source {
	root := random.New(c.Seed)
	root = root.Named("case/" + c.Group())
	return root.Named(of)
}
