package jobs

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// drift is by how many spreads of the job's own past a step must be longer not to
	// be a usual one.
	drift = 2.0
	// leastShift is by how much slow steps must be longer in the mean.
	leastShift = 0.035
	// leastSign is by how much they must be longer where there is corroborating
	// evidence.
	leastSign = 0.012
	// smallSteps that are longer for certain, but by less, are the new usual.
	smallSteps = 16
	// stallAfter is the number of usual steps without one ending after which the
	// job is stalled, but not within quiet seconds without corroborating evidence:
	// an unannounced checkpoint takes as long.
	stallAfter = 3.0
	quiet      = 15.0
	// idleQuiet, in seconds, is the same for a job on whose GPUs nothing is
	// launched: it may be writing an unannounced checkpoint, or wait for its input.
	// A job whose members wait for one another keeps them busy.
	idleQuiet = 60.0
	// idleGrown times as long as ever before is beyond the pattern.
	idleGrown = 1.5
	// wellAfter is the number of usual steps in a row that end a degradation: a few
	// quick ones do not.
	wellAfter = 5
	// calmAfter in a row end one that was slow: trouble that comes and goes is one.
	calmAfter = 8
)

// pending is a report that looked slow and has not been judged yet: n steps of
// length seconds that ended by at.
type pending struct {
	at     telemetry.Time
	length float64
	n      int
	step   uint64 // its number
}

// within is when what made the report long began: a report of several steps does
// not show of any of them that it was as usual.
func (p pending) within() telemetry.Interval {
	return telemetry.Interval{Earliest: p.at.Add(-seconds(float64(p.length * float64(p.n)))), Latest: p.at}
}

// pendingSize is the length of one in a snapshot, in bytes.
const pendingSize = 32

func snapshotPending(c *snapshot.Codec, p *pending) {
	c.U64(&p.step)
	c.Time(&p.at)
	c.F64(&p.length)
	c.Int(&p.n)
}

// Job is one job's steps: its past, the evidence since it last looked healthy, and
// its degradation if it has one.
type Job struct {
	Entity telemetry.Entity
	// Degradation is nil while the job is healthy.
	Degradation *Degradation
	// LastEnd is the end of the last step; zero before the first.
	LastEnd telemetry.Time
	Steps   uint64         // steps seen
	first   telemetry.Time // when the first of them had ended
	// worked is when the job, whose step was overdue, was last seen to work.
	worked telemetry.Time
	// Last is the length of the step that ended at LastEnd, in seconds.
	Last float64
	// Recent are the last reported steps, the oldest first.
	Recent []Step
	// well is when the last degradation was over.
	well telemetry.Time

	past           past
	blocks         blocks
	longs          longs // of long steps
	spikes         spikes
	breaks, missed longs // between steps; the latter may have been lost reports
	rested         bool  // that the last step came after a break
	work           work
	evenWork       evenWork
	good           Goodput
	service        *service // of a job that serves, else nil
	// phase is what the job does other than training, "" for training, since
	// phaseFrom; phaseTo is when the last such phase ended.
	phase              string
	phaseFrom, phaseTo telemetry.Time
	gaps               past // seconds between reports
	mfu                past // utilisation reported while healthy
	announced          announcements
	saves              saver
	waited             waiting
	odds               odds
	saving             Step           // the last checkpoint whose length was reported, then the report it was in and the part of each of its steps
	savedAt            telemetry.Time // when a checkpoint was last reported, until a step has ended since
	writing            bool           // its beginning was reported, and its end not
	wrote              float64        // for how many seconds that one was written; 0 where only one of its ends was reported
	suspects           []pending
	ended              bool               // the job is over: no step is expected
	delay              telemetry.Duration // by which its source's class lags the prompt one
}

// Step is one reported step: when it ended, how many seconds it took, and how many it
// would have taken with the usual work; and whether it is longer than
// usual and a checkpoint was reported since the one before.
type Step struct {
	End     telemetry.Time
	Seconds float64
	Even    float64
	Saved   bool
}

// maxRecent is how many of them a job keeps.
const maxRecent = 96

// remember keeps a step for people to look at.
func (j *Job) remember(s Step) { j.Recent = appendLast(j.Recent, s, maxRecent) }

// Change is what Close found: the degradation began, its state changed, or it
// ended.
type Change uint8

// The changes.
const (
	None Change = iota
	Began
	Turned
	Ended
)

// Usual returns the job's usual step in seconds, and false while too few steps have
// been seen.
func (j *Job) Usual() (float64, bool) {
	u := j.past.usual()
	return u.median, u.n >= minPast
}

// observe takes the end of a step of x seconds.
func (j *Job) observe(at telemetry.Time, x float64) {
	if j.LastEnd != 0 && at <= j.LastEnd {
		return // a repeat, or a step reported out of order
	}
	if j.first == 0 {
		j.first = at
	}
	j.wroteIn(at, x)
	resumed := j.resumes(at)
	tokens := j.work.tokens(at, x)
	even, clear := j.even(tokens, x)
	saved := j.savedAt != 0 || j.saving.End == at
	j.remember(Step{at, x, even, saved && slow(j.past.usual(), x)})
	if j.grew(at) > 0 && j.savedApart(at, x) {
		even += j.saving.Seconds // what a checkpoint between two steps has grown by is lost as well
	}
	j.Last = even
	if j.Degradation == nil {
		j.waited.report(saved)
	}
	if j.Degradation == nil && j.slowBySaving(at, even) {
		j.account(at, x, j.each())
		j.spend(at)
		j.LastEnd = at
		j.Steps++
		return
	}
	apart := j.apart(at, x)
	excused := j.Degradation == nil && !apart && j.isExpected(at, even)
	if u := j.past.usual(); (excused || apart && j.Degradation == nil) && u.n >= minPast {
		j.announce(max(0, j.took(at, x)-u.median))
	}
	excused = excused || j.otherwise(at, x) && (j.Degradation == nil || j.Degradation.Since == 0)
	if j.excuses(excused, apart) {
		j.account(at, x, 1)
		j.spend(at)
		j.LastEnd = at
		if j.Degradation != nil {
			j.Degradation.Overdue = 0
		}
		j.Steps++
		return // the step contained a checkpoint or an evaluation: it is neither slow nor usual
	}
	clear = j.adapt(at, x) && clear
	n, first := 1, false
	if resumed {
		n = j.each() // no step was expected meanwhile
	} else if j.LastEnd != 0 {
		gap := float64(at-j.LastEnd) / 1e9
		if apart {
			gap -= j.wrote
		}
		n = j.stepsOf(gap, x)
		between := j.ofOneStep(gap)
		switch h := j.Degradation; {
		case h == nil:
			if first = j.afterBreak(between - x); first {
				n = j.each() // the break is none of its steps
			}
			j.gaps.add(gap)
		case h.Steps == 0 && h.Since == 0 && j.afterBreak(between-x): // it looked as if the job had stopped
			j.waited.pattern = max(j.waited.pattern, gap)
		}
	}
	j.Steps++
	j.account(at, x, n)
	j.past.of(n)
	switch {
	case j.Degradation != nil:
		j.Degradation.sampled.sample(even)
		j.observeDegraded(at, even, n)
	case clear && (!first || j.rested):
		j.observeHealthy(at, j.withoutSave(at, j.learnWork(tokens, x)), n)
	}
	j.spend(at)
	j.LastEnd, j.rested = at, first
}

// took is how long, in seconds, a step of x seconds that ended at at kept the job:
// a checkpoint that is no part of the reported step is between two of them; in a
// report of several steps, its time is divided among them.
func (j *Job) took(at telemetry.Time, x float64) float64 {
	return max(x, j.ofOneStep(float64(at-j.LastEnd)/1e9))
}

// ofOneStep is what part of the seconds between two reports is of one step.
func (j *Job) ofOneStep(seconds float64) float64 {
	if j.sparse() {
		return j.perStep(seconds)
	}
	return seconds
}

// maxStepsPerReport bounds the steps that one report can represent.
const maxStepsPerReport = 1000

// stepsOf is how many steps a report after gap seconds represents: a job may report
// only every tenth.
func (j *Job) stepsOf(gap, x float64) int {
	if j.past.usual().n < minPast || !j.sparse() {
		return 1
	}
	return int(min(max(1, gap/x+0.5), maxStepsPerReport))
}

// Between is the usual time between reported steps; 0 where that is not known yet.
func (j *Job) Between() telemetry.Duration {
	x, ok := j.Usual()
	if !ok {
		return 0
	}
	return telemetry.Duration(float64(x*float64(j.each())) * 1e9)
}

// each is how many steps a report of the job usually represents.
func (j *Job) each() int {
	if len(j.gaps.lengths) == 0 {
		return 1
	}
	return j.stepsOf(j.gaps.usual().median, j.past.usual().median)
}

// OneReport reports whether a degradation is known from one report alone, of one step or of
// several.
func (j *Job) OneReport(h *Degradation) bool { return h.Steps > 0 && h.Steps <= j.each() }

func (j *Job) observeHealthy(at telemetry.Time, x float64, n int) {
	u := j.past.usual()
	if u.n < minPast {
		j.past.add(x)
		return
	}
	if j.matchesPattern(u, x) {
		j.file(u, pending{at: at, length: x, n: n, step: j.Steps}, true)
		return // it is no evidence either way
	}
	j.odds = j.odds.with(u, x, false)
	if j.odds.most() < negligible || j.young(at) && !slow(u, x) {
		j.past.wide.sample(x)
		j.release(u)
		j.file(u, pending{at: at, length: x, n: n, step: j.Steps}, isLong(u, x))
		j.block(u, x)
		return
	}
	j.suspects = append(j.suspects, pending{at, x, n, j.Steps})
	j.single(u)
	j.block(u, x)
	if len(j.suspects) > pastSteps || len(j.suspects) >= smallSteps && j.odds.most() >= convinced && j.longerBy(u) < leastShift {
		j.release(u)
	}
}

func (j *Job) observeDegraded(at telemetry.Time, x float64, n int) {
	h := j.Degradation
	isSlow := h.slow(j.past.usual(), x)
	if h.Since != 0 {
		// Between the last step and the first one after it, all was lost.
		h.Lost += max(0, float64(at.Add(-seconds(x))-j.LastEnd)/1e9)
		h.Since = 0
		h.State = Restarted
		h.resumed = n
	} else if h.resumed > 0 {
		h.resumed += n
	}
	h.Overdue = 0
	if j.saving.End == at && len(j.saves.usual.lengths) > 0 {
		grew := j.grew(at)
		h.recoverAfter = 0
		if grew > 0 {
			h.recoverAfter = j.turns()
		}
	}
	if u := j.past.usual(); isSlow {
		x -= min(j.savedUsually(u, at, x), x-u.median)
		isSlow = h.slow(u, x)
	}
	if h.inBlocks {
		h.last = j.Steps
		h.slower()
		h.whole(at, x, n)
		return
	}
	if isSlow {
		h.last = j.Steps
		h.slower()
		h.addSlow(at, x, n)
		return
	}
	h.addUsual(x, n)
}

// block takes a step into its block: a long one, which may be single, is none of it.
func (j *Job) block(u usual, x float64) {
	if !isLong(u, x) && j.blocks.add(x) {
		j.suspectBlocks()
	}
}

// young reports whether at an instant a job has not been seen for long enough to be
// judged.
func (j *Job) young(at telemetry.Time) bool { return at.Sub(j.first) < minSpan }

// slow reports whether a step of x seconds is not usual.
func slow(u usual, x float64) bool { return (x-u.median)/u.spread > drift }

func seconds(x float64) telemetry.Duration { return telemetry.Duration(x * 1e9) }

func (j *Job) snapshot(c *snapshot.Codec) {
	c.Entity(&j.Entity)
	c.Time(&j.LastEnd)
	c.Time(&j.first)
	c.Time(&j.worked)
	c.Time(&j.well)
	c.U64(&j.Steps)
	c.F64(&j.Last)
	snapshot.List(c, &j.Recent, 25, func(c *snapshot.Codec, s *Step) {
		c.Time(&s.End)
		c.F64(&s.Seconds)
		c.F64(&s.Even)
		c.Bool(&s.Saved)
	})
	j.past.snapshot(c)
	j.blocks.snapshot(c)
	j.longs.snapshot(c)
	j.spikes.snapshot(c)
	j.breaks.snapshot(c)
	j.missed.snapshot(c)
	c.Bool(&j.rested)
	j.work.snapshot(c)
	j.evenWork.snapshot(c)
	serves := j.service != nil
	if c.Bool(&serves); serves {
		if j.service == nil {
			j.service = &service{}
		}
		j.service.snapshot(c)
	}
	j.good.snapshot(c)
	c.String(&j.phase)
	c.Time(&j.phaseFrom)
	c.Time(&j.phaseTo)
	j.gaps.snapshot(c)
	j.mfu.snapshot(c)
	j.saves.snapshot(c)
	j.waited.snapshot(c)
	for k := range j.announced.took {
		j.announced.took[k].snapshot(c)
	}
	c.Bool(&j.announced.phase)
	c.Int(&j.announced.inRow)
	j.odds.snapshot(c)
	c.Time(&j.savedAt)
	c.Bool(&j.writing)
	c.F64(&j.wrote)
	c.Time(&j.saving.End)
	c.F64(&j.saving.Seconds)
	c.Bool(&j.ended)
	c.Duration(&j.delay)
	snapshot.List(c, &j.suspects, pendingSize, snapshotPending)
	degradation := j.Degradation != nil
	c.Bool(&degradation)
	if degradation {
		if j.Degradation == nil {
			j.Degradation = &Degradation{}
		}
		j.Degradation.snapshot(c)
	}
}
