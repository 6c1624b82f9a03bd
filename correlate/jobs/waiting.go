package jobs

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// For a job that reports rarely a late report is weak evidence. Another measure
// shows that its members wait for one another (Senses.Hung), and some do so while
// they are healthy: in a barrier, until one of them has written the checkpoint of
// all.

// waiting is for how long the members of a job have waited for one another.
type waiting struct {
	pattern float64 // the most between two reports while the job was well, seconds
	now     float64 // the most since the last report, seconds
	saved   bool    // that a checkpoint was written within what has been seen
}

// report ends what was seen since the last report of a healthy job.
func (w *waiting) report(saved bool) {
	w.pattern, w.now, w.saved = max(w.pattern, w.now), 0, w.saved || saved
}

func (w *waiting) snapshot(c *snapshot.Codec) {
	c.F64(&w.pattern)
	c.F64(&w.now)
	c.Bool(&w.saved)
}

// sparse reports whether there are several steps between two reports.
func (j *Job) sparse() bool {
	return j.gaps.usual().median > float64(1.5*j.past.usual().median)
}

// hung is for how many seconds a job that reports only every so often has hung,
// clearly longer than it does while it is healthy; 0 for one that reports each
// step: there the steps show it.
func (j *Job) hung(g telemetry.Time, s Senses) float64 {
	if s.Hung == nil || !j.sparse() {
		return 0
	}
	hung := s.Hung(j, g)
	if j.Degradation == nil {
		j.waited.now = max(j.waited.now, hung)
	}
	if hung <= min(idleQuiet, float64(idleGrown*j.waited.pattern)) {
		return 0
	}
	return hung
}

// hungTooLong reports whether at grid g a job has hung for so long that no checkpoint
// explains it: longer than steps take, and all of it since the reported end of the
// one in this step, or longer than when one was last written. How long its members then waited
// may have been seen in part only: how much longer the step took is known as well.
func (j *Job) hungTooLong(g telemetry.Time, hung float64) bool {
	u := j.past.usual()
	if hung == 0 || hung < float64(j.stallSteps()*u.median) {
		return false
	}
	if j.writing && hung < float64(idleGrown*j.announced.most())*float64(j.each()) {
		return false
	}
	return j.waited.saved || j.savedAt != 0 && !j.writing && g.Add(-seconds(hung)) >= j.savedAt
}

// Gap is the usual time from one report to the next.
func (j *Job) Gap() telemetry.Duration { return seconds(j.gaps.usual().median) }

// ReportedSteps returns how many steps the reports in (from, to] represent, and how long
// they took together, in seconds.
func (j *Job) ReportedSteps(from, to telemetry.Time) (steps int, length float64) {
	each := j.each()
	for _, s := range j.Recent {
		if s.End > from && s.End <= to {
			steps, length = steps+each, length+float64(s.Seconds*float64(each))
		}
	}
	return steps, length
}
