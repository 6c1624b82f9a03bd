package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A gauge that follows the load is compared with its siblings: the temperature of a
// GPU with those of the others on its host, at the same power.

const (
	// halfThere is how much of a feature a gauge's own way must be.
	halfThere = 0.5
	// mostSiblings bounds those that are looked at outside its own container, and
	// alikeLoad is how much more load than before is no more.
	mostSiblings = 32
	alikeLoad    = 1.1
	// holdOff is how old samples are with which a gauge is compared that warms slowly,
	// and leastSpan the time over which its range before was known.
	holdOff, leastSpan = telemetry.Duration(60e9), telemetry.Duration(30e9)
)

// movedApart reports whether a gauge is further from the median of its siblings than
// it was before the last minute, by more than that distance varied, while what drives
// it did not rise against theirs: a GPU that gives its heat away badly, and not one
// that works while others wait. It works for as long as before in the range, and
// warms ever more slowly, so that nothing that only gets warm leaves it. Nor does it
// mean anything where the siblings went half as far: no two give their heat away alike.
// What is not far enough for the feature may be noise, and is not followed.
func (e *signals) movedApart(s *signal, x gauge, seen telemetry.Time) bool {
	beside := e.siblings(s.series)
	others, ok := middleOf(e.valuesOf(beside))
	if !ok {
		return false
	}
	apart := func(g telemetry.Time, v float64) (float64, bool) {
		m, ok := middleOf(e.at(beside, g))
		return v - m, ok
	}
	if !e.outside(x.slot, seen.Add(-holdOff), leastSpan, s.now-others, 1, apart) || !e.drivenAlike(s.series.Entity, x.load, seen, true) {
		return false
	}
	var before, distances []float64
	e.past(x.slot, seen.Add(-holdOff), func(g telemetry.Time, v float64) bool {
		if d, ok := apart(g, v); ok {
			before, distances = append(before, v), append(distances, d)
		}
		return true
	})
	s.before, s.usualDistance = stats.Median(before), stats.Median(distances)
	s.apart = s.now - others - s.usualDistance
	s.first = s.apart
	return x.feature.Strength(s.apart) == 1 && !s.withOthers()
}

// withOthers reports whether the siblings of a gauge that is apart from them went
// more than half its way.
func (s *signal) withOthers() bool {
	return halfway(s.now-s.before-s.apart, s.now-s.before)
}

// drivenAlike reports whether the load of an entity has moved by no more than a tenth, now
// and in the last minute, up or down as the gauge has that follows it. False where that
// is not known as of the time of the sample that it explains.
func (e *signals) drivenAlike(x telemetry.Entity, load telemetry.MetricName, as telemetry.Time, up bool) bool {
	slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: load})
	if !ok {
		return false
	}
	seen, _ := e.window.Last(slot)
	now, lately, ok := e.loadOf(x, load)
	most, least := max(now, lately), min(now, lately)
	return ok && seen >= as.Add(-e.cfg.Grid) && (up && most <= alikeLoad || !up && least >= 1/alikeLoad)
}

// loadOf returns the load of an entity, of its siblings' median load, now and in the
// last minute, over the part of it that it was before.
func (e *signals) loadOf(x telemetry.Entity, load telemetry.MetricName) (now, lately float64, ok bool) {
	own := telemetry.Series{Entity: x, Metric: load}
	slot, ok := e.window.Slot(own)
	if !ok {
		return 0, 0, false
	}
	beside := e.siblings(own)
	v, _ := e.window.Value(slot)
	others, ok := middleOf(e.valuesOf(beside))
	if !ok || v != v {
		return 0, 0, false
	}
	seen, _ := e.window.Last(slot)
	var before, since part
	since.add(float64(v), others)
	now = since.of()
	e.past(slot, seen, func(g telemetry.Time, v float64) bool {
		if m, ok := middleOf(e.at(beside, g)); ok && g > seen.Add(-holdOff) {
			since.add(v, m)
		} else if ok {
			before.add(v, m)
		}
		return true
	})
	return now / before.of(), since.of() / before.of(), before.n >= leastPast
}

// part is what one thing was of another over a time.
type part struct {
	n            int
	own, another float64
}

func (p *part) add(own, another float64) {
	p.n, p.own, p.another = p.n+1, p.own+own, p.another+another
}

func (p *part) of() float64 { return p.own / p.another }

// siblings lists the slots of the same gauge of the siblings of an entity. They are
// searched for once as long as the topology and the series are the same.
func (e *signals) siblings(s telemetry.Series) []int {
	h := e.heed()
	if now := (drawing{e.graph.Generation(), e.window.Slots()}); h.siblingsOf == nil || h.drawn != now {
		h.siblingsOf, h.drawn = map[telemetry.Series][]int{}, now
	}
	known, ok := h.siblingsOf[s]
	if !ok {
		known = e.findSiblings(s)
		h.siblingsOf[s] = known
	}
	out := make([]int, len(known))
	for i, slot := range known {
		out[i] = e.window.Chosen(slot)
	}
	return out
}

// findSiblings finds siblings: in the same container, or, where they are too few there, in
// those of the siblings of that container.
func (e *signals) findSiblings(s telemetry.Series) (out []int) {
	whole, ok := e.graph.Container(s.Entity)
	if !ok {
		return nil
	}
	if out = e.slotsIn(out, whole, s); len(out) >= leastSiblings {
		return out
	}
	out = out[:0]
	if outer, ok := e.graph.Container(whole); ok {
		for _, c := range e.graph.Contents(outer) {
			if c.Kind == whole.Kind && len(out) < mostSiblings {
				out = e.slotsIn(out, c, s)
			}
		}
	}
	return out
}

// slotsIn adds the slots of a series' metric of what a container directly contains,
// those of the series itself apart.
func (e *signals) slotsIn(out []int, whole telemetry.Entity, s telemetry.Series) []int {
	for _, x := range e.graph.Contents(whole) {
		if slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: s.Metric}); ok && x != s.Entity {
			out = append(out, slot)
		}
	}
	return out
}

// valuesOf returns what slots are worth now, and at what they were in a grid.
func (e *signals) valuesOf(of []int) (out []float64) {
	for _, slot := range of {
		if v, _ := e.window.Value(slot); v == v {
			out = append(out, float64(v))
		}
	}
	return out
}

func (e *signals) at(of []int, g telemetry.Time) (out []float64) {
	for _, slot := range of {
		if v, ok := e.window.At(slot, g); ok {
			out = append(out, v)
		}
	}
	return out
}

// middleOf is the median of enough siblings.
func middleOf(values []float64) (float64, bool) {
	if len(values) < leastSiblings {
		return 0, false
	}
	return stats.Median(values), true
}

// explained returns the incident or risk that reaches the host of a trouble's root and
// whose domain acts on the trouble's; nil where none is known. What one gauge of many
// there does is its effect, such as the heat of a fan that stopped, or the clock of a GPU
// in air that is too warm.
func (e *risks) explained(s *supported, known []*explain.Incident) *explain.Incident {
	if s.signal.kind == linkSignal {
		return e.cutOff(s, known)
	}
	host, ok := e.graph.Within(s.Root, telemetry.Node)
	if !s.followsLoad() || !ok {
		return nil
	}
	if i := slices.IndexFunc(known, func(in *explain.Incident) bool { return e.upon(in, s, host) }); i >= 0 {
		return known[i]
	}
	for _, r := range e.open {
		if e.other(&r.incident, s) && slices.Contains(r.incident.Impact.Entities, host) {
			return &r.incident
		}
	}
	return nil
}

// aftermath reports whether a gauge left its siblings after an incident that reached its
// host, and within the time in which its usual distance is known: it is their way back
// that is seen.
func (e *risks) aftermath(s *supported, lately []*explain.Incident) bool {
	host, ok := e.graph.Within(s.Root, telemetry.Node)
	return ok && s.followsLoad() && slices.ContainsFunc(lately, func(in *explain.Incident) bool { return e.upon(in, s, host) })
}

// upon reports whether an incident of another fault that acts on a trouble's domain reaches a host.
func (e *risks) upon(in *explain.Incident, s *supported, host telemetry.Entity) bool {
	if !e.other(in, s) {
		return false
	}
	at, within := e.graph.Within(in.Root.Entity, telemetry.Node)
	return within && at == host || e.behind(host, []telemetry.Entity{in.Root.Entity})
}

// other reports whether an incident is sure of another fault that acts on a trouble's domain.
func (e *risks) other(in *explain.Incident, s *supported) bool {
	return actsOn(in.Root.Domain, s.Signature.Domain) && in.Root.Signature != s.Signature.Name && (in.Kind == explain.KindRisk || ofKind(in) >= sure)
}

// followsLoad reports whether a trouble is seen in a gauge that follows the load, and is
// compared with its siblings for that.
func (s *supported) followsLoad() bool {
	return s.signal.kind == apartSignal || s.signal.gauge() && s.Signature.Precursor != nil && s.Signature.Precursor.Load != ""
}

// actsOn reports whether trouble of one domain shows in another: what power and cooling
// lack shows in computing.
func actsOn(cause, effect telemetry.Domain) bool {
	return cause == effect || effect == telemetry.Computing && (cause == telemetry.Power || cause == telemetry.Cooling)
}
