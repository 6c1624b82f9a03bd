package symptom

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxSurveyed bounds the entities of a survey: the reference site's largest job
// with every link, port and supply is about 400,000.
const maxSurveyed = 1 << 20

// Where is where a job runs and over which ends of links.
type Where struct {
	Job   telemetry.Entity
	Nodes []telemetry.Entity // in identity order
	Ends  []telemetry.Entity // nics and ports on its paths
}

// Survey is what a job is coupled to: what it runs on, and what contains, feeds,
// cools and links that. It is drawn from the topology as of one grid and holds no
// telemetry.
type Survey struct {
	graph  *topology.Graph
	job    telemetry.Entity
	all    []telemetry.Entity
	index  map[telemetry.Entity]int32
	used   []bool                     // by the job; the others are there to compare with
	over   [][]int32                  // what each is contained in, fed or cooled by, directly
	under  [][]int32                  // the reverse
	kinds  map[telemetry.Kind][]int32 // what the job uses, in order
	class  []int32                    // by entity: its class
	alike  [][]int32                  // by class: the entities that should do alike
	gpus   []int32                    // that the job uses
	ranks  []int32
	nodeOf []int32   // -1 where an entity is contained in no node
	facing [][]int32 // the other ends of an entity's cables
	// carriers is by gpu and rank everything over it.
	carriers [][]int32
	closures map[closure][]int32
	gpusIn   []int32  // by entity: how many of the job's gpus are under it
	ranked   []int32  // by entity: how many of the job's ranks are under it
	seen     []uint32 // by entity: the last search that met it
	search   uint32
	via      []int32   // by entity: from which one that search came to it, where ways are searched for
	slots    [][]int32 // by entity and column that is read of it; found when it is first read
}

// Draw surveys what a job is coupled to.
func Draw(g *topology.Graph, at Where) *Survey {
	s := &Survey{graph: g, job: at.Job, index: map[telemetry.Entity]int32{}, closures: map[closure][]int32{}}
	job := s.meet(at.Job, true)
	placed := g.Placements(at.Job)
	for _, n := range at.Nodes {
		s.affects(job, s.machine(n, placed))
	}
	s.serves(job)
	s.placeRanks(placed)
	for _, e := range at.Ends {
		s.end(e)
	}
	for i := int32(0); int(i) < len(s.all); i++ {
		s.climb(i)
	}
	s.branch()
	s.classify(placed)
	s.locate()
	return s
}

// meet returns the number of an entity, a new one if it is new; -1 where there is
// no room for it.
func (s *Survey) meet(e telemetry.Entity, used bool) int32 {
	if i, ok := s.index[e]; ok {
		s.used[i] = s.used[i] || used
		return i
	}
	if len(s.all) >= maxSurveyed {
		return -1
	}
	i := int32(len(s.all))
	s.index[e] = i
	s.all, s.used = append(s.all, e), append(s.used, used)
	s.over, s.under = append(s.over, nil), append(s.under, nil)
	return i
}

// affects notes, once, that what happens to a reaches b.
func (s *Survey) affects(a, b int32) {
	if a < 0 || b < 0 || a == b || slices.Contains(s.over[b], a) {
		return
	}
	s.over[b] = append(s.over[b], a)
	s.under[a] = append(s.under[a], b)
}

// serves lists kinds that serve their container: what happens to a pump reaches its
// CDU, to a fan or a power supply its node, to a link of a GPU the GPU.
func serves(k telemetry.Kind) bool {
	switch k {
	case telemetry.PSU, telemetry.Pump, telemetry.Valve, telemetry.Fan, telemetry.Battery, telemetry.NVSwitch, telemetry.NVLink, telemetry.Optic:
		return true
	}
	return false
}

// contain adds the parts of an entity that are of these kinds.
func (s *Survey) contain(i int32, used func(telemetry.Entity) bool, kinds ...telemetry.Kind) {
	for _, e := range s.graph.Contents(s.all[i]) {
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		part := s.meet(e, used(e))
		s.affects(i, part)
		if part >= 0 && serves(e.Kind) {
			s.affects(part, i)
		}
	}
}

func always(telemetry.Entity) bool { return true }

// machine adds a host of the job and what is in it. Of its GPUs the job uses those
// it is placed on, all of them where it is placed on the host.
func (s *Survey) machine(n telemetry.Entity, placed []topology.Placement) int32 {
	i := s.meet(n, true)
	if i < 0 {
		return i
	}
	lo, _ := slices.BinarySearchFunc(placed, n, func(p topology.Placement, n telemetry.Entity) int { return p.Node.Compare(n) })
	var on []telemetry.Entity
	for _, p := range placed[lo:] {
		if p.Node != n {
			break
		}
		if p.On.Kind == telemetry.GPU {
			on = append(on, p.On)
		}
	}
	s.contain(i, func(e telemetry.Entity) bool {
		return e.Kind != telemetry.GPU || len(on) == 0 || slices.Contains(on, e)
	}, telemetry.GPU, telemetry.NIC, telemetry.Fan, telemetry.PSU, telemetry.NVSwitch)
	for _, part := range slices.Clone(s.under[i]) {
		s.contain(part, always, telemetry.NVLink, telemetry.Optic)
		if s.all[part].Kind == telemetry.GPU && s.used[part] {
			s.gpus = append(s.gpus, part)
		}
	}
	return i
}

// serves adds what a job uses: its storage, and the managers of its fabric.
func (s *Survey) serves(job int32) {
	for _, n := range s.graph.Neighbours(s.job) {
		if n.Relation == telemetry.Uses && n.Out {
			s.affects(s.meet(n.Entity, true), job)
		}
	}
	managers := s.graph.Entities(telemetry.SM)
	for _, e := range managers[:min(len(managers), maxPeers)] {
		s.affects(s.meet(e, true), job)
	}
}

// placeRanks meets a job's ranks, under what they run on.
func (s *Survey) placeRanks(placed []topology.Placement) {
	on := map[int]telemetry.Entity{}
	for _, p := range placed {
		if p.Rank >= 0 {
			on[p.Rank] = p.On
		}
	}
	for _, r := range s.graph.Ranks(s.job) {
		i := s.meet(r, true)
		if i < 0 {
			return
		}
		s.ranks = append(s.ranks, i)
		if at, ok := s.index[on[topology.RankNumber(r)]]; ok {
			s.affects(at, i)
		} else if n, ok := s.graph.RankNode(r); ok {
			s.affects(s.meet(n, true), i)
		}
	}
}

// end adds an end of a link on the job's paths, and its switch.
func (s *Survey) end(e telemetry.Entity) {
	i := s.meet(e, true)
	if i < 0 {
		return
	}
	s.contain(i, always, telemetry.Optic)
	if c, ok := s.graph.Container(e); ok && c.Kind == telemetry.Switch {
		s.affects(s.meet(c, true), i)
	}
}

// climb adds everything directly over an entity.
func (s *Survey) climb(i int32) {
	e, isPart := s.all[i], false
	switch e.Kind {
	case telemetry.Job, telemetry.Rank:
		return
	case telemetry.Storage:
		return // what houses it is no host of the job: nothing of the job is under that
	case telemetry.Port, telemetry.NVLink, telemetry.Optic:
		s.housed(i)
		return // nothing else supplies them, and they are many
	case telemetry.GPU, telemetry.NIC, telemetry.NVSwitch, telemetry.Fan, telemetry.Pump, telemetry.Valve, telemetry.Battery:
		s.housed(i)
		isPart = true
	case telemetry.CDU, telemetry.Loop, telemetry.UPS, telemetry.Switch, telemetry.Rack, telemetry.Shelf:
		s.contain(i, func(telemetry.Entity) bool { return s.used[i] }, telemetry.Pump, telemetry.Valve, telemetry.Battery, telemetry.Fan, telemetry.PSU)
	}
	for _, n := range s.graph.Neighbours(e) {
		over := false
		switch n.Relation {
		case telemetry.Feeds, telemetry.Cools: // a loop may be stated to cool a rack, a host or each of its GPUs
			over = !n.Out
		case telemetry.Contains:
			over = !n.Out && !isPart
		case telemetry.Member: // of a group, which is over it
			over = n.Out && !isPart
		}
		if over {
			s.affects(s.meet(n.Entity, s.used[i]), i)
		}
	}
}

// branch adds the loops of each coolant unit that the job uses, also those that cool no
// host of it: whether one loop or the whole unit loses its flow shows at the others.
func (s *Survey) branch() {
	for i := range int32(len(s.all)) {
		if s.all[i].Kind != telemetry.CDU || !s.used[i] {
			continue
		}
		for _, n := range s.graph.Neighbours(s.all[i]) {
			if n.Relation == telemetry.Cools && n.Out && n.Entity.Kind == telemetry.Loop {
				s.affects(i, s.meet(n.Entity, false))
			}
		}
	}
}

// housed adds what contains a part, as stated or as its name implies, and its groups.
func (s *Survey) housed(i int32) {
	e := s.all[i]
	if c, ok := s.graph.Container(e); ok {
		s.affects(s.meet(c, s.used[i]), i)
	}
	for _, g := range s.graph.Groups(e) {
		s.affects(s.meet(g, s.used[i]), i)
	}
}
