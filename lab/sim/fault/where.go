package fault

import (
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// These return where things of a job are, each once, in the order of the job's
// nodes.

func (s *Scene) nodes(job int) []int { return s.Jobs[job].Nodes }

// each returns name(number) for what of returns for each of a job's nodes.
func (s *Scene) each(job int, of func(node int) int, name func(int) telemetry.Entity) []telemetry.Entity {
	var seen []int
	var out []telemetry.Entity
	for _, node := range s.nodes(job) {
		if n := of(node); !slices.Contains(seen, n) {
			seen = append(seen, n)
			out = append(out, name(n))
		}
	}
	return out
}

func same(n int) int { return n }

func (s *Scene) rackOf(node int) int { return node / s.Site.NodesPerRack }
func (s *Scene) rowOf(node int) int  { return s.rackOf(node) / s.Site.RacksPerRow }
func (s *Scene) hallOf(node int) int { return s.rowOf(node) / s.Site.RowsPerHall }
func (s *Scene) unitOf(node int) int { return s.rackOf(node) / s.Site.RacksPerCDU }

func onNodes(s *Scene, job int) []telemetry.Entity { return s.each(job, same, site.NodeName) }
func onRacks(s *Scene, job int) []telemetry.Entity { return s.each(job, s.rackOf, site.RackName) }
func onLoops(s *Scene, job int) []telemetry.Entity { return s.each(job, s.rackOf, site.LoopName) }
func onCDUs(s *Scene, job int) []telemetry.Entity  { return s.each(job, s.unitOf, site.CDUName) }
func onCRAHs(s *Scene, job int) []telemetry.Entity { return s.each(job, s.rowOf, site.CRAHName) }
func onJob(s *Scene, job int) []telemetry.Entity {
	return []telemetry.Entity{jobEntity(s.Jobs[job].Name)}
}
func onGPUs(s *Scene, job int) []telemetry.Entity { return s.perGPU(job, site.GPUName) }
func onNICs(s *Scene, job int) []telemetry.Entity { return s.perGPU(job, site.NICName) }
func jobEntity(name string) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Job, Name: name}
}

// sides returns both sides of what of returns for each of a job's nodes.
func (s *Scene) sides(job int, of func(int) int, name func(int, int) telemetry.Entity) (out []telemetry.Entity) {
	for side := range 2 {
		out = append(out, s.each(job, of, func(n int) telemetry.Entity { return name(n, side) })...)
	}
	return out
}

func (s *Scene) perGPU(job int, name func(node, gpu int) telemetry.Entity) (out []telemetry.Entity) {
	for _, node := range s.nodes(job) {
		for i := range s.Site.GPUs {
			out = append(out, name(node, i))
		}
	}
	return out
}

// leaf is a leaf switch of a fabric.
type leaf struct{ fabric, n int }

func (s *Scene) leaves(job int) (out []leaf) {
	for _, node := range s.nodes(job) {
		for i := range s.Site.GPUs {
			f, l := s.Site.Leaf(node, i)
			if !slices.Contains(out, leaf{f, l}) {
				out = append(out, leaf{f, l})
			}
		}
	}
	return out
}

// spans reports whether a job has nodes under several leaves of a fabric, so
// that it needs spines.
func (s *Scene) spans(job int) bool {
	return len(s.leaves(job)) > s.Site.GPUs
}

// carries returns whether a link carries something in health, as far as that is
// known; where it is known of the job, half of what its fullest carries: a link
// with less is seldom what a step waits for.
func (s *Scene) carries(job int) func(link int32) bool {
	if job < len(s.Carried) {
		least := slices.Max(s.Carried[job]) / 2
		return func(l int32) bool { return s.Carried[job][l] > 0 && s.Carried[job][l] >= least }
	}
	return func(l int32) bool { return s.Sent == nil || s.Sent[l] > 0 }
}

func onLeaves(s *Scene, job int) (out []telemetry.Entity) {
	for _, l := range s.leaves(job) {
		out = append(out, site.LeafName(l.fabric, l.n))
	}
	return out
}

func onSpines(s *Scene, job int) (out []telemetry.Entity) {
	if !s.spans(job) {
		return nil
	}
	for f := range s.Site.Fabrics {
		for n := range s.Site.Spines {
			out = append(out, site.SpineName(f, n))
		}
	}
	return out
}

func onSwitches(s *Scene, job int) []telemetry.Entity {
	return append(onLeaves(s, job), onSpines(s, job)...)
}

// onReceivers are the switch ports that face a job's NICs.
func onReceivers(s *Scene, job int) (out []telemetry.Entity) {
	carries := s.carries(job)
	for _, node := range s.nodes(job) {
		for i := range s.Site.GPUs {
			if c := s.Site.HostCable(node, i); carries(site.Down(c)) {
				_, upper := s.Site.Cable(c)
				out = append(out, upper)
			}
		}
	}
	return out
}

// onUplinks are the leaves' ends of cables to spines that a job's traffic may
// take.
func onUplinks(s *Scene, job int) (out []telemetry.Entity) {
	carries := s.carries(job)
	if !s.spans(job) {
		return nil
	}
	for _, l := range s.leaves(job) {
		for u := range s.Site.Uplinks {
			if c := s.Site.UplinkCable(l.fabric, l.n, u); carries(site.Up(c)) {
				lower, _ := s.Site.Cable(c)
				out = append(out, lower)
			}
		}
	}
	return out
}

// onDownlinks are the spines' ends of the same cables.
func onDownlinks(s *Scene, job int) (out []telemetry.Entity) {
	carries := s.carries(job)
	if !s.spans(job) {
		return nil
	}
	for _, l := range s.leaves(job) {
		for u := range s.Site.Uplinks {
			if c := s.Site.UplinkCable(l.fabric, l.n, u); carries(site.Down(c)) {
				_, upper := s.Site.Cable(c)
				out = append(out, upper)
			}
		}
	}
	return out
}

func onPorts(s *Scene, job int) []telemetry.Entity {
	return slices.Concat(onReceivers(s, job), onUplinks(s, job), onDownlinks(s, job))
}

// onCables are the ends of cables where one end represents both: those that
// face a job's NICs and those of its leaves.
func onCables(s *Scene, job int) []telemetry.Entity {
	return append(onReceivers(s, job), onUplinks(s, job)...)
}

// onModules are the modules of onPorts, where the site has any, else the ports.
func onModules(s *Scene, job int) []telemetry.Entity {
	out := onPorts(s, job)
	for i := range out {
		if s.Site.Optics {
			out[i].Kind = telemetry.Optic
		}
	}
	return out
}

// onOthers are the other jobs, those under the same leaves first: the only ones
// whose traffic can be in the way.
func onOthers(s *Scene, job int) (out []telemetry.Entity) {
	mine := s.leaves(job)
	shares := func(other int) bool {
		return slices.ContainsFunc(s.leaves(other), func(l leaf) bool { return slices.Contains(mine, l) })
	}
	for pass := range 2 {
		for i := range s.Jobs {
			if i != job && shares(i) == (pass == 0) {
				out = append(out, jobEntity(s.Jobs[i].Name))
			}
		}
	}
	return out
}

// in keeps what a place returns only where a condition is true.
func in(applies func(*Scene, int) bool, where func(*Scene, int) []telemetry.Entity) func(*Scene, int) []telemetry.Entity {
	return func(s *Scene, job int) []telemetry.Entity {
		if !applies(s, job) {
			return nil
		}
		return where(s, job)
	}
}

func hashed(s *Scene, _ int) bool     { return !s.Adaptive }
func roce(s *Scene, _ int) bool       { return !s.InfiniBand }
func infiniBand(s *Scene, _ int) bool { return s.InfiniBand }
func byAir(s *Scene, _ int) bool      { return s.Air }
func byWater(s *Scene, _ int) bool    { return !s.Air }
func trains(s *Scene, job int) bool   { return !s.Jobs[job].Serving }
func serves(s *Scene, job int) bool   { return s.Jobs[job].Serving }
func staged(s *Scene, job int) bool   { return trains(s, job) && s.Jobs[job].Stages > 1 }
func expert(s *Scene, job int) bool   { return trains(s, job) && s.Jobs[job].Experts > 1 }
func saves(s *Scene, job int) bool    { return trains(s, job) && s.Jobs[job].Checkpoints }

// many reports whether a job has hosts enough that several can send to one: three
// at least, or else a sender's own link fills before the receiver's does.
func many(s *Scene, job int) bool { return len(s.Jobs[job].Nodes) > 3 }

func spreadRoCE(s *Scene, j int) bool { return s.spans(j) && !s.InfiniBand && s.Site.Spines > 1 }
