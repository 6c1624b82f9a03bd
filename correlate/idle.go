package correlate

import (
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	metricEngine telemetry.MetricName = "gpu_engine_active_ratio"
	// idleEngine is the activity below which nothing is launched on a GPU: one
	// that waits in a collective is busy all the time.
	idleEngine = 0.15
	// idleShare of a job's GPUs must be idle for the job to be.
	idleShare = 0.9
	// idleGrids is how many grids back they must have been, too.
	idleGrids = 2
)

// idle reports whether nothing is launched on a job's GPUs: it reads its input,
// writes a checkpoint, or its hosts do something else.
func (e *Engine) idle(j *jobs.Job, g telemetry.Time) bool {
	seen, idle := 0, 0
	for _, node := range e.nodes(j.Entity) {
		for _, gpu := range e.graph.GPUs(node) {
			slot, ok := e.window.Slot(telemetry.Series{Entity: gpu, Metric: metricEngine})
			if !ok {
				continue
			}
			now, okNow := e.window.At(slot, g)
			then, okThen := e.window.At(slot, g.Add(-idleGrids*e.cfg.Grid))
			if !okNow || !okThen {
				continue
			}
			seen++
			if max(now, then) < idleEngine {
				idle++
			}
		}
	}
	return seen > 0 && float64(idle) >= float64(idleShare*float64(seen))
}
