package worlds

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/random"
)

// Shape is the distribution of a noise.
type Shape string

// The shapes. Each has mean 0 and deviation 1 before it is scaled.
const (
	Tent     Shape = "" // of the standard site: two uniform numbers added
	Gaussian Shape = "gaussian"
	Student  Shape = "student" // t with 3 degrees of freedom
	AR1      Shape = "ar1"     // each value keeps a part of the one before it
	Bimodal  Shape = "bimodal" // two narrow modes
)

// Noise is how step times and sensors scatter.
type Noise struct {
	Shape Shape
	// Steps is the deviation of a step's computing time, the same for all ranks
	// of a job, as a share: 0.005 to 0.06. Ranks scatter by 0.01 besides, as at
	// the standard site. 1 to 2 % is usual (rca.md F.1).
	Steps float64
	// Sensors scales the noise of sensors: 1 to 4.
	Sensors Scale
	// Keep is the part of an AR(1) value that stays: 0.5 to 0.95.
	Keep float64
	// Often is the probability of a bimodal noise's second mode: 0.1 to 0.5.
	Often float64
}

// drawNoise draws the shapes in turn with equal probability.
func drawNoise(r *random.Source) Noise {
	shape := []Shape{Gaussian, Student, AR1, Bimodal}[r.Below(4)]
	return Noise{Shape: shape, Steps: logUniform(r, 0.005, 0.06), Sensors: Scale(logUniform(r, 1, 4)), Keep: r.Uniform(0.5, 0.95), Often: r.Uniform(0.1, 0.5)}
}

// Next returns the next value of a noise with deviation 1 after the value before
// it. Only AR1 reads the value before.
func (n *Noise) Next(r *random.Source, before float64) float64 {
	switch n.Shape {
	case Student:
		return student(r)
	case AR1:
		return float64(n.Keep*before) + float64(math.Sqrt(1-float64(n.Keep*n.Keep))*r.Normal(0, 1))
	case Bimodal:
		return n.mode(r)
	}
	return r.Normal(0, 1)
}

// memory is how many values back AR1 reaches in At: 0.95^64 is 4 %.
const memory = 64

// At returns value number k of a stream with deviation 1. Values of equal number
// are equal, whatever was asked for before: a run with a fault and the run
// without it have the same noise at the same step.
func (n *Noise) At(stream random.Source, k int) float64 {
	if n.Shape != AR1 {
		r := stream.At(uint64(k))
		return n.Next(&r, 0)
	}
	x := 0.0
	for i := max(0, k-memory); i <= k; i++ {
		r := stream.At(uint64(i))
		x = n.Next(&r, x)
	}
	return x
}

// student is Student's t with 3 degrees of freedom over its deviation, √3,
// bounded at 12 deviations.
func student(r *random.Source) float64 {
	sum := 0.0
	for range 3 {
		z := r.Normal(0, 1)
		sum += float64(z * z)
	}
	t := r.Normal(0, 1) / math.Sqrt(max(sum, 1e-6)) // t over √3
	return max(-12, min(12, t))
}

// mode returns a value near one of two modes that are four of their own
// deviations and more apart.
func (n *Noise) mode(r *random.Source) float64 {
	p, width := n.Often, 0.2
	gap := math.Sqrt((1 - float64(width*width)) / float64(p*(1-p)))
	at := -float64(gap * p)
	if r.Chance(p) {
		at = float64(gap * (1 - p))
	}
	return at + float64(width*r.Normal(0, 1))
}
