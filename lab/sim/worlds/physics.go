package worlds

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

// Scale multiplies a constant of the standard site. Zero is 1.
type Scale float64

// Of returns x times the scale, and exactly x for the zero Scale.
func (s Scale) Of(x float64) float64 {
	if s == 0 {
		return x
	}
	return float64(x * float64(s))
}

// Physics scales physical constants. The standard values and their sources are
// at the constants themselves; the ranges are half to twice the standard value
// unless stated otherwise.
type Physics struct {
	// Power scales what a GPU draws at most, 700 W, and what feeds and cools it:
	// 0.57 to 1.7, from 400 W (A100) to 1,200 W (B200), data sheets.
	Power Scale
	// Host scales what a node draws in addition to its GPUs, 1.5 to 2.7 kW.
	Host Scale
	// Demand scales dynamic power at the top clock over the power limit, 1.1:
	// 0.85 to 1.1. Below 0.91 the power cap is not reached in health.
	Demand Scale
	// Resistance scales thermal resistances in K/W, so that Power times
	// Resistance, the temperature rise, is 0.6 to 1.05 of the standard: a cooler
	// is designed for its GPU.
	Resistance Scale
	// Capacity scales thermal capacities in J/K.
	Capacity Scale
	// Leakage scales the growth of static power in 1/K.
	Leakage Scale
	// Hottest is added to the throttle threshold of 87 °C: -2 to +8 K.
	Hottest float64
	// Coolant scales the litres in loops and coolant units.
	Coolant Scale
	// Pumps scales the time constant of pump controllers, 15 s.
	Pumps Scale
	// LinkSpeed is the speed of every cable in bits/s: 100, 200, 400 or 800
	// Gb/s; 0 is 400 Gb/s.
	LinkSpeed float64
	// Buffers scales queue thresholds in bytes: where marking begins and ends,
	// where pause begins, and the headroom behind it.
	Buffers Scale
	// Quanta scales the pause frames for a second of pause: 0.67 to 2. Standard is
	// 1.5 times the least that IEEE 802.1Qbb allows; no device sends fewer.
	Quanta Scale
	// Bursts scales marks and pause in health.
	Bursts Scale
	// Window scales the packets in flight, 150: a round trip of 6 to 24 µs.
	Window Scale
	// Retry scales the retransmission timeout of a queue pair, 2 s: 0.5 or 2, by
	// powers of two as NCCL_IB_TIMEOUT.
	Retry Scale
	// Storage scales the latency of storage in health.
	Storage Scale
	// Saving scales how many requests wait at storage while a job saves.
	Saving Scale
}

// linkSpeeds are those of Ethernet and InfiniBand generations since 2014.
var linkSpeeds = []float64{100e9, 200e9, 400e9, 800e9}

func drawPhysics(r *random.Source) Physics {
	p := Physics{Host: drawScale(r), Demand: Scale(r.Uniform(0.85, 1.1)), Capacity: drawScale(r), Leakage: drawScale(r),
		Hottest: r.Uniform(-2, 8), Coolant: drawScale(r), Pumps: drawScale(r), LinkSpeed: linkSpeeds[r.Below(len(linkSpeeds))],
		Buffers: drawScale(r), Quanta: Scale(r.Uniform(0.67, 2)), Bursts: drawScale(r), Window: drawScale(r),
		Retry: []Scale{0.5, 1, 2}[r.Below(3)], Storage: drawScale(r)}
	for rise := 0.0; rise < 0.6 || rise > 1.05; rise = p.Power.Of(float64(p.Resistance)) {
		p.Power, p.Resistance = Scale(logUniform(r, 0.57, 1.7)), drawScale(r)
	}
	p.Saving = drawScale(r)
	return p
}

// drawScale returns half to twice, each factor as likely as its inverse.
func drawScale(r *random.Source) Scale { return Scale(logUniform(r, 0.5, 2)) }

// logUniform returns a number whose logarithm is uniform between those of low
// and high.
func logUniform(r *random.Source, low, high float64) float64 {
	return stats.Exp(r.Uniform(stats.Log(low), stats.Log(high)))
}
