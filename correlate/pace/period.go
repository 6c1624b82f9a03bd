package pace

const (
	// LeastSamples is the least number of samples in a step with which steps can be
	// distinguished.
	LeastSamples = 5
	// LeastSteps must be in what is examined.
	LeastSteps = 8
	// clear is the least autocorrelation at the period of what repeats itself, and
	// prominent how far the dip before it is below.
	clear     = 0.5
	prominent = 0.25
	// asGood is the part of the best autocorrelation from which a shorter period
	// is preferred: twice a period repeats itself, too.
	asGood = 0.85
)

// Period returns the period of x in samples, fractions included, and false
// where x does not show one of at least LeastSamples samples in at least
// LeastSteps repetitions. It takes time in the square of x's length.
//
// The autocorrelation has a peak at the period and at its multiples. The first
// that is prominent gives the period to a sample; all multiples together give it to
// a fraction of one.
func Period(x []float64) (float64, bool) {
	most := len(x) / LeastSteps
	if most < LeastSamples {
		return 0, false
	}
	a := autocorrelation(x, len(x)/2)
	if a == nil {
		return 0, false
	}
	p := first(a, most)
	if p == 0 {
		return 0, false
	}
	return refine(a, p), true
}

// autocorrelation returns that of x at lags 0 to most, each over the samples
// that overlap; nil where x does not vary.
func autocorrelation(x []float64, most int) []float64 {
	var mean float64
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	d := make([]float64, len(x))
	var variance float64
	for i, v := range x {
		d[i] = v - mean
		variance += float64(d[i] * d[i])
	}
	if variance <= 0 {
		return nil
	}
	variance /= float64(len(x))
	out := make([]float64, most+1)
	for lag := range out {
		var s float64
		for i := lag; i < len(d); i++ {
			s += float64(d[i] * d[i-lag])
		}
		out[lag] = s / float64(len(d)-lag) / variance
	}
	return out
}

// first returns the shortest lag, up to most, whose peak is prominent and is
// about as high as the highest; 0 if none does.
func first(a []float64, most int) int {
	best := 0.0
	dip := a[0]
	var peaks []int
	for lag := 1; lag <= most; lag++ {
		if a[lag] < dip {
			dip = a[lag]
		}
		if lag < LeastSamples || lag+1 >= len(a) || a[lag] < a[lag-1] || a[lag] < a[lag+1] {
			continue
		}
		if a[lag] >= clear && a[lag]-dip >= prominent {
			peaks = append(peaks, lag)
			best = max(best, a[lag])
		}
	}
	for _, lag := range peaks {
		if a[lag] >= float64(asGood*best) {
			return lag
		}
	}
	return 0
}

// fineness is the step, in samples, in which a period is looked for around its
// first peak.
const fineness = 0.01

// refine returns the period near p whose multiples are highest all together: the
// farthest of them determines it best, and none is trusted alone. Where several do
// as well, it returns the middle of them.
func refine(a []float64, p int) float64 {
	best, from, to := -1.0, float64(p), float64(p)
	for i := range int(2/fineness) + 1 {
		at := float64(p) - 1 + float64(float64(i)*fineness)
		switch h := height(a, at); {
		case h > best:
			best, from, to = h, at, at
		case h == best:
			to = at
		}
	}
	return (from + to) / 2
}

// height is the mean of a at the multiples of a period, between its lags as on a
// line.
func height(a []float64, period float64) float64 {
	var sum float64
	n := 0
	for x := period; x < float64(len(a)-1); x += period {
		lag := int(x)
		part := x - float64(lag)
		sum += float64(a[lag]*(1-part)) + float64(a[lag+1]*part)
		n++
	}
	if n == 0 {
		return -1
	}
	return sum / float64(n)
}
