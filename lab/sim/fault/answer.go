package fault

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// Answer is what counts as right besides a fault's own name and entity, and which
// entities are its victims (docs/scoring.md).
type Answer struct {
	Domain  string
	Expect  Expect
	Accept  []telemetry.Entity
	Alike   []string
	Victims []telemetry.Entity
}

// Answer returns the answer to a fault, or states why it is none of the scene's.
func (s *Scene) Answer(f Fault) (Answer, error) {
	p, err := NewPlan(s, []Fault{f})
	if err != nil {
		return Answer{}, err
	}
	k, at := p.faults[0].kind, p.faults[0].at
	a := Answer{Domain: k.Domain, Expect: k.Expect, Alike: k.Alike}
	switch k.Domain {
	case "network":
		s.networkAnswer(&a, f, at)
	case "power":
		s.powerAnswer(&a, f, at)
	case "cooling":
		s.coolingAnswer(&a, f, at)
	default:
		s.machineAnswer(&a, f, at)
	}
	return a, nil
}

func (a *Answer) accept(es ...telemetry.Entity) { a.Accept = append(a.Accept, es...) }
func (a *Answer) victim(es ...telemetry.Entity) { a.Victims = append(a.Victims, es...) }

func (s *Scene) networkAnswer(a *Answer, f Fault, at place) {
	switch f.Name {
	case "slow-receiver", "pfc-storm", "pcie-downgrade", "credit-stall", "reordering", "benign-reorder":
		_, facing := s.Site.Cable(at.nic)
		a.accept(site.NodeName(at.node))
		if f.Name == "pcie-downgrade" {
			a.accept(site.GPUName(at.node, at.nic%s.Site.GPUs)) // behind the same PCIe switch, one to one
		}
		a.victim(facing, telemetry.Entity{Kind: telemetry.Switch, Name: facing.Prefix()})
	case "incast":
		a.accept(site.NICName(at.node, at.nic%s.Site.GPUs))
	case "pfc-deadlock":
		for _, l := range s.cycle(at.sw) {
			from, to := s.Site.Sender(l)
			for _, port := range []telemetry.Entity{from, to} {
				a.accept(telemetry.Entity{Kind: telemetry.Switch, Name: port.Prefix()})
			}
		}
	case "plane-imbalance":
		if perFabric := s.Site.Leaves + s.Site.Spines; at.fabric >= 0 {
			for n := range perFabric {
				a.accept(s.Site.SwitchName(at.fabric*perFabric + n))
			}
		}
		if at.sw >= 0 {
			a.accept(telemetry.Entity{Kind: telemetry.Rail, Name: fmt.Sprint(at.sw % (s.Site.Leaves + s.Site.Spines) % s.Site.GPUs)})
			for _, sw := range s.rail(at.sw) {
				a.accept(s.Site.SwitchName(sw))
			}
		}
	}
	if f.Entity.Kind == telemetry.Port || f.Entity.Kind == telemetry.Optic || at.link >= 0 && len(a.Accept) == 0 {
		s.cableAnswer(a, f, at)
	}
	a.Accept = without(a.Accept, f.Entity)
}

// cableAnswer accepts what else is on the cable: either end, either module.
func (s *Scene) cableAnswer(a *Answer, f Fault, at place) {
	if f.Name == "incast" {
		return
	}
	lower, upper := s.Site.Cable(int(at.link / 2))
	for _, end := range []telemetry.Entity{lower, upper} {
		a.accept(end)
		if s.Site.Optics {
			a.accept(telemetry.Entity{Kind: telemetry.Optic, Name: end.Name})
		}
		if end.Kind == telemetry.Port {
			a.victim(telemetry.Entity{Kind: telemetry.Switch, Name: end.Prefix()})
		}
	}
}

func without(es []telemetry.Entity, e telemetry.Entity) (out []telemetry.Entity) {
	seen := map[telemetry.Entity]bool{e: true}
	for _, x := range es {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}

func (s *Scene) powerAnswer(a *Answer, f Fault, at place) {
	switch f.Entity.Kind {
	case telemetry.Shelf:
		a.accept(site.RackName(at.rack))
		if f.Variant == 1 {
			for i := range s.Site.PSUs {
				a.accept(site.PSUName(at.rack, at.side, i))
			}
		}
		a.victim(s.nodesWhere(s.rackOf, at.rack)...)
	case telemetry.Rack:
		a.victim(s.nodesWhere(s.rackOf, at.rack)...)
	case telemetry.PDU:
		a.victim(s.nodesWhere(s.rowOf, at.row)...)
	case telemetry.UPS:
		a.accept(telemetry.Entity{Kind: telemetry.Battery, Name: f.Entity.Name})
		a.victim(s.nodesWhere(s.hallOf, at.row/s.Site.RowsPerHall)...)
	case telemetry.Feed:
		for hall := range s.Site.Halls() {
			a.victim(site.UPSName(hall, at.side))
		}
	}
}

func (s *Scene) coolingAnswer(a *Answer, f Fault, at place) {
	switch f.Entity.Kind {
	case telemetry.Loop:
		a.accept(telemetry.Entity{Kind: telemetry.Valve, Name: f.Entity.Name})
		if f.Name == "leak" {
			a.accept(site.RackName(at.rack))
		} else {
			s.onlyLoop(a, at.rack/s.Site.RacksPerCDU)
		}
		a.victim(s.nodesWhere(s.rackOf, at.rack)...)
	case telemetry.Pump:
		a.accept(site.CDUName(at.unit))
		s.onlyLoop(a, at.unit)
	case telemetry.CDU:
		if f.Name == "coolant-flow-loss" {
			a.accept(site.PumpName(at.unit, 0), site.PumpName(at.unit, 1))
		}
		s.onlyLoop(a, at.unit)
	case telemetry.CRAH:
		a.accept(site.RowName(at.row))
		if s.Site.Rows() == 1 {
			a.accept(telemetry.Entity{Kind: telemetry.Hall, Name: "hall0"})
		}
		a.victim(s.nodesWhere(s.rowOf, at.row)...)
	case telemetry.Optic:
		s.cableAnswer(a, f, at)
	case telemetry.NIC:
		if s.Site.Optics {
			a.accept(telemetry.Entity{Kind: telemetry.Optic, Name: f.Entity.Name})
		}
	}
	if at.unit >= 0 {
		a.victim(s.nodesWhere(s.unitOf, at.unit)...)
	}
	a.Accept = without(a.Accept, f.Entity)
}

// onlyLoop accepts the loop for its unit and the other way round where a unit has
// one rack: no measurement could distinguish them.
func (s *Scene) onlyLoop(a *Answer, unit int) {
	first, last := unit*s.Site.RacksPerCDU, min(s.Site.Racks, (unit+1)*s.Site.RacksPerCDU)
	if last-first != 1 {
		return
	}
	a.accept(site.CDUName(unit), site.LoopName(first))
}

func (s *Scene) machineAnswer(a *Answer, f Fault, at place) {
	switch f.Entity.Kind {
	case telemetry.Rank:
		a.accept(site.GPUName(at.node, at.gpu%s.Site.GPUs), site.NodeName(at.node))
	case telemetry.NVSwitch:
		a.accept(site.NodeName(at.node))
	case telemetry.GPU, telemetry.NVLink:
		if f.Name != "nvlink-degraded" {
			break
		}
		gpu := at.gpu % s.Site.GPUs
		a.accept(site.GPUName(at.node, gpu))
		for l := range s.Site.NVLinks {
			a.accept(site.NVLinkName(at.node, gpu, l))
		}
	case telemetry.Node:
		if f.Name != "slow-rank" {
			break
		}
		for j := range s.Jobs {
			for i, node := range s.Jobs[j].Nodes {
				for gpu := range s.Site.GPUs {
					if node == at.node {
						a.accept(telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("%s/%d", s.Jobs[j].Name, i*s.Site.GPUs+gpu)})
					}
				}
			}
		}
	case telemetry.Storage:
		for _, j := range s.Jobs {
			a.victim(jobEntity(j.Name))
		}
	}
	a.Accept = without(a.Accept, f.Entity)
}

// nodesWhere returns the nodes for which of returns a number.
func (s *Scene) nodesWhere(of func(int) int, n int) (out []telemetry.Entity) {
	for node := range s.Site.Nodes {
		if of(node) == n {
			out = append(out, site.NodeName(node))
		}
	}
	return out
}
