package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/telemetry"
)

// surveyed is a survey and what it was built for. It holds no state: it can be
// rebuilt at any time.
type surveyed struct {
	job    telemetry.Entity
	nodes  []telemetry.Entity
	drawn  drawing
	survey *symptom.Survey
}

// maxSurveys bounds the surveys that are kept drawn.
const maxSurveys = 8

// survey returns what a job that ran on these nodes is coupled to, rebuilt when the
// topology or the series have changed.
func (e *sight) survey(job telemetry.Entity, nodes []telemetry.Entity) *symptom.Survey {
	now := drawing{e.graph.Generation(), e.window.Slots()}
	i := slices.IndexFunc(e.surveys, func(s surveyed) bool { return s.job == job })
	if i >= 0 {
		if s := &e.surveys[i]; s.drawn == now && slices.Equal(s.nodes, nodes) {
			return s.survey
		}
		e.surveys = slices.Delete(e.surveys, i, i+1)
	}
	m := e.fabricMap()
	var ends []telemetry.Entity
	for i, on := range fabric.OnPath(m, nodes) {
		if on && m.Ends[i].Main {
			ends = append(ends, m.Ends[i].Port)
		}
	}
	s := symptom.Draw(e.graph, symptom.Where{Job: job, Nodes: nodes, Ends: ends})
	if len(e.surveys) == maxSurveys {
		e.surveys = slices.Delete(e.surveys, 0, 1)
	}
	e.surveys = append(e.surveys, surveyed{job, slices.Clone(nodes), now, s})
	return s
}

// symptomSource is where symptoms are read from.
func (e *sight) symptomSource() symptom.Source {
	return symptom.Source{History: e.window, Steps: &e.perStep, Grid: e.cfg.Grid, Each: symptom.ForEach(e.cfg.ForEach)}
}

// readings lists what the signatures read.
func (e *sight) readings() *symptom.Plan {
	if e.plan == nil {
		e.plan = symptom.NewPlan(e.cfg.Signatures, e.cfg.Catalogue)
	}
	return e.plan
}

// movedBefore is how long before a degradation a gauge may have moved that brings it
// about: buffers run empty and masses warm in minutes, not in hours.
const movedBefore = telemetry.Duration(15 * 60e9)

// keepSymptoms freezes the state before its degradation of all that a job is
// coupled to. A gauge that had moved by then, and stays where it is, was what it was
// before that.
func (e *examiner) keepSymptoms(c *incidentCase, span fabric.Span) {
	s := e.survey(c.job, e.nodes(c.job))
	was := e.readings().Read(s, e.symptomSource(), symptom.Span(span), false)
	for i := range e.signals.signalled {
		if x := &e.signals.signalled[i]; x.kind == stepSignal && x.again && x.since < span.To && span.To.Sub(x.since) < movedBefore {
			was.Replace(x.series, x.before)
		}
	}
	c.dependencies = symptom.Keep(was)
}

// symptoms compares the state during a degradation with the state before it.
func (e *examiner) symptoms(c *incidentCase, h *jobs.Degradation, span fabric.Span) *symptom.Contrast {
	if c.dependencies == nil {
		return nil
	}
	s, p := e.survey(c.job, c.nodes), e.readings()
	degradation := symptom.Degradation{Span: symptom.Span(span), Stalled: h.State == jobs.Stalled || h.State == jobs.Failed, Steps: h.Metric() == jobs.MeasureStep, Onset: h.Onset.Latest,
		Events: e.memory.lately(h.Onset.Earliest.Add(-eventsBefore), span.To.Add(e.cfg.Grid))}
	if now, ok := h.Now(); ok && h.Expected > 0 {
		degradation.Slowdown, degradation.Excess = now/h.Expected, now-h.Expected
	}
	return symptom.Compare(p.Read(s, e.symptomSource(), degradation.Span, true), c.dependencies.On(p, s), degradation)
}

const (
	// eventsBefore is how long before a degradation an event may have happened to
	// be reported with it.
	eventsBefore = telemetry.Duration(60e9)
	// keptEvents and keptFor bound what is remembered of events.
	keptEvents = 4096
	keptFor    = telemetry.Duration(24 * 3600e9)
)

// remember keeps an event that is due, for later degradations.
func (e *memory) remember(ev *telemetry.Event) {
	n := 0
	for n < len(e.recent) && (ev.At.Sub(e.recent[n].At) > keptFor || len(e.recent)-n >= keptEvents) {
		n++
	}
	e.recent = slices.Delete(e.recent, 0, n)
	i, ok := slices.BinarySearchFunc(e.recent, *ev, telemetry.Event.Compare)
	if !ok {
		e.recent = slices.Insert(e.recent, i, *ev)
	}
}

// linkBefore is how long before the first slow step a link may have gone down that makes
// it slow: queue pairs try again for 4 to 20 seconds.
const linkBefore = telemetry.Duration(20e9)

// ofLinks are the events in (from, to] of links that go down and come back, by entity.
func (e *memory) ofLinks(from, to telemetry.Time) map[telemetry.Entity][]telemetry.Event {
	out := map[telemetry.Entity][]telemetry.Event{}
	for _, ev := range e.lately(from, to) {
		if ev.Name == telemetry.EventLinkDown || ev.Name == telemetry.EventLinkUp {
			out[ev.Entity] = append(out[ev.Entity], ev)
		}
	}
	return out
}

// lately lists the events that happened in (from, to].
func (e *memory) lately(from, to telemetry.Time) []telemetry.Event {
	var out []telemetry.Event
	for _, ev := range e.recent {
		if ev.At > from && ev.At <= to {
			out = append(out, ev)
		}
	}
	return out
}
