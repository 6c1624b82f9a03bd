package fabric

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// Group is a switch, or a plane or rail of switches, with its ends.
type Group struct {
	Entity telemetry.Entity
	// Role is what it has in common with its siblings: the tier and plane of a
	// switch, as far as they are reported, and whether it faces hosts.
	Role string
	Ends []int // main ends, in identity order
}

// group finds the switches and planes of the map.
func (m *Map) group(t *topology.Graph) {
	for _, sw := range t.Switches() {
		if ends := m.Links(sw); len(ends) > 0 {
			m.Switches = append(m.Switches, Group{sw, m.role(t, sw), ends})
		}
	}
	for _, kind := range []telemetry.Kind{telemetry.Plane, telemetry.Rail} {
		for _, p := range t.Entities(kind) {
			if ends := m.membersOf(t, p); len(ends) > 0 {
				m.Planes = append(m.Planes, Group{p, string(kind), ends})
			}
		}
	}
	slices.SortFunc(m.Planes, func(a, b Group) int { return a.Entity.Compare(b.Entity) })
}

// Switch returns the number of a switch among the map's, -1 if it is none of them.
func (m *Map) Switch(sw telemetry.Entity) int {
	return slices.IndexFunc(m.Switches, func(g Group) bool { return g.Entity == sw })
}

func (m *Map) role(t *topology.Graph, sw telemetry.Entity) string {
	var names []string
	for _, g := range t.Groups(sw) {
		names = append(names, g.String())
	}
	if slices.ContainsFunc(m.ports[sw], m.FacesHost) {
		names = append(names, "access")
	}
	return strings.Join(names, " ")
}

// membersOf lists the main ends of the NICs, ports and switches of a plane or rail.
func (m *Map) membersOf(t *topology.Graph, p telemetry.Entity) []int {
	var out []int
	for _, e := range t.Members(p) {
		switch e.Kind {
		case telemetry.NIC, telemetry.Port:
			for _, i := range m.of[e] {
				if m.Ends[i].Main {
					out = append(out, i)
				}
			}
		case telemetry.Switch:
			out = append(out, m.Links(e)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
