package correlate

import (
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// restTensor is the activity below which a tensor core is idle, and workTensor
	// that above which it worked before.
	restTensor, workTensor = 0.02, 0.1
	// restSent is the part of what a job's nics sent before below which they rest.
	restSent = 0.05
	// hungGrids is how far back is looked.
	hungGrids = 120
)

// hung returns for how many seconds, up to grid g, a job's members have waited
// for one another: their tensor cores rest and their nics send nothing, though
// something is launched on the GPUs all the while. Of one that trains, never
// both rest for as long as a step; one whose nics carry no steps is known by its tensor cores.
// It is 0 where GPUs or wires are not seen.
func (e *activity) hung(j *jobs.Job, g telemetry.Time) float64 {
	slots := e.gpuSlots(j, metricTensor)
	last := floor(j.LastEnd, e.cfg.Grid)
	before := last.Add(-computeBefore * e.cfg.Grid)
	if !e.tensorCoresIdle(slots, g) || !e.worked(slots, before, last) {
		return 0
	}
	sent, ok := e.sent(j.Entity, fabric.Span{From: before, To: last})
	if !ok {
		return 0
	}
	carries := sent > float64(leastCarried*e.speedOf(j.Entity))
	n := 0
	for at := g; n < hungGrids && at > last; at = at.Add(-e.cfg.Grid) {
		now, ok := e.sent(j.Entity, fabric.Span{From: at.Add(-e.cfg.Grid), To: at})
		if !ok || carries && now >= float64(restSent*sent) || !e.tensorCoresIdle(slots, at) || e.idle(j, at) {
			break
		}
		n++
	}
	return float64(float64(n) * e.cfg.Grid.Seconds())
}

// gpuSlots are the slots of a metric of a job's GPUs.
func (e *activity) gpuSlots(j *jobs.Job, metric telemetry.MetricName) []int {
	var out []int
	for _, gpu := range e.gpusOf(j.Entity) {
		if slot, ok := e.window.Slot(telemetry.Series{Entity: gpu, Metric: metric}); ok {
			out = append(out, slot)
		}
	}
	return out
}

// tensorCoresIdle reports whether the median activity of tensor cores is low at a grid.
func (e *activity) tensorCoresIdle(slots []int, at telemetry.Time) bool {
	var seen []float64
	for _, slot := range slots {
		if v, ok := e.window.At(slot, at); ok {
			seen = append(seen, v)
		}
	}
	return len(seen) > 0 && stats.Median(seen) < restTensor
}

// worked reports whether the median of tensor cores worked in (from, to].
func (e *activity) worked(slots []int, from, to telemetry.Time) bool {
	var seen []float64
	for _, slot := range slots {
		if v, ok := e.meanOf(slot, from, to); ok {
			seen = append(seen, v)
		}
	}
	return len(seen) > 0 && stats.Median(seen) >= workTensor
}

// sent is what the nics of a job that are seen sent in a span, in the mean of
// them, bytes per second.
func (e *activity) sent(job telemetry.Entity, span fabric.Span) (float64, bool) {
	m := e.fabricMap()
	var sum float64
	seen, ends := 0, 0
	for _, node := range e.nodes(job) {
		for _, i := range m.Links(node) {
			ends++
			if v, ok := m.Sent(e.window, e.cfg.Grid, span, i); ok {
				sum, seen = sum+v, seen+1
			}
		}
	}
	return sum / max(float64(seen), 1), 2*seen > ends
}
