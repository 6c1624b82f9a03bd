package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Checkpoints that a job reports by events are expected activity: they explain that
// a step takes longer, as long as they do not take clearly longer than before.

const (
	// expectedFor is the number of usual steps for which a reported checkpoint is
	// expected activity, unless an unreported one would still be (idleQuiet).
	expectedFor = 30
	// leastAnnounced is how many reported checkpoints show how long they take.
	leastAnnounced = 2
	// rounding is how much later than its step, as part of a usual step, the end of
	// a checkpoint may be reported that was the last thing in that step.
	rounding = 0.1
	// apartClocks is by how much the clocks may differ of who reports a checkpoint and of
	// who reports the steps: half of what makes a clock a blind spot (correlate.worstClock).
	apartClocks = telemetry.Duration(500e6)
)

// announcements are by how many seconds what was reported made steps longer: an
// evaluation takes another time than a checkpoint.
type announcements struct {
	took  [2]past // of checkpoints, and of other phases
	phase bool    // the last one that was reported is another phase
	inRow int     // reports in a row that it explained
}

// excuses reports whether a report is left out that a checkpoint or another phase
// explains. Where each report holds one, as of a job that saves as often as it reports or
// generates between its steps, that is the usual report, and is judged like any other:
// else nothing would ever be known of such a job.
func (j *Job) excuses(explained, apart bool) bool {
	switch {
	case j.phase != "":
		return explained // it is in that phase
	case !explained && !apart:
		j.announced.inRow = 0
		return false
	}
	j.announced.inRow++
	if j.announced.inRow < minPast || apart {
		return explained
	}
	if j.announced.inRow == minPast && j.past.usual().n < minPast {
		for _, s := range j.Recent[max(0, len(j.Recent)-minPast) : len(j.Recent)-1] {
			j.past.add(s.Even)
		}
	}
	return false
}

// now is of what was reported last.
func (a *announcements) now() *past {
	if a.phase {
		return &a.took[1]
	}
	return &a.took[0]
}

// most is the most that either took; 0 where none was reported.
func (a *announcements) most() (most float64) {
	for k := range a.took {
		for _, x := range a.took[k].lengths {
			most = max(most, x)
		}
	}
	return most
}

// isExpected reports whether a reported checkpoint explains a step of x seconds that
// ended at at.
func (j *Job) isExpected(at telemetry.Time, x float64) bool {
	u := j.past.usual()
	switch {
	case !j.saveIsRecent(at):
		return false
	case len(j.announced.now().lengths) < leastAnnounced:
		return true
	}
	return x <= u.median+max(float64(idleGrown*slices.Max(j.announced.now().lengths)), float64(drift*u.spread))
}

// writes reports whether a reported checkpoint explains that no step has ended by
// an instant: the step would be no longer than one that holds a checkpoint, or the
// checkpoint is being written, or the rest of its step follows. Where its beginning
// or its end was reported, the time before that is no part of it, be it a break.
func (j *Job) writes(at telemetry.Time) bool {
	if known := len(j.announced.now().lengths) >= leastAnnounced; (known || j.writing) && j.isExpected(at, float64(at-j.LastEnd)/1e9) {
		return true // one that has ended without two before it shows no more than its end
	}
	if !j.saveIsRecent(at) {
		return false
	}
	left, each := j.past.usual().median, float64(j.each())
	if j.writing {
		left += slices.Max(j.announced.now().lengths)
	}
	return float64(at-j.savedAt)/1e9 <= float64(idleGrown*left)*each
}

func (j *Job) saveIsRecent(at telemetry.Time) bool {
	u := j.past.usual()
	return j.savedAt != 0 && u.n > 0 && at.Sub(j.savedAt) < seconds(max(float64(expectedFor*u.median), idleQuiet))
}

// save records the beginning or the end, at an instant, of a reported checkpoint, or of
// another phase.
func (j *Job) save(at telemetry.Time, ended, phase bool) {
	j.announced.phase = phase
	switch {
	case !ended:
		j.savedAt, j.writing, j.wrote = at, true, 0
		return
	case j.writing:
		j.wrote = max(0, float64(at-j.savedAt)/1e9)
	}
	if !j.within(at) {
		j.savedAt = at
	}
	j.writing = false
	j.good.save(at)
}

// spend records that a step has ended at an instant, with what was reported before
// it. A checkpoint that began with its end, by whichever of two clocks, is after
// it.
func (j *Job) spend(at telemetry.Time) {
	if !j.writing || j.savedAt < at.Add(-max(apartClocks, seconds(float64(rounding*j.past.usual().median)))) {
		j.savedAt, j.writing, j.wrote = 0, false, 0
	}
}

// apart reports whether the checkpoint whose beginning and end were reported is
// between the steps of a report of x seconds a step: they do not fill the time
// since the report before. Such steps contain nothing else, and are judged like any
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
	took := j.announced.now()
	if len(took.lengths) >= leastAnnounced {
		j.afterBreak(extra - took.usual().median)
	}
	took.add(extra)
}
