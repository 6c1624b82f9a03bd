package fabric

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// portion is what one run of perfquery reads: some ports of one node.
type portion struct {
	of    *polled
	lid   uint16
	ports []int
	basic bool // the narrow counters
}

// cost is the number of datagrams of a portion: perfquery first queries the node's
// capabilities.
func (p *portion) cost() int { return 1 + len(p.ports) }

// args are perfquery's.
func (p *portion) args(timeout string) []string {
	args := []string{"-t", timeout}
	if !p.basic {
		args = append(args, "-x")
	}
	if len(p.ports) > 1 {
		args = append(args, "-l")
	}
	return append(args, strconv.Itoa(int(p.lid)), ranges(p.ports))
}

// ranges writes port numbers, which rise, as 1-4,7.
func ranges(ports []int) string {
	var b strings.Builder
	for i := 0; i < len(ports); {
		j := i
		for j+1 < len(ports) && ports[j+1] == ports[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ports[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(ports[j]))
		}
		i = j + 1
	}
	return b.String()
}

// polled is a node whose ports are read.
type polled struct {
	node     *node
	book     *book.Book
	cadence  time.Duration // that its book states
	ports    map[int]*port
	narrow   bool // its extended counters are not all that there are
	failures int  // in a row
	rests    int  // rounds for which it is left alone
}

// compare orders nodes as they are read: switches by name, then adapters.
func (m *polled) compare(o *polled) int {
	return cmp.Or(cmp.Compare(m.node.kind, o.node.kind), cmp.Compare(m.node.name, o.node.name))
}

// port is a port that is read.
type port struct {
	entity  telemetry.Entity
	lid     uint16
	tick    float64     // seconds; 0 if not known
	cells   []book.Cell // by the profile's counters
	seconds book.Cell
	waited  waited
	dropped seen
	downs   seen
}

// seen is the last value of a counter.
type seen struct {
	value uint64
	known bool
}

// rose reports whether a counter has risen since it was seen last.
func (s *seen) rose(v uint64) bool {
	rose := s.known && v > s.value
	*s = seen{v, true}
	return rose
}

// waited is the total time that a port had data and no credit, computed from its
// ticks: a tick's length may change with the link's speed, time already counted
// does not.
type waited struct {
	ticks   seen
	seconds float64
}

// add takes a reading. A counter that fell was reset in between.
func (w *waited) add(ticks uint64, tick float64) {
	if !w.ticks.known {
		w.ticks = seen{ticks, true}
		return
	}
	more := ticks
	if ticks >= w.ticks.value {
		more = ticks - w.ticks.value
	}
	w.seconds += float64(float64(more) * tick)
	w.ticks.value = ticks
}

// plan lists the ports that are read: those with a cable, in the order of the
// switches' names.
type plan struct {
	polled   map[uint64]*polled
	portions []portion
	ports    int
	over     int // ports that there was no room for
	unaddr   int // ports of nodes that the subnet manager gave no address
	cost     int // datagrams of a round
}

// replan makes the plan for what is known of the subnet, and keeps what the
// last one had of each node.
func (r *reader) replan() {
	old := r.plan
	p := &plan{polled: map[uint64]*polled{}}
	for _, c := range r.subnet.all() {
		if c.state == unseen {
			continue
		}
		for i, e := range c.ends {
			if n := r.subnet.nodes[e.guid]; n != nil && (n.kind == ibdiag.Switch || r.cfg.Adapters) {
				r.planPort(p, old, n, c, i)
			}
		}
	}
	r.plan = p
	at, among := r.at, old.portions
	r.portions()
	if at > 0 && at < len(among) {
		r.at = r.plan.from(&among[at])
	} else {
		r.at = 0
	}
}

// from returns the first portion that is not before another one.
func (p *plan) from(o *portion) int {
	for i := range p.portions {
		if p.portions[i].compare(o) >= 0 {
			return i
		}
	}
	return 0
}

// compare orders portions as they are read.
func (p *portion) compare(o *portion) int {
	basic := 0
	if p.basic != o.basic {
		if basic = -1; p.basic {
			basic = 1
		}
	}
	return cmp.Or(p.of.compare(o.of), cmp.Compare(p.lid, o.lid), cmp.Compare(p.ports[0], o.ports[0]), basic)
}

func (r *reader) planPort(p, old *plan, n *node, c *cable, i int) {
	lid := n.lid
	if n.kind != ibdiag.Switch {
		lid = r.addresses[c.ends[i]]
	}
	if lid == 0 {
		p.unaddr++
		return
	}
	if p.ports == r.cfg.Ports {
		p.over++
		return
	}
	p.ports++
	m := p.polled[n.guid]
	if m == nil {
		m = &polled{ports: map[int]*port{}}
		if before := old.polled[n.guid]; before != nil && before.node.name == n.name {
			*m = *before
			m.ports = map[int]*port{}
		}
		m.node = n
		p.polled[n.guid] = m
	}
	number := c.ends[i].port
	x := &port{}
	if before := old.polled[n.guid]; before != nil && before.ports[number] != nil && before.ports[number].entity == c.entities[i] && before.book == m.book {
		x = before.ports[number]
	}
	x.entity, x.lid, x.tick = c.entities[i], lid, 0
	if n.device != nil {
		x.tick = n.device.seconds(c.width, c.rate())
	}
	m.ports[number] = x
}

// portions cuts the plan into runs of perfquery, none larger than what may be
// sent at once.
func (r *reader) portions() {
	p := r.plan
	p.portions, p.cost = p.portions[:0], 0
	most := max(1, r.pace.portion()-1)
	for _, m := range slices.SortedFunc(maps.Values(p.polled), (*polled).compare) {
		byLID := map[uint16][]int{}
		for number, x := range m.ports {
			byLID[x.lid] = append(byLID[x.lid], number)
		}
		for _, lid := range slices.Sorted(maps.Keys(byLID)) {
			numbers := byLID[lid]
			slices.Sort(numbers)
			for part := range slices.Chunk(numbers, most) {
				p.portions = append(p.portions, portion{of: m, lid: lid, ports: part})
				if m.narrow {
					p.portions = append(p.portions, portion{of: m, lid: lid, ports: part, basic: true})
				}
			}
		}
	}
	for i := range p.portions {
		p.cost += p.portions[i].cost()
	}
	for _, m := range p.polled {
		r.keep(m)
	}
}

// keep gives a node its book, and a new one where its cadence has become quite
// another.
func (r *reader) keep(m *polled) {
	if c := r.cadence(); m.book == nil || c > m.cadence*5/4 || c < m.cadence*4/5 {
		m.book, m.cadence = r.bookOf(collectors.Part(m.node.name), c), c
		for _, x := range m.ports {
			x.cells, x.seconds = nil, book.Cell{}
		}
	}
	for _, x := range m.ports {
		if x.cells == nil {
			x.cells = make([]book.Cell, len(r.profile.Rules))
		}
	}
}

// discoveryCost is how many datagrams ibnetdiscover sends: for a switch what it is,
// how it is called, its table and every port; for an adapter the same but the
// table; once more what a node is for every further cable to it, or twice; and the
// additional capabilities of the ends of a link, of devices that report having
// them.
func discoveryCost(t *ibdiag.Topology) int {
	cost, links := 0, 0
	for i := range t.Nodes {
		n := &t.Nodes[i]
		links += len(n.Links)
		if n.Type == ibdiag.Switch {
			cost += n.Ports + 4
		} else {
			cost += n.Ports + 2
		}
	}
	return cost + max(0, links/2-len(t.Nodes)+1) + links
}
