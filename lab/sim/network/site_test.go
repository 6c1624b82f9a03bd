package network_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/site"
)

// ring is the traffic of one ring a plane over all nodes, hashed at each tier,
// each NIC sending to that of the node half a site away so that all of it goes
// over the spines.
func ring(s *site.Site, seed uint64, demand float64) []network.Flow {
	var flows []network.Flow
	for node := range s.Nodes {
		for nic := range s.GPUs {
			from, to := site.End{Node: node, NIC: nic}, site.End{Node: (node + s.Nodes/2) % s.Nodes, NIC: nic}
			leaf, spine := s.Choices(from, to)
			k := network.Key{From: uint32(node), To: uint32(to.Node), Entropy: uint32(nic)}
			choice := [2]int{network.Choose(seed, k, leaf), network.Choose(seed+1, k, spine)}
			flows = append(flows, network.Flow{Path: s.Path(nil, from, to, choice), Demand: demand})
		}
	}
	return flows
}

// TestHashingCostsARing: on a fabric that is not oversubscribed, one flow a NIC
// over hashed uplinks meets others, and the ring runs at the speed of the slowest,
// on the fullest uplink. Spread by hand, each has its own and no flow waits.
func TestHashingCostsARing(t *testing.T) {
	s, err := site.New(site.Config{Nodes: 64, NodesPerLeaf: 16})
	if err != nil {
		t.Fatal(err)
	}
	capacity := slices.Repeat([]float64{s.Speed}, s.Links())
	var solver network.Solver
	hashed := solver.MaxMin(nil, capacity, ring(s, 5, math.Inf(1)))
	load := make([]int, s.Links())
	flows := ring(s, 5, math.Inf(1))
	for _, f := range flows {
		for _, l := range f.Path {
			load[l]++
		}
	}
	near(t, "slowest", slices.Min(hashed), s.Speed/float64(slices.Max(load)), 1e-12)
	for i := range flows {
		node, nic := i/s.GPUs, i%s.GPUs
		choice := [2]int{node % s.NodesPerLeaf, node % s.NodesPerLeaf / s.Spines}
		flows[i].Path = s.Path(nil, site.End{Node: node, NIC: nic}, site.End{Node: (node + 32) % 64, NIC: nic}, choice)
	}
	near(t, "spread by hand", slices.Min(solver.MaxMin(nil, capacity, flows)), s.Speed, 0)
}

// BenchmarkReference is one settling of the reference site's 16,384 flows over
// 65,536 links.
func BenchmarkReference(b *testing.B) {
	s, err := site.New(site.Reference())
	if err != nil {
		b.Fatal(err)
	}
	capacity, links := slices.Repeat([]float64{s.Speed}, s.Links()), make([]network.Link, s.Links())
	for l := range links {
		links[l] = network.Link{Speed: s.Speed, Drain: s.Speed}
	}
	b.Run("fair", func(b *testing.B) {
		var solver network.Solver
		var dst []float64
		flows := ring(s, 5, math.Inf(1))
		b.ReportAllocs()
		for b.Loop() {
			dst = solver.MaxMin(dst, capacity, flows)
		}
	})
	b.Run("lossless", func(b *testing.B) {
		var solver network.Solver
		var out network.Lossless
		flows := ring(s, 5, s.Speed)
		b.ReportAllocs()
		for b.Loop() {
			solver.Stop(&out, links, flows)
		}
	})
}
