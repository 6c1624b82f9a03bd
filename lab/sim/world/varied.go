package world

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// varied is the site of a world.
func varied(gpus int, v *worlds.World) site.Config {
	c := site.Sized(gpus)
	c.Speed = v.Physics.LinkSpeed
	if over := v.Fabric.Oversubscription; over > 1 {
		c.NodesPerLeaf = max(1, min(32, (c.Nodes+1)/2))
		c.Uplinks = max(1, c.NodesPerLeaf/over)
	}
	return c
}

// overCompute is about how long a step of these jobs is over its computing at
// the top clock: clocks below the top, pipeline bubbles, exposed traffic.
const overCompute = 1.5

// StepSeconds is about how long a step of a training job is.
func StepSeconds(t *work.Training) float64 { return float64(overCompute * t.Seconds) }

// split gives each job its part of the nodes.
func (p *placer) split(nodes int) {
	sum := 0
	for _, part := range p.world.Split {
		sum += part
	}
	for i, part := range p.world.Split {
		n := max(1, nodes*part/sum)
		if last := i == len(p.world.Split)-1; last && p.world.Serves && n > 1 {
			p.serve("serve-a", n)
		} else {
			p.train(fmt.Sprintf("train-%c", 'a'+rune(i)), n)
		}
	}
}

// pace sets how long a job's steps are, each next job's by Beat longer.
func (p *placer) pace(t *work.Training) {
	if p.world.StepSeconds == 0 {
		return
	}
	t.Seconds = p.world.StepSeconds / overCompute
	for range p.jobs {
		t.Seconds = float64(t.Seconds * (1 + p.world.Beat))
	}
}

// usualStep is about how long steps of the standard jobs are, in seconds.
const usualStep = 5.0

// rhythm sets what a job does every so many steps, so that it comes as often in
// seconds as at the standard site or as the world states.
func (p *placer) rhythm(t *work.Training) {
	v, step := p.world, StepSeconds(t)
	if v.StepSeconds > 0 {
		t.Checkpoint = max(2, int(float64(float64(t.Checkpoint)*usualStep)/step))
		t.EvaluateEvery = int(float64(float64(t.EvaluateEvery)*usualStep) / step)
		if t.EvaluateEvery < 10*t.EvaluateFor {
			t.EvaluateEvery = 0
		}
	}
	if v.SaveSeconds > 0 {
		t.Checkpoint = max(2, int(v.SaveSeconds/step))
	}
	if v.Every > 0 {
		t.Every = v.Every
	}
	t.CheckpointGrowth = v.Growth
}
