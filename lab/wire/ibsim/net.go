package ibsim

import (
	"bufio"
	"fmt"
	"io"
)

// Net is a subnet: its nodes and the cables between them.
type Net struct {
	Nodes  []Node
	Cables []Cable
}

// Node is a switch or an adapter. Its ports are numbered from 1.
type Node struct {
	GUID   uint64
	Switch bool
	Ports  int
	Name   string // as it describes itself
	LID    uint16 // 0 until a manager gives one, as which ibsim takes it
}

// Cable joins two ports of nodes.
type Cable struct {
	A, B  End
	Width int    // lanes: 1, 4, 8 or 12
	Speed string // of a lane: SDR, DDR, QDR, FDR10, FDR, EDR or HDR; ibsim has no others
}

// End is a port of Nodes[Node].
type End struct{ Node, Port int }

// The maker and the parts that are simulated: Quantum switches, ConnectX-7.
const (
	vendor        = 0x2c9
	switchDevice  = 0xd2f0
	adapterDevice = 0x1021
	firstSwitch   = 0x0c42a10300100000 // GUIDs; a port's is its node's and one more
	firstAdapter  = 0x0c42a20300100000
)

// ID is what ibsim calls a node.
func (n *Node) ID() string {
	if n.Switch {
		return fmt.Sprintf("S-%016x", n.GUID)
	}
	return fmt.Sprintf("H-%016x", n.GUID)
}

// Tree returns a tree of two tiers: adapters, eight to a node, spread evenly
// over leaves, and one cable from each leaf to each spine.
func Tree(adapters, leaves, spines int) *Net {
	n := &Net{}
	per := (adapters + leaves - 1) / leaves
	for i := range leaves {
		n.AddSwitch(fmt.Sprintf("MF0;leaf%02d:MQM8700/U1", i), per+spines)
	}
	for i := range spines {
		n.AddSwitch(fmt.Sprintf("MF0;spine%02d:MQM8700/U1", i), leaves)
	}
	for i := range adapters {
		a := n.AddAdapter(fmt.Sprintf("n%04d mlx5_%d", i/8, i%8))
		n.Cables = append(n.Cables, Cable{End{a, 1}, End{i / per, i%per + 1}, 4, "HDR"})
	}
	for l := range leaves {
		for s := range spines {
			n.Cables = append(n.Cables, Cable{End{l, per + s + 1}, End{leaves + s, l + 1}, 4, "HDR"})
		}
	}
	return n
}

// AddSwitch adds a switch and returns its number.
func (n *Net) AddSwitch(name string, ports int) int {
	n.Nodes = append(n.Nodes, Node{GUID: firstSwitch + uint64(len(n.Nodes))<<8, Switch: true, Ports: ports, Name: name})
	return len(n.Nodes) - 1
}

// AddAdapter adds an adapter with one port and returns its number.
func (n *Net) AddAdapter(name string) int {
	n.Nodes = append(n.Nodes, Node{GUID: firstAdapter + uint64(len(n.Nodes))<<8, Ports: 1, Name: name})
	return len(n.Nodes) - 1
}

// Find returns the number of the node with a name, -1 if there is none.
func (n *Net) Find(name string) int {
	for i := range n.Nodes {
		if n.Nodes[i].Name == name {
			return i
		}
	}
	return -1
}

// Write writes the subnet as ibsim reads it, which is as ibnetdiscover prints
// it: both ends of every cable are listed.
func (n *Net) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	far := make([][]farEnd, len(n.Nodes))
	for _, c := range n.Cables {
		far[c.A.Node] = append(far[c.A.Node], farEnd{c.A.Port, c.B, c})
		far[c.B.Node] = append(far[c.B.Node], farEnd{c.B.Port, c.A, c})
	}
	for i := range n.Nodes {
		x := &n.Nodes[i]
		fmt.Fprintf(b, "vendid=%#x\ndevid=%#x\nsysimgguid=%#x\n", vendor, x.device(), x.GUID)
		if x.Switch {
			fmt.Fprintf(b, "switchguid=%#x(%x)\nSwitch\t%d %q\t\t# \"%s\" enhanced port 0 lid %d lmc 0\n", x.GUID, x.GUID, x.Ports, x.ID(), x.Name, x.LID)
		} else {
			fmt.Fprintf(b, "caguid=%#x\nCa\t%d %q\t\t# \"%s\"\n", x.GUID, x.Ports, x.ID(), x.Name)
		}
		for _, f := range far[i] {
			f.write(b, n, x)
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// farEnd is where a port's cable goes.
type farEnd struct {
	port  int
	to    End
	cable Cable
}

func (f *farEnd) write(b *bufio.Writer, n *Net, x *Node) {
	y := &n.Nodes[f.to.Node]
	form := fmt.Sprintf("%dx%s", f.cable.Width, f.cable.Speed)
	switch {
	case !x.Switch:
		fmt.Fprintf(b, "[%d](%x) \t%q[%d]\t\t# lid %d lmc 0 \"%s\" lid %d %s\n", f.port, x.GUID+1, y.ID(), f.to.Port, x.LID, y.Name, y.LID, form)
	case y.Switch:
		fmt.Fprintf(b, "[%d]\t%q[%d]\t\t# \"%s\" lid %d %s\n", f.port, y.ID(), f.to.Port, y.Name, y.LID, form)
	default:
		fmt.Fprintf(b, "[%d]\t%q[%d](%x) \t\t# \"%s\" lid %d %s\n", f.port, y.ID(), f.to.Port, y.GUID+1, y.Name, y.LID, form)
	}
}

func (n *Node) device() int {
	if n.Switch {
		return switchDevice
	}
	return adapterDevice
}
