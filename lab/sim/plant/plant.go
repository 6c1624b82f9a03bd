package plant

import (
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// Config describes how a site is fed and cooled.
type Config struct {
	Air    bool // GPUs under heatsinks in the node's air, not on plates
	Direct bool // racks fed with 800 V DC: fewer conversions, and one shelf carries while the other stands by
	// Side is what each side can carry, in parts of the most that all machines
	// behind it draw. 0 is 1.1: either side carries all. Below 1 the loss of a
	// side makes machines brake (the reserve is sold, as in Zhang et al.,
	// "Flex", ISCA 2021).
	Side float64
	// Physics scales what machines draw and how coolant moves.
	Physics worlds.Physics
}

// gpuMost and hostMost are the most that machines draw in this plant, watts.
func (c *Config) gpuMost() float64  { return c.Physics.Power.Of(GPUMost) }
func (c *Config) hostMost() float64 { return c.Physics.Host.Of(HostMost) }

// The most that machines draw at the standard site, watts.
const (
	GPUMost    = 700.0  // the H100 board's limit
	HostMost   = 450.0  // of a node beyond its GPUs, per GPU: a node of 8 is rated at 9.2 kW, a DGX H100 at 10.2
	switchDraw = 1200.0 // a switch of 64 ports of 400 Gb/s, optics included; always
)

// Plant is the plant of a site. Nodes and Switches are what its machines get,
// after each Step; Site's numbers are their indices.
type Plant struct {
	Nodes    []Node
	Switches []Switch

	site    *site.Site
	cfg     Config
	seconds float64 // since the start
	power   power
	water   water
	air     air
}

// Node is what a node gets.
type Node struct {
	Supply  float64 // °C of coolant at its plates; 0 where it is cooled by air
	Flow    float64 // of coolant, or of air through all its heatsinks: parts of the nominal one
	Inlet   float64 // °C of air
	Fans    float64 // mean speed of its fans over the nominal one
	Limit   float64 // watts that policies allow the node; 0 none
	Brake   bool    // the power brake's signal is drawn
	Powered bool
	zones   []float64 // air over each GPU's heatsink, parts of the nominal flow; none with plates
}

// FlowAt is the flow over one GPU's plate or heatsink, in parts of the nominal
// one. Behind a stopped fan less air comes than behind the others.
func (n *Node) FlowAt(gpu int) float64 {
	if gpu < len(n.zones) {
		return n.zones[gpu]
	}
	return n.Flow
}

// Switch is what a switch gets.
type Switch struct {
	Inlet   float64 // °C of air
	Powered bool
}

// Input is what acts on the plant during a step.
type Input struct {
	GPUWatts  []float64 // by node·GPUs + gpu
	NodeWatts []float64 // by node: at the outputs of its supplies, GPUs included
	Condition *condition.Set
}

// New returns the plant of a site as it is after a while at three quarters
// of the most that its machines draw. Sizes differ from seed to seed as they
// do between makers.
func New(s *site.Site, seed random.Source, cfg Config) *Plant {
	if cfg.Side <= 0 {
		cfg.Side = 1.1
	}
	p := &Plant{site: s, cfg: cfg, Nodes: make([]Node, s.Nodes), Switches: make([]Switch, s.Switches())}
	for i := range p.Nodes {
		p.Nodes[i] = Node{Flow: 1, Fans: 1, Powered: true}
		if cfg.Air {
			p.Nodes[i].zones = make([]float64, s.GPUs)
		}
	}
	p.power = newPower(s, cfg)
	p.water = newWater(s, seed.Named("water"), cfg)
	p.air = newAir(s, seed.Named("air"), cfg)
	p.start()
	return p
}

// startsAt is of the most that machines draw what New assumes that they did.
const startsAt = 0.75

// start brings temperatures to rest under three quarters of the most.
func (p *Plant) start() {
	in := Input{GPUWatts: make([]float64, p.site.Nodes*p.site.GPUs), NodeWatts: make([]float64, p.site.Nodes), Condition: condition.New(p.site, 0)}
	for i := range in.GPUWatts {
		in.GPUWatts[i] = float64(startsAt * p.cfg.gpuMost())
	}
	for i := range in.NodeWatts {
		in.NodeWatts[i] = float64(startsAt * p.power.nodeMost)
	}
	const long = 1e5 // seconds: beyond every lag
	for range 3 {    // a loop rests when its coolant unit does
		p.move(in, long)
	}
}

// Step moves the plant dt seconds on. What machines draw applies to the whole
// step; what they get is at its end.
func (p *Plant) Step(in Input, dt float64) {
	p.seconds += dt
	p.move(in, dt)
}

// move is a step during which the time of day does not change.
func (p *Plant) move(in Input, dt float64) {
	p.power.step(p, in, dt)
	p.water.step(p, in, dt)
	p.air.step(p, in, dt)
}

// nodesOf returns the nodes of a rack, first to before last.
func nodesOf(s *site.Site, rack int) (first, last int) {
	return rack * s.NodesPerRack, min(s.Nodes, (rack+1)*s.NodesPerRack)
}

// wave swings between -1 and 1 once in a turn: two parabolas, which differ from
// a sine by less than 6 %.
func wave(turn float64) float64 {
	turn -= float64(int(turn))
	if turn < 0.5 {
		return float64(8 * turn * (1 - float64(2*turn)))
	}
	turn -= 0.5
	return float64(-8 * turn * (1 - float64(2*turn)))
}

const day = 86400.0 // seconds
