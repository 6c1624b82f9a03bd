package attribute

import "github.com/quintet-dc/quintet/correlate/jobs"

// Loss is the cost of a degradation to one job.
type Loss struct {
	GPUs     int
	Step     float64 // mean step during the degradation, seconds; Expected where none has ended
	Expected float64 // the step without the trouble, seconds
	// Share is the part of its time that the job loses, 1 − expected/step.
	Share float64
	// GPUSeconds is GPUs × Σ max(0, step − expected), the step in progress
	// included where it is overdue.
	GPUSeconds float64
}

// Of returns the loss of a job's degradation on gpus GPUs.
func Of(h *jobs.Degradation, gpus int) Loss {
	l := Loss{GPUs: gpus, Step: h.Expected, Expected: h.Expected}
	if now, ok := h.Now(); ok {
		l.Step = now
	}
	if l.Step > l.Expected {
		l.Share = 1 - l.Expected/l.Step
	}
	l.GPUSeconds = float64(float64(gpus) * (h.Lost + max(0, h.Overdue-h.Expected)))
	return l
}

// Excess returns the seconds each step is too long.
func (l Loss) Excess() float64 { return max(0, l.Step-l.Expected) }

// Slowdown returns step over expected, and false where nothing is expected.
func (l Loss) Slowdown() (float64, bool) {
	if l.Expected <= 0 {
		return 0, false
	}
	return l.Step / l.Expected, true
}

// Rate returns the GPU-hours lost per hour while it lasts.
func (l Loss) Rate() float64 { return float64(float64(l.GPUs) * l.Share) }
