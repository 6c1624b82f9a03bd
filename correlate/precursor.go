package correlate

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A precursor is a gauge of the plant that leaves the range it was in: a flow that
// is lost, a fan that stops. Such meters are read every 10 to 60 seconds, so that a
// detector that needs several samples reports minutes late. One sample far outside
// of all that are kept is enough, because nothing is concluded from it but that the
// gauge has moved; a signature states how far is dangerous.

const (
	// leastPast is how many samples a gauge's range is known from.
	leastPast = 3
	// leastSiblings is how many gauges beside it show what all of them do, and
	// alikePart which part of its own way their median must have gone to do alike.
	leastSiblings = 3
	alikePart     = 0.5
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

// foretold is what a precursor reads: a metric, in its own range or apart from its
// siblings; for the latter the load that explains it, and the feature.
type foretold struct {
	metric, load telemetry.MetricName
	kind         signalKind
	clue         *explain.Clue
}

// gauge is a slot of the window that a precursor reads.
type gauge struct {
	slot int
	foretold
}

// gauge reports whether a signal is of a precursor's gauge.
func (s *signal) gauge() bool { return s.kind == stepSignal || s.kind == apartSignal }

// foretells returns the feature of a signature's precursor that a signal is of; nil
// where it is of none.
func (s *signal) foretells(sig *explain.Signature) *explain.Clue {
	if !s.gauge() {
		return nil
	}
	return sig.Foretold(s.series.Metric, s.kind == apartSignal)
}

// signalSteps looks at the gauges of precursors that have a fresh sample in grid g.
func (e *signals) signalSteps(g telemetry.Time) {
	follows := map[gauge]bool{}
	for i := range e.signalled {
		if slot, ok := e.window.Slot(e.signalled[i].series); ok && e.signalled[i].gauge() {
			follows[gauge{slot, foretold{kind: e.signalled[i].kind}}] = true
		}
	}
	for _, x := range e.heed().gauges {
		seen, ok := e.window.Last(x.slot)
		if !ok || !e.window.Judged(x.slot) || seen <= g.Add(-e.freshFor(x.slot)) {
			continue
		}
		v, _ := e.window.Value(x.slot)
		if v == v {
			e.signalStep(x, seen, float64(v), g, follows[gauge{x.slot, foretold{kind: x.kind}}])
		}
	}
}

// signalStep takes a fresh sample of a gauge; follows is set where there is a signal
// of it already.
func (e *signals) signalStep(x gauge, seen telemetry.Time, now float64, g telemetry.Time, follows bool) {
	if !follows && !e.stepped(x, seen, now) {
		return
	}
	s := signal{series: e.window.Series(x.slot), kind: x.kind, since: g, last: g, now: now}
	at, known := e.signals(&s)
	down := e.down(s.series.Entity)
	switch {
	case known && down:
		e.signalled = slices.Delete(e.signalled, at, at+1)
	case known:
		e.followStep(at, x, now, g)
	case !down && len(e.signalled) < maxSignals && e.measureStep(&s, x, seen):
		s.onset = e.widened(x.slot, telemetry.Interval{Earliest: seen.Add(-max(e.cfg.Grid, e.window.Cadence(x.slot))), Latest: seen})
		e.signalled = slices.Insert(e.signalled, at, s)
	}
}

// measureStep measures how far a gauge moved, and reports false where that means
// nothing: others moved alike, or what it follows rose.
func (e *signals) measureStep(s *signal, x gauge, seen telemetry.Time) bool {
	if x.kind == apartSignal {
		return e.movedApart(s, x, seen)
	}
	s.before, s.first = e.usually(x.slot, seen, s.now), s.now
	return !e.movedAlike(s.series, s.now/s.before)
}

// down reports whether an entity reports that it is down: its gauges show nothing of
// wear then. A link that is down has no rate, or the one that it will try first.
func (e *signals) down(x telemetry.Entity) bool {
	return slices.ContainsFunc(e.heed().ups, func(m telemetry.MetricName) bool {
		slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: m})
		if !ok {
			return false
		}
		v, _ := e.window.Value(slot)
		return v == 0
	})
}

// freshFor is for how long after it was taken a slot's sample is the last that can
// have come.
func (e *signals) freshFor(slot int) telemetry.Duration {
	return e.window.Wait(slot) + e.cfg.Grid
}

// followStep keeps a gauge that moved until it is halfway back, or its siblings follow,
// or what drives it rose.
func (e *signals) followStep(at int, x gauge, v float64, g telemetry.Time) {
	s := &e.signalled[at]
	s.last, s.now = g, v
	from, to, alike := s.before, v, false
	if s.kind == apartSignal {
		if others, ok := middleOf(e.valuesOf(e.siblings(s.series))); ok {
			s.apart = v - others - s.beside
		}
		from, to = 0, s.apart
		_, lately, ok := e.loadOf(s.series.Entity, x.load)
		alike = ok && lately > alikeLoad || s.withOthers()
	}
	if by, back := s.first-from, s.first-to; alike || by > 0 && back > by/2 || by < 0 && back < by/2 {
		e.signalled = slices.Delete(e.signalled, at, at+1)
	}
}

// past gives the samples of a slot before the one seen last, the newest first, until
// more returns false.
func (e *signals) past(slot int, seen telemetry.Time, more func(telemetry.Time, float64) bool) {
	step := max(e.cfg.Grid, e.window.Cadence(slot))
	for g := floor(seen, e.cfg.Grid).Add(-step); g > seen.Add(-(history-2)*e.cfg.Grid); g = g.Add(-step) {
		if x, ok := e.window.At(slot, g); ok && !more(g, x) {
			return
		}
	}
}

// stepped reports whether a value is outside the range of the samples before it by
// more than that range is wide. More samples only widen the range. Of a gauge that is
// compared with its siblings it is enough that it is outside of what it was before
// the last minute, and went half as far since as it must: it moves with the load.
func (e *signals) stepped(x gauge, seen telemetry.Time, v float64) bool {
	itself := func(_ telemetry.Time, x float64) (float64, bool) { return x, true }
	if x.kind == stepSignal {
		return e.outside(x.slot, seen, 0, v, 1, itself)
	}
	was, ok := e.window.At(x.slot, floor(seen.Add(-holdOff), e.cfg.Grid))
	return ok && x.clue.Strength(v-was) >= halfThere && e.outside(x.slot, seen.Add(-holdOff), leastSpan, v, 0, itself)
}

// outside reports whether v is outside the range of what read makes of the samples of
// a slot before one, by more than so many times that range. They are known for at
// least a span of time.
func (e *signals) outside(slot int, before telemetry.Time, span telemetry.Duration, v, times float64, read func(telemetry.Time, float64) (float64, bool)) bool {
	low, high, n, inside, oldest := math.Inf(1), math.Inf(-1), 0, false, before
	e.past(slot, before, func(g telemetry.Time, x float64) bool {
		x, ok := read(g, x)
		if !ok {
			return true
		}
		oldest = g
		low, high, n = min(low, x), max(high, x), n+1
		wide := float64(times * (high - low))
		inside = v >= low-wide && v <= high+wide
		return !inside
	})
	return n >= leastPast && before.Sub(oldest) >= span && !inside
}

// usually returns the median of the samples before a value; 0 where they are too few,
// or the newest is the same: most gauges never move.
func (e *signals) usually(slot int, seen telemetry.Time, v float64) float64 {
	var past []float64
	e.past(slot, seen, func(_ telemetry.Time, x float64) bool {
		past = append(past, x)
		return past[0] != v
	})
	if len(past) < leastPast {
		return 0
	}
	return stats.Median(past)
}

// movedAlike reports whether the same gauges of the same container moved as one
// did, to so much of its value before: fans follow the load, and all of them do.
func (e *signals) movedAlike(s telemetry.Series, to float64) bool {
	whole, ok := e.graph.Container(s.Entity)
	if !ok {
		return false
	}
	var ratios []float64
	for _, x := range e.graph.Contents(whole) {
		slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: s.Metric})
		if !ok || x == s.Entity {
			continue
		}
		seen, _ := e.window.Last(slot)
		v, _ := e.window.Value(slot)
		if before := e.usually(slot, seen, float64(v)); before != 0 && v == v {
			ratios = append(ratios, float64(v)/before)
		}
	}
	if len(ratios) < leastSiblings {
		return false
	}
	return halfway(stats.Median(ratios)-1, to-1)
}

// halfway reports whether others went more than half the way that one did.
func halfway(others, one float64) bool {
	return others < 0 == (one < 0) && math.Abs(others) > float64(alikePart*math.Abs(one))
}

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
	if !e.outside(x.slot, seen.Add(-holdOff), leastSpan, s.now-others, 1, apart) || !e.drivenAlike(s.series.Entity, x.load, seen) {
		return false
	}
	var before, distances []float64
	e.past(x.slot, seen.Add(-holdOff), func(g telemetry.Time, v float64) bool {
		if d, ok := apart(g, v); ok {
			before, distances = append(before, v), append(distances, d)
		}
		return true
	})
	s.before, s.beside = stats.Median(before), stats.Median(distances)
	s.apart = s.now - others - s.beside
	s.first = s.apart
	return x.clue.Strength(s.apart) == 1 && !s.withOthers()
}

// withOthers reports whether the siblings of a gauge that is apart from them went
// more than half its way.
func (s *signal) withOthers() bool {
	return halfway(s.now-s.before-s.apart, s.now-s.before)
}

// drivenAlike reports whether the load of an entity is no more than a tenth above
// what it was, now and in the last minute. False where that is not known as of the
// time of the sample that it explains.
func (e *signals) drivenAlike(x telemetry.Entity, load telemetry.MetricName, as telemetry.Time) bool {
	slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: load})
	if !ok {
		return false
	}
	seen, _ := e.window.Last(slot)
	now, lately, ok := e.loadOf(x, load)
	return ok && seen >= as.Add(-e.cfg.Grid) && now <= alikeLoad && lately <= alikeLoad
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

// siblings lists the slots of the same gauge of what is beside an entity: in the same
// container, or, where they are too few there, in those beside that container.
func (e *signals) siblings(s telemetry.Series) (out []int) {
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

// surest keeps of the troubles that one gauge shows of one root the surest.
func surest(all []supported) (out []supported) {
	for i := range all {
		a := &all[i]
		if !a.signal.gauge() || !slices.ContainsFunc(all, func(b supported) bool { return a.signal == b.signal && a.Root == b.Root && a.confidence < b.confidence }) {
			out = append(out, *a)
		}
	}
	return out
}

// weigh returns how sure a signature is of a root by a signal: by the feature that
// foretells it, if any, else by all of its features.
func (e *risks) weigh(s *signal, sig *explain.Signature, foretells *explain.Clue, root telemetry.Entity) (confidence float64, values explain.Values, ok bool) {
	read := e.riskReader(root, s)
	if foretells != nil {
		return foretells.Foreseen(read)
	}
	return sig.Stands(root.Kind, read)
}

// explained returns the incident or risk of the same domain that reaches the host of
// a trouble's root; nil where none is known. What one gauge of many there does is its
// effect, such as the heat of a fan that stopped.
func (e *risks) explained(s *supported, known []*explain.Incident) *explain.Incident {
	host, ok := e.graph.Within(s.Root, telemetry.Node)
	if s.signal.kind != apartSignal || !ok {
		return nil
	}
	for _, in := range known {
		if at, within := e.graph.Within(in.Root.Entity, telemetry.Node); e.other(in, s) && (within && at == host || e.behind(host, []telemetry.Entity{in.Root.Entity})) {
			return in
		}
	}
	for _, r := range e.open {
		if e.other(&r.incident, s) && slices.Contains(r.incident.Impact.Entities, host) {
			return &r.incident
		}
	}
	return nil
}

// other reports whether an incident is sure of another fault of a trouble's domain.
func (e *risks) other(in *explain.Incident, s *supported) bool {
	return in.Root.Domain == s.Signature.Domain && in.Root.Signature != s.Signature.Name && (in.Kind == explain.KindRisk || ofKind(in) >= sure)
}
