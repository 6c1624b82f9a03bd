package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// end is one end of a cable, by what does not change.
type end struct {
	guid uint64
	port int
}

func (e end) compare(o end) int {
	return cmp.Or(cmp.Compare(e.guid, o.guid), cmp.Compare(e.port, o.port))
}

// cable is a link between two ports that was seen at least once.
type cable struct {
	ends      [2]end
	entities  [2]telemetry.Entity
	owners    [2]telemetry.Entity
	width     int
	speed     string
	nominal   float64 // the most that it ever ran at, bits per second; 0 if not known
	state     linkState
	start     telemetry.Time      // of its edge
	lost      telemetry.Time      // when it went down, or out of view
	contained [2]telemetry.Entity // its ends that were reported as contained in their owners, in this run
}

// linkState is what is known of a link.
type linkState uint8

const (
	fresh  linkState = iota // not looked at before
	unseen                  // nothing is known at present
	up
	down
)

// rate is what the link runs at, in bits per second; 0 if not known.
func (c *cable) rate() float64 { return float64(float64(c.width) * laneRate(c.speed)) }

// form is how the link runs, as the field writes it.
func (c *cable) form() string {
	if c.speed == "" {
		return strconv.Itoa(c.width) + "x"
	}
	return strconv.Itoa(c.width) + "x" + c.speed
}

// subnet is what is known of a subnet: every node in view, every cable seen.
type subnet struct {
	nodes  map[uint64]*node
	cables map[end]*cable // by either end
	seen   bool           // there was a discovery
}

func newSubnet() *subnet {
	return &subnet{nodes: map[uint64]*node{}, cables: map[end]*cable{}}
}

// How long a link may be down, and how long out of view, until its cable is taken
// to be removed: no state of its ends is reported after that.
const (
	forgetDown   = time.Hour
	forgetUnseen = 24 * time.Hour
)

// change is something that a discovery has found different.
type change struct {
	cable *cable
	name  telemetry.EventName // "" if only the cable's edge is to be emitted
	which [2]bool             // of the ends that an event is of
	text  string
	over  bool // the cable is gone: its edge ends
}

// discovery is the result of one run of ibnetdiscover.
type discovery struct {
	topology *ibdiag.Topology
	nodes    map[uint64]*node
	at       telemetry.Time
	whole    bool // every question was answered: what is not listed is not there
}

// take compares a discovery with what is known and returns what is different,
// in the order of the cables.
func (s *subnet) take(d discovery) (changes []change) {
	linked := s.links(d, &changes)
	was := s.seen
	s.seen = true
	for _, c := range s.all() {
		if linked[c] {
			continue
		}
		changes = append(changes, s.missing(c, d)...)
	}
	if !was {
		for i := range changes {
			changes[i].name = "" // nothing has changed: it was never seen before
		}
	}
	if d.whole {
		s.nodes = d.nodes
	} else {
		for guid, n := range d.nodes {
			s.nodes[guid] = n
		}
	}
	return changes
}

// all lists every cable once, in order.
func (s *subnet) all() []*cable {
	out := make([]*cable, 0, len(s.cables)/2)
	for e, c := range s.cables {
		if e == c.ends[0] {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *cable) int { return a.ends[0].compare(b.ends[0]) })
	return out
}

// links takes every link that is listed.
func (s *subnet) links(d discovery, changes *[]change) map[*cable]bool {
	linked := map[*cable]bool{}
	for i := range d.topology.Nodes {
		x := &d.topology.Nodes[i]
		for _, l := range x.Links {
			a, b := end{x.GUID, l.Port}, end{l.Peer, l.PeerPort}
			na, nb := d.nodes[a.guid], d.nodes[b.guid]
			if na == nil || nb == nil || !na.cabled() || !nb.cabled() || na.port(a.port) == nb.port(b.port) {
				continue
			}
			if b.compare(a) < 0 {
				a, b, na, nb = b, a, nb, na
			}
			c := s.cables[a]
			if c != nil && linked[c] {
				continue // reported by its other end
			}
			if c == nil || c.ends != [2]end{a, b} {
				c = s.plug(a, b, d, changes)
			}
			linked[c] = true
			if l.Speed != "" || d.whole {
				c.width, c.speed = l.Width, l.Speed
			}
			renamed := c.call([2]telemetry.Entity{na.port(a.port), nb.port(b.port)}, d.at, changes)
			c.owners = [2]telemetry.Entity{na.owner(), nb.owner()}
			s.linked(c, renamed, changes)
		}
	}
	return linked
}

// call names a cable's ends, and ends the edge between the names that they had.
func (c *cable) call(names [2]telemetry.Entity, at telemetry.Time, changes *[]change) (renamed bool) {
	if c.state != fresh && c.entities != names {
		old := *c
		*changes = append(*changes, change{cable: &old, over: true})
		c.start, renamed = at, true
	}
	c.entities = names
	return renamed
}

// plug makes a new cable, and ends those that its ports had.
func (s *subnet) plug(a, b end, d discovery, changes *[]change) *cable {
	for _, e := range []end{a, b} {
		old := s.cables[e]
		if old == nil {
			continue
		}
		gone := change{cable: old, over: true}
		if old.state == up {
			gone.name, gone.text = telemetry.EventLinkDown, "was "+old.form()
			gone.which = [2]bool{d.nodes[old.ends[0].guid] != nil, d.nodes[old.ends[1].guid] != nil}
		}
		s.forget(old)
		*changes = append(*changes, gone)
	}
	c := &cable{ends: [2]end{a, b}}
	if s.seen {
		c.start = d.at
	}
	s.cables[a], s.cables[b] = c, c
	return c
}

// forget takes a cable out.
func (s *subnet) forget(c *cable) {
	delete(s.cables, c.ends[0])
	delete(s.cables, c.ends[1])
}

// linked records that a cable's link is there.
func (s *subnet) linked(c *cable, renamed bool, changes *[]change) {
	before := c.state
	c.state = up
	nominal := max(c.nominal, c.rate())
	unchanged := before != fresh && nominal == c.nominal && !renamed
	c.nominal = nominal
	switch {
	case before == down || before == fresh && s.seen:
		*changes = append(*changes, change{cable: c, name: telemetry.EventLinkUp, which: [2]bool{true, true}, text: c.form()})
	case !unchanged:
		*changes = append(*changes, change{cable: c})
	}
}

// missing records that a cable's link is not listed: it is down if an end of it is
// in view without it, and otherwise nothing is known.
func (s *subnet) missing(c *cable, d discovery) []change {
	a, b := d.nodes[c.ends[0].guid] != nil, d.nodes[c.ends[1].guid] != nil
	gone := d.at.Sub(c.lost)
	switch {
	case !d.whole, !a && !b:
		if c.state == up {
			c.state, c.lost = unseen, d.at
			return nil
		}
		if !d.whole || gone <= forgetUnseen {
			return nil
		}
	case c.state != down:
		c.state, c.lost = down, d.at
		return []change{{cable: c, name: telemetry.EventLinkDown, which: [2]bool{a, b}, text: "was " + c.form()}}
	case gone <= forgetDown:
		return nil
	}
	s.forget(c)
	return []change{{cable: c, over: true}}
}

// edge returns the cable as an edge.
func (c *cable) edge(now telemetry.Time) *telemetry.Edge {
	e := &telemetry.Edge{From: c.entities[0], To: c.entities[1], Relation: telemetry.Connects, Start: c.start, Received: now, Source: sourceName}
	if c.nominal > 0 {
		e.Attrs = []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: strconv.FormatFloat(c.nominal, 'f', -1, 64)}}
	}
	return e
}

// peers describes in a few words where a cable goes, for an event at its end i.
func (c *cable) peers(i int, text string) string {
	return fmt.Sprintf("%s, to %s", text, c.entities[1-i].Name)
}
