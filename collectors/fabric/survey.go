package fabric

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// ibnetdiscover has no rate limit of its own: with one datagram outstanding it
// sends as fast as the subnet answers. It is alternately run and paused, and
// checked as often as its speed requires; until one discovery is over, a speed that
// no device reaches is assumed.
const (
	fastest   = 50_000 // datagrams a second: 20 µs each
	slowest   = 2_000
	firstSize = 20_000 // datagrams: a plane of the reference site
	margin    = 1.5    // on how fast the last one was
	// maxListing is the maximum output of ibnetdiscover: some 150 bytes for an end
	// of a cable, 200 for a node.
	maxListing = 64 << 20
	// quarter is the share of the rate, and of the time, that discoveries may take.
	quarter = 0.25
	// hangs is the number of timeouts without output after which a program is given
	// up: an unanswered query takes four.
	hangs = 20
)

// survey runs ibnetdiscover and reports the differences.
func (r *reader) survey(ctx context.Context) {
	start := r.clock()
	rate := share * r.pace.now()
	q := request{program: r.ibnetdiscover, args: []string{"-o", "1", "-t", r.timeout()}, most: maxListing, patient: r.replyTimeout(4 * r.size)}
	if r.sends > rate {
		q.turns = turns{rate: r.pace.now(), portion: r.pace.portion(), sends: r.sends, idle: hangs * r.cfg.Timeout}
	}
	r.local(&q)
	a := r.run.run(ctx, q)
	if ctx.Err() != nil {
		return
	}
	end := r.clock()
	r.pace.spend(end, r.pace.portion())
	top, faults, err := ibdiag.ParseTopology(a.out)
	lost := ibdiag.Timeouts(a.complaints)
	r.lost(end, lost)
	r.drop(collectors.Malformed, faults.Count)
	switch {
	case a.err != nil:
		err = fmt.Errorf("%w: %s", a.err, lastLine(a.complaints))
	case a.cut:
		r.dropped[collectors.OverLimit]++
	}
	if err != nil {
		r.unseen(start, fmt.Errorf("ibnetdiscover: %w", err))
		return
	}
	r.missing, r.misses = nil, 0
	r.size = discoveryCost(top)
	if s := a.took.Seconds(); s > 0 {
		r.sends = min(max(float64(r.size)/s*margin, slowest), fastest)
	}
	r.take(top, telemetry.Time(end.UnixNano()), lost == 0 && faults.Count == 0 && !a.cut)
	r.soonest = start.Add(max(time.Duration(float64(r.size)/(quarter*r.pace.now())*float64(time.Second)), time.Duration(float64(end.Sub(start))/quarter)))
	if r.nextSurvey = start.Add(r.cfg.Topology); r.nextSurvey.Before(r.soonest) {
		r.nextSurvey = r.soonest
	}
	r.swept(start, nil)
}

// lastLine is the last line of a program's error output, as far as it goes: the error
// that ended it.
func lastLine(complaints []byte) string {
	lines := strings.Split(strings.TrimSpace(string(complaints)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return "empty answer"
	}
	return strings.ToValidUTF8(last[:min(len(last), 200)], "")
}

// local adds from where a program is to ask.
func (r *reader) local(q *request) {
	if r.cfg.CA != "" {
		q.args = append([]string{"-C", r.cfg.CA}, q.args...)
	}
	if r.cfg.Port > 0 {
		q.args = append([]string{"-P", fmt.Sprint(r.cfg.Port)}, q.args...)
	}
}

// unseen records that there is no topology now: every link is unknown.
func (r *reader) unseen(start time.Time, err error) {
	r.missing = err
	again := min(5*time.Second<<min(r.misses, 10), r.cfg.Topology)
	r.misses++
	r.nextSurvey = start.Add(max(again, time.Second))
	if r.misses == 1 {
		r.log.Warn("the subnet cannot be seen", "err", err)
	}
	for _, c := range r.subnet.all() {
		for _, e := range c.entities {
			r.gap(e)
		}
	}
	r.emit(r.links, start, r.clock())
	r.swept(start, err)
}

// take reports the result of a discovery.
func (r *reader) take(top *ibdiag.Topology, at telemetry.Time, whole bool) {
	d := discovery{topology: top, at: at, whole: whole}
	var doubles int
	d.nodes, doubles = r.namer.names(top)
	r.drop(collectors.Duplicate, doubles)
	r.remember(&d)
	if whole {
		clear(r.addresses)
		clear(r.ports)
	}
	r.addressed(top)
	for _, c := range r.subnet.take(d) {
		r.emitChange(&c, at)
	}
	all := r.subnet.all()
	for _, c := range all {
		if !r.stated {
			r.edge(c.edge(at))
		}
		for i := range c.ends {
			r.contain(c, i, at)
			r.state(c, i)
		}
	}
	r.stated = true
	r.emit(r.links, time.Unix(0, int64(at)), time.Unix(0, int64(at)))
	r.replan()
}

// remember keeps the earlier data of nodes that did not answer every question: a
// lost answer renames nothing.
func (r *reader) remember(d *discovery) {
	for guid, n := range d.nodes {
		old := r.subnet.nodes[guid]
		if old == nil || d.whole {
			continue
		}
		if n.unnamed && !old.unnamed {
			n.name, n.host, n.of = old.name, old.host, old.of
		}
		if n.lid == 0 {
			n.lid = old.lid
		}
	}
}

// addressed records what the manager gave to the ports of adapters.
func (r *reader) addressed(top *ibdiag.Topology) {
	for i := range top.Nodes {
		for _, l := range top.Nodes[i].Links {
			if l.GUID != 0 && l.LID != 0 {
				at := end{top.Nodes[i].GUID, l.Port}
				r.addresses[at], r.ports[l.GUID] = l.LID, at
			}
		}
	}
}

// emitChange emits one difference that a discovery found.
func (r *reader) emitChange(x *change, at telemetry.Time) {
	for i, which := range x.which {
		if which && x.name != "" {
			r.event(telemetry.Event{Entity: x.cable.entities[i], At: at, Name: x.name, Text: x.cable.peers(i, x.text)})
		}
	}
	e := x.cable.edge(at)
	if x.over {
		e.End = at
		for i, of := range x.cable.entities {
			if r.gap(of); x.which[i] { // until another cable shows otherwise
				r.set(of, "port_up", 0)
			}
		}
	}
	if r.stated || x.over {
		r.edge(e) // otherwise it is stated with the others
	}
}

func (r *reader) event(e telemetry.Event) {
	e.Received, e.Source = e.At, telemetry.Source{Collector: sourceName, Target: r.cfg.Subnet}
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &e})
	r.read++
	r.log.Info("event", "entity", e.Entity.String(), "name", string(e.Name), "text", e.Text)
}

func (r *reader) edge(e *telemetry.Edge) {
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
	r.read++
}

// contain states what contains a cable's end, once in a run.
func (r *reader) contain(c *cable, i int, at telemetry.Time) {
	inner, outer := c.entities[i], c.owners[i]
	if outer.IsZero() || c.contained[i] == inner {
		return
	}
	c.contained[i] = inner
	r.edge(&telemetry.Edge{From: outer, To: inner, Relation: telemetry.Contains, Received: at, Source: sourceName})
}

// state records what a cable's end is now.
func (r *reader) state(c *cable, i int) {
	of := c.entities[i]
	if c.state != up && c.state != down {
		r.gap(of)
		return
	}
	rate, word := c.rate(), uint64(1)
	if c.state == down {
		rate, word = 0, 0
	}
	r.set(of, "port_up", word)
	if rate > 0 {
		r.set(of, "port_speed_bits_per_second", uint64(rate))
	}
}

func (r *reader) set(of telemetry.Entity, m telemetry.MetricName, word uint64) {
	cell, ok := r.links.Cell(of, telemetry.Column{Metric: m, Type: telemetry.Uint})
	if !ok {
		r.dropped[collectors.OverLimit]++
		return
	}
	r.links.Set(cell, word)
}

func (r *reader) gap(of telemetry.Entity) {
	for _, m := range []telemetry.MetricName{"port_up", "port_speed_bits_per_second"} {
		if cell, ok := r.links.Cell(of, telemetry.Column{Metric: m, Type: telemetry.Uint}); ok {
			r.links.Gap(cell)
		}
	}
}
