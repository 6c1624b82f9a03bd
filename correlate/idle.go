package correlate

import (
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// activity determines from a job's GPUs and nics whether it works.
type activity struct{ *sight }

const (
	metricEngine telemetry.MetricName = "gpu_engine_active_ratio"
	// idleEngine is the activity below which nothing is launched on a GPU: one
	// that waits in a collective is busy all the time.
	idleEngine = 0.15
	// idleShare of a job's GPUs must be idle for the job to be.
	idleShare = 0.9
)

// lateIdle reports whether nothing is launched on a job's GPUs, or was until so
// lately that it cannot be seen yet whether they compute.
func (e *activity) lateIdle(j *jobs.Job, g telemetry.Time) bool {
	for k := range telemetry.Duration(computeGrids) {
		if e.idle(j, g.Add(-k*e.cfg.Grid)) {
			return true
		}
	}
	return false
}

// idle reports whether nothing is launched on a job's GPUs: it reads its input,
// writes a checkpoint, or its hosts do something else. A sample that was averaged since
// before the last step ended does not show it.
func (e *activity) idle(j *jobs.Job, g telemetry.Time) bool {
	seen, idle := 0, 0
	for _, gpu := range e.gpusOf(j.Entity) {
		slot, ok := e.window.Slot(telemetry.Series{Entity: gpu, Metric: metricEngine})
		if !ok {
			continue
		}
		now, ok := e.window.At(slot, g)
		if last, _ := e.window.Last(slot); !ok || min(last, g).Add(-e.window.Cadence(slot)) < j.LastEnd.Add(-e.cfg.Grid) {
			continue
		}
		seen++
		if now < idleEngine {
			idle++
		}
	}
	return seen > 0 && float64(idle) >= float64(idleShare*float64(seen))
}

const (
	metricTensor telemetry.MetricName = "gpu_tensor_active_ratio"
	// computeGrids is how far back a job's GPUs are looked at, and computeBefore
	// how far before the last step they are compared with.
	computeGrids, computeBefore = 6, 32
)

// computesBy are the metrics that show whether a GPU computes, the surest first, each with the
// share of what the median GPU had before that is enough. One that waits for others has no
// tensor activity and reads little memory, but the kernels that wait run on some of its SMs.
var computesBy = []struct {
	metric telemetry.MetricName
	share  float64
}{
	{metricTensor, 0.4},
	{"gpu_sm_active_ratio", 0.6},
	{metricMemory, 0.6},
}

// upTo is the span of so many grids up to a job's last step, as seen at g. Where
// history does not reach back that far any more, it is the earliest that does: for
// a job that has worked without a report until now, that shows work, and for a
// stalled one, none.
func (e *sight) upTo(last, g telemetry.Time, grids telemetry.Duration) fabric.Span {
	from := max(last.Add(-grids*e.cfg.Grid), e.oldest(g))
	return fabric.Span{From: from, To: max(last, from.Add(computeBefore*e.cfg.Grid))}
}

// computing reports whether a job's GPUs compute about as much as before the step in
// progress, by the first metric that is measured of them.
func (e *activity) computing(j *jobs.Job, g telemetry.Time) bool {
	last := floor(j.LastEnd, e.cfg.Grid)
	if g.Sub(last) < computeGrids*e.cfg.Grid {
		return false
	}
	before := e.upTo(last, g, computeBefore)
	for _, by := range computesBy {
		if ratio, ok := e.nowAndBefore(e.gpuSlots(j, by.metric), before, g); ok {
			return ratio >= by.share
		}
	}
	return false
}

// nowAndBefore is the median of what slots have now to what they had before, and whether any
// of them had something.
func (e *sight) nowAndBefore(slots []int, before fabric.Span, g telemetry.Time) (float64, bool) {
	var ratios []float64
	for _, slot := range slots {
		now, okNow := e.meanOf(slot, g.Add(-computeGrids*e.cfg.Grid), g)
		then, okThen := e.meanOf(slot, before.From, before.To)
		if okNow && okThen && then > 0 {
			ratios = append(ratios, now/then)
		}
	}
	return stats.Median(ratios), len(ratios) > 0
}

// meanOf is the mean of a slot's grids in (from, to], as far as they are known.
func (e *sight) meanOf(slot int, from, to telemetry.Time) (float64, bool) {
	sum, n := 0.0, 0
	for g := from.Add(e.cfg.Grid); g <= to; g = g.Add(e.cfg.Grid) {
		if v, ok := e.window.At(slot, g); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / max(float64(n), 1), n > 0
}
