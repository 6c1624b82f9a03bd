package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
)

// Where sequences are not packed to one length, the number of tokens differs from step to
// step, and so does the step's length. Such steps are compared at the usual work: length is
// a power of tokens, with an exponent that is learned from the job's own steps. A job whose
// steps all have as many tokens, or whose length does not depend on them, is judged by the
// length itself.

const (
	// leastLearned steps are needed to learn the exponent, and the last mostLearned used.
	leastLearned, mostLearned = 16, 64
	// leastVaried is the least standard deviation of the logarithm of the tokens, and
	// leastShared the part of the variance of the steps that they must explain.
	leastVaried, leastShared = 0.01, 0.3
	// leastCounted is the least standard deviation of the logarithm of the tokens a second,
	// and mostSmooth the largest autocorrelation of it from step to step: a rate that is
	// configured, or smoothed over steps, does not count the tokens of a step.
	leastCounted, mostSmooth = 0.002, 0.6
	// mostSlope is the largest exponent: the length grows a little more than in proportion.
	mostSlope = 1.2
	// mostWork times the usual work is the most that a step is scaled for.
	mostWork = 4.0
	// fullest is the quantile of the tokens that the step in progress may have.
	fullest = 0.95
)

// evenWork is the length of a job's healthy steps as a power of their tokens.
type evenWork struct {
	steps []logStep // the last ones, the oldest first
	n     int       // how many there were
	slope float64   // the exponent; 0 where it is not used
	usual float64   // tokens of a usual step
	most  float64   // how many times as long as usual a full step takes; 0 where slope is
}

// logStep is one step: the logarithms of its tokens and of its length in seconds.
type logStep struct {
	tokens, length float64
}

// even returns how long a step of x seconds with so many tokens would take with the usual
// number.
func (w *evenWork) even(tokens, x float64) float64 {
	if w.slope == 0 || !(tokens > 0) {
		return x
	}
	by := min(max(w.usual/tokens, 1/mostWork), mostWork)
	return float64(x * stats.Pow(by, w.slope))
}

// add adds a healthy step, and reports whether the exponent has changed.
func (w *evenWork) add(tokens, x float64) bool {
	if !(tokens > 0) || !(x > 0) {
		return false
	}
	w.steps, w.n = appendLast(w.steps, logStep{stats.Log(tokens), stats.Log(x)}, mostLearned), w.n+1
	if due := w.n >= leastLearned && w.n&(w.n-1) == 0; !due {
		return false
	}
	before := w.slope
	w.learn()
	return w.slope != before
}

// learn fits the exponent by least squares.
func (w *evenWork) learn() {
	var t, x, tt, tx, xx float64
	for _, h := range w.steps {
		t, x = t+h.tokens, x+h.length
	}
	n := float64(len(w.steps))
	t, x = t/n, x/n
	for _, h := range w.steps {
		tt += float64((h.tokens - t) * (h.tokens - t))
		tx += float64((h.tokens - t) * (h.length - x))
		xx += float64((h.length - x) * (h.length - x))
	}
	w.slope, w.most = 0, 0
	if tt/n < leastVaried*leastVaried || tx <= 0 || float64(tx*tx) < float64(leastShared*tt)*xx || !w.counted(t-x) {
		return
	}
	var all ordered
	for _, h := range w.steps {
		all = append(all, h.tokens)
	}
	slices.Sort(all)
	w.slope = min(tx/tt, mostSlope)
	w.usual = stats.Exp(sortedQuantile(all, 0.5))
	w.most = stats.Exp(float64(w.slope * (sortedQuantile(all, fullest) - sortedQuantile(all, 0.5))))
}

// counted reports whether the tokens a second, whose logarithm is rate in the mean, were
// counted for each step by itself.
func (w *evenWork) counted(rate float64) bool {
	own, with, before := 0.0, 0.0, 0.0
	for i, h := range w.steps {
		d := h.tokens - h.length - rate
		own += float64(d * d)
		if i > 0 {
			with += float64(d * before)
		}
		before = d
	}
	return own >= float64(leastCounted*leastCounted)*float64(len(w.steps)) && with < float64(mostSmooth*own)
}

// lengths returns the lengths of the steps, in seconds, at the usual work.
func (w *evenWork) lengths() (out []float64) {
	for _, h := range w.steps {
		out = append(out, w.even(stats.Exp(h.tokens), stats.Exp(h.length)))
	}
	return out
}

// even returns the length of a step of x seconds with so many tokens, at the usual work,
// and false where the tokens are needed and not reported.
func (j *Job) even(tokens, x float64) (float64, bool) {
	w := &j.evenWork
	return w.even(tokens, x), w.slope == 0 || tokens > 0
}

// learnWork adds a healthy step of x seconds with so many tokens, and returns its length at
// the usual work. Where the exponent has changed, the past is scaled anew.
func (j *Job) learnWork(tokens, x float64) float64 {
	w := &j.evenWork
	if w.add(tokens, x) {
		j.past.clear()
		for _, length := range w.lengths() {
			j.past.add(length)
		}
		u := j.past.usual()
		j.past.drop(func(x float64) bool { return isLong(u, x) })
		j.blocks.clear()
		j.suspects, j.odds = j.suspects[:0], odds{}
	}
	return w.even(tokens, x)
}

func (w *evenWork) snapshot(c *snapshot.Codec) {
	snapshot.List(c, &w.steps, 16, func(c *snapshot.Codec, h *logStep) {
		c.F64(&h.tokens)
		c.F64(&h.length)
	})
	c.Int(&w.n)
	c.F64(&w.slope)
	c.F64(&w.usual)
	c.F64(&w.most)
}
