package jobs

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// The evidence that a job's steps are slow, and its outcome.

// aloneAfter is the number of usual steps after which a long one before them is
// single.
const aloneAfter = 3

// weigh returns the evidence after a step of x seconds.
func weigh(evidence float64, u usual, x float64) float64 {
	e := (x-u.median)/u.spread - drift
	return max(0, evidence+min(max(e, -decay), u.gain(x)))
}

// accumulate returns the cumulative sum after a step of x seconds.
func accumulate(sum float64, u usual, x float64) float64 {
	most := slack + float64((clip-slack)*u.gain(x)/gain)
	return max(0, sum+min(u.deviations(x), most)-slack)
}

// shifted reports whether the suspects are slow together, though none may be alone.
func (j *Job) shifted(u usual) bool {
	if j.blocks.slow {
		return true
	}
	if j.sum < alarm {
		return false
	}
	return j.level() >= float64((1+leastShift)*u.median)
}

// nearly reports whether only corroborating evidence is missing for the job to be
// slow: one step is certainly slow, or several are together, certainly though by
// little, or by enough though not yet certainly.
func (j *Job) nearly(u usual, evidence, age float64) bool {
	if evidence >= certainlySlow && j.certain(u, age) {
		return true
	}
	if len(j.suspects) == 0 || j.sum < alarm/2 {
		return false
	}
	longer := j.level()/u.median - 1
	return longer >= leastShift || j.sum >= alarm && longer >= leastSign
}

// Doubted returns from when on a job's steps may be longer than usual, half of the
// way to an alarm; false where they are not.
func (j *Job) Doubted() (telemetry.Time, bool) {
	switch {
	case j.Degradation != nil:
		return 0, false
	case j.sum >= alarm/2 && len(j.suspects) > 0:
		return j.suspects[0].within().Earliest, true
	case j.blocks.sum >= alarm/2 && len(j.Recent) > 0:
		n := min(len(j.blocks.accumulated)*blockSteps+j.blocks.n, len(j.Recent))
		first := j.Recent[len(j.Recent)-n]
		return pending{at: first.End, length: first.Seconds, n: j.each()}.within().Earliest, true
	}
	return 0, false
}

// BelowThreshold reports whether each of the suspect steps of a job at grid g is below the
// single-sample threshold. Ordinary traffic explains any such loss: it is no
// corroborating evidence then.
func (j *Job) BelowThreshold(h *Degradation, g telemetry.Time) bool {
	u := j.past.usual()
	return !h.inSpikes && !j.certain(u, j.age(g))
}

// level is the median of the suspects.
func (j *Job) level() float64 {
	var xs []float64
	for _, p := range j.suspects {
		xs = append(xs, p.length)
	}
	return stats.Median(xs)
}

// release gives suspects that came to nothing to the past, where they widen
// the job's own idea of usual; those that come in turn are remembered apart.
func (j *Job) release(u usual) {
	for i, p := range j.suspects {
		alone := (i == 0 || !isLong(u, j.suspects[i-1].length)) && (i+1 == len(j.suspects) || !isLong(u, j.suspects[i+1].length))
		single := alone && isLong(u, p.length)
		if single {
			j.spikes.add(p)
		}
		j.file(u, p, single)
	}
	j.suspects, j.sum = j.suspects[:0], 0
}

// single removes from the suspects a long step that is single among usual ones:
// what comes later is another matter.
func (j *Job) single(u usual) {
	at := len(j.suspects) - 1 - aloneAfter
	if at < 0 || !isLong(u, j.suspects[at].length) || at > 0 && slow(u, j.suspects[at-1].length) {
		return
	}
	for _, p := range j.suspects[at+1:] {
		if slow(u, p.length) || isLong(u, p.length) {
			return
		}
	}
	j.release(u)
	j.evidence = 0
}

// file adds a step to the past, or to the periodic pattern of long ones.
func (j *Job) file(u usual, p pending, single bool) {
	if !single {
		j.past.add(p.length)
		return
	}
	j.longs.add(p.step, p.at, p.length-u.median)
	if j.longs.likeMost().regular() {
		j.past.drop(func(x float64) bool { return isLong(u, x) })
		return
	}
	j.past.add(p.length)
}

// matchesPattern reports whether a step is as long as the job's long steps are, and one
// is due by their pattern. One that is far shorter is slow, and not part of the
// pattern.
func (j *Job) matchesPattern(u usual, x float64) bool {
	extra := x - u.median
	return isLong(u, x) && extra <= j.longs.extra(j.Steps) && float64(alike*extra) >= j.longs.typical()
}
