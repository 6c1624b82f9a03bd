package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// Which jobs and hosts depend on something: they run on it, it supplies them, or their
// paths may lead over it.

// maxThreatened bounds how much of the site is looked at, and is listed, behind
// a risk.
const (
	maxThreatened = 4096
	maxListed     = 256
)

// threatened finds the jobs and hosts that depend on a trouble's root.
func (e *risks) threatened(x *explain.Trouble) {
	var jobs, hosts []telemetry.Entity
	for _, job := range e.carries(x.Root) {
		jobs, hosts = append(jobs, job), append(hosts, e.hostsOver(job, x.Root)...)
	}
	at := func(y telemetry.Entity) {
		if n, ok := e.graph.Within(y, telemetry.Node); ok {
			if on := e.graph.JobsOn(n); len(on) > 0 {
				jobs, hosts = append(jobs, on...), append(hosts, n)
			}
		}
	}
	at(x.Root)
	if peer, _, ok := e.graph.Peer(x.Root); ok {
		at(peer)
	}
	for _, n := range e.graph.Neighbours(x.Root) {
		if n.Relation == telemetry.Uses && !n.Out && n.Entity.Kind == telemetry.Job {
			jobs = append(jobs, n.Entity)
		}
	}
	e.descend(x.Root, func(y telemetry.Entity) bool {
		if y.Kind == telemetry.Node || y.Kind == telemetry.GPU {
			at(y)
			return false
		}
		return true
	})
	x.Threatened = union(jobs, nil)
	x.Entities = union(hosts, nil)
	x.Entities = x.Entities[:min(len(x.Entities), maxListed)]
}

// threatening lists when each open risk began that a job depends on.
func (e *risks) threatening(j *jobs.Job) (out []telemetry.Interval) {
	if len(e.open) == 0 {
		return nil
	}
	hosts := e.nodes(j.Entity)
	for _, r := range e.open {
		if e.threatens(r, j.Entity, hosts) {
			out = append(out, r.incident.Onset)
		}
	}
	return out
}

// threatens reports whether a job on these hosts depends on what is at risk: by one of them,
// or by what it uses.
func (e *risks) threatens(r *risk, job telemetry.Entity, hosts []telemetry.Entity) bool {
	dependent := func(host telemetry.Entity) bool { return in(r.incident.Impact.Entities, host) }
	return e.uses(job, r.incident.Root.Entity) || slices.ContainsFunc(hosts, dependent)
}

// threatenedSince calls a function for each job that depends on a risk which opened in grid
// g, with the time at which that began.
func (e *risks) threatenedSince(g telemetry.Time, visit func(j *jobs.Job, since telemetry.Time)) {
	for _, r := range e.open {
		if r.incident.Opened != g {
			continue
		}
		for _, j := range e.book.Jobs() {
			if e.threatens(r, j.Entity, e.nodes(j.Entity)) {
				visit(j, r.incident.Onset.Earliest)
			}
		}
	}
}

// uses reports whether a job states that it uses something.
func (e *sight) uses(job, x telemetry.Entity) bool {
	return slices.ContainsFunc(e.graph.Neighbours(x), func(n topology.Neighbour) bool { return n.Relation == telemetry.Uses && !n.Out && n.Entity == job })
}

// descend visits what x feeds, cools or contains, at any depth, nearest first, but not
// what is below something of which visit returns false.
func (e *sight) descend(x telemetry.Entity, visit func(telemetry.Entity) bool) {
	seen := map[telemetry.Entity]bool{x: true}
	queue := []telemetry.Entity{x}
	for i := 0; i < len(queue) && len(queue) < maxThreatened; i++ {
		for _, n := range e.graph.Neighbours(queue[i]) {
			if !n.Out || !supplies(n.Relation) || seen[n.Entity] {
				continue
			}
			seen[n.Entity] = true
			if visit(n.Entity) {
				queue = append(queue, n.Entity)
			}
		}
	}
}

// traffic is whose paths lead over each end of the fabric, drawn for one topology.
type traffic struct {
	drawn drawing
	jobs  []telemetry.Entity
	paths [][]bool // by job and end
}

// carried returns which jobs' paths lead over which end.
func (e *risks) carried() *traffic {
	m, t := e.fabricMap(), e.paths
	if t != nil && t.drawn == e.drawn {
		return t
	}
	t = &traffic{drawn: e.drawn}
	for _, job := range e.graph.Jobs() {
		if nodes := e.nodes(job); len(nodes) > 0 {
			t.jobs, t.paths = append(t.jobs, job), append(t.paths, fabric.OnPath(m, nodes))
		}
	}
	e.paths = t
	return t
}

// linkEnds lists the ends of the links of a port, NIC, switch or host.
func (e *risks) linkEnds(x telemetry.Entity) []int {
	m := e.fabricMap()
	if x.Kind == telemetry.Switch || x.Kind == telemetry.Node {
		return m.Links(x)
	}
	return m.Lanes(x)
}

// carries lists the jobs whose paths lead over a link, or over one of a switch or host.
func (e *risks) carries(x telemetry.Entity) (jobs []telemetry.Entity) {
	ends := e.linkEnds(x)
	t := e.carried()
	for k, job := range t.jobs {
		if slices.ContainsFunc(ends, func(i int) bool { return t.paths[k][i] }) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// hostsOver lists the hosts of a job whose own link is one of x's, or is at the switch
// where x is a port; all of them where there is none: what is between switches.
func (e *risks) hostsOver(job, x telemetry.Entity) (hosts []telemetry.Entity) {
	m, all := e.fabricMap(), e.nodes(job)
	for _, i := range e.linkEnds(x) {
		for _, owner := range e.ownersOf(i) {
			if slices.Contains(all, owner) {
				hosts = append(hosts, owner)
			}
		}
		if m.Between(i) {
			hosts = append(hosts, e.hostsAt(m.Ends[i].Owner, all)...)
			hosts = append(hosts, e.hostsAt(m.Ends[m.Ends[i].Peer].Owner, all)...)
		}
	}
	if len(hosts) == 0 {
		return all
	}
	return hosts
}

func (e *risks) hostsAt(sw telemetry.Entity, among []telemetry.Entity) (hosts []telemetry.Entity) {
	m := e.fabricMap()
	for _, i := range m.Links(sw) {
		if p := m.Ends[i].Peer; p >= 0 && slices.Contains(among, m.Ends[p].Owner) {
			hosts = append(hosts, m.Ends[p].Owner)
		}
	}
	return hosts
}

// ownersOf are the switches or hosts at the two ends of a link.
func (e *risks) ownersOf(i int) []telemetry.Entity {
	m := e.fabricMap()
	if p := m.Ends[i].Peer; p >= 0 {
		return []telemetry.Entity{m.Ends[i].Owner, m.Ends[p].Owner}
	}
	return []telemetry.Entity{m.Ends[i].Owner}
}
