package worlds

import (
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/telemetry"
)

// Names is how hosts, adapters, switches and ports are called.
type Names struct {
	// Convention is 0 for the standard names, which package site gives, and 1 to
	// Conventions for others.
	Convention int
}

// Conventions is how many there are in addition to the standard names.
const Conventions = 10

func drawNames(r *random.Source) Names { return Names{Convention: 1 + r.Below(Conventions)} }

// convention names things by number. Ports of a switch count from 1.
type convention struct {
	node func(n int) string
	nic  func(n, i int) string
	sw   func(spine bool, fabric, n int) string
	port func(n int) string
}

// Entity returns an entity of the standard site under the convention's names.
// What is not in a host or switch keeps its name.
func (n Names) Entity(e telemetry.Entity) telemetry.Entity {
	if n.Convention == 0 {
		return e
	}
	c := conventions()[n.Convention-1]
	head, rest, inside := strings.Cut(e.Name, "/")
	switch e.Kind {
	case telemetry.Node, telemetry.GPU, telemetry.NVLink, telemetry.NVSwitch, telemetry.Fan:
		e.Name = join(c.host(head), rest, inside)
	case telemetry.NIC:
		e.Name = c.adapter(head, rest)
	case telemetry.Switch:
		e.Name = c.device(head)
	case telemetry.Port:
		e.Name = c.end(head, rest)
	case telemetry.Optic:
		if strings.HasPrefix(rest, standardPort) {
			e.Name = c.end(head, rest)
		} else {
			e.Name = c.adapter(head, rest)
		}
	}
	return e
}

// Target returns the name of a source's target.
func (n Names) Target(name string) string {
	for _, k := range []telemetry.Kind{telemetry.Node, telemetry.Switch} {
		if out := n.Entity(telemetry.Entity{Kind: k, Name: name}).Name; out != name {
			return out
		}
	}
	return name
}

// The standard names' parts, as package site writes them.
const (
	standardNode  = "n"
	standardNIC   = "mlx5_"
	standardPort  = "eth"
	standardPlane = "p"
	standardLeaf  = "leaf"
	standardSpine = "spine"
)

func join(head, rest string, inside bool) string {
	if inside {
		return head + "/" + rest
	}
	return head
}

// host returns a node's name, or the name itself where it is none.
func (c *convention) host(name string) string {
	if n, ok := number(name, standardNode); ok {
		return c.node(n)
	}
	return name
}

func (c *convention) adapter(node, nic string) string {
	n, _ := number(node, standardNode)
	i, ok := number(nic, standardNIC)
	if !ok {
		return node + "/" + nic
	}
	return c.host(node) + "/" + c.nic(n, i)
}

func (c *convention) device(name string) string {
	plane, rest, _ := strings.Cut(name, "-")
	fabric, ok := number(plane, standardPlane)
	if n, leaf := number(rest, standardLeaf); ok && leaf {
		return c.sw(false, fabric, n)
	}
	if n, spine := number(rest, standardSpine); ok && spine {
		return c.sw(true, fabric, n)
	}
	return name
}

func (c *convention) end(sw, port string) string {
	n, ok := number(port, standardPort)
	if !ok {
		return sw + "/" + port
	}
	return c.device(sw) + "/" + c.port(n)
}

// number reads what follows a prefix.
func number(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}
