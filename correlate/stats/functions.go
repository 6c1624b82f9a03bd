package stats

import "math"

// The natural logarithm of two in two parts: high has zeros at its end, so
// that a small multiple of it is exact (FreeBSD msun, e_exp.c and e_log.c).
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
	log2E   = 1.44269504088896338700e+00
)

// Exp returns e**x within one unit in the last place: the rational
// approximation of FreeBSD's e_exp.c. +Inf above 709.78, 0 below -745.13, NaN
// for NaN.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x > 7.09782712893383973096e+02:
		return math.Inf(1)
	case x < -7.45133219101941108420e+02:
		return 0
	case -1.0/(1<<28) < x && x < 1.0/(1<<28):
		return 1 + x
	}
	k := math.Floor(float64(log2E*x) + 0.5)
	hi := x - float64(k*ln2High)
	lo := float64(k * ln2Low)
	return scale(expReduced(hi, lo), int(k))
}

// expReduced returns e**(hi-lo) for |hi-lo| ≤ ln(2)/2.
func expReduced(hi, lo float64) float64 {
	const (
		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	r := hi - lo
	t := float64(r * r)
	c := r - float64(t*(p1+float64(t*(p2+float64(t*(p3+float64(t*(p4+float64(t*p5)))))))))
	return 1 - ((lo - float64(r*c)/(2-c)) - hi)
}

// scale returns f * 2**k for f near one, in two steps where 2**k itself is
// not a normal number.
func scale(f float64, k int) float64 {
	switch {
	case k > 1023:
		return float64(float64(f*power2(1023)) * power2(k-1023))
	case k < -1022:
		return float64(float64(f*power2(k+1022)) * power2(-1022))
	}
	return float64(f * power2(k))
}

func power2(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// Log returns the natural logarithm within one unit in the last place: the
// method of FreeBSD's e_log.c. -Inf for 0, NaN below.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	f, k := split(x)
	if f < math.Sqrt(0.5) {
		f = float64(f * 2)
		k--
	}
	return logReduced(f-1, float64(k))
}

// logReduced returns log(1+f) + k*log(2) for √½ ≤ 1+f < √2.
func logReduced(f, k float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	t1 := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	t2 := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	h := float64(float64(0.5*f) * f)
	return float64(k*ln2High) - ((h - (float64(s*(h+t1+t2)) + float64(k*ln2Low))) - f)
}

// split returns f and k with x = f * 2**k and ½ ≤ f < 1, for positive finite x.
func split(x float64) (f float64, k int) {
	if x < power2(-1022) { // subnormal
		x = float64(x * power2(52))
		k = -52
	}
	b := math.Float64bits(x)
	k += int(b>>52) - 1022
	return math.Float64frombits(b&^(0x7ff<<52) | 1022<<52), k
}

// Pow returns x**y for x ≥ 0 as Exp(y·Log(x)): its relative error grows with
// |y·log x| to some 1e-13 at the ends of the range, which no verdict feels.
// Pow(x, 0) and Pow(1, y) are 1; x below zero gives NaN.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case y == 1:
		return x
	}
	return Exp(float64(y * Log(x)))
}
