package site

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// Wiring states which leaf switch a NIC is cabled to.
type Wiring uint8

const (
	// Planes gives NIC i of every node to plane i: as many fabrics that share
	// no switch as a node has NICs.
	Planes Wiring = iota
	// Rails gives NIC i of the nodes of a block to leaf i of that block, all
	// leaves under one set of spines.
	Rails
)

// Config describes how large a site is. Zero fields take what Default gives them.
type Config struct {
	Name   string // of the site; "lab"
	Nodes  int    // required; each with GPUs GPUs and as many NICs, one to one
	GPUs   int    // per node; 8
	Wiring Wiring

	Radix        int     // ports a switch; 64
	NodesPerLeaf int     // half the radix, or fewer so that there are two leaves
	Uplinks      int     // per leaf; as many as NodesPerLeaf: not oversubscribed
	Spines       int     // per fabric; see spines
	Speed        float64 // of every cable, bits per second; 400e9

	NVLinks    int // per GPU; 0 states none
	NVSwitches int // per node, where there are NVLinks; 4
	Optics     bool

	NodesPerRack int // 4
	RacksPerRow  int // 8
	RowsPerHall  int // 16
	RacksPerCDU  int // 4
	PSUs         int // per shelf, two shelves a rack; 6
	Fans         int // per node; 6
}

// Reference is the reference site: 16,384 GPUs in 2,048 nodes, 8
// planes, 768 switches of 64 ports.
func Reference() Config { return Config{Name: "reference", Nodes: 2048} }

// Sized is a site of so many GPUs, rounded up to whole nodes, NVLinks stated up
// to 1,024 GPUs (18 a GPU, 4 NVSwitches a node, as in an HGX H100).
func Sized(gpus int) Config {
	c := Config{Nodes: (gpus + 7) / 8}
	if gpus <= 1024 {
		c.NVLinks = 18
	}
	return c
}

// Site is a built site. Its fields are read only.
type Site struct {
	Config
	Fabrics int // networks that share no switch
	Leaves  int // per fabric
	Racks   int // with nodes; network racks come after
}

// New completes a configuration, or states what cannot be built.
func New(cfg Config) (*Site, error) {
	if cfg.Nodes < 1 {
		return nil, fmt.Errorf("site: %d nodes, at least 1", cfg.Nodes)
	}
	s := &Site{Config: withDefaults(cfg)}
	blocks := (s.Nodes + s.NodesPerLeaf - 1) / s.NodesPerLeaf
	s.Fabrics, s.Leaves = s.GPUs, blocks
	if s.Wiring == Rails {
		s.Fabrics, s.Leaves = 1, blocks*s.GPUs
	}
	s.Racks = (s.Nodes + s.NodesPerRack - 1) / s.NodesPerRack
	if s.Spines == 0 {
		s.Spines = spines(s.Leaves, s.Uplinks, s.Radix)
	}
	return s, s.check()
}

func withDefaults(c Config) Config {
	defaults := []struct {
		field *int
		value int
	}{
		{&c.GPUs, 8}, {&c.Radix, 64}, {&c.NVSwitches, 4}, {&c.NodesPerRack, 4}, {&c.RacksPerRow, 8}, {&c.RowsPerHall, 16},
		{&c.RacksPerCDU, 4}, {&c.PSUs, 6}, {&c.Fans, 6},
	}
	for _, d := range defaults {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Name == "" {
		c.Name = "lab"
	}
	if c.Speed == 0 {
		c.Speed = 400e9
	}
	if c.NodesPerLeaf == 0 {
		c.NodesPerLeaf = max(1, min(c.Radix/2, (c.Nodes+1)/2))
	}
	if c.Uplinks == 0 {
		c.Uplinks = c.NodesPerLeaf
	}
	return c
}

// spines returns the fewest spines, but four where a leaf has four uplinks,
// over which a leaf's uplinks divide evenly and whose ports hold all leaves; 0
// where none do. One spine would be one point of failure.
func spines(leaves, uplinks, radix int) int {
	for n := min(4, uplinks); n <= uplinks; n++ {
		if uplinks%n == 0 && leaves*(uplinks/n) <= radix {
			return n
		}
	}
	return 0
}

func (s *Site) check() error {
	switch {
	case min(s.GPUs, s.Radix, s.NodesPerLeaf, s.Uplinks, s.NodesPerRack, s.RacksPerRow, s.RowsPerHall, s.RacksPerCDU) < 1 || s.Speed <= 0:
		return fmt.Errorf("site %s: a size below 1", s.Name)
	case s.NodesPerLeaf+s.Uplinks > s.Radix:
		return fmt.Errorf("site %s: a leaf of %d nodes and %d uplinks has more than its %d ports", s.Name, s.NodesPerLeaf, s.Uplinks, s.Radix)
	case s.Spines < 1 || s.Uplinks%s.Spines != 0 || s.Leaves*(s.Uplinks/s.Spines) > s.Radix:
		return fmt.Errorf("site %s: %d leaves of %d uplinks do not fit under spines of %d ports in two tiers", s.Name, s.Leaves, s.Uplinks, s.Radix)
	}
	return nil
}

// Leaf returns the fabric and the leaf in it that a NIC is cabled to.
func (s *Site) Leaf(node, nic int) (fabric, leaf int) {
	block := node / s.NodesPerLeaf
	if s.Wiring == Rails {
		return 0, block*s.GPUs + nic
	}
	return nic, block
}

// HostCables is how many cables end at a NIC. They are numbered first.
func (s *Site) HostCables() int { return s.Nodes * s.GPUs }

// Cables is how many cables there are: a NIC's, then those between leaf and
// spine.
func (s *Site) Cables() int { return s.HostCables() + s.Fabrics*s.Leaves*s.Uplinks }

// Switches is how many switches there are.
func (s *Site) Switches() int { return s.Fabrics * (s.Leaves + s.Spines) }

// HostCable returns the number of the cable of a node's NIC.
func (s *Site) HostCable(node, nic int) int { return node*s.GPUs + nic }

// UplinkCable returns the number of a leaf's uplink cable. Uplink u goes to
// spine u modulo Spines.
func (s *Site) UplinkCable(fabric, leaf, uplink int) int {
	return s.HostCables() + (fabric*s.Leaves+leaf)*s.Uplinks + uplink
}

// Up and Down are the two directions of a cable as numbers of links: away from
// the nodes, and towards them. A link belongs to the port that sends on it.
func Up(cable int) int32 { return int32(2 * cable) }

// Down is the direction towards the nodes; see Up.
func Down(cable int) int32 { return int32(2*cable + 1) }

// Links is how many directions of cables there are.
func (s *Site) Links() int { return 2 * s.Cables() }

// End is a NIC as traffic's source or destination.
type End struct{ Node, NIC int }

// Choices returns over how many ways a hash may spread traffic between two
// NICs at the leaf (its uplinks) and then at the spine (parallel cables down):
// 1, 1 under one leaf and 0, 0 where no way exists, between planes.
func (s *Site) Choices(from, to End) (leaf, spine int) {
	fa, la := s.Leaf(from.Node, from.NIC)
	fb, lb := s.Leaf(to.Node, to.NIC)
	switch {
	case fa != fb:
		return 0, 0
	case la == lb:
		return 1, 1
	}
	return s.Uplinks, s.Uplinks / s.Spines
}

// Path appends to dst the links from one NIC to another that take the given
// choices, in the order in which traffic meets them.
func (s *Site) Path(dst []int32, from, to End, choice [2]int) []int32 {
	fabric, la := s.Leaf(from.Node, from.NIC)
	_, lb := s.Leaf(to.Node, to.NIC)
	dst = append(dst, Up(s.HostCable(from.Node, from.NIC)))
	if la != lb {
		spine := choice[0] % s.Spines
		dst = append(dst, Up(s.UplinkCable(fabric, la, choice[0])), Down(s.UplinkCable(fabric, lb, choice[1]*s.Spines+spine)))
	}
	return append(dst, Down(s.HostCable(to.Node, to.NIC)))
}

// Switch returns the number of a switch: a fabric's leaves, then its spines,
// fabric by fabric.
func (s *Site) Switch(fabric, n int) int { return fabric*(s.Leaves+s.Spines) + n }

// SwitchName returns the entity of a switch by its number.
func (s *Site) SwitchName(number int) telemetry.Entity {
	fabric, n := number/(s.Leaves+s.Spines), number%(s.Leaves+s.Spines)
	if n < s.Leaves {
		return LeafName(fabric, n)
	}
	return SpineName(fabric, n-s.Leaves)
}
