package score

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// neighbourhood decides which entities are victims of a fault when named as its
// root (docs/scoring.md): the degraded job, the hosts and GPUs that run it, and
// entities contained in or adjacent to those.
//
// Adjacent means at the other end of a connects or pairs edge: the switch port that
// an affected host's nic plugs into. A power supply or a rack is no victim: it may
// well be a cause.
type neighbourhood struct {
	inner map[telemetry.Entity]bool               // the degraded jobs, what runs them and the node around that
	outer map[telemetry.Entity][]telemetry.Entity // what contains an entity
	peers map[telemetry.Entity][]telemetry.Entity // connects and pairs, both directions
}

// neighbours reads the neighbourhood of jobs from the edges that were valid at some
// time within span.
func neighbours(edges []telemetry.Edge, jobs []telemetry.Entity, span telemetry.Interval) *neighbourhood {
	n := &neighbourhood{inner: map[telemetry.Entity]bool{}, outer: map[telemetry.Entity][]telemetry.Entity{},
		peers: map[telemetry.Entity][]telemetry.Entity{}}
	var runs []*telemetry.Edge
	for i := range edges {
		e := &edges[i]
		if e.Start > span.Latest || (e.End != 0 && e.End <= span.Earliest) {
			continue
		}
		switch e.Relation {
		case telemetry.Contains:
			n.outer[e.To] = append(n.outer[e.To], e.From)
		case telemetry.Connects, telemetry.Pairs:
			n.peers[e.From] = append(n.peers[e.From], e.To)
			n.peers[e.To] = append(n.peers[e.To], e.From)
		case telemetry.Runs:
			runs = append(runs, e)
		}
	}
	for _, j := range jobs {
		n.inner[j] = true
	}
	for _, e := range runs {
		if n.partOf(e.From, jobs) {
			n.enter(e.To)
		}
	}
	return n
}

// enter adds what runs the job, and the node that it is contained in.
func (n *neighbourhood) enter(e telemetry.Entity) {
	n.inner[e] = true
	n.upwards(e, func(o telemetry.Entity) bool {
		if o.Kind == telemetry.Node {
			n.inner[o] = true
		}
		return false
	})
}

func (n *neighbourhood) partOf(e telemetry.Entity, jobs []telemetry.Entity) bool {
	isJob := func(o telemetry.Entity) bool { return slices.Contains(jobs, o) }
	return isJob(e) || n.upwards(e, isJob)
}

// has reports whether naming e as the root would name a victim.
func (n *neighbourhood) has(e telemetry.Entity) bool {
	return n.inside(e) || slices.ContainsFunc(n.peers[e], n.inside)
}

func (n *neighbourhood) inside(e telemetry.Entity) bool {
	return n.inner[e] || n.upwards(e, func(o telemetry.Entity) bool { return n.inner[o] })
}

// upwards walks from e to all that contains it, until stop says so; it reports
// whether stop did. Loops in hostile topologies end.
func (n *neighbourhood) upwards(e telemetry.Entity, stop func(telemetry.Entity) bool) bool {
	seen := map[telemetry.Entity]bool{e: true}
	for todo := []telemetry.Entity{e}; len(todo) > 0; todo = todo[1:] {
		for _, o := range append(prefixContainers(todo[0]), n.outer[todo[0]]...) {
			if seen[o] {
				continue
			}
			if stop(o) {
				return true
			}
			seen[o] = true
			todo = append(todo, o)
		}
	}
	return false
}

// prefixContainers reads containment from the name: gpu, nic,
// nvlink, rank, port and queue lie in their node, job, switch, port or nic.
func prefixContainers(e telemetry.Entity) []telemetry.Entity {
	p := e.Prefix()
	if p == "" {
		return nil
	}
	switch e.Kind {
	case telemetry.NIC:
		return []telemetry.Entity{{Kind: telemetry.Node, Name: p}}
	case telemetry.GPU:
		return []telemetry.Entity{{Kind: telemetry.Node, Name: p}}
	case telemetry.NVLink:
		return []telemetry.Entity{{Kind: telemetry.GPU, Name: p}}
	case telemetry.Rank:
		return []telemetry.Entity{{Kind: telemetry.Job, Name: p}}
	case telemetry.Port:
		return []telemetry.Entity{{Kind: telemetry.Switch, Name: p}}
	case telemetry.Queue:
		return []telemetry.Entity{{Kind: telemetry.Port, Name: p}, {Kind: telemetry.NIC, Name: p}}
	}
	return nil
}
