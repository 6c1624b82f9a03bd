package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Checkpoints that take longer than they did degrade a job now and then: one long
// step, then many usual ones until the next. The duration that the job itself
// reports distinguishes them from other long steps.

const (
	// grownBy times its usual length a checkpoint has grown. Half as long again is
	// what a model that grew, or a busy evening, makes of it: no trouble.
	grownBy = 1.52
	// grownSome times its usual length it has grown where there is corroborating
	// evidence, or where checkpoints degrade the job already.
	grownSome = 1.2
	// grownAtOnce is how many times its usual length one checkpoint must take, and
	// a whole step longer, to be enough; else two in a row are required.
	grownAtOnce = 3.0
	// fewSaves do not show by how much checkpoints differ.
	fewSaves = 3
	// turnsWell of the time between two checkpoints must pass without a grown one
	// for a job that they degrade to recover, except for one that is as it was.
	turnsWell = 1.5
	// leastWithoutSave of a usual step is left of one without the checkpoint in it.
	leastWithoutSave = 0.5
	// longestTurn bounds what is waited for, in steps.
	longestTurn = 1000
	// maxTurnsKept are remembered.
	maxTurnsKept = 8
)

// saver is what a job reported of its checkpoints.
type saver struct {
	usual past      // seconds that they took while healthy
	at    uint64    // the report of the last one
	turns []uint64  // reports from one to the next, the last ones: a break now and then takes the place of steps
	grown []pending // the last ones that had grown, in a row, while healthy; their steps without a usual one
	slow  bool      // they are slow steps
	last  float64   // seconds of the last one
	most  float64   // the most that one before it took while healthy, seconds
	known int       // how many before it that was the most of
}

// record records a checkpoint of so many seconds, in the step of that number.
func (s *saver) record(step uint64, took float64, keep bool) {
	if s.at != 0 && step > s.at {
		s.turns = appendLast(s.turns, step-s.at, maxTurnsKept)
	}
	s.at, s.last, s.most, s.known = step, took, s.usual.usual().longest, len(s.usual.lengths)
	if keep {
		s.usual.add(took)
	}
}

// wroteIn files the checkpoint that was written in the report of x seconds a step that
// ends at at: one of which another time was reported ended within its steps or between
// them, and is divided among them. One that ended with the report is what each of its
// steps contained, or ended with the last of them: whichever explains their length better.
func (j *Job) wroteIn(at telemetry.Time, x float64) {
	switch s := &j.saving; {
	case s.End <= j.LastEnd || s.End > at:
		return
	case s.End == at:
		share, without := s.Seconds/float64(j.each()), x-j.past.usual().median
		if abs(without-share) < abs(without-s.Seconds) {
			s.Seconds = share
		}
	case s.End < at:
		s.End, s.Seconds = at, s.Seconds/float64(j.each())
	}
	j.fileSaving()
}

// fileSaving records the checkpoint. Of those of a degraded job it learns nothing, except of
// the first that it is known to write, which alone may have looked like a stop.
func (j *Job) fileSaving() {
	h := j.Degradation
	learns := h == nil || h.Steps == 0 && len(j.saves.usual.lengths) == 0
	j.saves.record(j.Steps, j.saving.Seconds, learns && j.grew(j.saving.End) == 0)
}

// turn is how many reports lay between the last two, 0 where it is not known.
func (s *saver) turn() uint64 {
	if len(s.turns) == 0 {
		return 0
	}
	return s.turns[len(s.turns)-1]
}

// savedAsNever reports whether the last checkpoint took longer than any before it:
// where few came before, it is not known by how much they differ.
func (j *Job) savedAsNever() bool {
	return j.saves.last > float64(differ(j.saves.known)*j.saves.most)
}

// differ is how many times as long as the longest of n checkpoints the next one may take
// and be like them: few do not show by how much they differ.
func differ(n int) float64 {
	if n < fewSaves {
		return grownBy
	}
	return grownSome
}

// turns is after how many usual steps a job that checkpoints degrade has recovered.
func (j *Job) turns() int {
	return (int(float64(turnsWell*float64(min(max(j.saves.turn(), 1), longestTurn)))) + 2) * j.each()
}

// savesAgain reports whether a step of that age may be one more of the checkpoints
// that degrade the job: its length shows it when it has ended.
func (j *Job) savesAgain(age float64) bool {
	return j.Degradation.recoverAfter > 0 && age <= j.past.usual().median+float64(turnsWell*j.saves.last)
}

// grew returns how many times its usual length the checkpoint took that is reported
// with the step that ends at at; 0 where none is reported or it has not grown.
func (j *Job) grew(at telemetry.Time) float64 {
	if j.Degradation != nil && j.Degradation.recoverAfter > 0 {
		return j.grewBy(at, grownSome)
	}
	return j.grewBy(at, grownBy)
}

// grewBy is grew for one that has grown by so much at least.
func (j *Job) grewBy(at telemetry.Time, least float64) float64 {
	if j.saving.End != at || len(j.saves.usual.lengths) == 0 {
		return 0
	}
	usual, took := j.saves.usual.before(), j.saving.Seconds
	if took <= float64(least*usual) || took-usual <= float64(leastSign*j.betweenSaves()) {
		return 0
	}
	return took / usual
}

// betweenSaves is how many seconds the usual reports between two checkpoints state: what one
// report states more is as large a part of them as that of any other degradation.
func (j *Job) betweenSaves() float64 {
	return float64(j.past.usual().median * float64(max(j.saves.turn(), 1)))
}

// savedSlowly is the account of the trouble that it would be if the checkpoint in
// the last step had taken longer for a reason; nil where it has not grown, or
// not beyond all of those before.
func (j *Job) savedSlowly(g telemetry.Time, u usual) *Degradation {
	if j.saving.End != j.LastEnd || j.grewBy(j.LastEnd, grownSome) == 0 || !j.savedAsNever() {
		return nil
	}
	h := &Degradation{State: Slow, reported: Slow, Opened: g, Before: j.past.before(), Expected: u.mean, Usual: u.median, recoverAfter: j.turns(),
		Onset: pending{at: j.LastEnd, length: j.Last, n: j.each()}.within()}
	h.addSlow(j.LastEnd, max(u.median, j.Last-j.saves.usual.before()), j.each())
	h.last = j.Steps - 1
	return h
}

// SavedIn reports whether the last slow step of a degradation holds a checkpoint that
// took longer than usual: what made it slow went on for as long as that was written.
func (j *Job) SavedIn(h *Degradation) bool {
	return j.saving.End == h.LastSlow && j.grewBy(h.LastSlow, grownSome) > 0
}

// slowBySaving takes a step that ends at at and reports whether its checkpoint
// begins a degradation.
func (j *Job) slowBySaving(at telemetry.Time, x float64) bool {
	u, s := j.past.usual(), &j.saves
	if j.saving.End != at || u.n < minPast {
		return false
	}
	by := j.grew(at)
	if by == 0 {
		s.grown = s.grown[:0]
		return false
	}
	s.grown = appendLast(s.grown, pending{at, max(u.median, x-s.usual.before()), j.each(), j.Steps + 1}, maxTurnsKept)
	s.slow = len(s.grown) > 1 || by >= grownAtOnce && j.saving.Seconds-s.usual.before() >= u.median
	return s.slow
}

// savesDegraded is the degradation that checkpoints are which have grown; nil where there
// is none.
func (j *Job) savesDegraded(g telemetry.Time, u usual) *Degradation {
	if !j.saves.slow {
		return nil
	}
	h := j.amongUsual(g, u, j.saves.grown)
	h.recoverAfter, h.last = j.turns(), j.Steps-1
	j.saves.grown, j.saves.slow = j.saves.grown[:0], false
	if !h.costs() {
		return nil // they are not in the steps
	}
	return h
}

// due is for how many seconds a step of that number may write a checkpoint like
// those before; 0 where it is not time for one. After the first, the steps seen
// before it are the fewest between two.
func (s *saver) due(step uint64) float64 {
	most, soonest := 0.0, s.at
	if len(s.turns) > 0 {
		soonest = slices.Min(s.turns)
	}
	if step+1 < s.at+soonest {
		return most
	}
	for _, x := range s.usual.lengths {
		most = max(most, x)
	}
	return float64(differ(len(s.usual.lengths)) * most)
}

// withoutSave returns the time of a report of x seconds that ended at at without a
// checkpoint which the job reports as part of it and which took no longer than
// usual: only that is judged, and only that becomes the usual. For a job that
// reports every fifth step one past report in eight may hold a checkpoint; its
// spread would hide a loss of a third. Where every report holds one, it is part of
// the usual.
func (j *Job) withoutSave(at telemetry.Time, x float64) float64 {
	u := j.past.usual()
	if j.saving.End != at || j.saves.turn() == 1 || j.savedApart(at, x) || u.n >= minPast && j.grew(at) > 0 {
		return x
	}
	without, median := x-j.saving.Seconds, u.median
	if u.n == 0 {
		median = without // the first report: there is nothing to hold it against
	}
	if without <= float64(leastWithoutSave*median) || abs(without-median) >= abs(x-median) {
		return x // it was not in the step
	}
	if u.n >= minPast && isLong(u, x) {
		j.longs.add(j.Steps, at, x-without)
	}
	return without
}

// savedApart reports whether the checkpoint that a report of x seconds a step
// contains is between its steps, not in them: the steps take clearly less than the
// time since the report before.
func (j *Job) savedApart(at telemetry.Time, x float64) bool {
	if j.saving.End != at || j.LastEnd == 0 || j.past.usual().n < minPast {
		return false
	}
	return j.took(at, x)-x >= j.saving.Seconds/2
}

// savedUsually is what a slow step of x seconds that ended at at holds of what the
// job has always done now and then, in seconds: that is not lost; what is left may
// be slow. The best measure of it is what the job itself reports of a checkpoint.
func (j *Job) savedUsually(u usual, at telemetry.Time, x float64) float64 {
	reported := j.saving.End == at
	switch {
	case reported && (j.saves.turn() == 1 || j.savedApart(at, x)):
		return 0 // each step holds one: it is part of the usual; or none does
	case reported && j.grew(at) > 0:
		return j.saves.usual.before()
	case reported && len(j.saves.usual.lengths) > 0:
		return j.saving.Seconds
	case j.apart(at, x):
		return 0
	case j.Degradation.Periodic > 0:
		return j.Degradation.Periodic
	case j.matchesPattern(u, x):
		extra := j.longs.typical()
		j.longs.add(j.Steps, at, x-u.median)
		return extra
	case j.savedAt != 0 && len(j.announced.now().lengths) > 0:
		return j.announced.now().before()
	case reported && len(j.longs) > 0:
		return min(j.saving.Seconds, float64(patternWidth*j.longs.typical()))
	case reported:
		return j.saving.Seconds
	}
	return 0
}

func (s *saver) snapshot(c *snapshot.Codec) {
	s.usual.snapshot(c)
	c.U64(&s.at)
	snapshot.List(c, &s.turns, 8, func(c *snapshot.Codec, n *uint64) { c.U64(n) })
	snapshot.List(c, &s.grown, pendingSize, snapshotPending)
	c.Bool(&s.slow)
	c.F64(&s.last)
	c.F64(&s.most)
	c.Int(&s.known)
}
