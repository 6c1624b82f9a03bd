package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	pastSteps   = 64 // healthy steps a job is judged against
	beforeSteps = 20 // healthy steps whose median is an impact's "before"
	// minPast healthy steps are needed before a job is judged at all: with
	// fewer, its spread is not known. Up to fewSteps it is known badly, and taken
	// for wider by up to unsureSpread.
	minPast, fewSteps = 5, 8
	// minSpan is for how long it must have been seen: what a job's steps share with
	// its neighbours comes and goes in seconds, however short they are.
	minSpan      = telemetry.Duration(45e9)
	unsureSpread = 3.0
)

// past is the ring of a job's last healthy step lengths, in seconds.
type past struct {
	lengths []float64 // oldest first, at most pastSteps
	known   bool      // that is summarises the lengths
	is      usual
	wide    variation // of the steps of a longer time; empty where only the last count
	apart   bool      // a length does not resemble the one before, as far as is known
	each    int       // how many steps a length is the mean of
}

func (p *past) add(x float64) {
	p.lengths, p.known = appendLast(p.lengths, x, pastSteps), false
}

// of notes how many steps the next length is the mean of.
func (p *past) of(n int) { p.each, p.known = n, p.known && p.each == n }

// appendLast appends x to a list of the last n, which drops the oldest for it.
func appendLast[T any](list []T, x T, n int) []T {
	if len(list) == n {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, x)
}

// drop removes some lengths.
func (p *past) drop(which func(float64) bool) {
	p.lengths, p.known = slices.DeleteFunc(p.lengths, which), false
}

// clear removes all lengths.
func (p *past) clear() {
	p.lengths, p.known = p.lengths[:0], false
	p.wide.clear()
}

// usual is the summary of a job's past steps, in seconds.
type usual struct {
	median, mean, spread, longest float64
	// sigma is the standard deviation that the body of the past implies, wider where a
	// step resembles the one before it.
	sigma float64
	// core is the standard deviation of the middle half alone.
	core  float64
	n, of int // lengths, and the steps that they are of
	// steps and variety estimate the density of its lengths, lately and for longer.
	steps, variety kernels
	// memory is by how much sums of steps vary more than those of unrelated ones.
	memory float64
}

const (
	// spreadFloor keeps a very regular job from being judged on noise: a step
	// must differ by several of these to count.
	spreadFloor = 0.015
	sigmaFloor  = 0.01
	// ninth and twentieth are the 90th and 95th percentiles of normal data in
	// deviations.
	ninth     = 1.2816
	twentieth = 1.6449
	// youngMemory is used in place of the memory of a job of which too little is
	// known.
	youngMemory = 1.5
)

// usual summarises the past. The spread is the larger of the robust deviation and
// the distances from the median to the upper percentiles, so that a job whose steps
// vary is judged by its own variation.
func (p *past) usual() usual {
	if !p.known {
		p.is, p.known = p.wide.widen(p.summary()), true
	}
	return p.is
}

func (p *past) summary() usual {
	u := usual{n: len(p.lengths), of: len(p.lengths) * max(1, p.each)}
	if u.n == 0 {
		return u
	}
	s := ordered(slices.Clone(p.lengths))
	slices.Sort(s)
	u.median = sortedQuantile(s, 0.5)
	u.longest = s[len(s)-1]
	dev := make([]float64, len(s))
	for i, x := range s {
		dev[i] = abs(x - u.median)
	}
	u.mean = usualMean(s, u.median)
	mad := float64(stats.Consistency * stats.Median(dev))
	u.core = max(mad, float64(sigmaFloor*u.median))
	above := sortedQuantile(s, 0.9) - u.median
	few := s
	if p.aloneLong(u) {
		few = s.withoutLong(u)
	}
	u.spread = max(sortedQuantile(few, 0.9)-u.median, (sortedQuantile(few, 0.95)-u.median)/1.5, float64(spreadFloor*u.median), mad)
	u.memory = p.memory(u.median, mad)
	wider := unsure(u.of)
	u.spread = float64(u.spread * wider)
	scatter := float64(max(mad, above/ninth, (sortedQuantile(s, 0.95)-u.median)/twentieth, float64(sigmaFloor*u.median)) * wider)
	u.sigma = float64(scatter * u.memory)
	u.steps = kernelsOf(s, float64(max(mad/u.median, sigmaFloor)*wider), u.memory)
	return u
}

// ordered are lengths in order, the shortest first.
type ordered []float64

const (
	// mostLong is the part of a job's steps that may be long, such as those in which
	// a checkpoint is written, for them to be apart from what is usual.
	mostLong = 0.25
	// mostRow of them may come in a row.
	mostRow = 2
)

// aloneLong reports whether long steps are single: some in a row are another way in
// which the job runs.
func (p *past) aloneLong(u usual) bool {
	row := 0
	for _, x := range p.lengths {
		if row++; !isLong(u, x) {
			row = 0
		}
		if row > mostRow {
			return false
		}
	}
	return true
}

// withoutLong leaves out long steps, where they are few enough.
func (s ordered) withoutLong(u usual) ordered {
	n := len(s)
	for n > 0 && isLong(u, s[n-1]) {
		n--
	}
	if float64(len(s)-n) > float64(mostLong*float64(len(s))) {
		return s
	}
	return s[:n]
}

// unsure is by how much more the spread of so many steps may be than it seems.
func unsure(n int) float64 {
	if n = max(n, minPast); n >= fewSteps {
		return 1
	}
	return 1 + float64((unsureSpread-1)*float64(fewSteps-n))/float64(fewSteps-minPast)
}

// fewLongs is one in how many steps may be long for none of them to count among
// what is usual.
const fewLongs = 20

// usualMean is the mean of the lengths, which are in order, without the few that
// are long ones.
func usualMean(sorted []float64, median float64) float64 {
	n := len(sorted)
	for n > 0 && sorted[n-1] > float64((1+longStep)*median) {
		n--
	}
	if (len(sorted)-n)*fewLongs > len(sorted) {
		n = len(sorted)
	}
	return stats.Mean(sorted[:n])
}

// memory is by how much sums of steps vary more than those of unrelated ones, by the
// last of them.
func (p *past) memory(median, sigma float64) float64 {
	switch {
	case len(p.lengths) >= pastSteps/2:
	case p.apart:
		return 1
	default:
		return youngMemory
	}
	return memoryOf(p.lengths, median, sigma, 0.1)
}

// memoryOf is √((1+ρ)/(1−ρ)), where ρ is how much a length resembles the one before,
// less what chance gives so many of them. Distances are clipped, so that no single
// one counts.
func memoryOf(lengths []float64, median, sigma, chance float64) float64 {
	var with, own float64
	before, width := 0.0, float64(3*sigma)
	for i, x := range lengths {
		d := min(max(x-median, -width), width)
		own += float64(d * d)
		if i > 0 {
			with += float64(d * before)
		}
		before = d
	}
	if own == 0 {
		return 1
	}
	r := min(max(with/own-chance, 0), 0.8)
	return stats.Pow((1+r)/(1-r), 0.5)
}

// before is the median of the last 20 healthy steps, 0 where there is none.
func (p *past) before() float64 {
	n := min(len(p.lengths), beforeSteps)
	if n == 0 {
		return 0
	}
	return stats.Median(slices.Clone(p.lengths[len(p.lengths)-n:]))
}

// snapshot writes or restores the ring.
func (p *past) snapshot(c *snapshot.Codec) {
	c.F64s(&p.lengths)
	c.Int(&p.each)
	p.wide.snapshot(c)
	p.known = false
}

func sortedQuantile(s []float64, q float64) float64 {
	at := float64(q * float64(len(s)-1))
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	f := at - float64(i)
	return s[i] + float64(f*(s[i+1]-s[i]))
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
