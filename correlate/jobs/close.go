package jobs

import (
	"github.com/quintet-dc/quintet/telemetry"
)

// close judges the job at the end of grid g.
func (j *Job) close(g telemetry.Time, s Senses) Change {
	if j.service != nil {
		return j.closeServed(g)
	}
	if j.ended || j.LastEnd == 0 || j.past.usual().n < minPast {
		return None
	}
	at, hung := g.Add(-j.delay), j.hung(g, s)
	switch {
	case j.waits(at):
		return None
	case j.Degradation != nil:
		return j.closeDegraded(g, hung, s)
	case j.young(at):
		return None
	case j.writes(at) && !j.hungTooLong(g, hung):
		return None
	}
	return j.closeHealthy(g, hung, s)
}

// waits reports whether no step of training is expected at an instant, because the
// job does something else.
func (j *Job) waits(at telemetry.Time) bool {
	return (j.Degradation == nil || j.Degradation.Since == 0) && j.otherwise(at, float64(at-j.LastEnd)/1e9)
}

// age returns for how long the step in progress has been going on: the time
// since the last report, or since the job was last seen to work without one, as
// part of the usual time between two, in usual steps. A job that reports every
// tenth step is not overdue after two.
func (j *Job) age(g telemetry.Time) float64 {
	since := max(j.LastEnd, j.worked)
	if h := j.Degradation; h != nil {
		since = max(since, h.Since)
	}
	elapsed := float64(g.Add(-j.delay)-since) / 1e9
	if j.gaps.usual().median > j.past.usual().median {
		elapsed = j.perStep(elapsed)
	}
	return elapsed / max(1, j.evenWork.most)
}

// perStep turns seconds from one report on into those of one step, by how many
// steps' time there usually is between two reports.
func (j *Job) perStep(seconds float64) float64 {
	return float64(seconds*j.past.usual().median) / j.gaps.usual().median
}

// stalledFor is for how many seconds at least a stalled job has been stopped: all the
// time since the last report, except for the other steps of the next.
func (j *Job) stalledFor(g telemetry.Time, usualStep float64) float64 {
	others := max(0, j.gaps.usual().median-usualStep)
	return j.noStepFor(g) - others
}

// noStepFor is for how many seconds a job has reported no step.
func (j *Job) noStepFor(g telemetry.Time) float64 { return float64(g.Add(-j.delay)-j.LastEnd) / 1e9 }

// idlePatience is the timeout, in seconds, for a job on whose GPUs nothing is
// launched: clearly longer than it has been before, if it has. One report may have
// been lost. The time of a checkpoint is reported as part of each step of a report:
// it takes as many times that. Where one is due it may take longer, and be no loss.
func (j *Job) idlePatience(u usual) float64 {
	most := max(j.announced.most(), j.longs.most())
	if most == 0 {
		return idleQuiet
	}
	grown := idleGrown
	if j.saves.due(j.Steps) > 0 {
		grown = grownAtOnce
	}
	return min(idleQuiet, max(quiet, float64((float64(2*u.median)+float64(grown*most))*float64(j.each()))))
}

// stallSteps is how many usual steps, or usual times between reports where those
// are longer, may go by without one ending before the job is stalled. A late
// report is as long as a slow step ten times over: two of them are enough.
func (j *Job) stallSteps() float64 {
	if j.sparse() {
		return stallAfter - 1
	}
	return stallAfter
}

// closeHealthy weighs the step in progress by its age, or by for how long the job
// has hung: it is a lower bound of its length (a censored observation).
func (j *Job) closeHealthy(g telemetry.Time, hung float64, s Senses) Change {
	u := j.past.usual()
	if h := j.savesDegraded(g, u); h != nil {
		return j.begin(h)
	}
	if h := j.savedSlowly(g, u); h != nil && s.corroborates(j, h, g) {
		return j.begin(h)
	}
	if h := j.nearlyInBlocks(g, u); h != nil && s.corroborates(j, h, g) {
		j.past.forget(len(j.inBlocks()))
		j.blocks.restart()
		return j.begin(h)
	}
	if h := j.periodicDegraded(g, u); h != nil {
		j.takeSpikes(h, u)
		return j.begin(h)
	}
	if h, enough := j.spiking(g, u); h != nil && (enough || s.corroborates(j, h, g)) {
		j.takeSpikes(h, u)
		return j.begin(h)
	}
	age := max(j.age(g), hung)
	if u.n < fewSteps {
		age = hung // it may be the first of its long steps
	}
	longest := j.longest(u)
	overdue := age >= float64(j.stallSteps()*u.median) && age > max(longest, u.median+j.endedBefore())+u.median || j.hungTooLong(g, hung)
	noStep, shifted := j.noStepFor(g), j.shifted(u)
	pauses := (age > u.median+float64(drift*u.spread) || j.saves.due(j.Steps) > 0) && noStep < j.idlePatience(u) && !shifted && s.Idle != nil && s.Idle(j, g)
	if pauses && !overdue {
		return None // when the step has ended, its length decides
	}
	stalled := overdue && noStep >= quiet
	now := j.odds
	// What it may hold by the job's patterns is no part of its own length.
	if x := age - j.patternExcess(); x > u.median {
		now = now.with(u, x, true)
	}
	evidence := max(j.odds.most(), now.most())
	// A pause is no fault, unless something that is broken accounts for it.
	enough := !pauses && (j.longerFor(u, evidence, age, convinced, leastShift) || shifted || stalled)
	if !enough {
		if h := s.slowerSince(j, g, u); h != nil {
			return j.begin(h)
		}
	}
	if !enough && (s.Corroborates == nil || !j.nearly(u, evidence, age)) {
		return None
	}
	if !shifted && hung == 0 && j.works(g, s) {
		// Only the reports are missing: what has ended must be enough.
		if enough = false; s.Corroborates == nil || !j.nearly(u, j.odds.most(), 0) {
			return None
		}
	}
	h := j.degradation(g, u, age, overdue)
	if hung > 0 && h.Steps == 0 {
		h.hangs(max(j.LastEnd, g.Add(-seconds(hung))), u.median)
	}
	if !enough && !s.corroborates(j, h, g) {
		return None
	}
	if !h.costs() {
		j.release(u)
		return None
	}
	if !h.matters() && len(j.suspects) < pastSteps {
		return None
	}
	j.divide(h)
	j.blocks.restart()
	return j.begin(h)
}

// begin makes h the degradation of the job, which all evidence so far was of.
func (j *Job) begin(h *Degradation) Change {
	j.Degradation, j.suspects, j.odds = h, j.suspects[:0], odds{}
	return Began
}

// works reports whether the job is seen to work though no step has ended, and keeps
// until when it was.
func (j *Job) works(g telemetry.Time, s Senses) bool {
	until, ok := s.Working(j, g)
	if ok && j.Degradation == nil {
		j.worked = max(j.worked, until)
	}
	return ok
}

// certain reports whether a step, ended or in progress, is longer than any that the
// job has had, and by a margin that matters. A step that has ended is assumed to
// hold no unreported checkpoint; one with a reported checkpoint is judged by that.
func (j *Job) certain(u usual, age float64) bool {
	ended := 0.0
	for _, p := range j.suspects {
		if p.at != j.saving.End {
			ended = max(ended, p.length)
		}
	}
	beyond := max(float64(1.15*u.median), max(u.longest, u.median+j.longs.extra(j.Steps+1))+u.spread)
	return ended > beyond || age > max(beyond, j.longest(u)+u.spread)
}

// longest is how long the step in progress may be that is like one of those
// before.
func (j *Job) longest(u usual) float64 {
	return max(u.longest, u.median+j.patternExcess())
}

// suspected is a degradation of which no step is known yet.
func (j *Job) suspected(g telemetry.Time, u usual) *Degradation {
	return &Degradation{State: Slow, reported: Slow, Opened: g, Before: j.past.before(), Expected: u.mean, Usual: u.median, EqualWork: j.evenWork.slope > 0}
}

// degradation returns the degradation as it would begin at grid g.
func (j *Job) degradation(g telemetry.Time, u usual, age float64, stalled bool) *Degradation {
	h := j.suspected(g, u)
	suspects := j.slower(u)
	first := u.median + float64(drift*u.spread)
	if j.blocks.slow && !j.eachSlow(u) {
		return j.blocksDegraded(g, u)
	} else if level := level(suspects); level <= first && j.shifted(u) {
		h.line = u.median/2 + level/2
		first = min(u.median+u.sigma, h.line) // single long ones may have made sigma more than what all are longer by
	}
	for len(suspects) > 0 && suspects[0].length <= first {
		suspects = suspects[1:] // it was only noise
	}
	if n := len(suspects); n > 1 && h.line == 0 && j.odds.most() < certainlySlow && suspects[n-1].length <= first && suspects[n-2].length <= first {
		suspects = nil // what is overdue now began after them
	}
	if len(suspects) > 0 {
		first := suspects[0]
		h.Onset = first.within()
	} else {
		h.Onset = telemetry.Interval{Earliest: j.LastEnd, Latest: max(j.LastEnd, g.Add(-j.delay))}
	}
	h.LastSlow = h.Onset.Latest
	for _, p := range suspects {
		h.sampled.sample(p.length)
		if h.slow(u, p.length) {
			h.addSlow(p.at, p.length, p.n)
		} else {
			h.addUsual(p.length, p.n)
		}
	}
	if stalled {
		h.State, h.reported = Stalled, Stalled
	}
	if stalled || age > u.median+float64(drift*u.spread) {
		h.Overdue = age
	}
	return h
}

func (j *Job) closeDegraded(g telemetry.Time, hung float64, s Senses) Change {
	h := j.Degradation
	u := j.past.usual()
	if h.Since != 0 {
		// A job that failed loses everything until a step ends.
		h.Overdue = max(0, j.noStepFor(g)) + h.Expected
	}
	age := j.age(g)
	// Among steps that are slow anyway the usual slow step is the unit.
	unit := h.Usual
	if h.Steps > 0 {
		unit = max(unit, h.Sum/float64(h.Steps))
	}
	if h.Since == 0 && (j.savesAgain(age) || j.writes(g.Add(-j.delay)) || age <= unit+j.saves.due(j.Steps)) {
		age = 0
	}
	age = max(age, hung)
	if h.State == Stalled && h.Overdue > 0 {
		age = max(age, h.Overdue, j.stalledFor(g, u.median))
	}
	stalled := age >= float64(j.stallSteps()*unit) && h.Since == 0
	if (stalled || age > u.median+float64(drift*u.spread)) && h.Since == 0 && (hung > 0 || !j.works(g, s)) {
		h.Overdue = age
	}
	switch {
	case stalled && h.Overdue > 0:
		h.State = Stalled
	case h.State == Stalled && h.Overdue == 0:
		h.State = Slow
	}
	if h.Well() {
		return Ended
	}
	if h.State != h.reported {
		h.reported = h.State
		return Turned
	}
	return None
}
