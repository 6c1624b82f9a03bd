package symptom

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// leastStep is the part of its value before by which a metric must change to
	// count as one step of strength, where it did not vary more; and leastDegrees
	// the same for temperatures.
	leastStep    = 0.03
	leastDegrees = 1.0
	// mostStrength bounds the strength of one metric.
	mostStrength = 10.0
	// leastStrength is the strength up to which there is no symptom at all, and
	// fullStrength the one at which a fault is certain.
	leastStrength = 3.0
	fullStrength  = 24.0
	// eventStrength is the strength of an event of a fault at an entity.
	eventStrength = 9.0
	// structureStrength is the strength of an entity that is over all the affected
	// GPUs, where these are leastAffected or more.
	structureStrength = 5.0
	leastAffected     = 3
	// strongest symptoms are listed, at most.
	strongest = 6
)

// Strongest lists the entities with the strongest symptoms, whatever they are
// called: those that got worse, beyond their own variation and beyond their peers,
// and that are over the affected GPUs. The strongest suspects come first.
func (f *Contrast) Strongest() []explain.Suspect {
	var out []explain.Suspect
	for i, e := range f.survey.all {
		if !f.survey.used[i] {
			continue
		}
		suspect := explain.Suspect{Entity: e, Domain: telemetry.Computing}
		s, c := f.strength(int32(i))
		if s > 0 {
			suspect.Metric, suspect.Domain = c.metric.Name, c.metric.Domain
		}
		if f.hasEvent(e) {
			s = max(s, eventStrength)
		}
		if e.Kind != telemetry.Job { // everything is under a job
			s = float64(max(s, f.structure(int32(i))) * f.weightOver(int32(i)))
			suspect.Accounts = f.accounts(int32(i))
		}
		if s < leastStrength {
			continue
		}
		suspect.Weight = min((s-leastStrength)/(fullStrength-leastStrength), 1)
		out = append(out, suspect)
	}
	slices.SortFunc(out, func(a, b explain.Suspect) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), a.Entity.Compare(b.Entity))
	})
	return out[:min(len(out), strongest)]
}

// structure returns the strength of an entity without a symptom of its own from the
// GPUs under it: all the affected ones and no others, or that nothing under it
// reports data any more.
func (f *Contrast) structure(i int32) float64 {
	d := &f.derived
	if f.allStale(i) {
		return fullStrength
	}
	if len(d.affected) < leastAffected || int(d.hit[i]) < len(d.affected) || d.hit[i] < f.survey.gpusIn[i] {
		return 0
	}
	return structureStrength
}

// accounts returns what part of the job's loss an entity explains by what is under
// it: by slow clocks, by late ranks, or, while the job is stalled, by an event or
// by stale data.
func (f *Contrast) accounts(i int32) float64 {
	d, out := &f.derived, 0.0
	if n := f.survey.gpusIn[i]; n > 0 && len(d.affected) > 0 && f.degradation.Slowdown > 1 {
		explained := min(1, f.clockExplained(d.slowest[i]))
		out = float64(float64(explained*part(d.hit[i], len(d.affected))) * part(d.hit[i], int(n)))
	}
	if n := f.survey.ranked[i]; n > 0 && len(d.late) > 0 {
		out = max(out, float64(part(d.lateIn[i], len(d.late))*part(d.lateIn[i], int(n))))
	}
	if f.degradation.Stalled && (f.hasEvent(f.survey.all[i]) || f.allStale(i)) {
		out = 1
	}
	return out
}

// hasEvent reports whether an event of a fault or of a change happened to an entity.
func (f *Contrast) hasEvent(e telemetry.Entity) bool {
	return slices.ContainsFunc(f.events[e], func(ev telemetry.Event) bool {
		switch ev.Name {
		case telemetry.EventXID, telemetry.EventLinkDown, telemetry.EventSMMasterChanged, telemetry.EventConfigChanged:
			return true
		}
		return false
	})
}

// weightOver is higher for an entity that accounts for all that is affected, the
// less of what is unaffected is under it, too.
func (f *Contrast) weightOver(i int32) float64 {
	d := &f.derived
	w := 1.0
	if len(d.affected) > 0 && f.survey.gpusIn[i] > 0 {
		w += float64(float64(2*part(d.hit[i], len(d.affected))) * part(d.hit[i], int(f.survey.gpusIn[i])))
	}
	if len(d.late) > 0 && f.survey.ranked[i] > 0 {
		w += float64(part(d.lateIn[i], len(d.late)) * part(d.lateIn[i], int(f.survey.ranked[i])))
	}
	return w
}

// strength is how strong an entity's worst symptom is, and what shows it.
func (f *Contrast) strength(i int32) (float64, column) {
	best, by := 0.0, column{}
	for c, col := range f.plan.of(f.survey.all[i].Kind) {
		s, ok := f.worsened(i, c, col)
		if !ok {
			continue
		}
		m := f.medianWorse(f.survey.class[i], c, col)
		if m.seen <= smallClass {
			m = f.othersWorse(i, c, col)
		}
		if m.seen >= leastPeers {
			s -= m.v
		}
		if s > best {
			best, by = s, col
		}
	}
	return best, by
}

// worsened is how much worse a metric is than before: in multiples of its
// variation. It is negative where the metric got better.
func (f *Contrast) worsened(i int32, c int, col column) (float64, bool) {
	if f.now.stale[i][c] {
		_, known := f.before.at(i, c)
		return mostStrength / 2, known
	}
	now, seen := f.now.at(i, c)
	before, known := f.before.at(i, c)
	if !seen || !known {
		return 0, false
	}
	step := max(float64(leastStep*math.Abs(float64(before.Mean))), float64(float64(before.Spread)*math.Abs(float64(before.Mean))))
	switch {
	case col.bits != 0:
		step = 0.05
	case col.metric.Unit == "celsius":
		step = max(leastDegrees, float64(float64(before.Spread)*math.Abs(float64(before.Mean))))
	case col.metric.Type == telemetry.Counter && col.metric.Rise == telemetry.Worse:
		step = max(step, float64(0.2*float64(now.Mean)))
	}
	if step == 0 {
		step = float64(2 * math.Abs(float64(now.Mean)) / mostStrength)
	}
	if step == 0 {
		return 0, true
	}
	s := (float64(now.Mean) - float64(before.Mean)) / step
	switch {
	case col.bits != 0 || col.metric.Rise == telemetry.Worse:
	case col.metric.Rise == telemetry.Better:
		s = -s
	default:
		s = math.Abs(s) / 2
	}
	return min(max(s, -mostStrength), mostStrength), true
}

// othersWorse is the median of worsened over the rest of an entity's class.
func (f *Contrast) othersWorse(i int32, c int, col column) median {
	return f.medianOf(f.survey.class[i], only(i), func(k int32) (float64, bool) { return f.worsened(k, c, col) })
}

// medianWorse is the median of worsened over a class.
func (f *Contrast) medianWorse(class int32, c int, col column) median {
	key := peerKey{class, int32(c), ofWorse}
	m, ok := f.medians[key]
	if !ok {
		m = f.medianOf(class, none, func(i int32) (float64, bool) { return f.worsened(i, c, col) })
		f.medians[key] = m
	}
	return m
}
