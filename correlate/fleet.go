package correlate

// FleetView is how well the site's GPUs are used by the jobs that have reported;
// jobs that have ended are included as long as they are remembered.
type FleetView struct {
	Jobs int `json:"jobs"`
	GPUs int `json:"gpus"` // of the jobs that run
	// Goodput is the productive part of all jobs' GPU-time (effective training
	// time ratio); nil before any job has finished a step.
	Goodput *float64 `json:"goodput"`
	// Redone is the GPU-seconds of work that failures have cost since the
	// checkpoints before them.
	Redone float64 `json:"work_lost_gpu_seconds"`
}

// Fleet returns how the site's jobs do together.
func (e *Engine) Fleet() FleetView {
	var v FleetView
	var productive, wall float64
	for _, j := range e.sight.book.Jobs() {
		good := j.Goodput()
		useful, all := e.spent(j)
		if !(all > 0) {
			continue
		}
		gpus := e.sight.gpus(j.Entity, e.sight.nodes(j.Entity))
		v.Jobs++
		if !j.Over() {
			v.GPUs += gpus
		}
		wall += float64(float64(gpus) * all)
		productive += float64(float64(gpus) * useful)
		v.Redone += float64(float64(gpus) * good.Redone)
	}
	if wall > 0 {
		r := productive / wall
		v.Goodput = &r
	}
	return v
}
