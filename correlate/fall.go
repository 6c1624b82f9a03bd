package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A link that goes down is reported in three ways: by events, by its state, which may be
// polled once in a minute and then misses most of what lasts seconds, and by a counter,
// which misses nothing and does not show the present state. Each end reports for itself.

// fallen is an end of a link that has gone down.
type fallen struct {
	end   telemetry.Entity
	falls []fall             // of the last while, in order
	down  bool               // its newest state
	at    telemetry.Time     // when that was reported
	since telemetry.Interval // of the last fall
	event bool               // the newest state is of an event, and lasts until the next
}

// fall is one time that an end went down, by one instrument.
type fall struct {
	at telemetry.Time
	by instrument
}

// instrument shows falls. What a switch reports over gNMI and writes to its log are two
// events and one fall: each source of events is an instrument of its own.
type instrument struct {
	kind   instrumentKind
	source telemetry.Source // of an event
}

type instrumentKind uint8

const (
	byEvent instrumentKind = iota
	byState
	byCounter
)

const (
	// fallsWithin is how long a fall is counted, and mostFalls bounds those kept.
	fallsWithin = telemetry.Duration(300e9)
	mostFalls   = 64
	// maxFallen bounds the ends that are remembered.
	maxFallen = 4096
)

const (
	metricUp       telemetry.MetricName = "port_up"
	metricDowns    telemetry.MetricName = "port_link_downs_total"
	metricPhysical telemetry.MetricName = "port_physical_state"
)

// disabled is the physical state of a port that was disabled on purpose.
const disabled = 3

func (f *fallen) compare(end telemetry.Entity) int { return f.end.Compare(end) }

// fallenEnd returns what is known of an end that has gone down.
func (e *signals) fallenEnd(end telemetry.Entity) *fallen {
	if i, ok := slices.BinarySearchFunc(e.fallen, end, (*fallen).compare); ok {
		return e.fallen[i]
	}
	return nil
}

// fell records that an end went down.
func (e *signals) fell(end telemetry.Entity, at telemetry.Time, by instrument) *fallen {
	i, ok := slices.BinarySearchFunc(e.fallen, end, (*fallen).compare)
	switch {
	case !ok && len(e.fallen) >= maxFallen:
		return nil
	case !ok:
		e.fallen = slices.Insert(e.fallen, i, &fallen{end: end})
	}
	f := e.fallen[i]
	f.falls = append(f.falls, fall{at, by})
	f.falls = f.falls[max(0, len(f.falls)-mostFalls):]
	return f
}

// goesDown records a report that an end is down from some time in an interval on.
func (f *fallen) goesDown(since telemetry.Interval, event bool) {
	if f != nil && since.Latest >= f.at {
		f.down, f.since, f.at, f.event = true, since, since.Latest, event
	}
}

// linkEvent takes an event of a link.
func (e *signals) linkEvent(ev *telemetry.Event) {
	switch ev.Name {
	case telemetry.EventLinkDown:
		e.fell(ev.Entity, ev.At, instrument{byEvent, ev.Source}).goesDown(telemetry.Interval{Earliest: ev.At.Add(-e.cfg.Grid), Latest: ev.At}, true)
	case telemetry.EventLinkUp:
		if f := e.fallenEnd(ev.Entity); f != nil && ev.At >= f.at {
			f.down, f.at = false, ev.At
		}
	}
}

// linkStates looks at the state and the counter of every link as of grid g, and forgets
// what was long ago.
func (e *signals) linkStates(g telemetry.Time) {
	for _, slot := range e.heed().links {
		v, seen, ok := e.sampled(slot, g.Add(-e.freshFor(slot)))
		isState := e.window.Metric(slot).Name == metricUp
		switch {
		case !ok:
		case isState && (v == 0 || len(e.fallen) > 0):
			e.linkState(e.window.Series(slot).Entity, slot, seen, v != 0)
		case !isState && v > 0:
			e.linkCount(e.window.Series(slot).Entity, seen)
		}
	}
	e.fallen = slices.DeleteFunc(e.fallen, func(f *fallen) bool {
		serviced := e.serviced(f.end)
		f.falls = slices.DeleteFunc(f.falls, func(x fall) bool { return serviced || g.Sub(x.at) > fallsWithin })
		return len(f.falls) == 0 && (!f.down || g.Sub(f.at) > Horizon)
	})
}

// linkState takes a sample of an end's state. One that is down and was never seen up has
// not gone down.
func (e *signals) linkState(end telemetry.Entity, slot int, seen telemetry.Time, up bool) {
	f := e.fallenEnd(end)
	switch {
	case f == nil && up || f != nil && seen <= f.at:
	case up:
		f.down, f.at = false, seen
	case f != nil && f.down:
		f.at = seen
	default:
		if before, was := e.lastUp(slot, seen); was {
			e.fell(end, seen, instrument{kind: byState}).goesDown(e.widened(slot, telemetry.Interval{Earliest: before, Latest: seen}), false)
		}
	}
}

// lastUp returns the time of the sample before one, and whether the link was up in it.
func (e *signals) lastUp(slot int, seen telemetry.Time) (at telemetry.Time, up bool) {
	e.past(slot, seen, func(g telemetry.Time, v float64) bool {
		at, up = g, v != 0
		return false
	})
	return at, up
}

// linkCount takes a sample of an end's counter that has risen. By how much is no evidence: a
// link that goes down once may be counted several times before it is trained again.
func (e *signals) linkCount(end telemetry.Entity, seen telemetry.Time) {
	by := instrument{kind: byCounter}
	if f := e.fallenEnd(end); f == nil || !slices.Contains(f.falls, fall{seen, by}) {
		e.fell(end, seen, by)
	}
}

// times returns how often an end went down lately, by the instrument that shows it most often, and
// when first.
func (f *fallen) times() (n int, first telemetry.Time) {
	for _, x := range f.falls {
		same := 0
		for _, y := range f.falls {
			if y.by == x.by {
				same++
			}
		}
		n = max(n, same)
	}
	return n, f.falls[0].at
}

// disabled reports whether an end was shut on purpose.
func (e *signals) disabled(end telemetry.Entity) bool {
	slot, ok := e.window.Slot(telemetry.Series{Entity: end, Metric: metricPhysical})
	if !ok {
		return false
	}
	v, _ := e.window.Value(slot)
	return v == disabled
}

// maintained reports whether something, or what contains or supplies it, is under
// maintenance.
func (e *signals) maintained(x telemetry.Entity) bool {
	found := in(e.spare.maintained, x)
	if !found && len(e.spare.maintained) > 0 {
		e.climb(x, func(up telemetry.Entity) bool { found = in(e.spare.maintained, up); return !found })
	}
	return found
}

// serviced reports whether one of the ends of a link is under maintenance.
func (e *signals) serviced(end telemetry.Entity) bool {
	peer, _, ok := e.graph.Peer(end)
	return e.maintained(end) || ok && e.maintained(peer)
}

// goneBefore takes over that ends of links were down when another engine saw them last:
// this one would take them for ends that always were.
func (e *signals) goneBefore(ends []telemetry.Entity, since telemetry.Interval, g telemetry.Time) {
	for _, end := range ends {
		if f := e.fell(end, since.Latest, instrument{kind: byState}); f != nil && !f.down {
			f.goesDown(since, false)
			f.at = g
		}
	}
}

func codeFallen(c *snapshot.Codec, x **fallen) {
	if *x == nil {
		*x = &fallen{}
	}
	f := *x
	c.Entity(&f.end)
	snapshot.List(c, &f.falls, 12, func(c *snapshot.Codec, x *fall) {
		c.Time(&x.at)
		c.U8((*uint8)(&x.by.kind))
		c.String(&x.by.source.Collector)
		c.String(&x.by.source.Target)
		c.String(&x.by.source.Part)
	})
	c.Bool(&f.down)
	c.Time(&f.at)
	c.Interval(&f.since)
	c.Bool(&f.event)
}
