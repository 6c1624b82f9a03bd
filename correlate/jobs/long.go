package jobs

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job's periodic pattern of long steps: an unannounced checkpoint, a validation,
// a garbage collection. Each is single among usual ones; two that are alike make a
// pattern, and one that comes when the next is due is no trouble.

const (
	// maxLongs are remembered.
	maxLongs = 8
	// longStep is the excess over the median, as part of it and in deviations,
	// from which a step that came to nothing was a long one.
	longStep, longSigmas = 0.15, 6
	// patternWidth is how many times the largest excess of the pattern one may have.
	patternWidth = 1.3
	// turnWidth is how far from a turn, as part of the shortest time between two,
	// one may come for all to come in turn.
	turnWidth = 0.1
)

// long is one long step: its number among the job's, when it ended (of a break, when it
// began), and by how many seconds it was longer than the median then.
type long struct {
	step  uint64
	at    telemetry.Time
	extra float64
}

// longs are a job's last long steps, the oldest first.
type longs []long

func (l *longs) add(step uint64, at telemetry.Time, extra float64) {
	if n := len(*l); n > 0 && (*l)[n-1].step >= step {
		return
	}
	*l = appendLast(*l, long{step, at, extra}, maxLongs)
}

// isLong reports whether a step is long enough to be a long one, should it be
// single.
func isLong(u usual, x float64) bool {
	return x-u.median > max(float64(longStep*u.median), float64(longSigmas*u.core))
}

// extra is how much longer than the median a step may be by the pattern if it is
// the job's step of that number, in seconds; 0 where none is due.
func (l longs) extra(step uint64) float64 {
	l = l.likeMost()
	n := len(l)
	if n < 2 || step <= l[n-1].step || n >= leastLongs && !l.regular() {
		return 0
	}
	since, shortest := float64(step-l[n-1].step), l.shortest()
	if since < float64((1-turnWidth)*shortest)-1 || l.regular() && !inTurn(since, shortest) {
		return 0
	}
	return float64(patternWidth * l.most())
}

// likeMost are those that are neither twice as long as their median nor half as
// long: what a job did once, such as a stop for a quarter of an hour, does not make
// a pattern and does not end one.
func (l longs) likeMost() longs {
	typical := l.typical()
	var out longs
	for _, x := range l {
		if x.extra <= float64(alike*typical) && typical <= float64(alike*x.extra) {
			out = append(out, x)
		}
	}
	return out
}

// most is the largest excess.
func (l longs) most() (most float64) {
	for _, x := range l {
		most = max(most, x.extra)
	}
	return most
}

// shortest is the least number of steps from one to the next; it requires at least
// two.
func (l longs) shortest() float64 {
	d := l[1].step - l[0].step
	for i := 2; i < len(l); i++ {
		d = min(d, l[i].step-l[i-1].step)
	}
	return float64(d)
}

// grown returns the usual excess of periodic long steps, in seconds, and the last ones,
// where those have grown by leastSign of the steps between them, each of median seconds,
// and as checkpoints grow: what else is periodic is not known of a job that reports none.
func (l longs) grown(median float64) (periodic float64, lately longs) {
	from := len(l) - leastGrownLongs
	if from < leastLongs {
		return 0, nil
	}
	usual := l[:from].likeMost()
	if !usual.regular() {
		return 0, nil
	}
	periodic = usual.typical()
	least := float64(leastSign * float64(median*usual.shortest()))
	last := usual[len(usual)-1].step
	for _, x := range l[from:] {
		if x.extra <= float64(grownBy*periodic) || x.extra <= float64(grownSome*l[:from].most()) || x.extra-periodic <= least ||
			!inTurn(float64(x.step-last), usual.shortest()) {
			return 0, nil
		}
		last = x.step
	}
	return periodic, l[from:]
}

// regular reports whether there are four or more that are alike and come
// periodically; now and then one may be missed.
func (l longs) regular() bool {
	if len(l) < leastLongs {
		return false
	}
	shortest := l.shortest()
	for i := 1; i < len(l); i++ {
		if l[i].extra > float64(alike*l[0].extra) || l[0].extra > float64(alike*l[i].extra) || !inTurn(float64(l[i].step-l[i-1].step), shortest) {
			return false
		}
	}
	return true
}

// inTurn reports whether so many steps are about one period of every, or a few.
func inTurn(steps, every float64) bool {
	turns := float64(int(steps/every + 0.5))
	return turns >= 1 && turns <= maxTurns && every >= leastTurn && abs(steps-float64(turns*every)) <= max(1, float64(turnWidth*every))
}

const (
	leastLongs = 4
	alike      = 2.0 // times as long, at most
	maxTurns   = 3
	leastTurn  = 4 // what comes more often is no turn
	// leastGrownLongs in a row have grown for it to be no chance.
	leastGrownLongs = 2
)

// typical is the median excess.
func (l longs) typical() float64 {
	var xs []float64
	for _, x := range l {
		xs = append(xs, x.extra)
	}
	if len(xs) == 0 {
		return 0
	}
	return stats.Median(xs)
}

func (l *longs) snapshot(c *snapshot.Codec) {
	snapshot.List(c, (*[]long)(l), 24, func(c *snapshot.Codec, x *long) {
		c.U64(&x.step)
		c.Time(&x.at)
		c.F64(&x.extra)
	})
}

// periodicDegraded is the degradation that periodic long steps are which have grown; nil
// where there is none, or the last one is no news: it is known to be single aloneAfter
// reports later.
func (j *Job) periodicDegraded(g telemetry.Time, u usual) *Degradation {
	n := len(j.longs)
	if n == 0 || j.Steps-j.longs[n-1].step > aloneAfter || len(j.saves.usual.lengths) > 0 {
		return nil
	}
	periodic, grown := j.longs.grown(u.median)
	if grown == nil {
		return nil
	}
	var lately []pending
	for _, x := range grown {
		lately = append(lately, pending{x.at, u.median + x.extra, j.each(), x.step})
	}
	return j.spikesDegraded(g, u, lately, periodic)
}
