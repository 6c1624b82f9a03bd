package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Checkpoints that a job tells of by events explain that a step takes longer, as
// long as they do not take clearly longer than before.

const (
	// excuseFor usual steps after a checkpoint was told of, it is no excuse any more,
	// unless one that nobody tells of would still be.
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
	return j.excused != 0 && u.n > 0 && at.Sub(j.excused) < seconds(max(float64(excuseFor*u.median), idleQuiet))
}

// save takes the beginning or the end of a checkpoint that was told of at an instant.
func (j *Job) save(at telemetry.Time, ended bool) {
	switch {
	case !ended:
		j.excused, j.wrote = at, 0
		return
	case j.excused != 0 && j.excused != j.good.Saved:
		j.wrote = max(0, float64(at-j.excused)/1e9)
	}
	if !j.within(at) {
		j.excused = at
	}
	j.good.save(at)
}

// spend says that a step has ended at an instant, with what was told of before it. A
// checkpoint that began with its end, by whichever of two clocks, lies behind it.
func (j *Job) spend(at telemetry.Time) {
	if ended := j.excused == j.good.Saved; ended || j.excused < at.Add(-seconds(float64(rounding*j.past.usual().median))) {
		j.excused, j.wrote = 0, 0
	}
}

// apart says that the checkpoint whose beginning and end were told lies between the
// steps of a report of x seconds a step: they do not fill the time since the one
// before. Such steps held nothing else, and are judged like any others; of one that
// is told by itself, the first after a checkpoint, little is known.
func (j *Job) apart(at telemetry.Time, x float64) bool {
	if j.wrote == 0 || !j.sparse() || j.past.usual().n < minPast {
		return false
	}
	rest := float64(at-j.LastEnd)/1e9 - float64(x*float64(j.each()))
	return rest >= j.wrote/2
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
