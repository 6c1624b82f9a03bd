package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// signals are what may become trouble, by series, kind, shape, text.
type signals struct {
	*sight
	signalled []signal
	fallen    []*fallen // ends of links that have gone down, in identity order
	spare     *spare    // what is under maintenance
	heeds     heeded    // what the signatures of risks look at; not state
}

// signal is something wrong that a risk's signature heeds: a finding, a state
// that is a bad one, or an event.
type signal struct {
	series        telemetry.Series // of an event, its name is used as the metric
	kind          signalKind
	shape         telemetry.Shape // of a finding
	text          string          // of an event
	since         telemetry.Time  // the grid in which it was first seen
	last          telemetry.Time  // in which it was last seen
	onset         telemetry.Interval
	before        float64
	now           float64
	first         float64 // of a step: its value when it was first seen; of one apart, how far then
	usualDistance float64 // of one apart: its usual distance from the median of its siblings
	apart         float64 // and how much larger that is now
	// sampled is when the first sample of a gauge was taken that shows it, and again is
	// set when a later one does.
	sampled telemetry.Time
	again   bool
	// explained is set of one apart where something upstream was known when it could
	// have opened a risk: it stays an effect of that.
	explained bool
	// effect is from when to when something else last explained it.
	effect telemetry.Interval
	// reported is when an incident last covered what links show: its job may become
	// degraded by the same again.
	reported telemetry.Time
}

type signalKind uint8

const (
	findingSignal signalKind = iota
	stateSignal
	eventSignal
	stepSignal  // a gauge of a precursor that left its range
	apartSignal // one that left its siblings
	linkSignal  // what links show that are down; the text is the measure
)

func (s *signal) compare(o *signal) int {
	return cmp.Or(s.series.Compare(o.series), cmp.Compare(s.kind, o.kind), cmp.Compare(s.shape, o.shape), cmp.Compare(s.text, o.text))
}

const (
	// maxSignals bounds what is followed; what comes beyond waits.
	maxSignals = 4096
	// stateLasts grids a bad state must be seen before it counts.
	stateLasts = 2
	// eventLasts is how long an event counts as evidence of a trouble.
	eventLasts = telemetry.Duration(120e9)
)

// certain reports whether a signal has lasted long enough to count.
func (s *signal) certain(grid telemetry.Duration) bool {
	return s.kind != stateSignal || s.last.Sub(s.since) >= (stateLasts-1)*grid
}

// lasted reports whether a gauge has shown the precursor of a signature for as long as it must.
func (s *signal) lasted(sig *explain.Signature) bool {
	return !s.gauge() || sig.Precursor == nil || s.last.Sub(s.since) >= sig.Precursor.Lasts
}

// heeded is what the signatures of risks look at.
type heeded struct {
	metrics    []telemetry.MetricName // in order
	events     []string
	slots      []int                      // of the window, whose metric is a state among metrics
	gauges     []gauges                   // of the window, that a precursor reads
	precursors []precursorReading         // what precursors read
	ofParts    []ofParts                  // of which precursors read what share of a container moved
	links      []int                      // of the window, states and counters of links
	falls      bool                       // links are looked at
	ups        []telemetry.MetricName     // states that are good while they are not 0
	scanned    int                        // slots looked at
	siblingsOf map[telemetry.Series][]int // of gauges that moved: their siblings, as of drawn
	drawn      drawing
	known      bool
}

// heed finds out what the signatures look at.
func (e *signals) heed() *heeded {
	h := &e.heeds
	if !h.known {
		for i := range e.cfg.Signatures {
			s := &e.cfg.Signatures[i]
			for _, c := range s.PrecursorFeatures() {
				if c.OfLinks() {
					h.falls = true
					continue
				}
				if c.OfParts() {
					h.ofParts = append(h.ofParts, ofParts{c.Reading.Metric, c.Reading.Kind})
					continue
				}
				f := precursorReading{metric: c.Reading.Metric, domain: s.Domain, load: s.Precursor.Load, kind: stepSignal}
				if c.Reading.Take == explain.TakePeers {
					f.kind = apartSignal
				}
				if f.load != "" {
					f.feature = c
				}
				if !slices.Contains(h.precursors, f) {
					h.precursors = append(h.precursors, f)
				}
			}
			if s.Expect != explain.ExpectRisk {
				continue
			}
			for _, c := range s.Heeds() {
				if c.Reading.Event != "" {
					h.events = append(h.events, c.Reading.Event)
				} else {
					h.metrics = append(h.metrics, c.Reading.Metric)
				}
			}
		}
		for _, m := range e.cfg.Catalogue.Metrics() {
			if m.Type == telemetry.StateOf && m.Rise == telemetry.Better {
				h.ups = append(h.ups, m.Name)
			}
		}
		slices.Sort(h.metrics)
		slices.Sort(h.events)
		h.metrics, h.events, h.known = slices.Compact(h.metrics), slices.Compact(h.events), true
	}
	for n := e.window.Slots(); h.scanned < n; h.scanned++ {
		m := e.window.Metric(h.scanned)
		if m == nil {
			continue
		}
		if m.Type == telemetry.StateOf && m.Rise != telemetry.Neutral && h.metric(m.Name) {
			h.slots = append(h.slots, h.scanned)
			continue
		}
		if h.falls && (m.Name == metricUp || m.Name == metricDowns) {
			h.links = append(h.links, h.scanned)
		}
		for _, f := range h.precursors {
			if f.metric == m.Name {
				h.gauge(h.scanned, f, e.window.InRow(h.scanned))
			}
		}
	}
	return h
}

// gauge adds a slot to the gauges that a precursor reads; inRow is set where it is of
// the same metric and source as the slot before.
func (h *heeded) gauge(slot int, of precursorReading, inRow bool) {
	for i := len(h.gauges) - 1; inRow && i >= max(0, len(h.gauges)-len(h.precursors)); i-- {
		if x := &h.gauges[i]; x.first+x.n == slot && x.precursorReading == of {
			x.n++
			return
		}
	}
	h.gauges = append(h.gauges, gauges{slot, 1, of})
}

func (h *heeded) metric(m telemetry.MetricName) bool {
	_, ok := slices.BinarySearch(h.metrics, m)
	return ok
}

// signalFindings takes the findings that began or ended.
func (e *signals) signalFindings(found []detect.Finding, g telemetry.Time) {
	h := e.heed()
	if len(h.metrics) == 0 {
		return
	}
	for i := range found {
		f := &found[i]
		m := e.metricOf(f)
		// The difference from its peers is a state, and not a change.
		if m == nil || f.Shape == telemetry.ShapePeer || m.Type == telemetry.StateOf || !h.metric(m.Name) || !worse(f, m.Rise) {
			continue
		}
		s := signal{series: f.Series, kind: findingSignal, shape: f.Shape, since: g, last: g, onset: e.widened(f.Slot, f.Onset), before: f.Before, now: f.Now}
		switch at, ok := e.signals(&s); {
		case f.Ended != 0 && ok:
			e.signalled = slices.Delete(e.signalled, at, at+1)
		case f.Ended == 0 && !ok && len(e.signalled) < maxSignals:
			e.signalled = slices.Insert(e.signalled, at, s)
		}
	}
}

// worse reports whether a finding goes in the bad direction, or ends.
func worse(f *detect.Finding, rise telemetry.Rise) bool {
	return f.Ended != 0 || rise == telemetry.Neutral || f.Shape == telemetry.ShapeStuck || f.Shape == telemetry.ShapeSilence || (f.Now > f.Before) == (rise == telemetry.Worse)
}

func (e *signals) signals(s *signal) (int, bool) {
	return slices.BinarySearchFunc(e.signalled, s, func(a signal, s *signal) int { return a.compare(s) })
}

func heeds(sig *explain.Signature, s *signal) bool {
	for _, c := range sig.Heeds() {
		r := c.Reading
		if s.kind == eventSignal && r.Event == string(s.series.Metric) && len(s.text) >= len(r.Text) && s.text[:len(r.Text)] == r.Text ||
			s.kind != eventSignal && r.Event == "" && r.Metric == s.series.Metric {
			return true
		}
	}
	return false
}

// signalEvent takes an event due by g.
func (e *signals) signalEvent(ev *telemetry.Event, g telemetry.Time) {
	if e.heed().falls {
		e.linkEvent(ev)
	}
	if _, ok := slices.BinarySearch(e.heed().events, string(ev.Name)); !ok {
		return
	}
	s := signal{series: telemetry.Series{Entity: ev.Entity, Metric: telemetry.MetricName(ev.Name)}, kind: eventSignal, text: ev.Text,
		since: g, last: g, onset: telemetry.Interval{Earliest: ev.At.Add(-e.cfg.Grid), Latest: ev.At}, now: 1}
	if at, ok := e.signals(&s); ok {
		e.signalled[at].last = g
	} else if len(e.signalled) < maxSignals {
		e.signalled = slices.Insert(e.signalled, at, s)
	}
}

// signalStates looks at every state that is heeded: a leak that was there before
// the first data is one all the same. It keeps findings up to date and drops the
// signals that are over; a state without data stays what it was for a while.
func (e *signals) signalStates(g telemetry.Time) {
	for _, slot := range e.heed().slots {
		v, _ := e.window.Value(slot)
		if v != v || !e.window.Judged(slot) {
			continue
		}
		m := e.window.Metric(slot)
		good := 0.0
		if m.Rise == telemetry.Better {
			good = 1
		}
		s := signal{series: e.window.Series(slot), kind: stateSignal, since: g, last: g, before: good, now: float64(v)}
		at, ok := e.signals(&s)
		switch bad := (float64(v) > good) == (m.Rise == telemetry.Worse) && float64(v) != good; {
		case bad && ok:
			e.signalled[at].last = g
		case bad && len(e.signalled) < maxSignals:
			seen, _ := e.window.Last(slot)
			s.onset = e.widened(slot, telemetry.Interval{Earliest: seen.Add(-max(e.cfg.Grid, e.window.Cadence(slot))), Latest: seen})
			e.signalled = slices.Insert(e.signalled, at, s)
		case !bad && ok:
			e.signalled = slices.Delete(e.signalled, at, at+1)
		}
	}
	e.signalSteps(g)
	e.linkSignals(g)
	for i := range e.signalled {
		e.refreshSignal(&e.signalled[i])
	}
	e.signalled = slices.DeleteFunc(e.signalled, func(s signal) bool {
		return s.kind == eventSignal && g.Sub(s.last) > eventLasts || (s.kind == stateSignal || s.gauge()) && g.Sub(s.last) > Horizon
	})
}

// refreshSignal keeps what a finding's series is worth now.
func (e *signals) refreshSignal(s *signal) {
	if s.kind != findingSignal {
		return
	}
	if slot, ok := e.window.Slot(s.series); ok {
		if v, _ := e.window.Value(slot); v == v {
			s.now = float64(v)
		}
	}
}

func codeSignal(c *snapshot.Codec, s *signal) {
	c.Entity(&s.series.Entity)
	c.String((*string)(&s.series.Metric))
	c.U8((*uint8)(&s.kind))
	c.U8((*uint8)(&s.shape))
	c.String(&s.text)
	c.Time(&s.since)
	c.Time(&s.last)
	c.Interval(&s.onset)
	c.F64(&s.before)
	c.F64(&s.now)
	c.F64(&s.first)
	c.F64(&s.usualDistance)
	c.F64(&s.apart)
	c.Time(&s.sampled)
	c.Bool(&s.again)
	c.Bool(&s.explained)
	c.Interval(&s.effect)
	c.Time(&s.reported)
}
