package cases

import (
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// pace is how fast the slowest training job of a stage goes, in seconds. Zero is
// the pace of the standard jobs.
type pace struct {
	step   float64 // a step
	report float64 // from one report of steps to the next
}

const (
	// usualHealth is how long nothing is wrong before the onset: thirty usual
	// steps of every job and more.
	usualHealth = 240.0
	// longestHealth bounds it where reports are seldom.
	longestHealth = 1800.0
	// usualAfter is how long a run goes on when the fault is over: a slow class's
	// lateness, and what it takes to resolve.
	usualAfter = 80.0
	// slowSteps is how many slow steps a fault is to last, fewSteps how many
	// where they are long.
	slowSteps, fewSteps = 16, 8
	usualStep           = 5.5  // seconds, of the jobs of world.Standard
	longStep            = 12.0 // seconds, from which on steps are few
	// Reports before the onset, while the fault lasts and after it.
	healthyReports, faultyReports, lateReports = 24, 5, 4
)

// pace is that of a stage's jobs.
func (s stage) pace() pace {
	if s.family == worlds.Standard || s.world().Jobs.StepSeconds == 0 {
		return pace{}
	}
	var p pace
	c := world.Drawn(s.gpus, s.seed, s.world())
	for i := range c.Jobs {
		if t := c.Jobs[i].Training; t != nil {
			step := world.StepSeconds(t)
			p.step, p.report = max(p.step, step), max(p.report, float64(step*float64(max(1, t.Every))))
		}
	}
	return p
}

// health is how long nothing is wrong before the onset.
func (p pace) health() float64 {
	return max(usualHealth, min(longestHealth, float64(healthyReports*p.report)))
}

// fault is how long a fault lasts that makes steps so many times as long.
func (p pace) fault(slower float64) float64 {
	step, n := max(usualStep, p.step), slowSteps
	if step > longStep {
		n = fewSteps
	}
	return max(120, float64(float64(n)*step*slower), float64(faultyReports*p.report*slower))
}

// after is how long the run goes on when the fault is over.
func (p pace) after() float64 { return max(usualAfter, float64(lateReports*p.report)) }

// severity scales severities in seconds to longer steps.
func (p pace) severity() worlds.Scale {
	if p.step <= usualStep {
		return 0
	}
	return worlds.Scale(p.step / usualStep)
}

// often is every how many steps a job writes checkpoints where they matter: some
// 80 to 110 s of usual steps.
func (s stage) often(t *work.Training) int {
	n := 14 + int(s.seed%7)
	if s.pace().step == 0 {
		return n
	}
	return max(2, int(float64(float64(n)*usualStep)/world.StepSeconds(t)))
}

// still is the stage's world with links that carry what jobs send in the mean:
// what faults are placed by.
func (s stage) still() world.Config {
	c := s.config()
	c.Neighbours = worlds.Neighbours{}
	return c
}
