package jobs

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Published is a degradation of the job as another engine has published it. Lengths are
// seconds; zero is not known.
type Published struct {
	Onset    telemetry.Interval
	Opened   telemetry.Time
	Until    telemetry.Time // up to when Lost was counted
	Before   float64
	Expected float64
	Now      float64 // mean step during the degradation
	Lost     float64 // per GPU
}

// Resumed is the state of a published degradation by the job's own steps.
type Resumed uint8

// The answers of Resume.
const (
	Undecided     Resumed = iota // too few steps since to decide
	StillDegraded                // it goes on: the job has its degradation
	Recovered                    // the last steps were usual
)

const (
	// publishedSteps make up the past of a job whose own was not seen.
	publishedSteps = 2 * minPast
	// A published slowdown is publishedSpreads spreads above the expected step, within
	// bounds: what the spread was is not published.
	publishedSpreads  = 4.0
	widestSpread      = 0.05
	uniformSpread     = 1.25 // half the width of a uniform past over its spread
	maxPublishedSteps = 1e6
)

// Resume judges a healthy-looking job whose degradation began before its steps were
// seen: against the published expectation, because its own idea of usual may have
// formed during the trouble. If the degradation goes on, the job has it from now on
// and a past of the expected length. It changes nothing else.
func (j *Job) Resume(h Published) Resumed {
	recent := j.recent()
	if j.Degradation != nil || len(recent) < wellAfter || j.LastEnd <= h.Until {
		return Undecided
	}
	if !(h.Expected > 0) {
		return Recovered // nothing to hold its steps against but themselves
	}
	seeded := publishedPast(h)
	u := seeded.usual()
	tail := 0
	for i := len(recent) - 1; i >= 0 && !slow(u, recent[i]); i-- {
		tail++
	}
	if tail >= wellAfter {
		return Recovered
	}
	j.past, j.suspects, j.odds = seeded, j.suspects[:0], odds{}
	j.Degradation = h.goesOn(j, u, recent, tail)
	return StillDegraded
}

// recent are the last wellAfter steps, those that look slow to the job's own
// past included, oldest first.
func (j *Job) recent() []float64 {
	var all []float64
	all = append(all, j.past.lengths...)
	for _, p := range j.suspects {
		all = append(all, p.length)
	}
	return all[max(0, len(all)-wellAfter):]
}

// publishedPast is a past as the published degradation implies it: around the expected
// step, about as wide as still shows the slowdown.
func publishedPast(h Published) past {
	spread := widestSpread
	if h.Now > h.Expected {
		spread = min(max((h.Now/h.Expected-1)/publishedSpreads, spreadFloor), widestSpread)
	}
	var p past
	for i := range publishedSteps {
		at := float64(2*i)/float64(publishedSteps-1) - 1 // from -1 to 1
		p.add(float64(h.Expected * (1 + float64(uniformSpread*float64(spread*at)))))
	}
	return p
}

// goesOn is the published degradation as of the job's last step. What was lost
// between the publication and now was not seen step by step: it is estimated from
// the last steps.
func (h Published) goesOn(j *Job, u usual, recent []float64, tail int) *Degradation {
	out := &Degradation{State: Slow, reported: Slow, Onset: h.Onset, Opened: h.Opened, Before: h.Before, Expected: h.Expected,
		Usual: u.median, LastSlow: j.LastEnd, Lost: h.Lost, tailSteps: tail}
	step := max(h.Now, h.Expected)
	out.Steps = int(min(max(1, float64(h.Until-h.Onset.Earliest)/1e9/step), maxPublishedSteps))
	out.Sum = float64(step * float64(out.Steps))
	for _, x := range recent[len(recent)-tail:] {
		out.tailSum += x
	}
	if m := stats.Mean(recent); m > h.Expected {
		out.Lost += float64(float64(j.LastEnd-h.Until) / 1e9 * (1 - h.Expected/m))
	}
	return out
}
