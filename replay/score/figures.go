package score

import (
	"math"
	"slices"
)

// mean returns the mean of xs, 0 for none.
func mean(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// quantile returns the q-quantile of xs by linear interpolation between the
// order statistics (Hyndman and Fan's type 7, as numpy and R do), nil for none.
func quantile(xs []float64, q float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(xs))
	at := q * float64(len(s)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(s)-1)
	return pointer(s[lo] + (at-float64(lo))*(s[hi]-s[lo]))
}

// poissonUpper returns the exact upper confidence bound of a Poisson mean after
// k events: the mean at which k or fewer events have probability 1-confidence
// (Garwood 1936, one-sided). After none it is -ln(1-confidence), the rule of
// three.
func poissonUpper(k int, confidence float64) float64 {
	lo, hi := float64(k), float64(k)+10
	for poissonAtMost(k, hi) > 1-confidence {
		hi *= 2
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if poissonAtMost(k, mid) > 1-confidence {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// poissonAtMost is the probability of k or fewer events at mean m; each term is
// taken in logarithms, so that large means do not underflow at once.
func poissonAtMost(k int, m float64) float64 {
	var sum float64
	for i := range k + 1 {
		lg, _ := math.Lgamma(float64(i) + 1)
		sum += math.Exp(float64(i)*math.Log(m) - m - lg)
	}
	return sum
}

// brier returns the Brier score of the forecasts and that of the predictor
// which always predicts the fraction that were right, the best constant one in
// hindsight. nil for no forecasts.
func brier(fs []forecast) (score, constant *float64) {
	if len(fs) == 0 {
		return nil, nil
	}
	var sum, right float64
	for _, f := range fs {
		sum += (f.p - f.outcome()) * (f.p - f.outcome())
		right += f.outcome()
	}
	n := float64(len(fs))
	base := right / n
	return pointer(sum / n), pointer(base * (1 - base))
}

func (f forecast) outcome() float64 {
	if f.right {
		return 1
	}
	return 0
}

// Bin is one line of the reliability table: the answers whose confidence lay in
// [From, To), the last one including 1.
type Bin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Answers    int     `json:"answers"`
	Right      int     `json:"right"`
	Confidence float64 `json:"mean_confidence"`
}

// reliability sorts the forecasts into ten bins and returns those with any.
func reliability(fs []forecast) []Bin {
	var sums [10]Bin
	for _, f := range fs {
		i := min(max(int(f.p*10), 0), 9)
		sums[i].Answers++
		sums[i].Confidence += f.p
		sums[i].Right += int(f.outcome())
	}
	out := []Bin{}
	for i, b := range sums {
		if b.Answers == 0 {
			continue
		}
		b.From, b.To = float64(i)/10, float64(i+1)/10
		b.Confidence /= float64(b.Answers)
		out = append(out, b)
	}
	return out
}
