package correlate

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/telemetry"
)

// A precursor is a gauge of the plant that leaves the range it was in: a flow that
// is lost, a fan that stops. Such meters are read every 10 to 60 seconds, so that a
// detector that needs several samples reports minutes late. Two samples far outside
// of all that are kept are enough, or one of each of two gauges at one place, or one where
// another feature of its signature shows the same, because nothing is concluded but that the gauge has moved; a signature states how far is
// dangerous.

const (
	// leastPast is how many samples a gauge's range is known from.
	leastPast = 3
	// effectLasts is for how long after it something else explains a signal.
	effectLasts = telemetry.Duration(60e9)
	// leastSiblings is how many sibling gauges show what all of them do, and
	// alikePart which part of its own way their median must have gone to do alike.
	leastSiblings = 3
	alikePart     = 0.5
	// newPart of a danger may have been there before: a gauge that has always been near
	// the limit goes beyond it by its own scatter.
	newPart = 0.5
)

// precursorReading is what a precursor reads: a metric, in its own range or apart from its
// siblings; where it follows a load, that and the feature.
type precursorReading struct {
	metric, load telemetry.MetricName
	domain       telemetry.Domain
	kind         signalKind
	feature      *explain.Feature
}

// gauge is a slot of the window that a precursor reads.
type gauge struct {
	slot int
	precursorReading
}

// gauges are some slots in a row, of one metric of one source, that a precursor reads.
type gauges struct {
	first, n int
	precursorReading
}

// shown is how much of its feature a gauge shows that was one value and is another.
func (x *precursorReading) shown(before, now float64) float64 {
	v, _ := taken(x.feature.Reading.Take, before, now)
	return x.feature.Strength(v)
}

// taken is what a reading takes of a gauge that was one value and is another; false where
// it does not take that of these two.
func taken(t explain.Take, before, now float64) (float64, bool) {
	switch t {
	case explain.TakeNow, explain.TakeMost, explain.TakeLeast:
		return now, true
	case explain.TakeBefore:
		return before, true
	case explain.TakeShift:
		return now - before, true
	case explain.TakeRatio:
		return now / before, before != 0
	}
	return 0, false
}

// gauge reports whether a signal is of a precursor's gauge.
func (s *signal) gauge() bool { return s.kind == stepSignal || s.kind == apartSignal }

// precursorFeature returns the feature of a signature's precursor that a signal is of; nil
// where it is of none.
func (s *signal) precursorFeature(sig *explain.Signature) *explain.Feature {
	if !s.gauge() && s.kind != linkSignal {
		return nil
	}
	for _, c := range sig.PrecursorFeatures() {
		switch {
		case s.kind == linkSignal && c.OfLinks() && s.shows(c) && slices.Contains(sig.Roots, s.series.Entity.Kind):
			return c
		case s.gauge() && !c.OfLinks() && !c.OfParts() && c.Reading.Metric == s.series.Metric && (c.Reading.Take == explain.TakePeers) == (s.kind == apartSignal):
			return c
		}
	}
	return nil
}

// shows reports whether a signal of links is of a feature.
func (s *signal) shows(c *explain.Feature) bool { return s.text == string(c.Measure) }

// signalSteps looks at the gauges of precursors that have a fresh sample in grid g.
func (e *signals) signalSteps(g telemetry.Time) {
	type followed struct {
		slot int
		kind signalKind
	}
	follows := map[followed]bool{}
	for i := range e.signalled {
		if slot, ok := e.window.Slot(e.signalled[i].series); ok && e.signalled[i].gauge() {
			follows[followed{slot, e.signalled[i].kind}] = true
		}
	}
	for _, x := range e.heed().gauges {
		due := g.Add(-e.freshFor(x.first))
		step, kept := e.pastStep(x.first), e.window.Tape(x.first)
		for k := range x.n {
			slot := x.first + k
			v, seen, ok := e.sampled(slot, due)
			if !ok {
				continue
			}
			tape, already := kept.Next(k), follows[followed{slot, x.kind}]
			if before, ok := tape.At(floor(seen, e.cfg.Grid).Add(-step)); ok && before == v && !already && x.kind == stepSignal {
				continue // as most of them are: it is within the range it was in
			}
			e.signalStep(gauge{slot, x.precursorReading}, seen, v, g, already)
		}
	}
}

// sampled returns the value and the time of a slot's last sample; false where it was taken
// at a time or before, has no value, or another slot is judged for the same series.
func (e *signals) sampled(slot int, before telemetry.Time) (float64, telemetry.Time, bool) {
	seen, ok := e.window.Last(slot)
	if !ok || seen <= before || !e.window.Judged(slot) {
		return 0, 0, false
	}
	v, _ := e.window.Value(slot)
	return float64(v), seen, v == v
}

// signalStep takes a fresh sample of a gauge; follows is set where there is a signal
// of it already.
func (e *signals) signalStep(x gauge, seen telemetry.Time, now float64, g telemetry.Time, follows bool) {
	if !follows && !e.stepped(x, seen, now) {
		return
	}
	s := signal{series: e.window.Series(x.slot), kind: x.kind, since: g, last: g, now: now, sampled: seen}
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
	s.first = s.now
	s.before, _ = e.usually(x.slot, seen, s.now)
	if x.feature != nil && x.shown(s.before, s.now) == 0 {
		return false // what follows a load moves a little all the time
	}
	return !e.follows(s, x, seen, s.now)
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
func (e *sight) freshFor(slot int) telemetry.Duration {
	return e.window.Wait(slot) + e.cfg.Grid
}

// followStep keeps a gauge that moved until it is halfway back, or its siblings follow,
// or what drives it moved.
func (e *signals) followStep(at int, x gauge, v float64, g telemetry.Time) {
	s := &e.signalled[at]
	seen, _ := e.window.Last(x.slot)
	from, to, alike := s.before, v, false
	if s.kind == apartSignal {
		s.now = v
		if others, ok := middleOf(e.valuesOf(e.siblings(s.series))); ok {
			s.apart = v - others - s.usualDistance
		}
		from, to = 0, s.apart
		_, lately, ok := e.loadOf(s.series.Entity, x.load)
		alike = ok && lately > alikeLoad || s.withOthers()
	}
	switch by, back := s.first-from, s.first-to; {
	case alike || by > 0 && back > by/2 || by < 0 && back < by/2:
		e.signalled = slices.Delete(e.signalled, at, at+1)
	case s.kind == stepSignal && e.follows(s, x, seen, v):
		if !s.again {
			e.signalled = slices.Delete(e.signalled, at, at+1)
		} // else it shows nothing as long as its host does something else
	default:
		s.last, s.now, s.again = g, v, s.again || seen > s.sampled
	}
}

// follows reports whether a gauge may have moved because all of its kind did, or because
// of its load. What follows nothing moves by itself, with others or not.
func (e *signals) follows(s *signal, x gauge, seen telemetry.Time, v float64) bool {
	return !slices.Contains(e.heed().ofParts, ofParts{s.series.Metric, s.series.Entity.Kind}) && e.movedAlike(s.series, v/s.before) || x.load != "" && !e.drivenAlike(s.series.Entity, x.load, seen, v > s.before)
}

// past gives the samples of a slot before the one seen last, the newest first, until
// more returns false.
func (e *signals) past(slot int, seen telemetry.Time, more func(telemetry.Time, float64) bool) {
	step, kept := e.pastStep(slot), e.window.Tape(slot)
	for g := floor(seen, e.cfg.Grid).Add(-step); g > seen.Add(-(history-2)*e.cfg.Grid); g = g.Add(-step) {
		if x, ok := kept.At(g); ok && !more(g, x) {
			return
		}
	}
}

// pastStep is the time between the samples of a slot that past gives.
func (e *signals) pastStep(slot int) telemetry.Duration {
	return max(e.cfg.Grid, e.window.Cadence(slot))
}

// stepped reports whether a value is outside the range of the samples before it by
// more than that range is wide. More samples only widen the range. Of a gauge that is
// compared with its siblings it is enough that it is outside of what it was before
// the last minute, and went half as far since as it must: it moves with the load. One
// that follows a load must have gone a part of that way, too.
func (e *signals) stepped(x gauge, seen telemetry.Time, v float64) bool {
	itself := func(_ telemetry.Time, x float64) (float64, bool) { return x, true }
	if x.feature == nil {
		return e.outside(x.slot, seen, 0, v, 1, itself)
	}
	was, ok := e.window.At(x.slot, floor(seen.Add(-holdOff), e.cfg.Grid))
	switch {
	case !ok:
		return false
	case x.kind == stepSignal:
		return x.shown(was, v) > 0 && e.outside(x.slot, seen, 0, v, 1, itself)
	}
	return x.feature.Strength(v-was) >= halfThere && e.outside(x.slot, seen.Add(-holdOff), leastSpan, v, 0, itself)
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

// usually returns the median of the samples before a value; false where they are too few,
// or the newest is the same: most gauges never move.
func (e *signals) usually(slot int, seen telemetry.Time, v float64) (float64, bool) {
	var past []float64
	e.past(slot, seen, func(_ telemetry.Time, x float64) bool {
		past = append(past, x)
		return past[0] != v
	})
	if len(past) < leastPast {
		return 0, false
	}
	return stats.Median(past), true
}

// movedAlike reports whether its siblings moved as one gauge did, to so much of its value
// before: fans follow the load, and all of them do.
func (e *signals) movedAlike(s telemetry.Series, to float64) bool {
	var ratios []float64
	for _, slot := range e.siblings(s) {
		seen, _ := e.window.Last(slot)
		v, _ := e.window.Value(slot)
		if before, _ := e.usually(slot, seen, float64(v)); before != 0 && v == v {
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

// accompanied marks the entities whose gauges have moved with one of another metric
// there, or with one upstream, in the same domain: of thousands some report a single
// wrong value now and then, but not two at one place. Only those are looked for that a
// second sample has not shown yet.
func (e *risks) accompanied() map[telemetry.Entity]bool {
	type place struct {
		at     telemetry.Entity
		domain telemetry.Domain
	}
	moved, out := map[place]telemetry.MetricName{}, map[telemetry.Entity]bool{}
	for i := range e.signals.signalled {
		s := &e.signals.signalled[i]
		if !s.gauge() {
			continue
		}
		at := place{s.series.Entity, e.signals.domain(s)}
		if m, ok := moved[at]; ok && m != s.series.Metric {
			out[at.at] = true
		}
		moved[at] = s.series.Metric
	}
	for i := range e.signals.signalled {
		if s := &e.signals.signalled[i]; s.gauge() && !s.again {
			e.climb(s.series.Entity, func(up telemetry.Entity) bool {
				if _, ok := moved[place{up, e.signals.domain(s)}]; ok {
					out[up], out[s.series.Entity] = true, true
				}
				return true
			})
		}
	}
	return out
}

// corroborated reports whether another feature of its signature shows a trouble, too, and
// did not before: a gauge of the root that a precursor does not read, or the states of
// what is behind it. Of features of which one is enough the others are the same proof.
func (e *risks) corroborated(s *supported) bool {
	return slices.ContainsFunc(s.Signature.Features, func(c explain.Feature) bool {
		r := c.Reading
		switch {
		case r == nil || r.Metric == "" || r.Metric == s.signal.series.Metric || c.For <= 0 || c.Either:
			return false
		case r.Take == explain.TakeBits:
			return r.Of == explain.OfUnder && r.Among == explain.AmongShare && e.stateBehind(s.Root, &c)
		}
		return r.Of == explain.OfRoot && e.moved(s.Root, &c)
	})
}

// moved reports whether a gauge of a root shows all of a feature, and showed little of it
// before.
func (e *risks) moved(root telemetry.Entity, c *explain.Feature) bool {
	slot, now, ok := e.nowOf(root, c.Reading.Metric)
	if !ok {
		return false
	}
	seen, _ := e.window.Last(slot)
	before, _ := e.signals.usually(slot, seen, now)
	x, ok := taken(c.Reading.Take, before, now)
	was, _ := taken(c.Reading.Take, before, before)
	return ok && before != 0 && c.Strength(x) == 1 && c.Strength(was) < newPart
}

// stateBehind reports whether so many of what is behind a root state a feature's bits that
// it is fully there, and few did before.
func (e *risks) stateBehind(root telemetry.Entity, c *explain.Feature) bool {
	n, now, before := 0.0, 0.0, 0.0
	e.descend(root, func(x telemetry.Entity) bool {
		if x.Kind != c.Reading.Kind {
			return true
		}
		slot, v, ok := e.nowOf(x, c.Reading.Metric)
		if !ok {
			return false
		}
		seen, _ := e.window.Last(slot)
		was, _ := e.window.At(slot, floor(seen.Add(-holdOff), e.cfg.Grid))
		n++
		now += stated(v, c.Reading.Bits)
		before += stated(float64(was), c.Reading.Bits)
		return false
	})
	return n > 0 && c.Strength(now/n) == 1 && c.Strength(before/n) < newPart
}

// stated is 1 where a state has one of some bits.
func stated(state float64, bits uint64) float64 {
	if uint64(state)&bits != 0 {
		return 1
	}
	return 0
}

// domain is that of the first signature whose precursor reads a gauge.
func (e *signals) domain(s *signal) telemetry.Domain {
	for _, f := range e.heed().precursors {
		if f.metric == s.series.Metric && f.kind == s.kind {
			return f.domain
		}
	}
	return 0
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
// predicts it, if any, else by all of its features.
func (e *risks) weigh(s *signal, sig *explain.Signature, foretells *explain.Feature, root telemetry.Entity) (confidence float64, values explain.Values, ok bool) {
	read := e.riskReader(root, s)
	switch {
	case foretells == nil:
	case foretells.Reading != nil && foretells.Reading.Take == explain.TakeNow && foretells.Strength(s.before) > newPart:
		return 0, nil, false // most of the danger was there before
	case e.otherwise(s, sig, foretells, root):
		return 0, nil, false
	default:
		return foretells.Foreseen(read)
	}
	return sig.WeighRisk(root.Kind, read)
}

// otherwise reports whether something else explains a signal of a signature's precursor:
// not all features that must hold meanwhile are fully there. Where half of one is missing,
// the signal stays an effect of that for effectLasts, for a gauge may be a mean; for good
// where that lasted so long itself, for what was before is forgotten.
func (e *risks) otherwise(s *signal, sig *explain.Signature, foretells *explain.Feature, root telemetry.Entity) bool {
	least := 1.0
	for _, c := range sig.While() {
		if x := e.there(root, c); x < 1 && !e.worse(s, foretells, root, c) {
			least = min(least, x)
		}
	}
	if least < halfThere {
		if s.last.Sub(s.effect.Latest) >= effectLasts {
			s.effect.Earliest = s.last
		}
		s.effect.Latest = s.last
		s.explained = s.explained || s.last.Sub(s.effect.Earliest) >= effectLasts
	}
	return least < 1 || s.last.Sub(s.effect.Latest) < effectLasts
}

// there is how much of a feature of a root is there, by what its gauge is now and was
// before: all of it where that is not reported.
func (e *risks) there(root telemetry.Entity, c *explain.Feature) float64 {
	if c.Reading.Take == explain.TakeBits {
		if e.states(root, c.Reading) {
			return c.Strength(1)
		}
		return 1
	}
	slot, now, ok := e.nowOf(root, c.Reading.Metric)
	if !ok {
		return 1
	}
	seen, _ := e.window.Last(slot)
	before, known := e.signals.usually(slot, seen, now)
	if !known {
		before = now // it is what it was
	}
	return against(c, before, now)
}

// against is how much of a feature is there if its gauge is now and was before.
func against(c *explain.Feature, before, now float64) float64 {
	x, ok := taken(c.Reading.Take, before, now)
	if !ok {
		x = symptom.Ratio(now, before) // it was nothing
	}
	return c.Strength(x)
}

// worse reports whether a signal shows its feature even against what its gauge was when a
// feature that must hold meanwhile did not hold before: with a load, it is more than that
// load made of it.
func (e *risks) worse(s *signal, foretells *explain.Feature, root telemetry.Entity, c *explain.Feature) bool {
	slot, known := e.window.Slot(s.series)
	load, now, reported := e.nowOf(root, c.Reading.Metric)
	if !known || !reported || c.Reading.Take != explain.TakeRatio || s.kind != stepSignal {
		return false
	}
	seen, _ := e.window.Last(load)
	usual, _ := e.signals.usually(load, seen, now)
	n, all := 0, true
	e.signals.past(slot, s.onset.Earliest.Add(-2*e.signals.pastStep(slot)), func(g telemetry.Time, v float64) bool {
		if l, ok := e.window.At(load, g); ok && against(c, usual, l) < 1 {
			n++
			x, ok := taken(foretells.Reading.Take, v, s.now)
			all = ok && foretells.Strength(x) == 1
		}
		return all
	})
	return all && n >= leastPast
}

// states reports whether a GPU states one of some reasons for its clock now, or a counter
// of the time for which it has one runs.
func (e *risks) states(gpu telemetry.Entity, r *explain.Reading) bool {
	if _, v, ok := e.nowOf(gpu, r.Metric); ok && stated(v, r.Bits) > 0 {
		return true
	}
	return slices.ContainsFunc(symptom.Timers(r.Bits), func(by telemetry.MetricName) bool {
		_, v, ok := e.nowOf(gpu, by)
		return ok && v > 0
	})
}

// nowOf is what a metric of an entity is worth now, a counter by its rate.
func (e *risks) nowOf(x telemetry.Entity, m telemetry.MetricName) (slot int, v float64, ok bool) {
	slot, ok = e.window.Slot(telemetry.Series{Entity: x, Metric: m})
	if !ok {
		return 0, 0, false
	}
	now, _ := e.window.Value(slot)
	return slot, float64(now), now == now
}

// remains reports whether a signal still shows a feature in part: what returns after long
// is a step as well, but the other way.
func (e *risks) remains(s *signal, foretells *explain.Feature, root telemetry.Entity) bool {
	x, seen := e.riskReader(root, s)(foretells)
	return seen && foretells.Strength(x) > 0
}
