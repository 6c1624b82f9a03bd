package site

import (
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// Source is the source that all edges of a simulated site name.
const Source = "file"

// Edges calls yield with every edge of the site, in an order that depends on
// the configuration alone, until it returns false.
func (s *Site) Edges(yield func(telemetry.Edge) bool) {
	w := writer{yield: yield, placed: map[telemetry.Entity]bool{}}
	for node := range s.Nodes {
		s.node(&w, node)
	}
	s.fabric(&w)
	for rack := range s.Racks {
		s.rack(&w, rack)
	}
	s.networkRacks(&w)
	s.rows(&w)
}

// writer yields edges until the consumer stops.
type writer struct {
	yield  func(telemetry.Edge) bool
	done   bool
	placed map[telemetry.Entity]bool // network racks that are stated
}

func (w *writer) edge(from telemetry.Entity, r telemetry.Relation, to telemetry.Entity, attrs ...telemetry.Attr) {
	if !w.done {
		w.done = !w.yield(telemetry.Edge{From: from, To: to, Relation: r, Source: Source, Attrs: attrs})
	}
}

// node states what is in a node.
func (s *Site) node(w *writer, node int) {
	n := NodeName(node)
	for i := range s.GPUs {
		gpu, nic := GPUName(node, i), NICName(node, i)
		w.edge(n, telemetry.Contains, gpu)
		w.edge(n, telemetry.Contains, nic)
		w.edge(gpu, telemetry.Pairs, nic)
		s.nicGroup(w, nic, i)
		for l := range s.NVLinks {
			link := NVLinkName(node, i, l)
			w.edge(gpu, telemetry.Contains, link)
			w.edge(link, telemetry.Connects, named(telemetry.NVSwitch, "%s/%d", n.Name, l%s.NVSwitches))
		}
	}
	if s.NVLinks > 0 {
		for i := range s.NVSwitches {
			w.edge(n, telemetry.Contains, named(telemetry.NVSwitch, "%s/%d", n.Name, i))
		}
	}
	for i := range s.Fans {
		w.edge(n, telemetry.Contains, FanName(node, i))
	}
}

func (s *Site) nicGroup(w *writer, nic telemetry.Entity, i int) {
	if s.Wiring == Rails {
		w.edge(nic, telemetry.Member, named(telemetry.Rail, "%d", i))
		return
	}
	w.edge(nic, telemetry.Member, named(telemetry.Plane, "%d", i))
}

// fabric states the switches, their tiers and planes, their cabled ports, and
// the cables.
func (s *Site) fabric(w *writer) {
	leafTier, spineTier := named(telemetry.Group, "tier/leaf"), named(telemetry.Group, "tier/spine")
	for f := range s.Fabrics {
		for l := range s.Leaves {
			s.member(w, LeafName(f, l), leafTier, f)
			if s.Wiring == Rails {
				w.edge(LeafName(f, l), telemetry.Member, named(telemetry.Rail, "%d", l%s.GPUs))
			}
		}
		for sp := range s.Spines {
			s.member(w, SpineName(f, sp), spineTier, f)
		}
	}
	speed := telemetry.Attr{Key: telemetry.AttrSpeed, Value: strconv.FormatFloat(s.Speed, 'f', -1, 64)}
	for c := range s.Cables() {
		lower, upper := s.Cable(c)
		w.edge(lower, telemetry.Connects, upper, speed)
		for _, port := range []telemetry.Entity{lower, upper} {
			if port.Kind == telemetry.Port {
				w.edge(telemetry.Entity{Kind: telemetry.Switch, Name: port.Prefix()}, telemetry.Contains, port)
			}
			if s.Optics {
				w.edge(port, telemetry.Contains, telemetry.Entity{Kind: telemetry.Optic, Name: port.Name})
			}
		}
	}
}

func (s *Site) member(w *writer, sw, tier telemetry.Entity, fabric int) {
	w.edge(sw, telemetry.Member, tier)
	if s.Wiring == Planes {
		w.edge(sw, telemetry.Member, named(telemetry.Plane, "%d", fabric))
	}
}
