package telemetry

import (
	"math"
	"slices"
)

// MetricName is a metric's name: Prometheus style, base units, "_total" for
// counters.
type MetricName string

// MetricType describes how a metric's values relate to each other in time.
type MetricType uint8

// The metric types.
const (
	Counter MetricType = iota + 1 // only rises, until it is reset, wraps or sticks
	Gauge                         // a level
	StateOf                       // an enumerated or boolean state, judged on change
)

// Overflow states what a counter does at the end of its width.
type Overflow uint8

// Wraps restarts at zero (mlx5 q-counters at 2^32); Sticks stays at its
// maximum until reset and is then blind (InfiniBand PMA counters).
const (
	Wraps Overflow = iota
	Sticks
)

// Rise is what an increase of the metric means for the owner of the entity.
type Rise uint8

// The meanings of a rise.
const (
	Neutral Rise = iota // load: neither
	Worse               // trouble
	Better              // health
)

// Shape is how a finding looks; a metric lists those it is judged
// for.
type Shape uint8

// The shapes.
const (
	ShapeShift Shape = iota + 1
	ShapeBurst
	ShapeLevel
	ShapePeer
	ShapeDrift
	ShapeStall
	ShapeFlap
	ShapeSilence
	ShapeStuck
)

var shapeNames = [...]string{"", "shift", "burst", "level", "peer", "drift", "stall", "flap", "silence", "stuck"}

// String returns the shape's name.
func (s Shape) String() string {
	if int(s) >= len(shapeNames) {
		return ""
	}
	return shapeNames[s]
}

// Metric declares what a metric means.
type Metric struct {
	Name   MetricName
	Domain Domain
	Kinds  []Kind // the entity kinds that have it
	Unit   string // of a gauge's value or a counter's total: "bytes", "seconds", "1"
	Type   MetricType
	// Width is the bits of a Counter: 4, 8, 16, 32 or 64; 0 otherwise. It is
	// the narrowest that is known to be shipped: a value beyond it shows that
	// this device's is wider (InfiniBand's 16-bit drops are 64-bit on Ethernet).
	Width    uint8
	Overflow Overflow // what a Counter does at the end of its width
	Rise     Rise
	// Detectors lists the shapes it is judged for by default; none means
	// carried, stored, shown and never judged.
	Detectors []Shape
	// Evidence states that explanations read this metric's recent past grid by
	// grid, so the window keeps it at full resolution.
	Evidence bool
	// PerStep states that each sample represents a job's step and keeps its own
	// instant; it is never gridded.
	PerStep bool
	// Instruments are, of a quantity that no source states by itself, the metrics
	// that show it, the most direct first; nil otherwise.
	Instruments []MetricName
	Help        string // one sentence; the field's words
	Origin      string // standard, kernel file or document that defines it
}

// Most returns the largest amount that a gauge can have had, in its unit. Devices
// state numbers that no device can reach where they have nothing to state, or while
// they restart; such a sample is no reading. The bounds are far beyond what is sold:
// a board of 1.4 kW (NVIDIA GB200), a rack of 140 kW, silicon that ends at 150 °C.
func (m *Metric) Most() float64 {
	switch {
	case m.Type != Gauge:
	case m.Unit == "celsius":
		return 1e3
	case m.Unit == "hertz":
		return 1e11
	case m.Unit == "watts" && slices.Contains(m.Kinds, GPU):
		return 1e4
	case m.Unit == "watts":
		return 1e9
	}
	return math.MaxFloat32
}
