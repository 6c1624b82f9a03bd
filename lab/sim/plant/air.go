package plant

import (
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/heat"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
)

// air is what a row's air handler blows before its racks, what comes round from
// their exhaust, and the nodes' fans.
type air struct {
	cfg    Config
	room   float64 // °C that air handlers supply, the day's mean
	swing  float64 // kelvins up and down in a day
	turn   float64
	rows   []row
	fans   []nodeAir
	before []float64 // °C before each node of a row
}

// row is a row's air.
type row struct {
	first, last  int // nodes, first to before last
	supply       float64
	inlet        float64
	fan          float64 // the air handler's speed, 0 to 1
	watts        float64 // into the air
	recirculated [][]float64
	power        []float64 // watts each node gives to the air, as felt: the air mixes for a while
}

// nodeAir is a node's fans and what they blow.
type nodeAir struct {
	speed   float64   // that is asked for, 0 to 1
	fans    []float64 // that each has
	exhaust float64   // °C
	offset  float64   // kelvins by which its place is warmer than its row's mean
}

// Constants of air. Lags: 30 to 120 s behind a fan's loss, a room in minutes
// (rca.md C.1). The rest is ours, so that a full row of air-cooled nodes takes in
// air some 3 K warmer than it is supplied, and a node blows it out 15 K warmer
// (the 10 to 20 K that servers are built for).
const (
	cruise      = 0.75  // speed of a node's fans at nominal flow
	slowest     = 0.4   // … and at least
	perKelvin   = 0.015 // speed that fans add for each kelvin of inlet above comfort
	comfort     = 27.0  // °C, the upper end of ASHRAE's recommended range
	fanFollows  = 10.0  // seconds
	mixing      = 60.0  // seconds in which recirculated air follows the load
	blowing     = 90.0  // seconds in which a row's air follows its air handler
	own         = 0.10e-3
	rackmate    = 0.04e-3
	neighbour   = 0.010e-3
	far         = 0.002e-3 // kelvins per watt that come round: from itself, its rack, the next racks, the others
	exhaustRise = 15.0
	zone        = 0.7 // part of the air over a heatsink that comes from the fan before it
)

func newAir(s *site.Site, r random.Source, cfg Config) air {
	a := air{cfg: cfg, room: r.Uniform(20, 24), swing: r.Uniform(0.3, 1), turn: r.Float64(),
		rows: make([]row, s.Rows()), fans: make([]nodeAir, s.Nodes)}
	perRow := s.RacksPerRow * s.NodesPerRack
	for i := range a.rows {
		w := &a.rows[i]
		w.first, w.last, w.supply = i*perRow, min(s.Nodes, (i+1)*perRow), a.room
		n := w.last - w.first
		w.power = make([]float64, n)
		for to := range n {
			line := make([]float64, n)
			for from := range n {
				line[from] = float64(around(s, to, from) * r.Uniform(0.7, 1.3))
			}
			w.recirculated = append(w.recirculated, line)
		}
	}
	for i := range a.fans {
		a.fans[i] = nodeAir{speed: cruise, fans: make([]float64, s.Fans), offset: r.Within(0, 0.4)}
	}
	return a
}

// around is how warm a watt of one node of a row makes the air before another.
func around(s *site.Site, to, from int) float64 {
	apart := to/s.NodesPerRack - from/s.NodesPerRack
	switch {
	case to == from:
		return own
	case apart == 0:
		return rackmate
	case apart == 1 || apart == -1:
		return neighbour
	}
	return far
}

func (a *air) step(pl *Plant, in Input, dt float64) {
	s := pl.site
	today := a.room + float64(a.swing*wave(pl.seconds/day+a.turn))
	blown, mixed := 1-stats.Exp(-dt/blowing), 1-stats.Exp(-dt/mixing)
	for i := range a.rows {
		w := &a.rows[i]
		w.supply += float64((today + in.Condition.Rows[i].Supply - w.supply) * blown)
		w.watts = 0
		for k := range w.power {
			watts := a.into(s, in, w.first+k)
			w.watts += watts
			w.power[k] += float64((watts - w.power[k]) * mixed)
		}
		a.before = heat.Inlets(a.before, w.supply, w.recirculated, w.power)
		w.inlet = 0
		for k, inlet := range a.before {
			pl.Nodes[w.first+k].Inlet = inlet + a.fans[w.first+k].offset
			w.inlet += inlet / float64(len(a.before))
		}
		most := float64(float64(w.last-w.first) * pl.power.nodeMost)
		w.fan = 0.4 + float64(0.5*min(1, w.watts/most))
	}
	for node := range a.fans {
		a.blow(pl, in, node, dt)
	}
	for n := range pl.Switches {
		pl.Switches[n].Inlet = a.rows[pl.power.rowOf[n]].supply + 1.5
	}
}

// into is what a node gives to the air.
func (a *air) into(s *site.Site, in Input, node int) float64 {
	watts := in.NodeWatts[node]
	for gpu := node * s.GPUs; gpu < (node+1)*s.GPUs && !a.cfg.Air; gpu++ {
		watts -= in.GPUWatts[gpu]
	}
	return max(0, watts)
}

// blow moves a node's fans on. Their controller asks for more where the inlet is
// warm and where a fan gives less than it is asked for.
func (a *air) blow(pl *Plant, in Input, node int, dt float64) {
	f, n, c := &a.fans[node], &pl.Nodes[node], &in.Condition.Nodes[node]
	able := 0.0
	for k := range f.fans {
		able += factor(c.Fans, c.Fan, k) / float64(len(f.fans))
	}
	wanted := 1.0
	if able > 0 {
		wanted = max(slowest, min(1, (cruise+float64(perKelvin*(n.Inlet-comfort)))/able))
	}
	f.speed += float64((wanted - f.speed) * (1 - stats.Exp(-dt/fanFollows)))
	mean := 0.0
	for k := range f.fans {
		f.fans[k] = float64(f.speed * factor(c.Fans, c.Fan, k))
		mean += f.fans[k] / float64(len(f.fans))
	}
	n.Fans = mean / cruise
	rated := pl.power.nodeMost
	if !a.cfg.Air {
		rated = float64(a.cfg.hostMost() * float64(pl.site.GPUs))
	}
	f.exhaust = n.Inlet + min(mostRise, float64(exhaustRise*a.into(pl.site, in, node)/rated)/max(0.02, n.Fans))
	if !a.cfg.Air {
		return
	}
	n.Supply, n.Flow = 0, n.Fans
	for gpu := range n.zones {
		before := f.fans[gpu*len(f.fans)/len(n.zones)] / cruise
		n.zones[gpu] = float64(zone*before) + float64((1-zone)*n.Fans)
	}
}

// factor is of what it is asked for what fan k of a node gives.
func factor(of float64, which, k int) float64 {
	if which == 0 || which == k+1 {
		return max(0, of)
	}
	return 1
}
