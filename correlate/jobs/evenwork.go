package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
)

// Where sequences are not packed to one length, each step holds another number of
// tokens and takes its time for them. Steps are compared at the usual work then: the
// length goes with a power of the tokens, which is learned from the job's own steps. A
// job whose steps all hold as many, or whose length does not depend on it, is judged by
// the length itself.

const (
	// leastHeld steps must be known for the power to be learned, of at most mostHeld.
	leastHeld, mostHeld = 16, 64
	// leastVaried is the least standard deviation of the logarithm of the tokens, and
	// leastShared the part of the variance of the steps that they must explain.
	leastVaried, leastShared = 0.01, 0.3
	// leastCounted is the least standard deviation of the logarithm of the tokens a second,
	// and mostSmooth the most that one may resemble that of the step before: a rate that
	// is stated, or smoothed over steps, does not count what a step holds.
	leastCounted, mostSmooth = 0.002, 0.6
	// mostSlope is the most that the length grows with the work: a little more than
	// in proportion.
	mostSlope = 1.2
	// mostWork times the usual work is the most that a step is scaled for.
	mostWork = 4.0
	// fullest is the share of steps that hold less than what one in progress may hold.
	fullest = 0.95
)

// evenWork is what a job's steps have held while it was healthy.
type evenWork struct {
	held  []holding // the last ones, the oldest first
	n     int       // how many there were
	slope float64   // of the logarithm of the length over that of the tokens; 0 where it is not used
	usual float64   // tokens of a usual step
	most  float64   // how many times as long a full step takes
}

// holding is one step: the logarithms of its tokens and of its length in seconds.
type holding struct {
	tokens, length float64
}

// even returns how long a step of x seconds that holds so many tokens would take with
// the usual ones.
func (w *evenWork) even(tokens, x float64) float64 {
	if w.slope == 0 || !(tokens > 0) {
		return x
	}
	by := min(max(w.usual/tokens, 1/mostWork), mostWork)
	return float64(x * stats.Pow(by, w.slope))
}

// add takes a healthy step, and reports whether the power was learned anew.
func (w *evenWork) add(tokens, x float64) bool {
	if !(tokens > 0) || !(x > 0) {
		return false
	}
	if len(w.held) == mostHeld {
		w.held = slices.Delete(w.held, 0, 1)
	}
	w.held, w.n = append(w.held, holding{stats.Log(tokens), stats.Log(x)}), w.n+1
	if due := w.n >= leastHeld && w.n&(w.n-1) == 0; !due {
		return false
	}
	before := w.slope
	w.learn()
	return w.slope != before
}

// learn fits the power by least squares.
func (w *evenWork) learn() {
	var t, x, tt, tx, xx float64
	for _, h := range w.held {
		t, x = t+h.tokens, x+h.length
	}
	n := float64(len(w.held))
	t, x = t/n, x/n
	for _, h := range w.held {
		tt += float64((h.tokens - t) * (h.tokens - t))
		tx += float64((h.tokens - t) * (h.length - x))
		xx += float64((h.length - x) * (h.length - x))
	}
	w.slope = 0
	if tt/n < leastVaried*leastVaried || tx <= 0 || float64(tx*tx) < float64(leastShared*tt)*xx || !w.counted(t-x) {
		return
	}
	var all ordered
	for _, h := range w.held {
		all = append(all, h.tokens)
	}
	slices.Sort(all)
	w.slope = min(tx/tt, mostSlope)
	w.usual = stats.Exp(sortedQuantile(all, 0.5))
	w.most = stats.Exp(float64(w.slope * (sortedQuantile(all, fullest) - sortedQuantile(all, 0.5))))
}

// counted reports whether the rates of the steps held, whose logarithm is so much in the
// mean, are of each step by itself.
func (w *evenWork) counted(rate float64) bool {
	own, with, before := 0.0, 0.0, 0.0
	for i, h := range w.held {
		d := h.tokens - h.length - rate
		own += float64(d * d)
		if i > 0 {
			with += float64(d * before)
		}
		before = d
	}
	return own >= float64(leastCounted*leastCounted)*float64(len(w.held)) && with < float64(mostSmooth*own)
}

// lengths are those of the steps held, at the usual work.
func (w *evenWork) lengths() (out []float64) {
	for _, h := range w.held {
		out = append(out, w.even(stats.Exp(h.tokens), stats.Exp(h.length)))
	}
	return out
}

// even returns the length of a step of x seconds that holds so many tokens, at the usual
// work, and false where what it holds must be known and is not.
func (j *Job) even(tokens, x float64) (float64, bool) {
	w := &j.evenWork
	return w.even(tokens, x), w.slope == 0 || tokens > 0
}

// holds takes what a healthy step of x seconds holds, and returns its length at the usual
// work. Where that was learned anew, so is what is usual.
func (j *Job) holds(tokens, x float64) float64 {
	w := &j.evenWork
	if w.add(tokens, x) {
		j.past.clear()
		for _, length := range w.lengths() {
			j.past.add(length)
		}
		u := j.past.usual()
		j.past.drop(func(x float64) bool { return isLong(u, x) })
		j.blocks.clear()
		j.suspects, j.evidence, j.sum = j.suspects[:0], 0, 0
	}
	return w.even(tokens, x)
}

// fullStep is how many times as long as usual the step in progress may take for what it
// holds.
func (j *Job) fullStep() float64 {
	if j.evenWork.slope == 0 {
		return 1
	}
	return max(1, j.evenWork.most)
}

func (w *evenWork) snapshot(c *snapshot.Codec) {
	snapshot.List(c, &w.held, 16, func(c *snapshot.Codec, h *holding) {
		c.F64(&h.tokens)
		c.F64(&h.length)
	})
	c.Int(&w.n)
	c.F64(&w.slope)
	c.F64(&w.usual)
	c.F64(&w.most)
}
