package fault

import (
	"fmt"
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// Scene is where faults strike: a site and what runs on it.
type Scene struct {
	Site       *site.Site
	Jobs       []Job // in the order of condition.Set's
	Air        bool  // nodes are cooled by air
	InfiniBand bool
	Adaptive   bool   // routing spreads by load: no hash puts flows together
	Storage    string // name of the storage that jobs use; "lustre0"
	// Sent is how many bytes each link carries in health, where it is known:
	// faults on links then strike those that carry something.
	Sent []float64
	// Carried is by job what of that, in any unit, is the job's own, where it is
	// known: faults on links then strike those that matter to it.
	Carried [][]float64
	// Power and Host scale what GPUs and the rest of a node draw at most.
	Power, Host worlds.Scale
	// Pace scales severities in seconds a step: the site's steps over the usual
	// ones, where they are longer.
	Pace worlds.Scale
}

// gpuMost and nodeMost are the most that a GPU and a node draw, watts.
func (s *Scene) gpuMost() float64 { return s.Power.Of(plant.GPUMost) }

func (s *Scene) nodeMost() float64 {
	return float64(float64(s.Site.GPUs) * (s.gpuMost() + s.Host.Of(plant.HostMost)))
}

// Job is what a fault has to know of a job.
type Job struct {
	Name        string
	Nodes       []int // in the order of ranks, each with all its GPUs
	Serving     bool
	Stages      int  // pipeline stages; 0 and 1 none
	Experts     int  // expert-parallel nodes; 0 and 1 none
	Checkpoints bool // it writes some during the run
}

// place is an entity by the site's numbers; what an entity has none of is -1.
type place struct {
	job, node, gpu, nic, fan  int // gpu and nic: node·GPUs + its number
	link                      int32
	sw, fabric                int
	rack, side, row, unit     int
	pump                      int
	storage, nvswitch, nvlink bool
}

// locate finds an entity, or states that it is not there.
func (s *Scene) locate(e telemetry.Entity) (place, error) {
	p := place{job: -1, node: -1, gpu: -1, nic: -1, fan: -1, link: -1, sw: -1, fabric: -1, rack: -1, side: -1, row: -1, unit: -1, pump: -1}
	if s.find(&p, e) {
		return p, nil
	}
	return p, fmt.Errorf("%s is not on the site", e)
}

// find fills in what an entity is.
func (s *Scene) find(p *place, e telemetry.Entity) bool {
	switch e.Kind {
	case telemetry.Job:
		p.job = s.job(e.Name)
		return p.job >= 0
	case telemetry.Rank:
		return s.findRank(p, e)
	case telemetry.Node, telemetry.GPU, telemetry.NIC, telemetry.Fan, telemetry.NVSwitch, telemetry.NVLink:
		return s.findMachine(p, e)
	case telemetry.Port, telemetry.Optic:
		return s.findPort(p, e)
	case telemetry.Switch:
		return number(&p.sw, s.Site.Switches(), e, s.Site.SwitchName)
	case telemetry.Plane, telemetry.SM:
		return number(&p.fabric, s.Site.Fabrics, e, func(i int) telemetry.Entity {
			if e.Kind == telemetry.SM {
				return SubnetManager(i)
			}
			return planeEntity(i)
		})
	case telemetry.Storage:
		p.storage = e == s.storage()
		return p.storage
	}
	return s.findPlant(p, e)
}

func planeEntity(fabric int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Plane, Name: fmt.Sprint(fabric)}
}

// SubnetManager is the entity of the subnet manager of a fabric.
func SubnetManager(fabric int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.SM, Name: fmt.Sprintf("p%d", fabric)}
}

func (s *Scene) storage() telemetry.Entity {
	name := s.Storage
	if name == "" {
		name = "lustre0"
	}
	return telemetry.Entity{Kind: telemetry.Storage, Name: name}
}

func (s *Scene) job(name string) int {
	for i := range s.Jobs {
		if s.Jobs[i].Name == name {
			return i
		}
	}
	return -1
}

// number finds which of n things has a name.
func number(dst *int, n int, e telemetry.Entity, name func(int) telemetry.Entity) bool {
	for i := range n {
		if name(i) == e {
			*dst = i
			return true
		}
	}
	return false
}

func (s *Scene) findRank(p *place, e telemetry.Entity) bool {
	j := s.job(e.Prefix())
	if j < 0 {
		return false
	}
	p.job = j
	for r := range len(s.Jobs[j].Nodes) * s.Site.GPUs {
		if s.rank(j, r) == e {
			p.node = s.Jobs[j].Nodes[r/s.Site.GPUs]
			p.gpu = p.node*s.Site.GPUs + r%s.Site.GPUs
			return true
		}
	}
	return false
}

func (s *Scene) rank(job, rank int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("%s/%d", s.Jobs[job].Name, rank)}
}

func nvswitch(node, n int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.NVSwitch, Name: fmt.Sprintf("%s/%d", site.NodeName(node).Name, n)}
}

func (s *Scene) findMachine(p *place, e telemetry.Entity) bool {
	head, _, _ := strings.Cut(e.Name, "/")
	if !number(&p.node, s.Site.Nodes, telemetry.Entity{Kind: telemetry.Node, Name: head}, site.NodeName) {
		return false
	}
	first := p.node * s.Site.GPUs
	switch e.Kind {
	case telemetry.GPU:
		ok := number(&p.gpu, s.Site.GPUs, e, func(i int) telemetry.Entity { return site.GPUName(p.node, i) })
		p.gpu += first
		return ok
	case telemetry.NIC:
		ok := number(&p.nic, s.Site.GPUs, e, func(i int) telemetry.Entity { return site.NICName(p.node, i) })
		p.nic += first
		p.link = site.Up(p.nic)
		return ok
	case telemetry.Fan:
		return number(&p.fan, s.Site.Fans, e, func(i int) telemetry.Entity { return site.FanName(p.node, i) })
	case telemetry.NVSwitch:
		n := 0
		p.nvswitch = true
		return number(&n, s.Site.NVSwitches, e, func(i int) telemetry.Entity { return nvswitch(p.node, i) })
	case telemetry.NVLink:
		p.nvlink = true
		for gpu := range s.Site.GPUs {
			for l := range s.Site.NVLinks {
				if site.NVLinkName(p.node, gpu, l) == e {
					p.gpu = first + gpu
					return true
				}
			}
		}
		return false
	}
	return e.Name == head
}

// findPort finds the link that a port, or the port of a module, sends on.
func (s *Scene) findPort(p *place, e telemetry.Entity) bool {
	for c := range s.Site.Cables() {
		lower, upper := s.Site.Cable(c)
		switch {
		case lower.Name == e.Name && (lower.Kind == e.Kind || e.Kind == telemetry.Optic):
			p.link = site.Up(c)
		case upper.Name == e.Name:
			p.link = site.Down(c)
		default:
			continue
		}
		if c < s.Site.HostCables() {
			p.nic, p.node = c, c/s.Site.GPUs
		}
		return true
	}
	return false
}

func (s *Scene) findPlant(p *place, e telemetry.Entity) bool {
	for side := range 2 {
		p.side = side
		if e == site.FeedName(side) {
			return true
		}
		for rack := range s.Site.Racks {
			if e == site.ShelfName(rack, side) {
				p.rack = rack
				return true
			}
		}
		for row := range s.Site.Rows() {
			if e == site.PDUName(row, side) || row%s.Site.RowsPerHall == 0 && e == site.UPSName(row/s.Site.RowsPerHall, side) {
				p.row = row
				return true
			}
		}
		for unit := range s.Site.CDUs() {
			if e == site.PumpName(unit, side) {
				p.unit, p.pump = unit, side
				return true
			}
		}
	}
	p.side = -1
	switch e.Kind {
	case telemetry.Rack:
		return number(&p.rack, s.Site.Racks, e, site.RackName)
	case telemetry.Loop:
		return number(&p.rack, s.Site.Racks, e, site.LoopName)
	case telemetry.CDU:
		return number(&p.unit, s.Site.CDUs(), e, site.CDUName)
	case telemetry.CRAH:
		return number(&p.row, s.Site.Rows(), e, site.CRAHName)
	}
	return false
}
