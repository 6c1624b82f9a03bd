package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A single long step among usual ones, a spike, proves nothing: every job has some. But
// a link that goes down each minute, or a host that is interrupted, shows in nothing
// else than spikes that come more often than before. How often a job has them is
// learned from its own steps.

const (
	// maxSpikes are kept, and leastSpikes needed for a rate.
	maxSpikes, leastSpikes = 8, 2
	// corroborableOdds are the least odds of a new rate, as a logarithm, at which
	// corroborating evidence is enough for a degradation, and certainOdds those at
	// which none is needed.
	corroborableOdds, certainOdds = 1.5, 12.0
	// spikeReports is how many reports after a spike evidence of its cause is sought.
	spikeReports = 12
)

// spikes are a job's last spikes, the oldest first, those of a periodic pattern
// included until the pattern is known.
type spikes struct {
	last   []pending
	from   uint64 // the number of the step from which on they are counted
	n      int    // how many there were since, those no longer kept included
	judged uint64 // the last step after which the rate was judged
}

func (s *spikes) add(p pending) {
	s.last, s.n = appendLast(s.last, p, maxSpikes), s.n+1
}

// moreOften returns the last spikes, as many as make a new rate likeliest, and the odds
// of that rate against the former one, as a logarithm, by the number of steps now.
func (s *spikes) moreOften(steps uint64) (lately []pending, odds float64) {
	for i := range s.last[:max(0, len(s.last)-leastSpikes+1)] {
		k, first := len(s.last)-i, s.last[i].step
		o := rateOdds(k, int(steps-first)+1, s.n-k, int(max(first, s.from+1)-s.from)-1)
		if o > odds || lately == nil {
			lately, odds = s.last[i:], o
		}
	}
	return lately, odds
}

// rateOdds returns the logarithm of the odds that what happened k times in n steps, and
// k0 times in the n0 before them, has become more frequent: of a rate that is not known
// (Jeffreys' prior) against the one that is known from before (Beta-binomial, Gelman et
// al., Bayesian Data Analysis, 2.4).
func rateOdds(k, n, k0, n0 int) float64 {
	return sequenceOdds(k, n, 0.5, 0.5) - sequenceOdds(k, n, 0.5+float64(k0), 0.5+float64(n0-k0))
}

// sequenceOdds returns the logarithm of the probability of one sequence of n steps of
// which k are spikes, for a rate with the Beta distribution of these two parameters.
func sequenceOdds(k, n int, spikes, usual float64) float64 {
	sum := 0.0
	for i := range k {
		sum += stats.Log((spikes + float64(i)) / (spikes + usual + float64(i)))
	}
	for i := range n - k {
		sum += stats.Log((usual + float64(i)) / (spikes + usual + float64(k+i)))
	}
	return sum
}

// spiking returns the degradation that shows in spikes which come more often than
// before, and whether they alone are enough evidence; nil where there is none, or no
// step was reported since it was last judged.
func (j *Job) spiking(g telemetry.Time, u usual) (h *Degradation, enough bool) {
	s := &j.spikes
	if s.judged == j.Steps || len(s.last) < leastSpikes || j.Steps-s.last[len(s.last)-1].step > spikeReports {
		return nil, false
	}
	s.judged = j.Steps
	lately, odds := s.moreOften(j.Steps)
	if odds < corroborableOdds {
		return nil, false
	}
	return j.spikesDegraded(g, u, lately, 0), odds >= certainOdds && !j.longs.likeMost().regular()
}

// spikesDegraded is the degradation that some spikes are, less the usual excess of those
// that come in a period.
func (j *Job) spikesDegraded(g telemetry.Time, u usual, lately []pending, periodic float64) *Degradation {
	lately = slices.Clone(lately)
	least := lately[0].length
	for i := range lately {
		least = min(least, lately[i].length)
		lately[i].length -= periodic
	}
	least -= periodic
	h := j.amongUsual(g, u, lately)
	h.inSpikes, h.Periodic = true, periodic
	h.line = u.median + float64(0.5*(least-u.median))
	return h
}

// amongUsual is the degradation that shows in some steps, all others being usual: it
// lasts until none has come for twice the longest time between two.
func (j *Job) amongUsual(g telemetry.Time, u usual, slow []pending) *Degradation {
	h := j.suspected(g, u)
	h.Onset = slow[0].within()
	for i, p := range slow {
		if i > 0 {
			apart := int(p.step-slow[i-1].step-1) * j.each()
			h.addUsual(u.mean, apart)
			h.recoverAfter = max(h.recoverAfter, 2*apart)
		}
		h.sampled.sample(p.length)
		h.addSlow(p.at, p.length, p.n)
	}
	h.addUsual(u.mean, int(j.Steps-slow[len(slow)-1].step)*j.each())
	return h
}

// takeSpikes removes the spikes of a degradation from all that is usual for the job.
func (j *Job) takeSpikes(h *Degradation, u usual) {
	j.spikes.take(h, j.Steps)
	j.longs = slices.DeleteFunc(j.longs, func(l long) bool { return l.extra > h.Periodic+h.line-u.median })
	j.past.drop(func(x float64) bool { return x > h.Periodic+h.line })
	j.release(u)
}

// take removes those of a degradation: they do not count to the usual rate.
func (s *spikes) take(h *Degradation, steps uint64) {
	kept := slices.DeleteFunc(s.last, func(p pending) bool { return p.at > h.Onset.Earliest })
	s.n -= len(s.last) - len(kept)
	s.last, s.from = kept, s.from+min(steps-s.from, uint64(h.Steps))
}

// clear removes all of them and begins to count at a step.
func (s *spikes) clear(steps uint64) { *s = spikes{last: s.last[:0], from: steps} }

func (s *spikes) snapshot(c *snapshot.Codec) {
	snapshot.List(c, &s.last, pendingSize, snapshotPending)
	c.U64(&s.from)
	c.Int(&s.n)
	c.U64(&s.judged)
}
