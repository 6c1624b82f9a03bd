package sim_test

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

// bits is the digest of the numbers below, to their last bit: I7. It is the
// same on amd64, on arm64 and with GOAMD64=v3; a change of the physics changes
// it.
const bits = 0x2b67d2f426ecd8c0

// TestTheSameBitsEverywhere runs every mechanism for a while and compares what
// it comes to with what it came to when this was written.
func TestTheSameBitsEverywhere(t *testing.T) {
	h := fnv.New64a()
	add := func(xs ...float64) {
		for _, x := range xs {
			_ = binary.Write(h, binary.LittleEndian, math.Float64bits(x))
		}
	}
	r := random.New(1)
	for range 1000 {
		add(r.Uniform(1, 9), r.Normal(3, 2), r.LogNormal(2, 0.3), r.Exponential(5), float64(r.Choice([]float64{0.3, 0.1, 0.7})))
	}
	m, b := gpu.Draw(gpu.H100(), r.Named("chip")), heat.Plate(r.Named("plate"))
	s, die, supply := m.Start(), heat.State{Die: 35, Plate: 35}, 30.0
	loop := heat.Loop{Liters: 20, Effectiveness: 0.8}
	for i := range 1000 {
		a := gpu.Computing()
		if i%3 == 0 {
			a = gpu.Waiting(&r)
		}
		s = m.Step(s, gpu.Input{Activity: a, Celsius: die.Die}, 0.1)
		die = b.Step(die, heat.Input{Power: s.Power, Inlet: supply, Flow: r.Uniform(0.2, 1)}, 0.1)
		supply = loop.Supply(supply, heat.LoopInput{Load: 32 * s.Power, Flow: 40, Facility: 25}, 0.1)
		add(s.Clock, s.Power, die.Die, die.Plate, supply)
	}
	var solver network.Solver
	var out network.Lossless
	for range 20 {
		links, flows := drawn(&r)
		solver.Stop(&out, links, flows)
		add(out.Rates...)
		add(out.Stopped...)
	}
	c := network.DefaultReaction(1000)
	one := network.Sender{Rate: 1e6, Target: 2e6, Alpha: 0.5}
	for range 1000 {
		one = c.Step(one, 0.002, 1e-6)
	}
	add(one.Rate, one.Target, one.Alpha, c.Equilibrium(1e6))
	if got := h.Sum64(); got != bits {
		t.Errorf("the bits are %#x, were %#x", got, uint64(bits))
	}
}

func drawn(r *random.Source) (links []network.Link, flows []network.Flow) {
	for range 12 {
		speed := r.Uniform(10, 100)
		links = append(links, network.Link{Speed: speed, Drain: speed})
	}
	for range 20 { // numbers rise along a path: no cycle
		a, b := r.Below(6), 6+r.Below(6)
		flows = append(flows, network.Flow{Path: []int32{int32(a), int32(b)}, Demand: r.Uniform(1, 60)})
	}
	return links, flows
}
