package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// lateAnswers are by how much the evidence for answers certainly began after the
// degradation that they would explain, by root and name: the window forgets when that was,
// and a case does not.
type lateAnswers []lateAnswer

type lateAnswer struct {
	place
	by float64 // usual steps
}

// note keeps by how much an answer is late, as far as that can be seen, and returns it: the
// least that was seen, for what goes and comes again began when it first did. At most
// maxSeen are kept.
func (l *lateAnswers) note(p place, by float64, seen bool) float64 {
	i, known := l.find(p)
	switch {
	case seen && known:
		(*l)[i].by = min((*l)[i].by, by)
	case seen && len(*l) < maxSeen:
		*l = slices.Insert(*l, i, lateAnswer{p, by})
	case !known:
		return by
	}
	return (*l)[i].by
}

func (l *lateAnswers) snapshot(k *snapshot.Codec) {
	snapshot.List(k, (*[]lateAnswer)(l), 24, func(k *snapshot.Codec, a *lateAnswer) {
		k.Entity(&a.entity)
		k.String(&a.signature)
		k.F64(&a.by)
	})
}

func (l lateAnswers) find(p place) (int, bool) {
	return slices.BinarySearchFunc(l, p, func(a lateAnswer, p place) int {
		return cmp.Or(a.entity.Compare(p.entity), cmp.Compare(a.signature, p.signature))
	})
}

// late returns by how many usual steps the evidence for an answer began after a case's
// degradation.
func (e *examiner) late(c *incidentCase, ev *explain.Evidence, a *explain.Answer) float64 {
	since := telemetry.Interval{Earliest: ev.Degradation.Onset.Earliest, Latest: ev.To}
	by, seen := e.writer().Late(ev, a, func(s telemetry.Series, level float64, falls bool) (telemetry.Interval, bool) {
		return e.beyond(s, level, falls, since)
	})
	return c.late.note(placeOf(a), by, seen)
}

// beyond finds when a series was first beyond a level, from the beginning of a span on, as
// far as the window holds it: false where it holds no time before that.
func (e *sight) beyond(s telemetry.Series, level float64, falls bool, in telemetry.Interval) (telemetry.Interval, bool) {
	slot, ok := e.window.Slot(s)
	if !ok {
		return in, false
	}
	step, within := e.look(slot), false
	for g := floor(in.Earliest, e.cfg.Grid); g <= in.Latest; g = g.Add(step) {
		v, ok := e.window.At(slot, g)
		switch is := v > level; {
		case !ok:
		case is == falls:
			within = true
		case within:
			return e.looked(slot, g, g), true
		default: // from before the span on, if that is still in the window
			return telemetry.Interval{Earliest: in.Earliest, Latest: in.Earliest}, g < in.Earliest.Add(step)
		}
	}
	return in, false
}
