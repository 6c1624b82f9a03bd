package jobs

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
)

const (
	pastSteps   = 64 // healthy steps a job is judged against
	beforeSteps = 20 // healthy steps behind "before" (design A5)
	// minPast healthy steps are needed before a job is judged at all: with
	// fewer, its spread is not known.
	minPast = 8
)

// past is the ring of a job's last healthy step lengths, in seconds.
type past struct {
	lengths []float64 // oldest first, at most pastSteps
}

func (p *past) add(x float64) {
	if len(p.lengths) == pastSteps {
		copy(p.lengths, p.lengths[1:])
		p.lengths = p.lengths[:pastSteps-1]
	}
	p.lengths = append(p.lengths, x)
}

// usual is what the past says of a job's steps, in seconds.
type usual struct {
	median, mean, spread, longest float64
	n                             int
}

// spreadFloor keeps a very regular job from being judged on noise: a step
// must differ by several of these to count.
const spreadFloor = 0.015

// usual summarises the past. The spread is the larger of the robust deviation
// and the distances from the median to the upper percentiles, so that a job
// that now and then has a long step among short ones is judged by that habit.
func (p *past) usual() usual {
	u := usual{n: len(p.lengths)}
	if u.n == 0 {
		return u
	}
	s := slices.Clone(p.lengths)
	slices.Sort(s)
	u.median = sortedQuantile(s, 0.5)
	u.longest = s[len(s)-1]
	u.mean = mean(p.lengths)
	u.spread = max(sortedQuantile(s, 0.9)-u.median, (sortedQuantile(s, 0.95)-u.median)/1.5, float64(spreadFloor*u.median))
	dev := make([]float64, len(s))
	for i, x := range s {
		dev[i] = abs(x - u.median)
	}
	u.spread = max(u.spread, float64(1.4826*stats.Median(dev)))
	return u
}

// before is the median of the last 20 healthy steps.
func (p *past) before() float64 {
	n := min(len(p.lengths), beforeSteps)
	return stats.Median(slices.Clone(p.lengths[len(p.lengths)-n:]))
}

// snapshot writes or restores the ring.
func (p *past) snapshot(c *snapshot.Codec) { c.F64s(&p.lengths) }

func sortedQuantile(s []float64, q float64) float64 {
	at := float64(q * float64(len(s)-1))
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	f := at - float64(i)
	return s[i] + float64(f*(s[i+1]-s[i]))
}

func mean(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
