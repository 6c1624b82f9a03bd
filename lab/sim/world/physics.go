package world

import (
	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// chip draws a GPU of the world's kind.
func chip(r random.Source, p *worlds.Physics) gpu.Model {
	m := gpu.H100()
	m.Limit, m.Static = p.Power.Of(m.Limit), p.Power.Of(m.Static)
	m.Dynamic = p.Demand.Of(p.Power.Of(m.Dynamic))
	m.Hottest += p.Hottest
	m = gpu.Draw(m, r)
	m.Leakage = p.Leakage.Of(m.Leakage)
	return m
}

// cooled scales what cools a GPU.
func cooled(b heat.Body, p *worlds.Physics) heat.Body {
	b.DieCapacity, b.PlateCapacity = p.Capacity.Of(b.DieCapacity), p.Capacity.Of(b.PlateCapacity)
	b.DieResistance, b.PlateResistance = p.Resistance.Of(b.DieResistance), p.Resistance.Of(b.PlateResistance)
	return b
}

// buffered scales where a queue marks and, with it, where it stops its feeders.
func buffered(m network.Marking, by worlds.Scale) network.Marking {
	m.Min, m.Max = by.Of(m.Min), by.Of(m.Max)
	return m
}
