package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Checkpoints that a job reports by events are expected activity: they explain that
// a step takes longer, as long as they do not take clearly longer than before.

const (
	// excuseFor is the number of usual steps for which a reported checkpoint is
	// expected activity, unless an unreported one would still be (idleQuiet).
	excuseFor = 30
	// leastAnnounced is how many reported checkpoints show how long they take.
	leastAnnounced = 2
	// rounding is how much later than its step, as part of a usual step, the end of
	// a checkpoint may be reported that was the last thing in that step.
	rounding = 0.1
)

// excuse reports whether a reported checkpoint explains a step of x seconds that
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

// writes reports whether a reported checkpoint explains that no step has ended by
// an instant: the step would be no longer than one that holds a checkpoint, or the
// checkpoint is being written, or the rest of its step follows. Where its beginning
// or its end was reported, the time before that is no part of it, be it a break.
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

// save records the beginning or the end, at an instant, of a reported checkpoint.
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

// spend records that a step has ended at an instant, with what was reported before
// it. A checkpoint that began with its end, by whichever of two clocks, is after
// it.
func (j *Job) spend(at telemetry.Time) {
	if ended := j.excused == j.good.Saved; ended || j.excused < at.Add(-seconds(float64(rounding*j.past.usual().median))) {
		j.excused, j.wrote = 0, 0
	}
}

// apart reports whether the checkpoint whose beginning and end were reported is
// between the steps of a report of x seconds a step: they do not fill the time
// since the report before. Such steps held nothing else, and are judged like any
// others; where each step is reported by itself, little is known of the first after
// a checkpoint.
func (j *Job) apart(at telemetry.Time, x float64) bool {
	if j.wrote == 0 || !j.sparse() || j.past.usual().n < minPast {
		return false
	}
	rest := float64(at-j.LastEnd)/1e9 - float64(x*float64(j.each()))
	return rest >= j.wrote/2
}

// within reports whether a checkpoint that ended at an instant was part of the last
// reported step: the step after it holds none.
func (j *Job) within(at telemetry.Time) bool {
	return j.LastEnd != 0 && at <= j.LastEnd.Add(seconds(float64(rounding*j.past.usual().median)))
}

// announce records by how many seconds a reported checkpoint made a step longer.
// The excess over the usual checkpoint may have been a break as well.
func (j *Job) announce(extra float64) {
	if len(j.announced.lengths) >= leastAnnounced {
		j.rest(extra - j.announced.usual().median)
	}
	j.announced.add(extra)
}
