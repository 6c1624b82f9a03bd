package jobs

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// The evidence that a job's steps are slow, and its outcome.

// aloneAfter is the number of usual steps after which a long one before them is
// single.
const aloneAfter = 3

// slower are the suspects since the last of which the odds of the likeliest class
// were 0: those before are more likely to be usual.
func (j *Job) slower(u usual) []pending {
	var o odds
	var from [len(o)]int
	for i, p := range j.suspects {
		o = o.with(u, p.length, false)
		for k := range o {
			if o[k] == 0 {
				from[k] = i + 1
			}
		}
	}
	return j.suspects[from[o.likeliest()]:]
}

// longer is by which part of the usual step the suspects, and a step in progress that
// is longer, take longer in the mean, and how many they are.
func (j *Job) longer(u usual, age float64) (by float64, n int) {
	sum := 0.0
	for _, p := range j.slower(u) {
		sum, n = sum+p.length, n+1
	}
	if age > u.median {
		sum, n = sum+age, n+1
	}
	if n == 0 {
		return 0, 0
	}
	return sum/float64(u.median*float64(n)) - 1, n
}

// longerFor reports whether the suspects, and a step in progress, take longer by a part of
// the usual step that is at least so much, and so that log odds of them are reached:
// those of each step, evidence, but no more than the mean of all allows.
func (j *Job) longerFor(u usual, evidence, age, reached, least float64) bool {
	if evidence < reached {
		return false
	}
	by, n := j.longer(u, age)
	return by >= least && u.meanOdds(by, n) >= reached
}

// longerBy returns by which part of the usual step the suspects take longer in the mean.
func (j *Job) longerBy(u usual) float64 {
	by, _ := j.longer(u, 0)
	return by
}

// shifted reports whether the steps that have ended are slow.
func (j *Job) shifted(u usual) bool { return j.blocks.slow || j.eachSlow(u) }

// eachSlow reports whether the steps that have ended are slow one by one, and not only in
// the means of blocks: then they state more exactly since when.
func (j *Job) eachSlow(u usual) bool {
	return j.longerFor(u, j.odds.most(), 0, convinced, leastShift)
}

// nearly reports whether only corroborating evidence is missing for the job to be
// slow: one step is certainly slow, or several are likely to be together.
func (j *Job) nearly(u usual, evidence, age float64) bool {
	switch {
	case evidence >= certainlySlow && j.certain(u, age):
		return true
	case j.longerFor(u, evidence, age, convinced, leastSign):
		return true
	}
	return j.longerFor(u, evidence, age, doubtful, leastShift)
}

// Doubted returns from when on a job's steps may be longer than usual, half of the
// way to a degradation; false where they are not.
func (j *Job) Doubted() (telemetry.Time, bool) {
	switch {
	case j.Degradation != nil:
		return 0, false
	case j.odds.most() >= doubtful && len(j.suspects) > 0:
		return j.suspects[0].within().Earliest, true
	case j.blocks.odds.most() >= doubtful && len(j.Recent) > 0:
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

// level is the median length of some steps, NaN of none.
func level(steps []pending) float64 {
	var xs []float64
	for _, p := range steps {
		xs = append(xs, p.length)
	}
	return stats.Median(xs)
}

// release gives suspects that came to nothing to the past, where they widen
// the job's own idea of usual; those that come in turn are remembered apart.
func (j *Job) release(u usual) {
	for i, p := range j.suspects {
		j.past.wide.sample(p.length)
		alone := (i == 0 || !isLong(u, j.suspects[i-1].length)) && (i+1 == len(j.suspects) || !isLong(u, j.suspects[i+1].length))
		single := alone && isLong(u, p.length)
		if single {
			j.spikes.add(p)
		}
		j.file(u, p, single)
	}
	j.suspects, j.odds = j.suspects[:0], odds{}
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
