package symptom

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// fewPeers is the size below which a class has no median of its own: then
	// others of the site join, up to maxPeers.
	fewPeers = 4
	maxPeers = 64
)

// classify puts entities that should behave alike into classes: those of one kind,
// ports by what they join, switches by whether they face hosts, ranks by their
// stage and role, pumps by the coolant unit that they share; GPUs of the job are compared with each
// other: those of others work and wait for something else.
func (s *Survey) classify(placed []topology.Placement) {
	stage := map[int]string{}
	for _, p := range placed {
		if p.Rank >= 0 {
			stage[p.Rank] = fmt.Sprintf("%d/%s", p.PP, p.Role)
		}
	}
	known := map[string]int32{}
	met := len(s.all)
	for i := range met {
		s.join(known, int32(i), s.role(int32(i), stage))
	}
	for c := range s.alike {
		s.widen(int32(c), known)
	}
}

func (s *Survey) join(known map[string]int32, i int32, role string) {
	name := string(s.all[i].Kind) + " " + role
	c, ok := known[name]
	if !ok {
		c = int32(len(s.alike))
		known[name] = c
		s.alike = append(s.alike, nil)
	}
	s.class = append(s.class, c)
	s.alike[c] = append(s.alike[c], i)
}

// role is what entities of one kind differ in by design.
func (s *Survey) role(i int32, stage map[int]string) string {
	e := s.all[i]
	switch e.Kind {
	case telemetry.Rank:
		return stage[topology.RankNumber(e)]
	case telemetry.Port:
		owner, _ := s.graph.Container(e)
		peer, _, _ := s.graph.Peer(e)
		return tier(s.graph, owner) + s.endKind(e) + s.endKind(peer)
	case telemetry.Optic:
		if _, ok := s.index[telemetry.Entity{Kind: telemetry.NIC, Name: e.Name}]; ok {
			return "nic"
		}
	case telemetry.Switch:
		return tier(s.graph, e)
	case telemetry.GPU:
		if !s.used[i] {
			return "other"
		}
	case telemetry.Pump:
		unit, _ := s.graph.Container(e)
		return unit.Name
	}
	return ""
}

// endKind is of what kind an end of a cable is: a port of a NIC is a host's.
func (s *Survey) endKind(x telemetry.Entity) string {
	if _, ok := s.graph.NIC(x); ok {
		return string(telemetry.NIC)
	}
	return string(x.Kind)
}

// tier distinguishes switches that face hosts from those that do not.
func tier(g *topology.Graph, sw telemetry.Entity) string {
	if len(g.Downlinks(sw)) > 0 {
		return "access"
	}
	return "core"
}

// widen lets others of the site join a class of parts of the plant that has too
// few members for a median; they are not the job's.
func (s *Survey) widen(c int32, known map[string]int32) {
	members := s.alike[c]
	first := s.all[members[0]]
	if len(members) >= fewPeers {
		return
	}
	var more []telemetry.Entity
	switch first.Kind {
	case telemetry.NIC, telemetry.Fan, telemetry.Pump:
		if up, ok := s.graph.Container(first); ok {
			more = s.graph.Contents(up)
		}
	case telemetry.Node, telemetry.Rack, telemetry.Row, telemetry.Loop, telemetry.CDU, telemetry.PDU, telemetry.UPS,
		telemetry.Feed, telemetry.Shelf, telemetry.PSU, telemetry.CRAH, telemetry.Storage:
		more = s.graph.Entities(first.Kind)
	}
	for _, e := range more {
		if _, met := s.index[e]; met || e.Kind != first.Kind || len(s.alike[c]) >= maxPeers {
			continue
		}
		if i := s.meet(e, false); i >= 0 {
			s.class = append(s.class, c)
			s.alike[c] = append(s.alike[c], i)
		}
	}
}
