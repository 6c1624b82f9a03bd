package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/telemetry"
)

// The baseline of a degradation is read from the window when the degradation is
// detected. A job that reports its steps once a minute, or whose steps take that
// long, is detected when the window no longer holds its baseline. So baselines of
// such jobs are stored at intervals while they are healthy. That of any other job is
// stored when its steps may have become longer, because minutes may pass until that
// is certain; and when something is at risk that it depends on, because what that does
// until it degrades the job is no baseline. That of a degradation is stored when it is
// over: a relapse that comes before the window holds a baseline again would be compared
// with the trouble itself.

// usualState is the baseline at a time: of every end of the fabric, and of the
// hosts, GPUs and plant of the jobs that report seldom, or of one job in doubt or at risk, or
// of one that was degraded until a time.
type usualState struct {
	at     telemetry.Time
	before *fabric.Baseline
	jobs   []*incidentCase // their baselines, and nothing else
	doubt  bool            // it is of one job whose steps may have become longer
	risk   bool            // it is of one job that depends on what is at risk since
	until  telemetry.Time  // the end of the degradation before which it was usual; 0 for the others
}

const (
	// usualEvery is the grids between two stored states, and usualStates how many are
	// kept; doubtStates are of jobs in doubt, riskStates of jobs at risk.
	usualEvery, usualStates = baselineGrids, 8
	doubtStates             = 8
	riskStates              = 16
	// seldom is the least interval between two reports of a job, in grids: three such
	// intervals and the baseline are more than the window holds.
	seldom = (history - baselineGrids) / 3 // grids
)

// keepUsual stores the baselines at grid g, if one is due.
func (e *examiner) keepUsual(g telemetry.Time) {
	e.keepDoubted(g)
	if int64(g)/int64(e.cfg.Grid)%usualEvery != 0 {
		return
	}
	state := usualState{at: g}
	for _, j := range e.book.Jobs() {
		if j.Degradation == nil && j.Between() > seldom*e.cfg.Grid {
			state.jobs = append(state.jobs, e.usualOf(j, g))
		}
	}
	if len(state.jobs) > 0 {
		state.before = e.fabricBefore(e.spanBefore(g))
		e.usual = append(e.usual, state)
	}
	e.usual = slices.DeleteFunc(e.usual, func(s usualState) bool { return g.Sub(max(s.at, s.until)) > usualStates*usualEvery*e.cfg.Grid })
}

// keepFormer stores the baseline of a case whose job is well again.
func (e *examiner) keepFormer(c *incidentCase, h *jobs.Degradation, g telemetry.Time) {
	if c.dependencies == nil {
		return
	}
	e.usual = append(slices.DeleteFunc(e.usual, formerOf(c.job)), usualState{at: floor(h.Onset.Earliest, e.cfg.Grid), until: h.End(g), before: c.before,
		jobs: []*incidentCase{{job: c.job, hosts: c.hosts, dependencies: c.dependencies, saves: c.saves, reportedWork: c.reportedWork}}})
}

// formerOf reports of a state whether it is of an earlier degradation of a job.
func formerOf(job telemetry.Entity) func(usualState) bool {
	return func(s usualState) bool { return s.until != 0 && s.jobs[0].job == job }
}

// usualLoad returns what the ends of the fabric did before a job's earlier degradation, if
// that lasted into the baseline of what began at an onset, or has not ended; nil otherwise.
// A job that recovers sends what it sent before.
func (e *examiner) usualLoad(job telemetry.Entity, onset telemetry.Time) *fabric.Readings {
	if c, ok := e.openCase(job); ok && c.before != nil {
		if j := e.book.Job(job); j != nil && j.Degradation != nil && j.Degradation.Onset.Latest < onset {
			return c.before.On(e.fabricMap())
		}
	}
	i := slices.IndexFunc(e.usual, formerOf(job))
	if i < 0 || e.usual[i].until <= onset.Add(-baselineGrids*e.cfg.Grid) {
		return nil
	}
	return e.usual[i].before.On(e.fabricMap())
}

// former returns the baseline of a job's earlier degradation, where that lasted into the
// baseline of what began at an onset, and the job still runs where it ran.
func (e *examiner) former(job telemetry.Entity, onset telemetry.Time) (*usualState, *incidentCase) {
	i := slices.IndexFunc(e.usual, formerOf(job))
	if i < 0 || e.usual[i].until <= onset.Add(-baselineGrids*e.cfg.Grid) {
		return nil, nil
	}
	was := e.usual[i].jobs[0]
	known := func(n telemetry.Entity) bool {
		return slices.ContainsFunc(was.hosts, func(h hostBefore) bool { return h.node == n })
	}
	for _, n := range e.nodes(job) {
		if !known(n) {
			return nil, nil
		}
	}
	return &e.usual[i], was
}

// keepDoubted stores the baselines of jobs that have come into doubt, one of each job.
func (e *examiner) keepDoubted(g telemetry.Time) {
	for _, j := range e.book.Jobs() {
		since, ok := j.Doubted()
		at := floor(since, e.cfg.Grid)
		if !ok || at.Add(-baselineGrids/2*e.cfg.Grid) < e.oldest(g) || j.Between() > seldom*e.cfg.Grid {
			continue
		}
		old := slices.IndexFunc(e.usual, func(s usualState) bool { return s.doubt && s.jobs[0].job == j.Entity })
		if old >= 0 && g.Sub(e.usual[old].at) < baselineGrids*e.cfg.Grid {
			continue
		}
		if old >= 0 {
			e.usual = slices.Delete(e.usual, old, old+1)
		}
		e.makeRoom(doubtStates, func(s *usualState) bool { return s.doubt })
		e.usual = append(e.usual, usualState{at: at, before: e.fabricBefore(e.spanBefore(at)), jobs: []*incidentCase{e.usualOf(j, at)}, doubt: true})
	}
}

// keepThreatened stores what a job is coupled to as it was when something began that it
// depends on, unless it is degraded, or was at risk already.
func (e *examiner) keepThreatened(j *jobs.Job, since telemetry.Time) {
	at := floor(since, e.cfg.Grid)
	already := slices.ContainsFunc(e.usual, func(s usualState) bool { return s.risk && s.jobs[0].job == j.Entity })
	if already || j.Degradation != nil || at.Add(-baselineGrids/2*e.cfg.Grid) < e.oldest(e.at) {
		return
	}
	c := &incidentCase{job: j.Entity}
	e.keepSymptoms(c, e.spanBefore(at))
	e.makeRoom(riskStates, func(s *usualState) bool { return s.risk })
	e.usual = append(e.usual, usualState{at: at, risk: true, jobs: []*incidentCase{c}})
}

// makeRoom drops the oldest baseline of a kind where as many are stored as may be.
func (e *examiner) makeRoom(most int, of func(*usualState) bool) {
	oldest, n := -1, 0
	for i := range e.usual {
		if of(&e.usual[i]) {
			if n++; oldest < 0 {
				oldest = i
			}
		}
	}
	if n >= most {
		e.usual = slices.Delete(e.usual, oldest, oldest+1)
	}
}

// usualOf returns the baseline of a job's hosts, GPUs and plant.
func (e *examiner) usualOf(j *jobs.Job, g telemetry.Time) *incidentCase {
	c := &incidentCase{job: j.Entity, hosts: e.hostsBefore(j.Entity, g)}
	step, _ := j.Usual()
	e.shares(c, e.spanBefore(g), step)
	e.keepSymptoms(c, e.spanBefore(g))
	return c
}

// spanBefore returns the span of the baseline of what begins at a time.
func (e *examiner) spanBefore(at telemetry.Time) fabric.Span {
	return fabric.Span{From: at.Add(-baselineGrids * e.cfg.Grid), To: at}
}

// baselines are those of the fabric that were read at one time. Nothing that they are
// read from changes before the next grid is closed.
type baselines struct {
	at telemetry.Time
	of map[fabric.Span]*fabric.Baseline
}

// fabricBefore reads what every end of the fabric did over a span: once in a grid, in
// which evidence is sought and the case opened, and several jobs may be degraded alike.
func (e *examiner) fabricBefore(span fabric.Span) *fabric.Baseline {
	if e.read.at != e.at {
		e.read = baselines{e.at, map[fabric.Span]*fabric.Baseline{}}
	}
	b := e.read.of[span]
	if b == nil {
		b = fabric.Keep(e.fabricMap().ReadEach(fabric.Recording{History: e.window, Grid: e.cfg.Grid, Counts: true}, span, e.cfg.ForEach))
		e.read.of[span] = b
	}
	return b
}

// recalled returns the baseline of an earlier degradation of a job, if its new one is
// a relapse, else the newest that was stored before its onset; nil where the window
// holds half of the baseline or more, or none is stored.
func (e *examiner) recalled(job telemetry.Entity, onset telemetry.Time) (*usualState, *incidentCase) {
	if s, was := e.former(job, onset); s != nil {
		return s, was
	}
	if onset.Add(-baselineGrids/2*e.cfg.Grid) > e.oldest(e.at) {
		return nil, nil
	}
	for i := len(e.usual) - 1; i >= 0; i-- {
		s := &e.usual[i]
		k := slices.IndexFunc(s.jobs, func(c *incidentCase) bool { return c.job == job })
		if k >= 0 && s.until == 0 && !s.risk && s.at <= onset {
			return s, s.jobs[k]
		}
	}
	return nil, nil
}

// beforeRisk returns what a job is coupled to as it was before the onset of a risk to it, if
// one began before a degradation, as long as baselines are stored; nil where none did.
func (e *examiner) beforeRisk(job telemetry.Entity, onset telemetry.Time) *symptom.Baseline {
	i := slices.IndexFunc(e.usual, func(s usualState) bool { return s.risk && s.jobs[0].job == job && s.at <= onset })
	if i < 0 {
		return nil
	}
	return e.usual[i].jobs[0].dependencies
}

func (s *usualState) snapshot(c *snapshot.Codec) {
	c.Time(&s.at)
	if s.before == nil {
		s.before = &fabric.Baseline{}
	}
	s.before.Snapshot(c)
	snapshot.List(c, &s.jobs, 64, codeCase)
	c.Bool(&s.doubt)
	c.Bool(&s.risk)
	c.Time(&s.until)
}
