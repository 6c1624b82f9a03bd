package jobs

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job whose steps beat with those of its neighbours has long and short ones in
// turn, and what makes all of them a little longer is slow in none of them. But it
// makes longer the mean of several steps, which hardly varies where they come in
// turn. So the same test that is made of each step is made of blocks of them.

const (
	// blockSteps are the steps of a block, and leastBlocks the usual ones that
	// must be known.
	blockSteps, leastBlocks = 8, 6
	// mostBlocks that are longer than usual, though not by enough, are the new usual.
	mostBlocks = 8
	// leastKept steps of the past are kept where its last ones turn out to be slow.
	leastKept = 16
)

// blocks are the means of blockSteps steps in a row, in seconds.
type blocks struct {
	past        past
	odds        odds      // that they are longer than the usual block
	accumulated []float64 // since the odds were last zero
	total       float64   // of the block in progress
	n           int
	slow        bool // the pending ones are
	fresh       bool // one was added since corroborating evidence was sought
}

// add takes a step of x seconds, and reports whether the pending blocks are slow with it.
func (b *blocks) add(x float64) bool {
	b.total, b.n = b.total+x, b.n+1
	if b.n < blockSteps {
		return false
	}
	m := b.total / blockSteps
	b.total, b.n, b.past.apart, b.past.each = 0, 0, true, blockSteps
	u := b.past.usual()
	if u.n < leastBlocks {
		b.past.add(m)
		return false
	}
	b.odds = b.odds.with(u, m, false)
	b.accumulated, b.fresh = append(b.accumulated, m), true
	b.slow = b.longerFor(u, convinced)
	if b.odds.most() == 0 || !b.slow && len(b.accumulated) >= mostBlocks {
		b.release()
	}
	return b.slow
}

// longerFor reports whether the pending blocks are longer by what matters, and so that log
// odds of them are reached.
func (b *blocks) longerFor(u usual, reached float64) bool {
	by := stats.Mean(b.accumulated)/u.mean - 1
	return by >= leastShift && min(b.odds.most(), u.meanOdds(by, len(b.accumulated))) >= reached
}

// release makes the pending blocks usual ones.
func (b *blocks) release() {
	for _, m := range b.accumulated {
		b.past.add(m)
	}
	b.restart()
}

// restart forgets the pending blocks, and the one in progress.
func (b *blocks) restart() {
	b.odds, b.accumulated, b.total, b.n, b.slow, b.fresh = odds{}, b.accumulated[:0], 0, 0, false, false
}

func (b *blocks) clear() {
	b.past.clear()
	b.restart()
}

func (b *blocks) scale(by float64) {
	b.past.scale(by)
	b.total = float64(b.total * by)
	for i := range b.accumulated {
		b.accumulated[i] = float64(b.accumulated[i] * by)
	}
}

func (b *blocks) snapshot(c *snapshot.Codec) {
	b.past.snapshot(c)
	b.odds.snapshot(c)
	c.F64s(&b.accumulated)
	c.F64(&b.total)
	c.Int(&b.n)
	c.Bool(&b.slow)
	c.Bool(&b.fresh)
}

// suspectBlocks makes the steps of the pending blocks the suspects, which were taken
// for usual one by one.
func (j *Job) suspectBlocks() {
	j.suspects = j.inBlocks()
	j.past.forget(len(j.suspects))
}

// inBlocks are the steps of the pending blocks.
func (j *Job) inBlocks() (out []pending) {
	n := min(len(j.blocks.accumulated)*blockSteps+j.blocks.n, len(j.Recent))
	for i, s := range j.Recent[len(j.Recent)-n:] {
		out = append(out, pending{s.End, s.Even, j.each(), j.Steps - uint64(n-1-i)})
	}
	return out
}

// blocksDegraded is the degradation that shows in the pending blocks.
func (j *Job) blocksDegraded(g telemetry.Time, u usual) *Degradation {
	h := j.suspected(g, u)
	slow, usual := stats.Mean(j.blocks.accumulated), j.blocks.past.usual()
	h.inMeans(j.inBlocks(), u.mean/2+slow/2, (slow-usual.mean)/usual.sigma)
	return h
}

// inMeans makes a degradation one of steps that are longer in the mean of a block, by so
// many deviations of one: blocks whose mean is above the line are slow.
func (h *Degradation) inMeans(steps []pending, line, deviations float64) {
	h.line, h.inBlocks, h.recoverAfter = line, true, blockSteps*calmBlocks(deviations)
	h.Onset = steps[0].within()
	for _, p := range steps {
		h.sampled.sample(p.length)
		h.addSlow(p.at, p.length, p.n)
	}
}

// calmBlocks are how many blocks in a row must be as usual for a degradation by so many
// deviations of a block to be over: fewer come by chance more often than once in 200,
// as a block counts as usual that is nearer to the usual ones.
func calmBlocks(deviations float64) int {
	return min(max(int(math.Ceil(calmDeviations/deviations)), leastCalm), mostBlocks)
}

const (
	calmDeviations = 5.5
	leastCalm      = 2
	// nearBlocks that are longer than usual call for corroborating evidence, from log
	// odds of nearConvinced on.
	nearBlocks, nearConvinced = 2, convinced / 8
)

// nearlyInBlocks returns the degradation that shows in blocks, though not for certain,
// once a block; nil where there is none.
func (j *Job) nearlyInBlocks(g telemetry.Time, u usual) *Degradation {
	b := &j.blocks
	fresh := b.fresh
	b.fresh = false
	if !fresh || b.slow || len(b.accumulated) < nearBlocks || !b.longerFor(b.past.usual(), nearConvinced) {
		return nil
	}
	return j.blocksDegraded(g, u)
}

// forget removes the last n lengths, but keeps leastKept.
func (p *past) forget(n int) {
	p.lengths, p.known = p.lengths[:max(len(p.lengths)-n, min(len(p.lengths), leastKept))], false
}

// tally takes steps of a degradation that shows in blocks only.
type tally struct {
	n   int
	sum float64
}

// whole counts n steps of x seconds that ended by at, and judges each block of them
// by its mean.
func (h *Degradation) whole(at telemetry.Time, x float64, n int) {
	t := &h.tally
	t.n, t.sum = t.n+n, t.sum+float64(x*float64(n))
	if t.n < blockSteps {
		return
	}
	m := t.sum / float64(t.n)
	if m > h.line {
		h.addSlow(at, m, t.n)
	} else {
		h.addUsual(m, t.n)
	}
	t.n, t.sum = 0, 0
}

func (t *tally) snapshot(c *snapshot.Codec) {
	c.Int(&t.n)
	c.F64(&t.sum)
}
