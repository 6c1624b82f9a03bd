package symptom

import (
	"math"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// ratioCap bounds ratios to a value before that is close to zero.
	ratioCap = 1000.0
	// smallClass is the size up to which an entity's own number would weigh in the
	// median of its peers: there it is left out, so that one of two pumps is
	// compared with the other.
	smallClass = 8
	// restPart times as many as some entities are, a class is not so large that they
	// weigh little in its median.
	restPart = 4
	// leastPeers of an entity must be seen for their median to be evidence.
	leastPeers = 2
)

func nan() float32 { return float32(math.NaN()) }

// Contrast compares the time during a degradation with the time before it, for one
// survey.
type Contrast struct {
	plan        *Plan
	survey      *Survey
	now, before *Sheet
	degradation Degradation
	events      map[telemetry.Entity][]telemetry.Event
	medians     map[peerKey]median
	readings    map[asked]number // of many entities: what they make together
	derived     derived          // with what Leave has taken out
	whole       derived          // with nothing taken out
	left        int32            // whose GPUs and ranks do not count; -1 where all do
	leftHot     bool             // it slows by heat: those that it does not slow count
	buf         []float64
}

// Degradation is what the measures need of a degraded job.
type Degradation struct {
	Span     Span
	Stalled  bool
	Slowdown float64 // the step now over the expected one; 0 if not known
	Excess   float64 // seconds a step takes longer than expected
	Steps    bool    // the job works in steps: its slowdown is not of a request's latency
	Events   []telemetry.Event
	Onset    telemetry.Time // at the latest
}

// peerKey identifies a median: of a class, a column and a take, by number, because
// medians are looked up often.
type peerKey struct {
	class, col int32
	of         uint8
}

// What medians are of.
const (
	ofShift uint8 = iota
	ofRatio
	ofNow
	ofWorse
)

func peersOf(class int32, col int, take explain.Take) peerKey {
	k := peerKey{class: class, col: int32(col), of: ofNow}
	switch take {
	case explain.TakeShift:
		k.of = ofShift
	case explain.TakeRatio:
		k.of = ofRatio
	}
	return k
}

type median struct {
	v    float64
	seen int
}

// asked is a reading of an entity: several signatures need the same, to find
// suspects and to measure them.
type asked struct {
	of int32
	x  *explain.Reading
}

// number is what was read; false where it cannot be seen.
type number struct {
	v    float64
	seen bool
}

// Compare compares what is during a degradation with what was before it.
func Compare(now, before *Sheet, h Degradation) *Contrast {
	f := &Contrast{left: -1, plan: now.plan, survey: now.survey, now: now, before: before, degradation: h,
		events: map[telemetry.Entity][]telemetry.Event{}, medians: map[peerKey]median{}, readings: map[asked]number{}}
	for _, ev := range h.Events {
		f.events[ev.Entity] = append(f.events[ev.Entity], ev)
	}
	f.derive()
	f.whole = f.derived
	return f
}

// take returns what a reading takes of one entity.
func (f *Contrast) take(i int32, x *explain.Reading) (float64, bool) {
	if x.Event != "" {
		return f.count(i, x), true
	}
	c := f.column(i, x)
	if c < 0 {
		return 0, false
	}
	return f.number(i, c, x.Take)
}

// column is what a reading reads of an entity, -1 where nothing is read: of a
// quantity the first of its instruments that shows it now and showed it before, of its
// silence whatever was reported most often.
func (f *Contrast) column(i int32, x *explain.Reading) int {
	if x.Take == explain.TakeNoData {
		return int(f.now.pulse[i])
	}
	kind := f.survey.all[i].Kind
	by := f.plan.shownBy[x.Metric]
	if by == nil {
		return f.plan.find(kind, x.Metric, x.Bits)
	}
	out := -1
	for _, name := range by {
		c := f.plan.find(kind, name, x.Bits)
		if c < 0 {
			continue
		}
		_, now := f.now.at(i, c)
		_, before := f.before.at(i, c)
		if now && before {
			return c
		}
		if out < 0 {
			out = c
		}
	}
	return out
}

// eventClock is by how much the clock of what reports an event may be off.
const eventClock = telemetry.Duration(1e9)

// counts reports whether an event is one that a reading counts.
func (f *Contrast) counts(ev *telemetry.Event, x *explain.Reading) bool {
	first := x.Take != explain.TakeBefore || ev.At <= f.degradation.Onset.Add(eventClock)
	return first && string(ev.Name) == x.Event && strings.HasPrefix(ev.Text, x.Text)
}

// count is how often an event happened to an entity, by the source that reports it
// most often: a switch reports one link over gNMI and in its log.
func (f *Contrast) count(i int32, x *explain.Reading) float64 {
	most, by := 0, map[telemetry.Source]int{}
	for _, ev := range f.events[f.survey.all[i]] {
		if f.counts(&ev, x) {
			by[ev.Source]++
			most = max(most, by[ev.Source])
		}
	}
	return float64(most)
}

func (f *Contrast) number(i int32, c int, take explain.Take) (float64, bool) {
	now, seen := f.now.at(i, c)
	before, known := f.before.at(i, c)
	switch take {
	case explain.TakeNow:
		return float64(now.Mean), seen
	case explain.TakeBefore:
		return float64(before.Mean), known
	case explain.TakeMost:
		return float64(now.Most), seen
	case explain.TakeLeast:
		return float64(now.Least), seen
	case explain.TakeShift:
		return float64(now.Mean) - float64(before.Mean), seen && known
	case explain.TakeBits:
		more, _, ok := f.slowed(i, c)
		return more, ok
	case explain.TakeRatio:
		if seen && known {
			return Ratio(float64(now.Mean), float64(before.Mean)), true
		}
		r, _, ok := f.throttled(i, c)
		return r, ok
	case explain.TakeExplained:
		return (float64(now.Mean) - float64(before.Mean)) / f.degradation.Excess, seen && known && f.degradation.Excess > 0
	case explain.TakeNoData:
		return f.silence(i, c)
	}
	return f.againstPeers(i, c, take)
}

// slowed returns for how much more of the time than before some bits of a column are set,
// a share of the time, and its standard error. Where they are reasons for which a GPU is
// slowed, a counter of that time is the better instrument, if it counts at all: samples
// miss a brake that comes and goes.
func (f *Contrast) slowed(i int32, c int) (more, err float64, ok bool) {
	now, seen := f.now.at(i, c)
	before, _ := f.before.at(i, c) // what never was before was not
	if seen {
		now, before := f.meanErrors(i, c)
		err = stats.Quadrature(now, before)
	}
	more = float64(now.Mean) - float64(before.Mean)
	if counted, by, known := f.timed(i, c); known && (counted != 0 || !seen) {
		return counted, by, true
	}
	return more, err, seen
}

// timed is slowed by counters of the time for the reasons of a column.
func (f *Contrast) timed(i int32, c int) (more, err float64, ok bool) {
	if f.survey.all[i].Kind != telemetry.GPU || c < 0 || f.plan.timed[c] == nil {
		return 0, 0, false
	}
	for _, k := range f.plan.timed[c] {
		x, seen := f.number(i, k, explain.TakeShift)
		if !seen {
			return 0, 0, false
		}
		more, err = more+x, stats.Quadrature(err, f.numberError(i, k, explain.TakeShift))
	}
	return more, err, true
}

// Ratio is now over before; of nothing to nothing it is 1.
func Ratio(now, before float64) float64 {
	switch {
	case now == before:
		return 1
	case before == 0:
		return ratioCap
	}
	return min(now/before, ratioCap)
}

// silence is 1 where an entity was reported until about the degradation began and is no
// more; one that was silent for long before, or is in part, says nothing.
func (f *Contrast) silence(i int32, c int) (float64, bool) {
	_, seen := f.now.at(i, c)
	_, known := f.before.at(i, c)
	switch f.now.silent[i] {
	case fellSilent:
		return 1, true
	case wasSilent, inPart:
		return 0, false
	}
	return 0, seen || known
}

// ownOf is what a take reads of an entity itself and compares with what the median of others
// of its class is; false where it compares nothing.
func ownOf(take explain.Take) (own explain.Take, compares bool) {
	switch take {
	case explain.TakePeers:
		return explain.TakeShift, true
	case explain.TakePeersRatio, explain.TakePeersExplained:
		return explain.TakeRatio, true
	case explain.TakeBelowPeers:
		return explain.TakeNow, true
	}
	return "", false
}

// againstPeers compares an entity with the median of its class.
func (f *Contrast) againstPeers(i int32, c int, take explain.Take) (float64, bool) {
	own, compares := ownOf(take)
	v, ok := f.number(i, c, own)
	if !compares || !ok {
		return 0, false
	}
	m := f.median(f.survey.class[i], c, own)
	if m.seen <= smallClass {
		m = f.others(i, c, own)
	}
	return f.against(m, v, take)
}

// against compares a number with the median of others.
func (f *Contrast) against(m median, v float64, take explain.Take) (float64, bool) {
	if m.seen == 0 {
		return 0, false
	}
	switch take {
	case explain.TakePeers:
		return v - m.v, true
	case explain.TakePeersExplained:
		return (Ratio(v, m.v) - 1) / (f.degradation.Slowdown - 1), f.degradation.Steps && f.degradation.Slowdown > 1
	}
	return Ratio(v, m.v), true
}

// rest are the others that some entities of a class are compared with together, where these
// are so many of it that they would weigh in its median: a host of two with the other.
type rest struct {
	of     map[int32]bool
	class  int32
	c      int
	median median
}

// againstRest compares one of some entities with those of its class that are not among them;
// ok is false where there are none or enough of them that it makes no difference.
func (f *Contrast) againstRest(r *rest, of []int32, i int32, c int, take explain.Take) (v float64, ok bool) {
	own, compares := ownOf(take)
	class := f.survey.class[i]
	if all := len(f.survey.alike[class]); !compares || len(of) >= all || restPart*len(of) < all {
		return 0, false
	}
	if v, ok = f.number(i, c, own); !ok {
		return 0, false
	}
	if r.of == nil || r.class != class || r.c != c {
		*r = rest{of: map[int32]bool{}, class: class, c: c}
		for _, k := range of {
			r.of[k] = true
		}
		r.median = f.medianOf(class, func(k int32) bool { return r.of[k] }, func(k int32) (float64, bool) { return f.number(k, c, own) })
	}
	return f.against(r.median, v, take)
}

// median is of a take over a class.
func (f *Contrast) median(class int32, c int, take explain.Take) median {
	key := peersOf(class, c, take)
	m, ok := f.medians[key]
	if !ok {
		m = f.medianOf(class, none, func(i int32) (float64, bool) { return f.number(i, c, take) })
		f.medians[key] = m
	}
	return m
}

// others is the median over the rest of an entity's class.
func (f *Contrast) others(i int32, c int, take explain.Take) median {
	return f.medianOf(f.survey.class[i], only(i), func(k int32) (float64, bool) { return f.number(k, c, take) })
}

// none is no entity, and only is one, that a median leaves out.
func none(int32) bool               { return false }
func only(i int32) func(int32) bool { return func(k int32) bool { return k == i } }

// medianOf returns the median of what of returns for the entities of a class but some.
func (f *Contrast) medianOf(class int32, but func(int32) bool, of func(int32) (float64, bool)) median {
	var vs []float64
	for _, i := range f.survey.alike[class] {
		if v, ok := of(i); ok && !but(i) {
			vs = append(vs, v)
		}
	}
	m := median{seen: len(vs)}
	if len(vs) > 0 {
		m.v = stats.Median(vs)
	}
	return m
}

// Read returns the value of a feature's reading for a candidate root; false where
// it cannot be seen.
func (f *Contrast) Read(root telemetry.Entity, x *explain.Reading) (float64, bool) {
	i, ok := f.survey.index[root]
	if !ok {
		return 0, false
	}
	return f.read(i, x)
}

func (f *Contrast) read(i int32, x *explain.Reading) (float64, bool) {
	if x.Of == explain.OfRoot {
		return f.take(i, x)
	}
	if x.Of.Many() {
		n, known := f.readings[asked{i, x}]
		if !known {
			n.v, n.seen = f.among(f.scope(i, x), x)
			f.readings[asked{i, x}] = n
		}
		return n.v, n.seen
	}
	of := f.scope(i, x)
	if len(of) == 0 {
		return 0, false
	}
	return f.take(of[0], x)
}

// scope lists the entities that a reading is of.
func (f *Contrast) scope(i int32, x *explain.Reading) []int32 {
	s := f.survey
	switch x.Of {
	case explain.OfRoot:
		return []int32{i}
	case explain.OfNode:
		if s.nodeOf[i] >= 0 {
			return []int32{s.nodeOf[i]}
		}
	case explain.OfUnder:
		return s.below(i, x.Kind)
	case explain.OfOver:
		return s.above(i, x.Kind)
	case explain.OfBeside:
		return s.contrast(i, x.Kind)
	case explain.OfFacing:
		return s.facing[i]
	case explain.OfJob:
		return []int32{s.index[s.job]}
	case explain.OfRanks:
		return s.ranks
	}
	return nil
}

// among makes one number of many entities'.
func (f *Contrast) among(of []int32, x *explain.Reading) (float64, bool) {
	f.buf = f.buf[:0]
	kind, c := telemetry.Kind(""), -1
	others := rest{}
	each := f.plan.shownBy[x.Metric] != nil || x.Take == explain.TakeNoData // has its own column
	for _, i := range of {
		if x.Event != "" {
			f.buf = append(f.buf, f.count(i, x))
			continue
		}
		if k := f.survey.all[i].Kind; k != kind || each {
			kind, c = k, f.column(i, x)
		}
		if c < 0 {
			continue
		}
		v, ok := f.againstRest(&others, of, i, c, x.Take)
		if !ok {
			v, ok = f.number(i, c, x.Take)
		}
		if ok {
			f.buf = append(f.buf, v)
		}
	}
	vs := f.buf
	if len(vs) == 0 {
		return 0, false
	}
	out := vs[0]
	switch x.Among {
	case explain.AmongMost:
		for _, v := range vs {
			out = max(out, v)
		}
	case explain.AmongLeast:
		for _, v := range vs {
			out = min(out, v)
		}
	case explain.AmongSum:
		out = 0
		for _, v := range vs {
			out += v
		}
	case explain.AmongShare:
		n := 0
		for _, v := range vs {
			if x.Counts(v) {
				n++
			}
		}
		out = float64(n) / float64(len(vs))
	default:
		out = stats.Median(vs)
	}
	return out, true
}

// Level returns the values from which a reading of one entity is made: the metric's
// mean before the degradation and during it; false where either cannot be seen.
func (f *Contrast) Level(root telemetry.Entity, x *explain.Reading) (before, now float64, ok bool) {
	i, known := f.survey.index[root]
	if !known || x.Event != "" {
		return 0, 0, false
	}
	of := f.scope(i, x)
	if len(of) != 1 {
		return 0, 0, false
	}
	c := f.column(of[0], x)
	a, okA := f.before.at(of[0], c)
	b, okB := f.now.at(of[0], c)
	return float64(a.Mean), float64(b.Mean), okA && okB
}
