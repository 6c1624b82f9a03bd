package jobs

// A job's periodic pattern of breaks: between two steps, now and then, it does what
// it does not report, such as a few steps of an evaluation. Breaks are no part of a
// step's length, but until the next step has ended it looks as if a step took
// longer.

// lostReport is how near to one usual step, or two, a break may be to be a report
// that was lost.
const lostReport = 0.1

// patternExcess is how much longer than usual the step in progress may seem by the job's
// periodic patterns, in seconds: because it is a long step, or one in which a
// checkpoint is due, or comes after a break, or both.
func (j *Job) patternExcess() float64 {
	return max(j.longs.extra(j.Steps+1), j.saves.due(j.Steps)) + j.pause()
}

// endedBefore is how much longer than usual the step in progress may be if it is like one that
// the job has had, or comes after a break like one that it has had, in seconds: what ended by
// itself may do so again. It delays the detection of a stop by no more than that of an idle
// job. What comes in turn is not looked for out of turn, nor is a checkpoint that is reported.
func (j *Job) endedBefore() float64 {
	most := 0.0
	if !j.breaks.likeMost().regular() {
		most = j.breaks.most()
	}
	if len(j.saves.usual.lengths) == 0 && !j.longs.likeMost().regular() {
		most = max(most, j.longs.most())
	}
	return min(float64(patternWidth*most), idleQuiet/float64(j.each()))
}

// pause is how long a break of the pattern may be that comes before the step in
// progress, in seconds. Breaks that may have been lost reports count only where
// they come regularly.
func (j *Job) pause() float64 {
	most := j.breaks.extra(j.Steps + 1)
	if j.missed.likeMost().regular() {
		most = max(most, j.missed.extra(j.Steps+1))
	}
	return most
}

// afterBreak records for how many seconds a job did something else than its next step (of
// one that reports several at once: as part of each of them), and reports whether
// that was a break. The first step after one may take longer, until what it works
// with is warm again: unless a break comes before each, it is neither slow nor
// usual.
func (j *Job) afterBreak(seconds float64) bool {
	u := j.past.usual()
	if u.n < minPast || !isLong(u, u.median+seconds) {
		return false
	}
	for n := 1.0; n <= 2; n++ {
		if abs(seconds-float64(n*u.median)) <= float64(lostReport*u.median) {
			j.missed.add(j.Steps+1, j.LastEnd, seconds)
			return j.missed.likeMost().regular()
		}
	}
	j.breaks.add(j.Steps+1, j.LastEnd, seconds)
	return true
}
