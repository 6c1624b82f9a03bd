package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// What all parts of a container do alike is no trouble of a part. Fans follow the load,
// and no risk is seen in them. A limit follows nothing: where a signature reads which
// share of what is under its root did the same, the container is the root. A site that
// reads limits from its GPUs alone learns so that the limit of a host was lowered, and one
// that reads the air at its hosts alone, that of a row is warm.

// Where the limits of all of the site were lowered, it was decided so, and nothing is wrong
// until it costs. A metric that is compared as a shift is measured; no operator sets it.

// ofParts is a metric of a kind of parts, of which a precursor reads what share moved.
type ofParts struct {
	metric telemetry.MetricName
	kind   telemetry.Kind
}

// parts are those of a container that have a gauge, what each was and is;
// everywhere is set where most that is not in it moved as well.
type parts struct {
	of          []telemetry.Entity
	before, now []float64
	everywhere  bool
}

// together returns what a gauge moved in together with the same gauges of all else there,
// the widest of those that a signature may name, none where it is the site, and the feature
// that reads it so; nil where no feature does, or the gauge moved alone.
func (e *risks) together(s *signal, sig *explain.Signature) (roots []telemetry.Entity, by *explain.Feature) {
	i := slices.IndexFunc(sig.PrecursorFeatures(), func(c *explain.Feature) bool {
		return c.OfParts() && s.kind == stepSignal && c.Reading.Metric == s.series.Metric && c.Reading.Kind == s.series.Entity.Kind
	})
	if i < 0 {
		return nil, nil
	}
	at, of := s.series.Entity, sig.PrecursorFeatures()[i]
	for up, ok := e.rootOver(at, sig); ok && e.allMoved(up, at, s); up, ok = e.rootOver(at, sig) {
		at, by = up, of
	}
	if by == nil || of.Reading.Take == explain.TakeRatio && e.partsOf(at, s.series).everywhere {
		return nil, by
	}
	return []telemetry.Entity{at}, by
}

// rootOver returns the nearest of what contains an entity that a signature may name.
func (e *risks) rootOver(x telemetry.Entity, sig *explain.Signature) (telemetry.Entity, bool) {
	up, ok := e.graph.Container(x)
	for ok && !slices.Contains(sig.Roots, up.Kind) {
		up, ok = e.graph.Container(up)
	}
	return up, ok
}

// allMoved reports whether the gauges that a container has beyond those of one part of it
// moved as one of that part did.
func (e *risks) allMoved(whole, part telemetry.Entity, s *signal) bool {
	var others []float64
	all := e.partsOf(whole, s.series)
	for i, x := range all.of {
		if x != part && !e.within(x, part) {
			others = append(others, all.now[i]/all.before[i])
		}
	}
	return len(others) >= leastSiblings && halfway(stats.Median(others)-1, s.now/s.before-1)
}

// share is which part of the gauges of a container a reading counts.
func (x *parts) share(r *explain.Reading) float64 {
	n := 0.0
	for i := range x.of {
		if v, ok := taken(r.Take, x.before[i], x.now[i]); ok && r.Counts(v) {
			n++
		}
	}
	return n / float64(max(1, len(x.of)))
}

// partsOf lists what has the gauge of a series in a container, at any depth. A gauge that
// shows no signal is what it was. It is found once a grid.
func (e *risks) partsOf(whole telemetry.Entity, s telemetry.Series) *parts {
	key := telemetry.Series{Entity: whole, Metric: s.Metric}
	if all, ok := e.steps[key]; ok {
		return all
	}
	all := &parts{}
	e.descend(whole, func(x telemetry.Entity) bool {
		if x.Kind != s.Entity.Kind {
			return true
		}
		own := telemetry.Series{Entity: x, Metric: s.Metric}
		if _, ok := e.window.Slot(own); ok {
			before, now := 1.0, 1.0
			if at, ok := e.signals.signals(&signal{series: own, kind: stepSignal}); ok {
				before, now = e.signals.signalled[at].before, e.signals.signalled[at].now
			}
			all.of, all.before, all.now = append(all.of, x), append(all.before, before), append(all.now, now)
		}
		return false
	})
	all.everywhere = e.movedOutside(whole, s, len(all.of))
	if e.steps == nil {
		e.steps = map[telemetry.Series]*parts{}
	}
	e.steps[key] = all
	return all
}

// movedOutside reports whether most gauges of a metric moved that are not among the n of a
// container, or there are none.
func (e *risks) movedOutside(whole telemetry.Entity, s telemetry.Series, n int) bool {
	outside, moved := -n, 0
	for _, x := range e.signals.heed().gauges {
		if x.metric == s.Metric && x.kind == stepSignal {
			outside += x.n
		}
	}
	for i := range e.signals.signalled {
		o := &e.signals.signalled[i]
		if o.series.Metric == s.Metric && o.kind == stepSignal && !e.within(o.series.Entity, whole) {
			moved++
		}
	}
	return 2*moved >= outside
}
