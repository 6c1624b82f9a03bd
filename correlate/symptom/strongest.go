package symptom

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// StrongestReading returns the strongest observation of a feature's reading: the entity of
// its scope whose number is the strongest evidence for the feature, its metric, and
// its value before the degradation and now. False where nothing of it was seen.
func (f *Contrast) StrongestReading(root telemetry.Entity, c *explain.Feature) (explain.Observation, bool) {
	i, ok := f.survey.index[root]
	if !ok || c.Reading == nil {
		return explain.Observation{}, false
	}
	up := c.Full > c.None
	if x := c.Reading; x.Among == explain.AmongShare {
		up = x.Above != nil
	}
	best, most := int32(-1), 0.0
	for _, k := range f.scope(i, c.Reading) {
		v, ok := f.take(k, c.Reading)
		if !up {
			v = -v
		}
		if ok && (best < 0 || v > most) {
			best, most = k, v
		}
	}
	if best < 0 {
		return explain.Observation{}, false
	}
	return f.observe(best, c.Reading)
}

func (f *Contrast) observe(i int32, x *explain.Reading) (explain.Observation, bool) {
	out := explain.Observation{Entity: f.survey.all[i], Bits: x.Bits != 0}
	if x.Event != "" {
		out.Metric, out.Now, out.Event = telemetry.MetricName(x.Event), f.count(i, x), true
		for _, ev := range f.events[out.Entity] {
			if f.counts(&ev, x) {
				out.At = telemetry.Interval{Earliest: ev.At, Latest: ev.At}
				break
			}
		}
		return out, out.Now > 0
	}
	c := f.column(i, x)
	if out.Metric = x.Metric; c >= 0 {
		out.Metric = f.plan.of(out.Entity.Kind)[c].metric.Name
	}
	before, known := f.before.at(i, c)
	now, seen := f.now.at(i, c)
	out.Before, out.Now = float64(before.Mean), float64(now.Mean)
	noData := x.Take == explain.TakeNoData
	return out, (known || peerTake(x.Take)) && seen || noData && known
}

func peerTake(t explain.Take) bool { return t == explain.TakeBelowPeers || t == explain.TakeNow }

// Slowest returns the GPU under an entity whose clock fell most; false where none
// did.
func (f *Contrast) Slowest(root telemetry.Entity) (explain.Observation, bool) {
	i, ok := f.survey.index[root]
	if !ok {
		return explain.Observation{}, false
	}
	for _, g := range f.derived.affected {
		if g == i || slices.Contains(f.survey.carriers[g], i) {
			return f.observe(g, &explain.Reading{Metric: metricClock})
		}
	}
	return explain.Observation{}, false
}

// Latest returns the late rank under an entity that computes longest beyond
// before; false where none is late.
func (f *Contrast) Latest(root telemetry.Entity) (explain.Observation, bool) {
	i, ok := f.survey.index[root]
	c := f.plan.find(telemetry.Rank, metricCompute, 0)
	best, most := int32(-1), 0.0
	if !ok {
		return explain.Observation{}, false
	}
	for _, r := range f.derived.late {
		if r != i && !slices.Contains(f.survey.carriers[r], i) {
			continue
		}
		if v, ok := f.number(r, c, explain.TakeShift); ok && v > most {
			best, most = r, v
		}
	}
	if best < 0 {
		return explain.Observation{}, false
	}
	return f.observe(best, &explain.Reading{Metric: metricCompute})
}

// Relation returns how an effect relates to its cause: by the last edge on the
// shortest path down to it that is more than containment; false where there is no
// path.
func (f *Contrast) Relation(cause, effect telemetry.Entity) (telemetry.Relation, bool) {
	a, okA := f.survey.index[cause]
	b, okB := f.survey.index[effect]
	if !okA || !okB {
		return "", false
	}
	way := f.survey.way(a, b)
	if len(way) < 2 {
		return "", false
	}
	out := telemetry.Contains
	for k := range way[1:] {
		if r := f.survey.edge(way[k], way[k+1]); r != telemetry.Contains {
			out = r
		}
	}
	return out, true
}

// edge is the relation by which a reaches b.
func (s *Survey) edge(a, b int32) telemetry.Relation {
	x, y := s.all[a], s.all[b]
	if x.Kind == telemetry.Job || y.Kind == telemetry.Rank {
		return telemetry.Runs
	}
	switch {
	case !serves(x.Kind):
	case x.Kind == telemetry.Fan || x.Kind == telemetry.Pump || x.Kind == telemetry.Valve:
		return telemetry.Cools
	case x.Kind == telemetry.Battery:
		return telemetry.Feeds
	default:
		return telemetry.Connects
	}
	for _, n := range s.graph.Neighbours(x) {
		if n.Entity == y && n.Out && n.Relation != telemetry.Contains {
			return n.Relation
		}
	}
	for _, n := range s.graph.Neighbours(y) {
		if n.Entity == x && n.Out && n.Relation == telemetry.Uses {
			return telemetry.Uses
		}
	}
	return telemetry.Contains
}

// Quiet states why a domain is ruled out, as far as it was seen: false where it was
// not, or is not.
func (f *Contrast) Quiet(d telemetry.Domain) (string, bool) {
	switch d {
	case telemetry.Computing:
		return f.quietClocks()
	case telemetry.Power:
		return f.quietPower()
	case telemetry.Cooling:
		return f.quietCooling()
	}
	return "", false
}

// reach is the least and the most of a take over entities, and how many were
// seen.
func (f *Contrast) reach(of []int32, c int, take explain.Take) (least, most float64, n int) {
	for _, i := range of {
		v, ok := f.number(i, c, take)
		if _, read := f.now.at(i, c); !ok || !read && take != explain.TakeBefore {
			continue // or it is known by another instrument, which has a name of its own
		}
		if n == 0 {
			least, most = v, v
		}
		least, most = min(least, v), max(most, v)
		n++
	}
	return least, most, n
}

func (f *Contrast) quietClocks() (string, bool) {
	least, _, n := f.reach(f.survey.gpus, f.plan.find(telemetry.GPU, metricClock, 0), explain.TakeRatio)
	if n == 0 || len(f.derived.affected) > 0 || least < 1-leastFall {
		return "", false
	}
	return fmt.Sprintf("all %d GPUs keep their clocks: the slowest runs at %.0f %% of its clock before", n, float64(least*100)), true
}

const (
	// quietBits is the share of time for which a GPU may report a reason more
	// than before and is still not slowed by it.
	quietBits = 0.02
	// quietWarming is by how many degrees the hottest GPU may be warmer.
	quietWarming = 3.0
	// quietPart is by what part a flow or a limit may have fallen.
	quietPart = 0.03
)

func (f *Contrast) quietPower() (string, bool) {
	_, braked, n := f.reach(f.survey.gpus, f.plan.find(telemetry.GPU, metricReasons, reasonBrake), explain.TakeBits)
	lowered, _, limits := f.reach(f.survey.gpus, f.plan.find(telemetry.GPU, metricLimit, 0), explain.TakeRatio)
	if n == 0 && limits == 0 || n > 0 && braked > quietBits || limits > 0 && lowered < 1-quietPart {
		return "", false
	}
	switch {
	case limits == 0:
		return fmt.Sprintf("none of %d GPUs was braked by its power supply", n), true
	case n == 0:
		return fmt.Sprintf("the power limits of all %d GPUs are what they were", limits), true
	}
	return fmt.Sprintf("none of %d GPUs was braked by its power supply, and the power limits of all %d are what they were", n, limits), true
}

func (f *Contrast) quietCooling() (string, bool) {
	heat := f.plan.find(telemetry.GPU, metricHeat, 0)
	_, warmed, n := f.reach(f.survey.gpus, heat, explain.TakeShift)
	_, slowed, reporting := f.reach(f.survey.gpus, f.plan.find(telemetry.GPU, metricReasons, reasonHeat), explain.TakeBits)
	var loops []int32
	for i, e := range f.survey.all {
		if e.Kind == telemetry.Loop && f.survey.used[i] {
			loops = append(loops, int32(i))
		}
	}
	least, _, flows := f.reach(loops, f.plan.find(telemetry.Loop, metricFlow, 0), explain.TakeRatio)
	if n == 0 || warmed > quietWarming || reporting > 0 && slowed > quietBits || flows > 0 && least < 1-quietPart {
		return "", false
	}
	_, now, _ := f.reach(f.survey.gpus, heat, explain.TakeNow)
	_, before, _ := f.reach(f.survey.gpus, heat, explain.TakeBefore)
	out := fmt.Sprintf("the hottest of %d GPUs is at %.0f °C, was at %.0f", n, now, before)
	if reporting > 0 {
		out += "; none is slowed by heat"
	}
	switch {
	case flows == 1:
		out += fmt.Sprintf("; the flow of their loop is %.0f %% of what it was", float64(least*100))
	case flows > 1:
		out += fmt.Sprintf("; the flow of %d loops is at least %.0f %% of what it was", flows, float64(least*100))
	}
	return out, true
}

// Stale lists the series that the features of a signature read for a root and that
// are stale, though they had data before the degradation: by entity, each once.
func (f *Contrast) Stale(root telemetry.Entity, sig *explain.Signature) []telemetry.Series {
	var out []telemetry.Series
	f.known(root, sig, func(e int32, c int, x *explain.Reading) {
		if f.now.stale[e][c] {
			out = append(out, telemetry.Series{Entity: f.survey.all[e], Metric: x.Metric})
		}
	})
	slices.SortFunc(out, telemetry.Series.Compare)
	return slices.CompactFunc(out, func(a, b telemetry.Series) bool { return a.Entity == b.Entity })
}

// Pending reports whether a series that the features of a signature read for a root
// had data before the degradation and has had none since it began, without being
// stale.
func (f *Contrast) Pending(root telemetry.Entity, sig *explain.Signature) (pending bool) {
	f.known(root, sig, func(e int32, c int, _ *explain.Reading) {
		_, seen := f.now.at(e, c)
		pending = pending || !seen && !f.now.stale[e][c]
	})
	return pending
}

// known calls do for all that the features of a signature read for a root and that
// had data before the degradation.
func (f *Contrast) known(root telemetry.Entity, sig *explain.Signature, do func(e int32, c int, x *explain.Reading)) {
	i, ok := f.survey.index[root]
	if !ok {
		return
	}
	for k := range sig.Features {
		x := sig.Features[k].Reading
		if x == nil || !sig.Features[k].AskedOf(root.Kind) || x.Metric == "" || x.Take == explain.TakeNoData || x.Of == explain.OfBeside {
			continue
		}
		for _, e := range f.scope(i, x) {
			if c := f.column(e, x); c >= 0 {
				if _, was := f.before.at(e, c); was {
					do(e, c, x)
				}
			}
		}
	}
}

// StaleOfMachine lists the series of the machine that a root is or is in, or of all that a
// job uses, that had data before the degradation and are stale now: by entity, each
// once.
func (f *Contrast) StaleOfMachine(root telemetry.Entity) []telemetry.Series {
	i, ok := f.survey.index[root]
	if !ok {
		return nil
	}
	var out []telemetry.Series
	for e, x := range f.survey.all {
		if !f.survey.used[e] || int32(e) != i && root.Kind != telemetry.Job && (f.survey.nodeOf[i] < 0 || f.survey.nodeOf[e] != f.survey.nodeOf[i]) {
			continue
		}
		for c, column := range f.plan.of(x.Kind) {
			if _, known := f.before.at(int32(e), c); known && f.now.stale[e][c] {
				out = append(out, telemetry.Series{Entity: x, Metric: column.metric.Name})
				break
			}
		}
	}
	slices.SortFunc(out, telemetry.Series.Compare)
	return out
}

// Near lists the entities of a kind that are under a root, or else over it.
func (f *Contrast) Near(root telemetry.Entity, kind telemetry.Kind) []telemetry.Entity {
	i, ok := f.survey.index[root]
	if !ok {
		return nil
	}
	near := f.survey.below(i, kind)
	if len(near) == 0 {
		near = f.survey.above(i, kind)
	}
	var out []telemetry.Entity
	for _, k := range near {
		out = append(out, f.survey.all[k])
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return out
}
