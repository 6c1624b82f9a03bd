package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A change of the work is no fault: where a step takes longer because it holds more
// tokens, and every step had as many as the others before, what is usual is scaled
// with the work. By how much is seen in the first steps that hold as many: a part
// of a step takes its time whatever it holds, and how large that part is is not
// reported.

const (
	// workSteps must have had equally many tokens, within workSpread of their
	// median, for the number to be known, but for workOutliers: in one report some steps
	// may be of the old work and some of the new.
	workSteps, workSpread, workOutliers = 8, 0.002, 1
	// workChange is the least change of the work, as part of it.
	workChange = 0.02
	// workFits is how far a step's length may be from what the work makes of the
	// usual one, as part of it, for the work to explain it.
	workFits = 0.15
	// settling is the number of steps after a change that show how long a step
	// takes.
	settling = 5
)

// work is how much a job does in a step.
type work struct {
	rate   float64        // tokens per second, as reported for the step that ends at at
	at     telemetry.Time // zero: none reported
	recent []float64      // tokens of the last steps, at most workSteps
	// since a change: the lengths of the first steps, at most settling, and what
	// they would be were all of a step work.
	since  []float64
	expect float64
}

// ObserveTokens takes the tokens per second of the job's step that ends at end.
// It comes before that step's length.
func (b *Book) ObserveTokens(job telemetry.Entity, end telemetry.Time, perSecond float64) {
	if j := b.Job(job); j != nil && perSecond > 0 {
		j.work.rate, j.work.at = perSecond, end
	}
}

// usual is the number of tokens that the last steps had; false where they differ
// or were not reported.
func (w *work) usual() (float64, bool) {
	if len(w.recent) < workSteps {
		return 0, false
	}
	m := stats.Median(append([]float64(nil), w.recent...))
	odd := 0
	for _, x := range w.recent {
		if abs(x-m) > float64(workSpread*m) {
			odd++
		}
	}
	return m, odd <= workOutliers
}

// tokens returns the tokens of the step of x seconds that ends at at; 0 where they were
// not reported.
func (w *work) tokens(at telemetry.Time, x float64) float64 {
	if w.at != at {
		return 0
	}
	return float64(w.rate * x)
}

func (w *work) add(tokens float64) { w.recent = appendLast(w.recent, tokens, workSteps) }

// adapt scales what is usual if the step of x seconds that ended at at had another
// number of tokens than those before and took its time for that, and completes it
// while such a change is new. It reports whether the step can be judged: one that
// holds another number and did not take its time for that proves nothing.
func (j *Job) adapt(at telemetry.Time, x float64) bool {
	w := &j.work
	tokens := w.tokens(at, x)
	if tokens == 0 || j.evenWork.slope > 0 {
		return true
	}
	was, known := w.usual()
	if known && abs(tokens/was-1) > workChange {
		if j.changeWork(tokens/was, x) {
			w.recent = w.recent[:0]
			for range workSteps {
				w.add(tokens)
			}
			return true
		}
		w.add(tokens)
		return false
	}
	w.add(tokens)
	if known {
		j.adoptUsual(x)
	}
	return true
}

// changeWork scales what is usual by how much more a step of x seconds holds, if
// that explains its length. The loss of a degraded job stays in proportion: the
// excess of its steps does not show what is usual now.
func (j *Job) changeWork(by, x float64) bool {
	u := j.past.usual()
	if u.n < minPast {
		return false
	}
	if j.Degradation != nil {
		if n := len(j.Recent); n < 2 || !fits(x, float64(j.Recent[n-2].Seconds*by)) {
			return false
		}
		j.past.scale(by)
		j.blocks.scale(by)
		j.Degradation.scale(by)
		return true
	}
	if !fits(x, float64(u.median*by)) {
		return false
	}
	j.work.expect, j.work.since = float64(u.median*by), j.work.since[:0]
	j.adoptUsual(x)
	return true
}

// adoptUsual makes the median of the first steps after a change what is usual.
func (j *Job) adoptUsual(x float64) {
	w := &j.work
	if j.Degradation != nil || w.expect == 0 {
		w.expect = 0
		return
	}
	w.since = append(w.since, x)
	if m := stats.Median(slices.Clone(w.since)); fits(m, w.expect) {
		by := m / j.past.usual().median
		j.past.scale(by)
		j.blocks.scale(by)
		for i := range j.suspects {
			j.suspects[i].length = float64(j.suspects[i].length * by)
		}
	}
	if len(w.since) == settling {
		w.expect = 0
	}
}

func fits(x, work float64) bool { return abs(x/work-1) <= workFits }

// scale multiplies every length, and forgets which of them differed how.
func (p *past) scale(by float64) {
	for i := range p.lengths {
		p.lengths[i] = float64(p.lengths[i] * by)
	}
	p.wide.scale(by)
	p.known = false
}

func (w *work) snapshot(c *snapshot.Codec) {
	c.F64(&w.rate)
	c.Time(&w.at)
	c.F64s(&w.recent)
	c.F64s(&w.since)
	c.F64(&w.expect)
}
