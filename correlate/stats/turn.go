package stats

import "math"

// turnDoubt is by how much the log-likelihood of a change point may be below the
// greatest for it to be in the interval of those that are possible: two is a
// confidence of about 95 % (the likelihood ratio, Wilks).
const turnDoubt = 2.0

// Turn finds the change point of a row of yes and no, from mostly no to mostly yes,
// by the greatest likelihood of two Bernoulli rates. It returns the first and the
// last place at which the row may have turned, the first yes of the second part, and
// false where it does not surely turn.
func Turn(row []bool) (first, last int, ok bool) {
	total := 0
	for _, yes := range row {
		if yes {
			total++
		}
	}
	n, before := len(row), 0
	best, none := math.Inf(-1), bernoulli(total, n)
	likelihood := make([]float64, n)
	for k := range row {
		likelihood[k] = math.Inf(-1)
		if k > 0 && before*(n-k) < (total-before)*k { // more often yes after than before
			likelihood[k] = bernoulli(before, k) + bernoulli(total-before, n-k)
			best = max(best, likelihood[k])
		}
		if row[k] {
			before++
		}
	}
	if best-none < turnDoubt {
		return 0, 0, false
	}
	first = n
	for k, l := range likelihood {
		if l >= best-turnDoubt {
			first, last = min(first, k), k
		}
	}
	return first, last, true
}

// bernoulli is the greatest log-likelihood of yes so many times among n.
func bernoulli(yes, n int) float64 {
	if yes == 0 || yes == n {
		return 0
	}
	p := float64(yes) / float64(n)
	return float64(float64(yes)*Log(p)) + float64(float64(n-yes)*Log(1-p))
}
