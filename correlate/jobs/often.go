package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job does a long step now and then, and one proves nothing. But a link that goes
// down each minute, or a host that is interrupted, shows in nothing else: single long
// steps that come more often than before. How often they came is learned of the job.

const (
	// maxStrays are remembered.
	maxStrays = 8
	// leastOften are the least odds, as a logarithm, at which corroborating evidence
	// is enough for long steps to be slow, and oftenSure those at which none is needed.
	leastOften, oftenSure = 1.5, 12.0
	// oftenHeard is how many reports after a long one its cause may be reported.
	oftenHeard = 12
	// leastStrays come more often at the least.
	leastStrays = 2
)

// strays are a job's single long steps that follow no pattern, the oldest first.
type strays struct {
	last  []pending
	from  uint64 // the number of the step from which on they are counted
	n     int    // how many there were since, those that were forgotten included
	asked uint64 // the last step after which corroborating evidence was sought
}

func (s *strays) add(p pending) {
	if len(s.last) == maxStrays {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last, s.n = append(s.last, p), s.n+1
}

// since are the last of them, with the first of which a time began in which they come
// more often than before, by the number of steps now; and the odds of that, as a
// logarithm.
func (s *strays) since(steps uint64) (since []pending, odds float64) {
	for i := range s.last[:max(0, len(s.last)-leastStrays+1)] {
		lately, first := len(s.last)-i, s.last[i].step
		before := s.n - lately
		o := oftener(lately, int(steps-first)+1, before, int(max(first, s.from+1)-s.from)-1)
		if o > odds || since == nil {
			since, odds = s.last[i:], o
		}
	}
	return since, odds
}

// oftener returns the logarithm of the odds that what happened k times in n steps, and
// k0 times in the n0 before them, has become more frequent: of a rate that is not known
// (Jeffreys' prior) against the one that is known from before (Beta-binomial, Gelman et
// al., Bayesian Data Analysis, 2.4).
func oftener(k, n, k0, n0 int) float64 {
	return inARow(k, n, 0.5, 0.5) - inARow(k, n, 0.5+float64(k0), 0.5+float64(n0-k0))
}

// inARow is the logarithm of the probability of a sequence of n steps of which k are
// long, where the rate of long ones has a Beta distribution.
func inARow(k, n int, long, usual float64) float64 {
	sum := 0.0
	for i := range k {
		sum += stats.Log((long + float64(i)) / (long + usual + float64(i)))
	}
	for i := range n - k {
		sum += stats.Log((usual + float64(i)) / (long + usual + float64(k+i)))
	}
	return sum
}

// often returns the degradation that shows in long steps which come more often than
// before, and whether they alone are enough; nil where there is none, or nothing new is
// known of it.
func (j *Job) often(g telemetry.Time, u usual) (h *Hurt, enough bool) {
	s := &j.strays
	if s.asked == j.Steps || len(s.last) < leastStrays || j.Steps-s.last[len(s.last)-1].step > oftenHeard {
		return nil, false
	}
	s.asked = j.Steps
	since, odds := s.since(j.Steps)
	if odds < leastOften {
		return nil, false
	}
	regular := j.longs.likeMost().regular()
	h = j.suspected(g, u)
	h.Onset, h.single = since[0].within(), true
	h.line = u.median + float64(0.5*(leastLength(since)-u.median))
	for i, p := range since {
		if i > 0 {
			apart := int(p.step-since[i-1].step-1) * j.each()
			h.addUsual(u.mean, apart)
			h.patience = max(h.patience, 2*apart)
		}
		h.sampled.sample(p.length)
		h.addSlow(p.at, p.length, p.n)
	}
	h.addUsual(u.mean, int(j.Steps-since[len(since)-1].step)*j.each())
	return h, odds >= oftenSure && !regular
}

func leastLength(ps []pending) float64 {
	least := ps[0].length
	for _, p := range ps {
		least = min(least, p.length)
	}
	return least
}

// take removes those of a degradation: they are not what the job does now and then.
func (s *strays) take(h *Hurt, steps uint64) {
	kept := slices.DeleteFunc(s.last, func(p pending) bool { return p.at > h.Onset.Earliest })
	s.n -= len(s.last) - len(kept)
	s.last, s.from = kept, s.from+min(steps-s.from, uint64(h.Steps))
}

// clear forgets them, and counts anew.
func (s *strays) clear(steps uint64) { *s = strays{last: s.last[:0], from: steps} }

func (s *strays) snapshot(c *snapshot.Codec) {
	snapshot.List(c, &s.last, 16, snapshotPending)
	c.U64(&s.from)
	c.Int(&s.n)
	c.U64(&s.asked)
}
