package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Checkpoints that a job tells of by events explain that a step takes longer, as
// long as they do not take clearly longer than before.

const (
	// excuseFor usual steps after a checkpoint was told of, it is no excuse any more.
	excuseFor = 30
	// leastAnnounced checkpoints told of say how long they take.
	leastAnnounced = 2
	// rounding, as part of a usual step, is how much later than a step a checkpoint
	// may be told to end that was the last thing in it.
	rounding = 0.1
)

// excuse says that a checkpoint that was told of explains a step of x seconds that
// ended at at.
func (j *Job) excuse(at telemetry.Time, x float64) bool {
	u := j.past.usual()
	switch {
	case !j.mayExcuse(at):
		return false
	case len(j.announced.lengths) < leastAnnounced:
		return true
	}
	return x <= u.median+max(float64(idleGrown*slices.Max(j.announced.lengths)), float64(drift*u.spread))
}

// writes says that a checkpoint that was told of explains that no step has ended
// by an instant: the step would be no longer than one that holds one, or it is
// being written, or what is left of its step follows. Where its beginning or its
// end was told, what came before that is no part of it, be it a break.
func (j *Job) writes(at telemetry.Time) bool {
	if j.excuse(at, float64(at-j.LastEnd)/1e9) {
		return true
	}
	if !j.mayExcuse(at) {
		return false
	}
	left, each := j.past.usual().median, float64(j.each())
	if ended := j.excused == j.good.Saved; !ended {
		left += slices.Max(j.announced.lengths)
	}
	return float64(at-j.excused)/1e9 <= float64(idleGrown*left)*each
}

func (j *Job) mayExcuse(at telemetry.Time) bool {
	u := j.past.usual()
	return j.excused != 0 && u.n > 0 && at.Sub(j.excused) < seconds(float64(excuseFor*u.median))
}

// within says that a checkpoint which ended at an instant was part of the last
// step told of: the step after it holds none.
func (j *Job) within(at telemetry.Time) bool {
	return j.LastEnd != 0 && at <= j.LastEnd.Add(seconds(float64(rounding*j.past.usual().median)))
}

// announce takes by how many seconds a checkpoint that was told of made a step
// longer. What it took longer than they do may have been a break beside it.
func (j *Job) announce(extra float64) {
	if len(j.announced.lengths) >= leastAnnounced {
		j.rest(extra - j.announced.usual().median)
	}
	j.announced.add(extra)
}
