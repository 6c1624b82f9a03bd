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

// metric returns the metric of a GPU that is a measure of progress.
func (b progress) metric() telemetry.MetricName {
	switch b {
	case byNVLinks:
		return metricLinked
	case byTensorCores:
		return metricTensor
	}
	return metricMemory
}

// comparedOf returns, in words, what is compared of a job that reports no steps; "" of others.
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

// speedOf returns the mean nominal speed of a job's links, bytes per second; 0 where none is known.
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

// moved returns how much a job did per second in the grid that its pacer looks at. Until its
// steps are known, the measure is the first that shows anything; from then on it is kept. It
// returns false where too few of its NICs or GPUs have a sample.
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

// done returns how much a job did per second in the grid that ended at, by one measure, in
// the mean of its NICs or GPUs; false if less than seenPart of them have a sample.
func (e *roll) done(job telemetry.Entity, by progress, at telemetry.Time) (float64, bool) {
	var sum float64
	seen, all := 0, 0
	e.eachPart(job, by, func(slot, clock int) {
		all++
		if x, ok := e.rateOf(slot, clock, at); ok {
			sum, seen = sum+x, seen+1
		}
	})
	if seen == 0 || float64(seen) < float64(seenPart*float64(all)) {
		return 0, false
	}
	return sum / float64(seen), true
}

// rateOf returns the value of a slot, multiplied by that of a clock in GHz if there is one.
func (e *roll) rateOf(slot, clock int, at telemetry.Time) (float64, bool) {
	if slot < 0 {
		return 0, false
	}
	x, ok := e.window.At(slot, at)
	if clock < 0 || !ok {
		return x, ok
	}
	hertz, ok := e.window.At(clock, at)
	return float64(x * (hertz / 1e9)), ok
}

// eachPart calls f for each of a job's NICs or GPUs with the slot of a measure, and with that
// of the clock at which tensor cores run; -1 where there is none.
func (e *roll) eachPart(job telemetry.Entity, by progress, f func(slot, clock int)) {
	if by == byNICs {
		m := e.fabricMap()
		for _, node := range e.nodes(job) {
			for _, i := range m.Links(node) {
				f(m.SentBy(i), -1)
			}
		}
		return
	}
	for _, gpu := range e.gpusOf(job) {
		slot, clock := e.slotOf(gpu, by.metric()), -1
		if by == byTensorCores {
			clock = e.slotOf(gpu, metricSMClock)
		}
		f(slot, clock)
	}
}

// slotOf returns the slot of an entity's metric, -1 where there is none.
func (e *sight) slotOf(x telemetry.Entity, m telemetry.MetricName) int {
	if slot, ok := e.window.Slot(telemetry.Series{Entity: x, Metric: m}); ok {
		return slot
	}
	return -1
}
