package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// What is broken where links are down: one link, or the switch or host all of whose links
// are. One link that goes down again and again is one trouble, a link that flaps.

const (
	// downLasts is for how long a link must be down to be distinguished from one that
	// comes back by itself, and flapDownLasts for how long one that flaps.
	downLasts, flapDownLasts = telemetry.Duration(10e9), telemetry.Duration(60e9)
	// mostDown is the part of an owner's links that must be down for it to be the
	// owner that is, and manyFlap the part of them beyond which it is not the one link
	// that flaps.
	mostDown, manyFlap = 0.9, 0.6
	// flapFalls is how often a link goes down that flaps, and flapLasts how long after
	// the last time it still does.
	flapFalls = 2
	flapLasts = telemetry.Duration(120e9)
)

// outages are what is down at the end of a grid.
type outages struct {
	*signals
	m      *fabric.Map
	g      telemetry.Time
	down   map[int][]*fallen // by the lesser of a link's main ends, what its ends report
	owners []ownerDown       // of these links, in identity order
}

// ownerDown is a switch or host with links that are down.
type ownerDown struct {
	entity           telemetry.Entity
	down             []int // its own ends of them
	up, unread       int
	since            telemetry.Interval // of the first of them
	until            telemetry.Time     // up to when they were reported down
	covered, pending bool               // its links are not troubles of their own; may not be
}

// part is the part of an owner's links that is known to be down.
func (o *ownerDown) part() float64 { return float64(len(o.down)) / float64(len(o.down)+o.up) }

// linkSignals brings what the links show up to date.
func (e *signals) linkSignals(g telemetry.Time) {
	e.linkStates(g)
	if len(e.heed().links) > 0 && len(e.fallen) > 0 {
		x := &outages{signals: e, m: e.fabricMap(), g: g, down: map[int][]*fallen{}}
		x.find()
		x.judgeOwners()
		x.signalOwners()
		x.signalLinks()
	}
	e.signalled = slices.DeleteFunc(e.signalled, func(s signal) bool { return s.kind == linkSignal && s.last < g })
}

// link returns the lesser main end of the link that an end belongs to, and the other.
func (x *outages) link(end telemetry.Entity) (i, peer int, ok bool) {
	i, ok = x.m.Index(end)
	if !ok || x.m.Ends[i].Peer < 0 {
		return 0, 0, false
	}
	peer = x.peer(i)
	return min(i, peer), max(i, peer), true
}

// peer is the main end of what a main end is cabled to, and key the lesser of both.
func (x *outages) peer(i int) int {
	if p := x.m.Ends[i].Peer; p >= 0 {
		p, _ = x.m.Index(x.m.Ends[p].Port)
		return p
	}
	return -1
}

func (x *outages) key(i int) int { return min(i, x.peer(i)) }

// find lists the links that are down, and their owners. What is down on purpose is no
// trouble.
func (x *outages) find() {
	for _, f := range x.fallen {
		i, peer, ok := x.link(f.end)
		if !f.down || !ok || x.cameBack(f, i, peer) || x.onPurpose(i) || x.onPurpose(peer) {
			continue
		}
		if x.down[i] == nil {
			x.ownedBy(i)
			x.ownedBy(peer)
		}
		x.down[i] = append(x.down[i], f)
	}
}

// cameBack reports whether the other end has reported since that the link is up: the
// event of this end is lost.
func (x *outages) cameBack(f *fallen, ends ...int) bool {
	for _, i := range ends {
		if o := x.fallenEnd(x.m.Ends[i].Port); o != nil && o != f && f.event && !o.down && o.at > f.at {
			return true
		}
	}
	return false
}

// findOwner returns where the owner of an end is in the list, or would be.
func (x *outages) findOwner(i int) (at int, ok bool) {
	return slices.BinarySearchFunc(x.owners, x.m.Ends[i].Owner, func(o ownerDown, owner telemetry.Entity) int { return o.entity.Compare(owner) })
}

// ownedBy files a link that is down under the owner of one of its ends.
func (x *outages) ownedBy(i int) {
	at, ok := x.findOwner(i)
	if !ok {
		x.owners = slices.Insert(x.owners, at, ownerDown{entity: x.m.Ends[i].Owner})
	}
	x.owners[at].down = append(x.owners[at].down, i)
}

// onPurpose reports whether an end was shut on purpose, or is in maintenance, itself or
// with what holds it.
func (x *outages) onPurpose(i int) bool {
	end := &x.m.Ends[i]
	return x.disabled(end.Port) || x.maintained(end.Port)
}

// period returns since when the first of some ends is down, and up to when one was
// reported down: one of which an event reported it is, until the next event.
func (x *outages) period(ends []*fallen) (since telemetry.Interval, until telemetry.Time, event bool) {
	since = ends[0].since
	for _, f := range ends {
		if f.since.Latest < since.Latest {
			since = f.since
		}
		until, event = max(until, f.at), event || f.event
	}
	if event {
		until = x.g
	}
	return since, until, event
}

// judgeOwners counts the links of each owner and finds out whether it is the owner that
// is down: the one with the most links first, which are no evidence of another then.
func (x *outages) judgeOwners() {
	for k := range x.owners {
		o := &x.owners[k]
		var ends []*fallen
		for _, i := range o.down {
			ends = append(ends, x.down[x.key(i)]...)
		}
		event := false
		o.since, o.until, event = x.period(ends)
		x.count(o, event)
	}
	order := make([]int, len(x.owners))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(x.owners[b].down), len(x.owners[a].down)) })
	taken := map[int]bool{}
	for _, k := range order {
		o := &x.owners[k]
		own := slices.DeleteFunc(slices.Clone(o.down), func(i int) bool { return taken[x.key(i)] })
		read, young := len(o.down)+o.up, x.g.Sub(o.since.Latest) < aloneAfter
		whole := len(own) > 1 && o.part() >= mostDown
		o.covered = whole && (2*read >= read+o.unread || !young)
		o.pending = !o.covered && young && o.unread > 0 && len(o.down)+o.unread > 1 && o.part() >= mostDown
		for _, i := range own {
			if o.covered {
				taken[x.key(i)] = true
			}
		}
	}
}

// count counts an owner's links that are up, and those whose state was not read since
// its first link was down. Where events report links, a link without one is up.
func (x *outages) count(o *ownerDown, event bool) {
	for _, i := range x.m.Links(o.entity) {
		p := x.peer(i)
		if p < 0 || x.down[x.key(i)] != nil {
			continue
		}
		switch at, down := x.linkSampled(x.m, i, p); {
		case down || x.onPurpose(i) || x.onPurpose(p):
		case event || at > o.since.Latest:
			o.up++
		case at != 0:
			o.unread++
		}
	}
}

// linkSampled returns when the state of a link was last sampled at one of its ends, and
// whether it is down; of a link without a peer that end is -1.
func (e *sight) linkSampled(m *fabric.Map, ends ...int) (at telemetry.Time, down bool) {
	for _, i := range ends {
		if i < 0 || m.UpBy(i) < 0 {
			continue
		}
		slot := e.window.Chosen(m.UpBy(i))
		if last, ok := e.window.Last(slot); ok {
			v, _ := e.window.Value(slot)
			at, down = max(at, last), down || v == 0
		}
	}
	return at, down
}

// signalOwners signals the switches and hosts all of whose links are down.
func (x *outages) signalOwners() {
	for k := range x.owners {
		if o := &x.owners[k]; o.covered && o.until.Sub(o.since.Latest) >= downLasts {
			x.signal(o.entity, string(explain.PeersDown), o.part(), o.since)
		}
	}
}

// signalLinks signals the links that are down, and those that go down again and again,
// where it is not their owner's trouble.
func (x *outages) signalLinks() {
	for _, f := range x.fallen {
		i, peer, ok := x.link(f.end)
		if !ok || x.m.Ends[peer].Port == f.end && x.fallenEnd(x.m.Ends[i].Port) != nil {
			continue // it is judged with its other end
		}
		root, one, other := x.rootOf(i, peer), x.ownerOf(i), x.ownerOf(peer)
		if x.onPurpose(i) || x.onPurpose(peer) || one.covered || other.covered || (one.pending || other.pending) && !x.signalledAt(root) {
			continue
		}
		n, first := x.falls(i, peer)
		var since telemetry.Interval
		lasts := telemetry.Duration(-1)
		if ends := x.down[i]; ends != nil {
			var until telemetry.Time
			since, until, _ = x.period(ends)
			lasts = until.Sub(since.Latest)
		}
		switch flaps := n >= flapFalls && !x.withOthers(i) && !x.withOthers(peer); {
		case lasts >= flapDownLasts || lasts >= downLasts && n < flapFalls:
			x.signal(root, string(explain.DownNow), 1, since)
		case flaps:
			x.signal(root, string(explain.WentDown), float64(n), telemetry.Interval{Earliest: first.Add(-x.cfg.Grid), Latest: first})
		}
	}
}

// rootOf is the end by which a link is named: that of a switch.
func (x *outages) rootOf(i, peer int) telemetry.Entity {
	if x.m.Ends[i].IsNIC() {
		i = peer
	}
	return x.m.Ends[i].Entity
}

// ownerOf returns the owner of an end whose link is down; an empty one of any other.
func (x *outages) ownerOf(i int) ownerDown {
	at, ok := x.findOwner(i)
	if !ok || !slices.Contains(x.owners[at].down, i) {
		return ownerDown{}
	}
	return x.owners[at]
}

// signalledAt reports whether a link is signalled already: that stays what it is until more
// is known.
func (x *outages) signalledAt(root telemetry.Entity) bool {
	return slices.ContainsFunc(x.signalled, func(s signal) bool { return s.kind == linkSignal && s.series.Entity == root })
}

// falls is how often a link went down lately, by the end that saw most of it, and when
// first; 0 where it has not for flapLasts.
func (x *outages) falls(ends ...int) (n int, first telemetry.Time) {
	var last telemetry.Time
	for _, i := range ends {
		f := x.fallenEnd(x.m.Ends[i].Port)
		if f == nil || len(f.falls) == 0 {
			continue
		}
		times, at := f.times()
		if n, last = max(n, times), max(last, f.falls[len(f.falls)-1].at); first == 0 || at < first {
			first = at
		}
	}
	if x.g.Sub(last) > flapLasts {
		return 0, first
	}
	return n, first
}

// withOthers reports whether most other links of an end's owner go down again and again:
// it is the owner that restarts.
func (x *outages) withOthers(i int) bool {
	others, flapping := 0, 0
	for _, k := range x.m.Links(x.m.Ends[i].Owner) {
		p := x.peer(k)
		if k == i || p < 0 {
			continue
		}
		others++
		if n, _ := x.falls(k, p); n >= flapFalls {
			flapping++
		}
	}
	return others > 0 && float64(flapping) > manyFlap*float64(others)
}

// signal begins or continues what links show of an entity: a measure, or how often an
// event happened.
func (x *outages) signal(root telemetry.Entity, what string, value float64, since telemetry.Interval) {
	s := signal{series: telemetry.Series{Entity: root, Metric: telemetry.MetricName(telemetry.EventLinkDown)}, kind: linkSignal, text: what,
		since: x.g, last: x.g, onset: since, now: value}
	if at, ok := x.signals.signals(&s); ok {
		x.signalled[at].last, x.signalled[at].now = x.g, value
	} else if len(x.signalled) < maxSignals {
		x.signalled = slices.Insert(x.signalled, at, s)
	}
}
