package symptom

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// leastFall is the part by which a clock must fall below its own before, beyond
	// what the job's other GPUs did, to be clear: idle and busy phases alone move
	// the mean of a minute by less.
	leastFall = 0.03
	// leastIdle is by how much of the time a GPU's engine must be active less to be
	// idle, and leastIdlePart the same as a part of the time that the job loses.
	leastIdle     = 0.015
	leastIdlePart = 0.25
	// leastLate is the part of the step's excess by which a rank computes longer
	// than its peers to be late, and leastLonger the part of its own before.
	leastLate   = 0.1
	leastLonger = 0.02
)

// derived are the measures of what is under each entity.
type derived struct {
	affected []int32 // gpus, the slowest first
	ratio    []float64
	hit      []int32   // by entity: affected gpus under it
	slowest  []float64 // by entity: the least clock ratio under it; 1 where none
	deepest  []float64 // the same, of a clock that is not read the least that it may be
	late     []int32   // ranks
	lateIn   []int32
	mayHit   maybe     // gpus that may be slowed, for all that their clocks show
	mayIdle  maybe     // gpus that may launch nothing for more of the time
	idle     []int32   // gpus that launch nothing for more of the time
	idleIn   []int32   // by entity: idle gpus under it
	idlest   int32     // the host that contains most of them
	idleSeen float64   // how many samples show it, at the GPU with the most
	aside    []int32   // by entity: gpus under it whose idling is left aside
	gone     []int32   // by entity: gpus under it that had data and are stale
	goneAll  int       // the same of all
	most     []float64 // by entity: the most that the engine of a gpu under it fell by, in shares of the time
	engines  []bool    // by entity: idling for all of what the job loses would show in the engines under it
	clocks   []bool    // by entity: clocks that explain all of it would
	longer   fraction  // that the job's GPUs compute longer
	ranks    bool      // any rank's compute time was seen before and now
}

// Exclude takes the GPUs and ranks of an entity out of the affected, late or idle
// ones: the recall of other entities over the rest is what it leaves. With byHeat,
// a GPU stays that is slowed and shows no heat. The zero entity takes out none.
func (f *Contrast) Exclude(x telemetry.Entity, byHeat bool) {
	f.left, f.leftHot, f.derived = -1, byHeat, f.whole
	if i, ok := f.survey.index[x]; ok {
		f.left = i
		f.derive()
	}
}

// Spared reports whether a GPU that is under the entity which was taken away is
// slowed, and not by that entity.
func (f *Contrast) Spared(x telemetry.Entity) bool {
	i, ok := f.survey.index[x]
	return ok && x.Kind == telemetry.GPU && f.derived.hit[i] > 0 && !f.leaves(i)
}

// leastSlowed is the least part of the time for which a GPU that heat or the brake
// slows reports it: one slowed by leastFall in the mean is slowed for at least that
// long.
const leastSlowed = 0.05

// cool reports whether, by its own reasons, a GPU is not slowed by heat.
func (f *Contrast) cool(i int32) bool {
	heat, _, ok := f.reports(i, reasonHeat)
	return ok && heat < leastSlowed
}

// throttled is the part of its clock that a GPU loses while heat or the brake slows it,
// where its clock is not read, and mostThrottled what it loses at most: from a tenth for
// heat to a half for the brake.
const throttled, mostThrottled = 0.3, 0.5

// throttled returns what a GPU's clock is of that before, and its standard error, by the time
// for which heat or the brake slows it: where the clock itself is never read. It is false
// of anything else, of a GPU that reports neither, and of one that its power limit holds back
// for more of the time: by how much depends on what it computes.
func (f *Contrast) throttled(i int32, c int) (ratio, err float64, ok bool) {
	_, read := f.before.at(i, c)
	if read || f.survey.all[i].Kind != telemetry.GPU || c != f.plan.find(telemetry.GPU, metricClock, 0) {
		return 0, 0, false
	}
	if more, by, seen := f.reports(i, reasonCap); seen && more >= leastSlowed && more >= float64(chance*by) {
		return 0, 0, false
	}
	ratio = 1
	for _, reason := range []uint64{reasonHeat, reasonBrake} {
		if more, by, seen := f.reports(i, reason); seen {
			ratio, err, ok = ratio-float64(throttled*max(0, more)), stats.Quadrature(err, float64(throttled*by)), true
		}
	}
	return ratio, err, ok
}

// deepest is the least that the clock of a GPU may be of that before.
func (f *Contrast) deepest(i int32, c int) float64 {
	if _, read := f.before.at(i, c); read {
		return f.derived.ratio[i]
	}
	return 1 - float64((1-f.derived.ratio[i])*mostThrottled/throttled)
}

// reported reports whether, by its own reasons, heat or the brake slows a GPU for more of
// the time than before: its clock is then lower, though few samples, or samples of a
// brake that comes and goes, do not show by how much.
func (f *Contrast) reported(i int32) bool {
	for _, reason := range []uint64{reasonHeat, reasonBrake} {
		if more, err, ok := f.reports(i, reason); ok && more >= leastSlowed && more >= float64(chance*err) {
			return true
		}
	}
	return false
}

// reports returns for how much more of the time a GPU is slowed for a reason, a share of
// the time, and its standard error; false where it reports none.
func (f *Contrast) reports(i int32, reason uint64) (more, err float64, ok bool) {
	return f.slowed(i, f.plan.find(telemetry.GPU, metricReasons, reason))
}

// leaves reports whether a GPU or rank counts.
func (f *Contrast) leaves(i int32) bool {
	return f.left < 0 || i != f.left && !slices.Contains(f.survey.carriers[i], f.left)
}

func (f *Contrast) derive() {
	n := len(f.survey.all)
	f.derived = derived{ratio: make([]float64, n), hit: make([]int32, n), slowest: make([]float64, n), deepest: make([]float64, n), lateIn: make([]int32, n),
		mayHit: maybe{in: make([]int32, n)}, mayIdle: maybe{in: make([]int32, n)},
		idlest: -1, idleIn: make([]int32, n), most: make([]float64, n), gone: make([]int32, n), aside: make([]int32, n)}
	for i := range n {
		f.derived.slowest[i], f.derived.deepest[i], f.derived.ratio[i] = 1, 1, 1
	}
	f.slowedGPUs()
	f.silenced()
	f.idled()
	f.lateRanks()
	f.computedLonger()
}

// slowedGPUs finds the affected GPUs. A change that the median of the job's GPUs shows,
// too, is the job's own: unless most of them fell, because then the search is for a
// common cause.
func (f *Contrast) slowedGPUs() {
	d := &f.derived
	c := f.plan.find(telemetry.GPU, metricClock, 0)
	var all []float64
	var falls []change
	for _, i := range f.survey.gpus {
		if r, ok := f.number(i, c, explain.TakeRatio); ok {
			d.ratio[i] = r
			all, falls = append(all, r), append(falls, change{i, 0, f.numberError(i, c, explain.TakeRatio)})
		}
	}
	if len(all) == 0 {
		return
	}
	common := min(stats.Median(all), 1)
	if common < 1-leastFall {
		common = 1
	}
	for k := range falls {
		falls[k].by = 1 - d.ratio[falls[k].of]/common
	}
	p := f.pooled(falls, leastFall)
	d.clocks = p.shows(f.survey, f.lost())
	for _, fall := range falls {
		i := fall.of
		if !f.leaves(i) && !(f.leftHot && f.cool(i)) {
			continue
		}
		if !p.evident(f.survey, fall) && !(fall.by >= p.least && f.reported(i)) {
			d.mayHit.add(f.survey, p, fall, f.lost())
			continue
		}
		d.affected = append(d.affected, i)
		for _, a := range append([]int32{i}, f.survey.carriers[i]...) {
			d.clocks[a] = true
			d.hit[a]++
			d.slowest[a], d.deepest[a] = min(d.slowest[a], d.ratio[i]), min(d.deepest[a], f.deepest(i, c))
		}
	}
	slices.SortStableFunc(d.affected, func(a, b int32) int { return cmp.Compare(d.ratio[a], d.ratio[b]) })
}

// silenced finds the GPUs that report no data any more.
func (f *Contrast) silenced() {
	for _, i := range f.survey.gpus {
		if f.now.silent[i] != fellSilent {
			continue
		}
		f.derived.goneAll++
		for _, a := range f.survey.carriers[i] {
			f.derived.gone[a]++
		}
	}
}

// allStale reports whether all GPUs of a machine became stale together.
func (f *Contrast) allStale(i int32) bool {
	return f.survey.all[i].Kind == telemetry.Node && f.derived.gone[i] > 1 && f.derived.gone[i] == f.survey.gpusIn[i]
}

// lost is the share of the time that the job loses; 0 where it is not known.
func (f *Contrast) lost() float64 {
	if f.degradation.Slowdown <= 1 {
		return 0
	}
	return 1 - 1/f.degradation.Slowdown
}

// idled finds the GPUs that launch nothing for clearly more of the time. While a
// GPU waits in a collective its engine is busy: a GPU that is idle waits for its
// own host, and the others wait for it.
func (f *Contrast) idled() {
	d := &f.derived
	falls, c := f.idleLonger()
	p := f.pooled(falls, max(leastIdle, float64(leastIdlePart*f.lost())))
	d.engines = p.shows(f.survey, f.lost())
	for _, fall := range falls {
		i := fall.of
		if !f.leaves(i) {
			for _, a := range f.survey.carriers[i] {
				d.aside[a]++
			}
			continue
		}
		if !p.evident(f.survey, fall) {
			d.mayIdle.add(f.survey, p, fall, f.lost())
			continue
		}
		now, _ := f.now.at(i, c)
		d.idle, d.idleSeen = append(d.idle, i), max(d.idleSeen, float64(now.Seen)/float64(max(now.Run, 1)))
		d.idleIn[i]++
		d.most[i] = max(d.most[i], fall.by)
		for _, a := range f.survey.carriers[i] {
			d.idleIn[a]++
			d.most[a] = max(d.most[a], fall.by)
		}
		if node := f.survey.nodeOf[i]; node >= 0 && (d.idlest < 0 || d.idleIn[node] > d.idleIn[d.idlest]) {
			d.idlest = node
		}
	}
}

// idleLonger is for how much more of the time each GPU launches nothing, and the column that shows
// it: its engine is active less, or where that of none is measured, its clocks are low because
// it is idle. Reasons that never state that state nothing of it.
func (f *Contrast) idleLonger() (all []change, c int) {
	c = f.plan.find(telemetry.GPU, metricEngine, 0)
	for _, i := range f.survey.gpus {
		if fall, ok := f.number(i, c, explain.TakeShift); ok {
			all = append(all, change{i, -fall, f.numberError(i, c, explain.TakeShift)})
		}
	}
	if len(all) > 0 {
		return all, c
	}
	c = f.plan.find(telemetry.GPU, metricReasons, reasonIdle)
	stated := false
	for _, i := range f.survey.gpus {
		if more, err, ok := f.slowed(i, c); ok {
			all = append(all, change{i, more, err})
			now, _ := f.now.at(i, c)
			before, _ := f.before.at(i, c)
			stated = stated || now.Mean > 0 || before.Mean > 0
		}
	}
	if !stated {
		return nil, c
	}
	return all, c
}

// lateRanks finds the ranks that compute longer than before and than their
// peers.
func (f *Contrast) lateRanks() {
	d := &f.derived
	c := f.plan.find(telemetry.Rank, metricCompute, 0)
	for _, i := range f.survey.ranks {
		longer, ok := f.number(i, c, explain.TakeShift)
		if !ok {
			continue
		}
		d.ranks = true
		m := f.median(f.survey.class[i], c, explain.TakeShift)
		before, _ := f.before.at(i, c)
		if m.seen > leastPeers {
			longer -= m.v
		}
		if !f.leaves(i) || longer <= float64(leastLate*f.degradation.Excess) || longer <= float64(leastLonger*float64(before.Mean)) || longer < float64(chance*f.numberError(i, c, explain.TakeShift)) {
			continue
		}
		d.late = append(d.late, i)
		d.lateIn[i]++
		for _, a := range f.survey.carriers[i] {
			d.lateIn[a]++
		}
	}
}

// computedLonger finds by how much longer the job's GPUs compute in a step, by their
// activity: it is highest while they compute. They are read at the same moments of
// the same steps, so that all of them err as one does: by what its samples scatter,
// and by how many of them may have missed the moments in which the job waits.
func (f *Contrast) computedLonger() {
	s := f.degradation.Slowdown
	if s <= 1 || !f.degradation.Steps {
		return
	}
	var all, errors []float64
	for _, i := range f.survey.gpus {
		c := f.computes(i)
		now, _ := f.now.at(i, c)
		if r, ok := f.number(i, c, explain.TakeRatio); ok && r > 0 && r < ratioCap && now.Most > 0 {
			computed := min(1, float64(now.Mean)/float64(now.Most)/r) / (s - 1) // before, over what became longer
			all = append(all, float64(computed*(float64(s*r)-1)))
			errors = append(errors, float64(computed*stats.Quadrature(f.missed(&now), float64(s*f.numberError(i, c, explain.TakeRatio)))))
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		v := all[(len(all)-1)/2]                                                           // of two hosts the one that computes less: the other's GPUs are no more than half
		f.derived.longer = fraction{seen: true, v: min(v, 2-v), err: stats.Median(errors)} // twice the loss fits it no more than none does
	}
}

// computes is what shows best how much a GPU computes: its tensor cores, or else its
// multiprocessors.
func (f *Contrast) computes(gpu int32) int {
	c := f.plan.find(telemetry.GPU, metricTensor, 0)
	if _, ok := f.number(gpu, c, explain.TakeRatio); !ok {
		c = f.plan.find(telemetry.GPU, metricActive, 0)
	}
	return c
}

// fraction is how much of what a job loses something explains, and its standard error.
type fraction struct {
	v, err float64
	seen   bool
}

// leastClock keeps an explained fraction finite for a clock at zero.
const leastClock = 0.01

// placement returns a measure of what is under an entity, or of the degradation;
// false where it is neither or cannot be seen. The entity is -1 where it is not one
// that the job depends on.
func (f *Contrast) placement(i int32, m explain.Measure) (float64, bool) {
	d := &f.derived
	switch m {
	case explain.Stalled:
		if f.degradation.Stalled {
			return 1, true
		}
		return 0, true
	case explain.Slowdown:
		return f.degradation.Slowdown, f.degradation.Slowdown > 0
	}
	if i < 0 {
		return 0, false
	}
	under, ranks := int(f.survey.gpusIn[i]), int(f.survey.ranked[i])
	clocks, engines, late := seenAt(d.clocks, i) && under > 0, seenAt(d.engines, i) && under > 0, d.ranks && ranks > 0
	switch m {
	case explain.ComputeUniform:
		return d.longer.v, d.longer.seen && f.survey.all[i].Kind == telemetry.Job && len(f.survey.kinds[telemetry.Node]) > 1
	case explain.Recall:
		return part(d.hit[i], len(d.affected)), clocks
	case explain.Precision:
		return part(d.hit[i], under), clocks
	case explain.ClockExplained:
		return f.clockExplained(d.slowest[i]), clocks && f.degradation.Slowdown > 1
	case explain.StaleRecall:
		return part(d.gone[i], d.goneAll), d.goneAll > 0 && under > 0
	case explain.IdleRecall:
		alone := f.survey.all[i].Kind == telemetry.Node && len(f.survey.kinds[telemetry.Node]) == 1
		return part(d.idleIn[i], len(d.idle)), engines && !alone // the only host has all of them
	case explain.IdlePrecision:
		return part(d.idleIn[i], under-int(d.aside[i])), engines
	case explain.IdleExplained:
		return d.most[i] / max(f.lost(), leastIdle), engines && f.lost() > 0
	case explain.IdleOnOneHost:
		if d.idlest < 0 {
			return 0, false
		}
		return part(d.idleIn[d.idlest], len(d.idle)), engines && len(f.survey.kinds[telemetry.Node]) > 1 && f.survey.all[i].Kind == telemetry.Job
	case explain.LateRecall:
		return part(d.lateIn[i], len(d.late)), late
	case explain.LatePrecision:
		return part(d.lateIn[i], ranks), late
	}
	return 0, false
}

// clockExplained is the part of the loss that a clock at a ratio of what it was explains.
func (f *Contrast) clockExplained(ratio float64) float64 {
	return (1/max(ratio, leastClock) - 1) / (f.degradation.Slowdown - 1)
}

// seenAt reads a flag of an entity; none is set where nothing was seen at all.
func seenAt(flags []bool, i int32) bool { return int(i) < len(flags) && flags[i] }

// Placement adds to a candidate's values what is known of what is under it, and of
// the degradation.
func (f *Contrast) Placement(e telemetry.Entity, v explain.Values) {
	i, ok := f.survey.index[e]
	if !ok {
		i = -1
	}
	for _, m := range []explain.Measure{explain.Stalled, explain.Slowdown, explain.ComputeUniform,
		explain.Recall, explain.Precision, explain.ClockExplained, explain.LateRecall, explain.LatePrecision,
		explain.IdleRecall, explain.IdlePrecision, explain.IdleExplained, explain.IdleOnOneHost, explain.StaleRecall} {
		if _, reported := v[m]; reported {
			continue // by the ranks themselves
		}
		if x, ok := f.placement(i, m); ok {
			v[m] = x
			if err := f.placementError(i, m); err > 0 {
				v[m.Err()] = err
			}
		}
	}
}

// placementError returns by how much a measure of what is under an entity may be
// off, because of all the GPUs with too few samples to decide; 0 where there are
// none, or the measure is no share of GPUs.
func (f *Contrast) placementError(i int32, m explain.Measure) float64 {
	d := &f.derived
	if i < 0 {
		return 0
	}
	switch m {
	case explain.ComputeUniform:
		return d.longer.err
	case explain.Recall:
		return d.mayHit.recall(d.hit[i], len(d.affected), i)
	case explain.Precision:
		return part(d.mayHit.in[i], int(f.survey.gpusIn[i]))
	case explain.ClockExplained:
		return f.clockExplained(d.deepest[i]) - f.clockExplained(d.slowest[i])
	case explain.IdleRecall:
		return d.mayIdle.recall(d.idleIn[i], len(d.idle), i)
	case explain.IdleOnOneHost:
		if d.idlest >= 0 {
			// The GPUs of one host are read together: they are one observation a sample.
			return stats.Quadrature(d.mayIdle.recall(d.idleIn[d.idlest], len(d.idle), d.idlest), 1/d.idleSeen)
		}
	case explain.IdlePrecision:
		return part(d.mayIdle.in[i], int(f.survey.gpusIn[i]-d.aside[i]))
	}
	return 0
}

func part(n int32, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Share is a part of the time, and its standard error.
type Share struct {
	Of, Err float64
}

// Busy returns the share of the time in which a GPU computed before the degradation
// and during it, by its tensor cores or multiprocessors: their activity over the highest of
// any grid of the degradation. False where they are not seen or do nothing.
func (f *Contrast) Busy(gpu telemetry.Entity) (before, now Share, ok bool) {
	i, known := f.survey.index[gpu]
	if !known || gpu.Kind != telemetry.GPU {
		return before, now, false
	}
	c := f.computes(i)
	was, seenBefore := f.before.at(i, c)
	is, seenNow := f.now.at(i, c)
	if !seenBefore || !seenNow || is.Most <= 0 {
		return before, now, false
	}
	most := float64(is.Most)
	errNow, errBefore := f.meanErrors(i, c)
	return Share{float64(was.Mean) / most, errBefore / most}, Share{float64(is.Mean) / most, errNow / most}, true
}
