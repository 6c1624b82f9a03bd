package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/pace"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job that reports no step is watched by what it gets done: equal amounts of that take as
// long as they do while nothing is wrong. What it states itself comes first, then what its
// nics send, then what its GPUs send each other, or compute, or read: many a job runs inside
// one scale-up domain and sends nothing over the network.

// progress is what a job's progress is measured by, the surest first.
type progress uint8

const (
	byNothing progress = iota
	byNICs
	byNVLinks
	byTensorCores
	byMemory
	progresses
)

const (
	// leastCarried is the part of its links' speed below which what a job sends is no part of
	// its steps: 5 MB/s at 400 Gb/s, where keep-alives and monitoring are a hundredth of that.
	leastCarried = 1e-4
	// leastLinked is that of what a GPU sends over NVLink, in bytes per second.
	leastLinked = 1e8

	metricSMClock telemetry.MetricName = "gpu_sm_clock_hertz"
	metricLinked  telemetry.MetricName = "nvlink_tx_bytes_total"
	metricMemory  telemetry.MetricName = "gpu_dram_active_ratio"
)

// comparedOf is what is compared of a job that reports no steps, in words; "" of others.
func (e *roll) comparedOf(job telemetry.Entity) string {
	i, ok := slices.BinarySearchFunc(e.paced, job, pacer.compare)
	if !ok {
		return ""
	}
	p := &e.paced[i]
	switch {
	case p.rate.metric == metricTokens:
		return "how long as many tokens take"
	case p.rate.metric != "":
		return "how well it uses its GPUs"
	case p.by == byNICs:
		return "how long it takes to send as much over its NICs"
	case p.by == byNVLinks:
		return "how long its GPUs take to send each other as much"
	}
	return "how long its GPUs take to do as much"
}

// shows reports whether a rate of a measure, as done returns it, is of a job's steps.
func (e *roll) shows(job telemetry.Entity, by progress, rate float64) bool {
	switch by {
	case byNICs:
		return rate > float64(leastCarried*e.speedOf(job))
	case byNVLinks:
		return rate > leastLinked
	}
	return rate > restTensor
}

// speedOf is the mean nominal speed of a job's links, bytes per second; 0 where none is known.
func (e *sight) speedOf(job telemetry.Entity) float64 {
	m := e.fabricMap()
	sum, n := 0.0, 0
	for _, node := range e.nodes(job) {
		for _, i := range m.Links(node) {
			sum, n = sum+m.Ends[i].Speed, n+1
		}
	}
	return sum / float64(max(1, n))
}

// moved is what a job did in the grid that its pacer looks at, by what its progress is
// measured by: the surest that shows anything until its steps are known, and that from then
// on. It returns false where too little of it is seen.
func (e *roll) moved(p *pacer) (float64, bool) {
	if p.track.State() != pace.Learning {
		return e.done(p.job, p.by, p.looked)
	}
	for by := byNICs; by < progresses; by++ {
		v, ok := e.done(p.job, by, p.looked)
		switch {
		case by == p.by:
			return v, ok
		case ok && e.shows(p.job, by, v):
			p.by, p.track = by, pace.Tracker{}
			return v, true
		}
	}
	return 0, false
}

// done is how much a job did a second in the grid that ended at, by one measure of it, in the
// mean of what is seen of it; false where that is too little.
func (e *roll) done(job telemetry.Entity, by progress, at telemetry.Time) (float64, bool) {
	all := e.slotsOf(job, by)
	var sum float64
	seen := 0
	for _, slots := range all {
		if x, ok := e.rateOf(slots, at); ok {
			sum, seen = sum+x, seen+1
		}
	}
	if seen == 0 || float64(seen) < float64(seenPart*float64(len(all))) {
		return 0, false
	}
	return sum / float64(seen), true
}

// rateOf is what the first of some slots is, times the clock that the other one is, if there
// is one, in GHz.
func (e *roll) rateOf(slots []int, at telemetry.Time) (x float64, ok bool) {
	for i, slot := range slots {
		v, seen := e.window.At(slot, at)
		switch {
		case !seen:
			return 0, false
		case i == 0:
			x, ok = v, true
		default:
			x = float64(x * (v / 1e9))
		}
	}
	return x, ok
}

// progressSlots are those of what a pacer looks at, of all measures while it has not chosen.
func (e *roll) progressSlots(p *pacer) [][]int {
	if p.by != byNothing {
		return e.slotsOf(p.job, p.by)
	}
	return slices.Concat(e.slotsOf(p.job, byNICs), e.slotsOf(p.job, byTensorCores))
}

// slotsOf are the slots of a measure of a job's progress, of each of its nics or GPUs.
func (e *roll) slotsOf(job telemetry.Entity, by progress) (out [][]int) {
	m := e.fabricMap()
	for _, node := range e.nodes(job) {
		if by == byNICs {
			for _, i := range m.Links(node) {
				out = append(out, known(m.SentBy(i)))
			}
			continue
		}
		for _, gpu := range e.graph.GPUs(node) {
			out = append(out, e.gpuProgress(gpu, by))
		}
	}
	return out
}

// gpuProgress are the slots of a measure of what a GPU gets done: tensor cores do it as fast
// as their clock is.
func (e *roll) gpuProgress(gpu telemetry.Entity, by progress) []int {
	slot := func(m telemetry.MetricName) []int {
		s, ok := e.window.Slot(telemetry.Series{Entity: gpu, Metric: m})
		if !ok {
			return nil
		}
		return []int{s}
	}
	switch by {
	case byNVLinks:
		return slot(metricLinked)
	case byMemory:
		return slot(metricMemory)
	}
	tensor := slot(metricTensor)
	if tensor == nil {
		return nil
	}
	return append(tensor, slot(metricSMClock)...)
}

// known is a slot as a list; none where it is negative.
func known(slot int) []int {
	if slot < 0 {
		return nil
	}
	return []int{slot}
}
