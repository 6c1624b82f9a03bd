package crosscheck

import "fmt"

// Kind is a kind of site.
type Kind string

// The kinds of site.
const (
	IB   Kind = "ib"
	RoCE Kind = "roce"
)

const gpusPerNode = 8

// port is an end of a cable: a host's adapter or a port of a switch.
type port struct {
	entity string
	nic    bool
	node   int // of an adapter
	sw     int // of a switch port
	uplink bool
	peer   int // the port at the other end, or -1
}

// device is a switch.
type device struct {
	entity string
	spine  bool
	ports  []int
}

// site is what is there and what is connected to what. It does not change.
type site struct {
	kind     Kind
	names    convention
	nodes    []string // names
	rails    int
	perRack  int
	racks    []string
	liquid   bool
	rowCount int

	ports    []port
	switches []device
	nics     [][]int // node, rail: port
	leafPort [][]int // node, rail: the leaf's port
	leafOf   [][]int // node, rail: index of the leaf
	ups      [][]int // leaf, uplink: the leaf's port
	spines   int
	idle     []int // ports of leaves with nothing plugged in but another idle host

	speed    float64 // bytes a second of a cable
	adaptive bool    // uplinks are used evenly, packet by packet
	ecn      bool    // senders are slowed by marks
	kappa    float64 // share of a standstill that ends as pause where marks slow the senders
}

// newSite draws a site.
func newSite(kind Kind, d dice) *site {
	s := &site{kind: kind, names: choose(d, conventions()...), liquid: d.chance(.55), perRack: choose(d, 2, 4), kappa: d.between(.03, .15)}
	n := 0
	if kind == IB {
		n, s.speed, s.adaptive = choose(d, 8, 10, 12, 16, 24, 32), 50e9, d.chance(.7)
	} else {
		n, s.speed, s.ecn = choose(d, 8, 12, 16, 20), choose(d, 25e9, 50e9), d.chance(.7)
	}
	s.rails = 8
	if n > 12 || d.chance(.25) {
		s.rails = 4
	}
	for i := range n {
		s.nodes = append(s.nodes, s.names.node(i/s.perRack, i%s.perRack, i))
	}
	for r := range (n + s.perRack - 1) / s.perRack {
		s.racks = append(s.racks, s.names.rack(r))
	}
	s.rowCount = 1 + len(s.racks)/5
	s.wire(kind == IB || d.chance(.4), choose(d, 1, 2))
	return s
}

// wire plugs adapters into leaves, by rail or by rack, and leaves into spines.
func (s *site) wire(byRail bool, oversubscription int) {
	n := len(s.nodes)
	group, leaves := 4, (n+3)/4
	if byRail {
		group = (n + 1) / 2
		leaves = 2 * s.rails
	}
	for l := range leaves {
		s.switches = append(s.switches, device{entity: "switch:" + s.names.leaf(l)})
	}
	s.nics, s.leafPort, s.leafOf = make([][]int, n), make([][]int, n), make([][]int, n)
	for i := range n {
		for r := range s.rails {
			leaf := i / group
			if byRail {
				leaf = i/group*s.rails + r
			}
			nic := s.addPort(port{entity: fmt.Sprintf("nic:%s/%s", s.nodes[i], s.names.nic(r)), nic: true, node: i, sw: -1})
			host := s.addSwitchPort(leaf, false)
			s.plug(nic, host)
			s.nics[i], s.leafPort[i], s.leafOf[i] = append(s.nics[i], nic), append(s.leafPort[i], host), append(s.leafOf[i], leaf)
		}
	}
	hosts := group * s.rails
	if byRail {
		hosts = group
	}
	count := max(2, hosts/(2*oversubscription))
	s.spines = min(4, count)
	for k := range s.spines {
		s.switches = append(s.switches, device{entity: "switch:" + s.names.spine(k), spine: true})
	}
	for l := range leaves {
		var ups []int
		for u := range count {
			up, down := s.addSwitchPort(l, true), s.addSwitchPort(leaves+u%s.spines, false)
			s.plug(up, down)
			ups = append(ups, up)
		}
		s.ups = append(s.ups, ups)
	}
}

func (s *site) addPort(p port) int {
	p.peer = -1
	s.ports = append(s.ports, p)
	return len(s.ports) - 1
}

func (s *site) addSwitchPort(sw int, uplink bool) int {
	dev := &s.switches[sw]
	name := dev.entity[len("switch:"):]
	i := s.addPort(port{entity: fmt.Sprintf("port:%s/%s", name, s.names.port(len(dev.ports))), node: -1, sw: sw, uplink: uplink})
	dev.ports = append(dev.ports, i)
	return i
}

func (s *site) plug(a, b int) { s.ports[a].peer, s.ports[b].peer = b, a }

func (s *site) rackOf(node int) int { return node / s.perRack }

func (s *site) rowOf(node int) int { return s.rackOf(node) % s.rowCount }

// cdus is how many coolant units there are; racks alternate between them.
func (s *site) cdus() int { return 1 + len(s.racks)/4 }

func (s *site) cduOf(node int) int { return s.rackOf(node) % s.cdus() }

func (s *site) nodeEntity(n int) string { return "node:" + s.nodes[n] }

func (s *site) gpuEntity(g int) string {
	return fmt.Sprintf("gpu:%s/%d", s.nodes[g/gpusPerNode], g%gpusPerNode)
}

func (s *site) loopEntity(rack int) string { return "loop:" + s.racks[rack] }
func (s *site) cduEntity(i int) string     { return fmt.Sprintf("cdu:cdu-%d", i+1) }
func (s *site) pumpEntity(c, i int) string { return fmt.Sprintf("pump:cdu-%d/p%d", c+1, i+1) }
func (s *site) rowEntity(i int) string     { return fmt.Sprintf("row:row%d", i+1) }
func (s *site) crahEntity(i int) string    { return fmt.Sprintf("crah:crah%d", i+1) }
func (s *site) fanEntity(n, i int) string  { return fmt.Sprintf("fan:%s/fan%d", s.nodes[n], i+1) }
func (s *site) psuEntity(n, i int) string  { return fmt.Sprintf("psu:%s/psu%d", s.nodes[n], i) }
func (s *site) pduEntity(r, i int) string  { return fmt.Sprintf("pdu:%s-%c", s.racks[r], 'a'+rune(i)) }
func (s *site) feedEntity(i int) string    { return fmt.Sprintf("feed:%c", 'a'+rune(i)) }

const (
	fansPerNode = 6
	psusPerNode = 4 // two on each side
)

// Edge is a relation of the topology.
type Edge struct {
	From, To, Relation string
	Attrs              map[string]any
}

// edges states the site, without its jobs.
func (s *site) edges() []Edge {
	var out []Edge
	add := func(from, rel, to string) { out = append(out, Edge{From: from, To: to, Relation: rel}) }
	for i := range s.ports {
		if p := &s.ports[i]; p.peer > i {
			out = append(out, Edge{p.entity, s.ports[p.peer].entity, "connects", map[string]any{"speed_bits_per_second": int64(8 * s.speed)}})
		}
	}
	for n := range s.nodes {
		for g := range gpusPerNode {
			gpu := s.gpuEntity(n*gpusPerNode + g)
			add(s.nodeEntity(n), "contains", gpu)
			add(gpu, "pairs", s.ports[s.nics[n][g*s.rails/gpusPerNode]].entity)
		}
		for i := range psusPerNode {
			add(s.pduEntity(s.rackOf(n), i%2), "feeds", s.psuEntity(n, i))
			add(s.psuEntity(n, i), "feeds", s.nodeEntity(n))
			add(s.nodeEntity(n), "contains", s.psuEntity(n, i))
		}
		add("rack:"+s.racks[s.rackOf(n)], "contains", s.nodeEntity(n))
		if s.liquid {
			add(s.loopEntity(s.rackOf(n)), "cools", s.nodeEntity(n))
			continue
		}
		for i := range fansPerNode {
			add(s.nodeEntity(n), "contains", s.fanEntity(n, i))
			add(s.fanEntity(n, i), "cools", s.nodeEntity(n))
		}
	}
	return append(out, s.plantEdges()...)
}

func (s *site) plantEdges() []Edge {
	var out []Edge
	add := func(from, rel, to string) { out = append(out, Edge{From: from, To: to, Relation: rel}) }
	for r, name := range s.racks {
		row := r % s.rowCount
		add(s.rowEntity(row), "contains", "rack:"+name)
		for side := range 2 {
			add(s.feedEntity(side), "feeds", s.pduEntity(r, side))
			add(s.pduEntity(r, side), "feeds", "rack:"+name)
		}
		if s.liquid {
			add(s.cduEntity(r%s.cdus()), "cools", s.loopEntity(r))
		}
	}
	for row := range s.rowCount {
		add("hall:h1", "contains", s.rowEntity(row))
		if !s.liquid {
			add(s.crahEntity(row), "cools", s.rowEntity(row))
		}
	}
	if s.liquid {
		for c := range s.cdus() {
			add(s.cduEntity(c), "contains", s.pumpEntity(c, 0))
			add(s.cduEntity(c), "contains", s.pumpEntity(c, 1))
		}
	}
	return out
}
