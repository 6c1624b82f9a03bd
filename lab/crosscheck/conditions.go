package crosscheck

// conditions are what the parts of a site are like now. A fault changes
// conditions; nothing else states what a fault does.
type conditions struct {
	site *site

	// cables, by the port that sends
	cable []float64 // share of the speed
	take  []float64 // share of the cable that the far end takes
	loss  []float64 // share of packets lost
	down  []bool
	storm []float64 // share of time that the port is paused whatever comes
	slack []float64 // share of the speed that senders give away to needless marks
	mark  []float64 // factor on the marks; 0 where marking is off
	crowd struct{ leaf, up, first, count int }

	// adapters, by port
	pcie    []float64 // share of lanes left
	nicHeat []float64 // degrees more
	disturb []string  // what loss looks like here: errors, silent, reorder, class, headroom; "" by nothing

	// machines
	clock  []float64 // of a GPU, share of its own
	limit  []float64 // watts
	brake  []float64 // share of the clock left under a power brake
	plate  []float64 // factor on the resistance to the coolant
	nvlink []float64 // share of the speed
	broken []bool    // GPUs that have failed
	dead   []bool    // nodes
	delay  []float64 // factor on a node's computing that no sensor explains
	jitter []float64 // share of steps with a pause, of a node
	fans   [][]float64
	psu    [][]bool

	// plant
	flow      []float64 // of a rack's loop
	cduFlow   []float64
	warm      []float64 // degrees more in a CDU's supply
	row       []float64 // degrees more in a row's inlet
	feedDown  [2]bool
	pduDown   [][2]bool
	leak      []bool // racks
	rackLimit []float64

	// software
	storage  float64
	input    []float64 // seconds more a step, of a job
	ckpt     []float64 // factor
	stage    []float64 // factor on the last stage
	experts  []float64 // factor on the fullest expert's share
	arrivals []float64 // factor, of a serving job
	work     []float64 // factor on a job's work
	foreign  []bool    // the prepared extra transfers run
}

// reset makes everything nominal.
func (c *conditions) reset(jobs int) {
	n, p := len(c.site.nodes), len(c.site.ports)
	*c = conditions{site: c.site, storage: 1,
		cable: all(p, 1.), take: all(p, 1.), loss: make([]float64, p), down: make([]bool, p), storm: make([]float64, p), mark: all(p, 1.), slack: make([]float64, p),
		pcie: all(p, 1.), nicHeat: make([]float64, p), disturb: make([]string, p),
		clock: all(n*gpusPerNode, 1.), limit: all(n*gpusPerNode, tdp), brake: all(n*gpusPerNode, 1.), plate: all(n*gpusPerNode, 1.),
		nvlink: all(n*gpusPerNode, 1.), broken: make([]bool, n*gpusPerNode), dead: make([]bool, n), delay: all(n, 1.), jitter: make([]float64, n),
		flow: all(len(c.site.racks), 1.), cduFlow: all(c.site.cdus(), 1.), warm: make([]float64, c.site.cdus()), row: make([]float64, c.site.rowCount),
		pduDown: make([][2]bool, len(c.site.racks)), leak: make([]bool, len(c.site.racks)), rackLimit: all(len(c.site.racks), 0.),
		input: make([]float64, jobs), ckpt: all(jobs, 1.), stage: all(jobs, 1.), experts: all(jobs, 1.), arrivals: all(jobs, 1.), work: all(jobs, 1.),
		foreign: make([]bool, 1),
	}
	c.crowd.leaf = -1
	for range n {
		c.fans = append(c.fans, all(fansPerNode, 1.))
		c.psu = append(c.psu, all(psusPerNode, true))
	}
	if !c.site.ecn {
		clear(c.mark)
	}
}

func all[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// capacity returns the bytes a second that streams can send from a port.
func (c *conditions) capacity(p int) float64 {
	peer := c.site.ports[p].peer
	if c.down[p] || c.down[peer] {
		return 0
	}
	v := c.site.speed * wireShare * min(c.cable[p], c.cable[peer]) * c.taken(p) * (1 - c.storm[p]) * (1 - c.slack[p])
	if c.site.ports[p].nic {
		v *= c.bus(p)
	}
	// Go-back-N: each loss costs the window behind it again.
	return v / (1 + goBackN*c.loss[p])
}

// goBackN is the packets that one loss costs, time-outs included.
const goBackN = 3000

// taken returns the share of a cable's speed that its far end takes.
func (c *conditions) taken(p int) float64 {
	peer := c.site.ports[p].peer
	share := c.take[p]
	if c.site.ports[peer].nic {
		share = min(share, c.bus(peer))
	}
	return share
}

// bus returns the share of its cable's speed that an adapter's lanes carry:
// all sixteen carry a quarter more than the cable.
func (c *conditions) bus(nic int) float64 { return min(1, 1.28*c.pcie[nic]) }

// marking returns the factor on the marks of a port; 0 where it marks nothing.
func (c *conditions) marking(p int) float64 { return c.mark[p] }

// reroute returns the uplink that a stream between two leaves takes, -1 if none
// is left.
func (c *conditions) reroute(from, to, up, ordinal int, s *site) int {
	count := len(s.ups[from])
	if c.crowd.leaf == from && ordinal%c.crowd.count < c.crowd.first {
		up = c.crowd.up
	}
	for range count {
		a, b := s.ups[from][up], s.ups[to][up]
		if !c.down[a] && !c.down[s.ports[a].peer] && !c.down[b] && !c.down[s.ports[b].peer] {
			return up
		}
		up = (up + 1) % count
	}
	return -1
}
