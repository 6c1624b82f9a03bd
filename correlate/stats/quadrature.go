package stats

import "math"

// Quadrature returns the standard error of the sum or difference of two independent
// numbers with standard errors a and b: √(a² + b²), the products rounded (decision 3),
// which math.Hypot does not promise on every machine.
func Quadrature(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }
