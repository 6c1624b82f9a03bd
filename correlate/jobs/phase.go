package jobs

import "github.com/quintet-dc/quintet/telemetry"

// EventPhase reports in its text what a job does from now on: train, or something
// whose steps are not those of training (eval, checkpoint, init).
const EventPhase telemetry.EventName = "phase"

const phaseTrain = "train"

// maxPhase is how long a phase is expected activity for a job's steps. What lasts
// longer is judged: a job can hang in an evaluation, too.
const maxPhase = telemetry.Duration(30 * 60e9)

// enter begins a phase.
func (j *Job) enter(phase string, at telemetry.Time) {
	if other := phase != "" && phase != phaseTrain; other {
		j.phase, j.phaseFrom = phase, at
		return
	}
	if j.phase != "" {
		j.phase, j.phaseTo = "", at
	}
}

// Phase is what the job does other than training; "" where it trains, as far as it
// reports.
func (j *Job) Phase() string { return j.phase }

// otherwise reports whether a step of x seconds that ended at at, or one in
// progress for so long, was at least in part not one of training.
func (j *Job) otherwise(at telemetry.Time, x float64) bool {
	if j.phase != "" {
		return at > j.phaseFrom && at.Sub(j.phaseFrom) <= maxPhase
	}
	return j.phaseTo != 0 && at.Add(-seconds(x)) < j.phaseTo && at >= j.phaseFrom
}
