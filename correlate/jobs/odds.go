package jobs

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
)

// Whether a job's steps take longer is a matter of odds: how much likelier they are if
// most of them take longer by some factor than if nothing has changed. What they are
// like if nothing has changed is learned from the job's own, whatever their
// distribution: where one in twelve works on a long sequence and takes twice as long,
// two of these in a row prove little, and two in a row by a fifth prove a lot.

const (
	// slowShare is the part of the steps that take longer where something has changed:
	// a quick one among them does not disprove it.
	slowShare = 0.7
	// convinced are the log odds at which a degradation begins, and atMost what one
	// step adds to them: one alone is not enough. At certainlySlow one step is.
	convinced, atMost, certainlySlow = 10.0, 5.05, 3.0
	// negligible are those below which the steps are usual ones.
	negligible = 1.0
	// doubtful are the log odds at which several steps are, and corroborating evidence
	// is enough.
	doubtful = convinced / 2
	// novel is the width, as a logarithm, of the lengths that a step may have that is
	// like none before.
	novel = 2.8
	// novelty is how many of those there are assumed to be.
	novelty = 0.5
	// wander is the width of a kernel at least: steps that hardly vary in a minute do
	// so in an hour, by 1 %.
	wander = 0.0055
	// logistic is the width of a logistic density whose standard deviation is 1.
	logistic = 0.5513
	// shortest is the shortest step that is distinguished from a shorter one, seconds, and rarest
	// the least part of the lengths like none before that are longer than any length.
	shortest, rarest = 1e-9, 0.02
	// neighbours is how many of the past's steps a kernel is as wide as at least.
	neighbours = 4
)

// longerBy are the bounds of the classes of a factor, less 1; those within a class are
// equally likely, as logarithms.
var longerBy = [...]float64{leastSign, leastShift, 0.07, 0.14, 0.28, 0.56, 1.1, 2.2, 7, 1e4}

// odds are the log odds, at least 0, that steps have lately taken longer by a factor
// of each class: the cumulative sum of Page (1954), of a likelihood ratio.
type odds [len(longerBy) - 1]float64

// likeliest is the class with the greatest odds, the first of several.
func (o *odds) likeliest() (class int) {
	for k := range o {
		if o[k] > o[class] {
			class = k
		}
	}
	return class
}

// most are the odds of the likeliest class.
func (o *odds) most() float64 { return o[o.likeliest()] }

// with returns the odds after a step of x seconds; or, where it is in progress, after
// one of at least x seconds.
func (o odds) with(u usual, x float64, inProgress bool) odds {
	if o == (odds{}) && x <= u.median {
		return o // it makes no longer step likelier
	}
	y := stats.Log(max(x, shortest))
	level := u.likelihood(y, inProgress)
	lo := stats.Log(1 + longerBy[0])
	below := u.steps.below(y - lo)
	for k := range o {
		hi := stats.Log(1 + longerBy[k+1])
		next := u.steps.below(y - hi)
		slower := (below - next) / (hi - lo)
		if inProgress {
			slower = 1 - below/2 - next/2
		}
		gain := stats.Log(1 - slowShare + float64(slowShare*slower)/level)
		o[k] = max(0, o[k]+min(gain, atMost))
		lo, below = hi, next
	}
	return o
}

// likelihood is that of a step whose length has the logarithm y, or which is in progress
// and has become as long, if nothing has changed: what it was at any time, lately or for
// longer, is nothing new.
func (u *usual) likelihood(y float64, inProgress bool) float64 {
	of := (*kernels).density
	if inProgress {
		of = func(k *kernels, y float64) float64 { return 1 - k.below(y) }
	}
	if len(u.variety.at) == 0 {
		return of(&u.steps, y)
	}
	return max(of(&u.steps, y), of(&u.variety, y))
}

// madFreedom is how many degrees of freedom of a spread one more length is worth, for the
// median of distances: its efficiency (Rousseeuw and Croux, JASA 1993).
const madFreedom = 0.37

// meanOdds are the log odds that n lengths, longer by a part of the usual one in the mean,
// are not usual: the usual length and its spread are known from so many only, and err for
// all of them alike (Student's t of two means). How much a length resembles the one before
// counts where it is known.
func (u *usual) meanOdds(by float64, n int) float64 {
	err := float64(u.core * math.Sqrt(1/float64(max(1, u.n))+1/float64(max(1, n))))
	if u.n >= pastSteps/2 {
		err = float64(err * u.memory)
	}
	t, free := float64(max(0, by)*u.median)/err, float64(madFreedom*float64(max(1, u.of-1)))
	return float64((free + 1) / 2 * stats.Log(1+float64(t*t)/free))
}

func (o *odds) snapshot(c *snapshot.Codec) {
	for k := range o {
		c.F64(&o[k])
	}
}

// kernels estimate the density of the logarithms of lengths: a logistic kernel at
// each, as wide as so many lengths need, wider where they are far apart (Breiman,
// Meisel and Purcell, Technometrics 1977), and half a
// length in all that is like none.
type kernels struct{ at, width []float64 }

// kernelsOf are those of lengths in order, at least one, of which scatter is the standard
// deviation of the middle, as a part of it. Sums of them vary memory times as much as
// those of unrelated ones: so the kernels are wider.
func kernelsOf(s ordered, scatter, memory float64) (k kernels) {
	n := len(s)
	for _, x := range s {
		k.at = append(k.at, stats.Log(max(x, shortest)))
	}
	least := stats.Quadrature(float64(0.5*scatter)/stats.Pow(float64(n), 0.2), wander)
	least = stats.Quadrature(least, float64(float64(logistic*scatter)*math.Sqrt(float64(memory*memory)-1)))
	for i := range k.at {
		first, last := max(0, i-neighbours/2), min(n-1, i+neighbours/2)
		k.width = append(k.width, max(least, float64((k.at[last]-k.at[first])*neighbours)/float64(2*max(1, last-first))))
	}
	return k
}

// fallen is e to the power of -z; 0 where a sum with 1 would not show it.
func fallen(z float64) float64 {
	if z > 40 {
		return 0
	}
	return stats.Exp(-z)
}

// density is that of a length whose logarithm is y.
func (k *kernels) density(y float64) float64 {
	sum := novelty / novel
	if abs(y-k.at[len(k.at)/2]) > novel/2 {
		sum = float64(sum * rarest)
	}
	for i, at := range k.at {
		e := fallen(abs(y-at) / k.width[i])
		sum += e / float64(k.width[i]*float64((1+e)*(1+e)))
	}
	return sum / (float64(len(k.at)) + novelty)
}

// below is the probability of a length whose logarithm is at most y.
func (k *kernels) below(y float64) float64 {
	sum := 0.0
	for i, at := range k.at {
		e := fallen(abs(y-at) / k.width[i])
		if y < at {
			sum += e / (1 + e)
		} else {
			sum += 1 / (1 + e)
		}
	}
	n := len(k.at)
	novelBelow := min(max((y-k.at[n/2])/novel+0.5, 0), 1-rarest)
	return (sum + float64(novelty*novelBelow)) / (float64(n) + novelty)
}
