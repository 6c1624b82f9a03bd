package stats

import "math"

// Consistency makes a median absolute deviation an estimate of the standard
// deviation of normal data: 1/Φ⁻¹(3/4).
const Consistency = 1.4826

// Median returns the median of xs, the mean of the middle two if their number
// is even, and NaN if there is none. It reorders xs, which must hold no NaN.
func Median(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	hi := nth(xs, n/2)
	if n%2 == 1 {
		return hi
	}
	// nth leaves everything smaller below n/2.
	lo := xs[0]
	for _, x := range xs[1 : n/2] {
		if x > lo {
			lo = x
		}
	}
	return lo/2 + hi/2
}

// MAD returns the median of xs and the median absolute deviation from it,
// not yet scaled by Consistency. Both are NaN if xs is empty. It overwrites
// xs, which must hold no NaN.
func MAD(xs []float64) (median, mad float64) {
	median = Median(xs)
	for i, x := range xs {
		xs[i] = math.Abs(x - median)
	}
	return median, Median(xs)
}

// Quantile returns the q-quantile of xs, 0 ≤ q ≤ 1 (clamped), interpolated
// between neighbours in rank (type 7 of Hyndman and Fan, 1996: what R and
// NumPy do), and NaN if xs is empty. It reorders xs, which must hold no NaN.
func Quantile(xs []float64, q float64) float64 {
	n := len(xs)
	if n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	h := float64(float64(n-1) * min(max(q, 0), 1))
	i := int(math.Floor(h))
	lo := nth(xs, i)
	if i+1 >= n {
		return lo
	}
	hi := xs[i+1]
	for _, x := range xs[i+2:] {
		if x < hi {
			hi = x
		}
	}
	return lo + float64((h-float64(i))*(hi-lo))
}

// nth reorders xs so that xs[k] is what it would be if xs were sorted, nothing
// before it is larger and nothing after it smaller, and returns it. Hoare's
// selection with the middle of three as the pivot: no chance is involved.
func nth(xs []float64, k int) float64 {
	lo, hi := 0, len(xs)-1
	for lo < hi {
		p := middle(xs[lo], xs[lo+(hi-lo)/2], xs[hi])
		i, j := lo, hi
		for i <= j {
			for xs[i] < p {
				i++
			}
			for xs[j] > p {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}

// middle is the median of three numbers. Comparisons take half the time of min and
// max, which look for NaN.
func middle(a, b, c float64) float64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case c < a:
		return a
	case c > b:
		return b
	}
	return c
}

// Mean returns the arithmetic mean of xs, NaN of none.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
