package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// jobInterval is a job interval: what a job did in (from, to].
type jobInterval struct {
	job      *jobs.Job
	from, to telemetry.Time
	ends     []report // in the order of time
	saved    []report // checkpoints reported in addition to the steps
	pauses   []pause
	measured bool // the job reports how much of its steps are checkpoints
	starting bool // it was seen to come, and no step has been seen yet
}

// report is so many steps of a mean length that ended together.
type report struct {
	end     telemetry.Time
	seconds float64
	count   float64
	first   bool // what came before is not remembered
}

// interval collects the steps that ended in (from, to]. A report that does not state
// how many steps it represents represents as many as fit between it and the one
// before, if the job usually reports so.
func (e *costs) interval(t *runningJob, j *jobs.Job, to telemetry.Time) jobInterval {
	from := t.filed
	s := jobInterval{job: j, from: from, to: to, pauses: t.pauses, starting: t.since != 0 && !t.begun}
	usual := spacing(j.Recent)
	for i, x := range j.Recent {
		if x.End <= from || x.End > to {
			continue
		}
		r := report{end: x.End, seconds: x.Seconds, count: 1, first: i == 0 && j.Steps > uint64(len(j.Recent))}
		if usual >= thinned && i > 0 {
			fit := x.End.Sub(j.Recent[i-1].End).Seconds() / x.Seconds
			r.count = float64(int(min(fit, usual+1) + 0.5))
		}
		s.ends = append(s.ends, r)
	}
	e.perStep.Each(telemetry.Series{Entity: j.Entity, Metric: metricStepCount}, from, to, func(at telemetry.Time, v float64) {
		if i, ok := s.at(at); ok && v >= 1 && v <= maxCount {
			s.ends[i].count = v
		}
	})
	e.perStep.Each(telemetry.Series{Entity: j.Entity, Metric: metricCheckpoint}, from, to, func(at telemetry.Time, v float64) {
		if _, ok := s.at(at); ok {
			s.measured = true
		} else if v > 0 {
			s.saved = append(s.saved, report{end: at, seconds: v, count: 1})
		}
	})
	return s
}

const (
	// thinned is from how many step lengths between two reports on a job is
	// taken to report only some of its steps.
	thinned  = 1.5
	maxCount = 1e6
	// sane bounds the values of a series: tokens a second, hertz.
	sane = 1e15
)

// spacing is the usual time between two reports over the length of a step.
func spacing(recent []jobs.Step) float64 {
	var all []float64
	for i := 1; i < len(recent); i++ {
		if recent[i].Seconds > 0 {
			all = append(all, recent[i].End.Sub(recent[i-1].End).Seconds()/recent[i].Seconds)
		}
	}
	if len(all) == 0 {
		return 1
	}
	return stats.Median(all)
}

// at finds the report of the steps that ended at an instant.
func (s *jobInterval) at(t telemetry.Time) (int, bool) {
	return slices.BinarySearchFunc(s.ends, t, func(r report, t telemetry.Time) int { return int(max(-1, min(1, r.end-t))) })
}

// steps accounts for the steps: how long they took, as far as expected (0 expects
// nothing) and beyond, and for how long there was none, and why. It returns the end
// of the last one.
func (s *jobInterval) steps(w *attribute.Work, expected float64) telemetry.Time {
	at, down, saving, other := s.from, 0.0, 0.0, 0.0
	for _, r := range s.ends {
		since := r.end.Sub(at).Seconds()
		gap := since - float64(r.seconds*r.count)
		if gap < r.seconds/2 || r.first {
			gap = 0 // clocks differ
		}
		length := since - gap
		w.Steps += length / r.seconds
		// What paused the job is between its steps, or in one.
		saved, elsewise := paused(s.pauses, at, r.end)
		gapSaved := min(saved, gap)
		gapElse := min(elsewise, gap-gapSaved)
		if !s.down(at, r.end) {
			gapElse = gap - gapSaved // no reason is reported why no step ended
		}
		down += gap - gapSaved - gapElse
		inSaved := min(saved-gapSaved, length)
		if s.measured {
			inSaved = 0 // the job reports itself how much of the step that was
		}
		inElse := min(max(0, elsewise-gapElse), length-inSaved)
		saving += gapSaved + inSaved
		other += gapElse + inElse
		trained := length - inSaved - inElse
		step, excess := float64(r.seconds*trained)/max(length, 1e-9), 0.0
		if expected > 0 && step > expected {
			excess = float64(trained * (1 - expected/step))
		}
		w.Excess += excess
		w.Base += trained - excess
		at = r.end
	}
	reported := 0.0
	for _, r := range s.saved {
		reported += r.seconds
	}
	more := min(max(0, reported-saving), down)
	w.Saving, w.Down, w.Unreported = saving+more, down-more, w.Unreported+other
	return at
}

// down reports whether a time without a step that the job finishes is known to be
// one of trouble, or its beginning.
func (s *jobInterval) down(from, to telemetry.Time) bool {
	if h := s.job.Degradation; h != nil && h.Onset.Earliest < to {
		return true
	}
	return s.starting && from == s.from
}

// weighed is the mean of what the job states of its steps, weighed by their
// lengths; negative where it states nothing.
func (e *costs) weighed(s *jobInterval, m telemetry.MetricName) float64 {
	sum, weight := 0.0, 0.0
	e.perStep.Each(telemetry.Series{Entity: s.job.Entity, Metric: m}, s.from, s.to, func(at telemetry.Time, v float64) {
		if i, ok := s.at(at); ok && v >= 0 && v <= sane {
			w := float64(s.ends[i].seconds * s.ends[i].count)
			sum += float64(v * w)
			weight += w
		}
	})
	if !(weight > 0) {
		return -1
	}
	return sum / weight
}

// mix reads how a step of a mean length is composed.
func (e *costs) mix(t *runningJob, s *jobInterval, length float64) attribute.Mix {
	m := attribute.UnknownMix()
	m.Checkpoint = e.part(s, metricCheckpoint, length)
	m.Input = e.part(s, metricInput, length)
	if m.Checkpoint < 0 && t.announces {
		m.Checkpoint = 0 // they are reported apart from the steps
	}
	e.mixRanks(&m, s, length)
	e.mixGPUs(&m, t, s)
	return m
}

// part is the mean of what the job states of its steps as a part of their
// length; negative where it states nothing.
func (e *costs) part(s *jobInterval, m telemetry.MetricName, length float64) float64 {
	sum, n := 0.0, 0.0
	e.perStep.Each(telemetry.Series{Entity: s.job.Entity, Metric: m}, s.from, s.to, func(at telemetry.Time, v float64) {
		if i, ok := s.at(at); ok && v >= 0 {
			sum += float64(v * s.ends[i].count)
			n += s.ends[i].count
		}
	})
	if n == 0 {
		return -1
	}
	return min(1, sum/n/length)
}

// mixRanks reads the ranks' own times, some ranks for all.
func (e *costs) mixRanks(m *attribute.Mix, s *jobInterval, length float64) {
	ranks := e.graph.Ranks(s.job.Entity)
	for metric, to := range map[telemetry.MetricName]*float64{metricCompute: &m.Compute, metricWait: &m.Wait, metricTransfer: &m.Transfer} { // order-independent: each metric fills a field of its own
		sum, n := 0.0, 0.0
		for i := range some(len(ranks), s.to) {
			e.perStep.Each(telemetry.Series{Entity: ranks[i], Metric: metric}, s.from, s.to, func(_ telemetry.Time, v float64) {
				if v >= 0 {
					sum, n = sum+v, n+1
				}
			})
		}
		if n > 0 {
			*to = min(1, sum/n/length)
		}
	}
}

// some numbers below n, at most sampled of them, evenly spread; others at
// another time.
func some(n int, at telemetry.Time) func(func(int) bool) {
	return func(yield func(int) bool) {
		k := min(n, sampled)
		turn := int(uint64(at) / uint64(filedWithin*1e9) % uint64(max(1, n)))
		for i := range k {
			if !yield((i*n/k + turn) % n) {
				return
			}
		}
	}
}

// mixGPUs reads what holds the clocks of the job's GPUs down, and what their
// pipes do, some GPUs for all.
func (e *costs) mixGPUs(m *attribute.Mix, t *runningJob, s *jobInterval) {
	gpus := e.someGPUs(t.job, s.to)
	var tensor, dram, heat, brake, clock mean
	for _, x := range gpus {
		read := func(metric telemetry.MetricName) (float64, bool) { return e.average(x, metric, s) }
		if x, ok := read("gpu_tensor_active_ratio"); ok {
			tensor.add(min(x, 1))
		}
		if x, ok := read("gpu_dram_active_ratio"); ok {
			dram.add(min(x, 1))
		}
		f, ok := read(metricSMClock)
		if !ok {
			continue
		}
		t.top = max(t.top, f)
		h, okH := read("gpu_throttle_thermal_seconds_total")
		b, okB := read("gpu_throttle_brake_seconds_total")
		p, okP := read("gpu_throttle_power_seconds_total")
		if !okH || !okB || !okP || !(t.top > 0) {
			continue
		}
		low, all := max(0, 1-f/t.top), h+b+p
		if !(all > 0) {
			all = 1
		}
		heat.add(float64(low * (h / all)))
		brake.add(float64(low * (b / all)))
		clock.add(float64(low * (1 - (h+b)/all)))
	}
	m.Tensor, m.DRAM, m.Heat, m.Brake, m.Clock = tensor.of(), dram.of(), heat.of(), brake.of(), clock.of()
}

// mean gathers a mean; negative of nothing.
type mean struct{ sum, n float64 }

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m *mean) of() float64 {
	if m.n == 0 {
		return -1
	}
	return m.sum / m.n
}

// average is the mean of a series in the part of a job interval that the window
// keeps; of a counter its rate.
func (e *sight) average(x telemetry.Entity, metric telemetry.MetricName, s *jobInterval) (float64, bool) {
	slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: metric})
	if !ok {
		return 0, false
	}
	var m mean
	for _, v := range e.window.Span(nil, slot, s.from, s.to) {
		if v >= 0 && v <= sane { // not so of a gap
			m.add(float64(v))
		}
	}
	return m.of(), m.n > 0
}

// someGPUs lists some of the GPUs a job runs on, at most sampled, evenly spread.
func (e *sight) someGPUs(job telemetry.Entity, at telemetry.Time) (out []telemetry.Entity) {
	placements := e.graph.Placements(job)
	if len(placements) <= sampled { // few enough to list all
		gpus := e.gpusOf(job)
		for i := range some(len(gpus), at) {
			out = append(out, gpus[i])
		}
		return out
	}
	for i := range some(len(placements), at) {
		p := placements[i]
		if p.On.Kind == telemetry.GPU {
			out = append(out, p.On)
		} else if gpus := e.graph.GPUs(p.Node); len(gpus) > 0 {
			out = append(out, gpus[i%len(gpus)])
		}
	}
	return out
}

// gpusOf lists the GPUs a job runs on, in identity order.
func (e *sight) gpusOf(job telemetry.Entity) []telemetry.Entity {
	var out []telemetry.Entity
	var whole telemetry.Entity
	for _, p := range e.graph.Placements(job) {
		switch {
		case p.On.Kind == telemetry.GPU:
			out = append(out, p.On)
		case p.On == p.Node && p.Node != whole:
			whole = p.Node
			out = append(out, e.graph.GPUs(p.Node)...)
		}
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return slices.Compact(out)
}
