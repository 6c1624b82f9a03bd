package accuracy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
)

const (
	sure      = 1.6448536269514722 // one-sided 95 % of a normal distribution
	resamples = 2000
)

// Wilson is the lower bound, one-sided at 95 %, of a share of which k of n were
// seen (Wilson, JASA 22, 1927). NaN for none.
func Wilson(k, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	p, m := float64(k)/float64(n), float64(n)
	z2 := sure * sure
	centre := p + z2/(2*m)
	half := sure * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	return max(0, (centre-half)/(1+z2/m))
}

// WilsonUpper is the upper bound of the same.
func WilsonUpper(k, n int) float64 { return 1 - Wilson(n-k, n) }

// bootstrap returns the 5 % and 95 % quantiles of a figure over resamples of
// seeds: cases of one seed share a site and are not independent. The draws are
// always the same ones.
func bootstrap[T any](items []T, seed func(T) uint64, figure func([]T) float64) (low, high float64) {
	groups := map[uint64][]T{}
	for _, x := range items {
		groups[seed(x)] = append(groups[seed(x)], x)
	}
	seeds := make([]uint64, 0, len(groups))
	for s := range groups {
		seeds = append(seeds, s)
	}
	slices.SortFunc(seeds, cmp.Compare[uint64])
	if len(seeds) < 2 {
		return math.NaN(), math.NaN()
	}
	r := rand.New(rand.NewPCG(20, 26))
	var figures []float64
	for range resamples {
		var drawn []T
		for range seeds {
			drawn = append(drawn, groups[seeds[r.IntN(len(seeds))]]...)
		}
		if f := figure(drawn); !math.IsNaN(f) {
			figures = append(figures, f)
		}
	}
	if len(figures) == 0 {
		return math.NaN(), math.NaN()
	}
	return stats.Quantile(figures, 0.05), stats.Quantile(figures, 0.95)
}
