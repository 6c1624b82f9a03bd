package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// What was before a hurt is frozen when the hurt is known. Of a job that tells of
// its steps once a minute, or whose steps take that long, it is known when the window
// has forgotten what was before. What such jobs stand on is frozen now and then
// while they are well.

// usualState is what was so far at a time: every end of the fabric, and what the
// jobs that tell seldom stand on.
type usualState struct {
	at     telemetry.Time
	before *fabric.Baseline
	jobs   []*incidentCase // what is before a hurt of theirs, and nothing else
}

const (
	// usualEvery grids the state is kept, and usualStates of them.
	usualEvery, usualStates = baselineGrids, 8
	// seldom is how far apart what a job tells of its steps must be: three such
	// intervals and what is compared are more than the window keeps.
	seldom = (history - baselineGrids) / 3 // grids
)

// keepUsual freezes what is usual at grid g.
func (e *Engine) keepUsual(g telemetry.Time) {
	if int64(g)/int64(e.cfg.Grid)%usualEvery != 0 {
		return
	}
	state := usualState{at: g}
	for _, j := range e.book.Jobs() {
		if j.Hurt == nil && j.Between() > seldom*e.cfg.Grid {
			state.jobs = append(state.jobs, e.usualOf(j, g))
		}
	}
	if len(state.jobs) > 0 {
		state.before = e.fabricBefore(e.spanBefore(g))
		e.usual = append(e.usual, state)
	}
	e.usual = slices.DeleteFunc(e.usual, func(s usualState) bool { return g.Sub(s.at) > usualStates*usualEvery*e.cfg.Grid })
}

// usualOf freezes what a job stands on.
func (e *Engine) usualOf(j *jobs.Job, g telemetry.Time) *incidentCase {
	c := &incidentCase{job: j.Entity, hosts: e.hostsBefore(j.Entity, g)}
	step, _ := j.Usual()
	e.shares(c, e.spanBefore(g), step)
	e.keepSymptoms(c, e.spanBefore(g))
	return c
}

// spanBefore is what is compared with what comes after a time.
func (e *Engine) spanBefore(at telemetry.Time) fabric.Span {
	return fabric.Span{From: at.Add(-baselineGrids * e.cfg.Grid), To: at}
}

func (e *Engine) fabricBefore(span fabric.Span) *fabric.Baseline {
	return fabric.Keep(e.fabricMap().ReadEach(fabric.Recording{History: e.window, Grid: e.cfg.Grid}, span, e.cfg.ForEach))
}

// recalled finds the newest state that was kept of a job before its onset, where the
// window has forgotten more than half of what was.
func (e *Engine) recalled(job telemetry.Entity, onset telemetry.Time) (*usualState, *incidentCase) {
	if onset.Add(-baselineGrids/2*e.cfg.Grid) > e.oldest(e.at) {
		return nil, nil
	}
	for i := len(e.usual) - 1; i >= 0; i-- {
		s := &e.usual[i]
		k := slices.IndexFunc(s.jobs, func(c *incidentCase) bool { return c.job == job })
		if k >= 0 && s.at <= onset {
			return s, s.jobs[k]
		}
	}
	return nil, nil
}

func (s *usualState) snapshot(c *snapshot.Codec) {
	c.Time(&s.at)
	if s.before == nil {
		s.before = &fabric.Baseline{}
	}
	s.before.Snapshot(c)
	snapshot.List(c, &s.jobs, 64, codeCase)
}
