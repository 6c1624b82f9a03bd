package jobs

import "github.com/quintet-dc/quintet/telemetry"

// lastWord is how long after a job's end its last step may end: a scheduler reports
// whole seconds, and by another clock.
const lastWord = telemetry.Duration(2e9)

// resumes marks a job that had ended as running again, where a step that ended at
// an instant shows it.
func (j *Job) resumes(at telemetry.Time) bool {
	if !j.ended || at.Sub(j.good.Ended) < lastWord {
		return false
	}
	j.ended, j.good.Ended = false, 0
	return true
}

// End records that a job is over at an instant: no step of it is expected until one
// comes.
func (b *Book) End(job telemetry.Entity, at telemetry.Time) {
	if j := b.Job(job); j != nil && !j.ended {
		j.ended, j.good.Ended = true, at
	}
}

// Over reports whether a job has ended, as far as is known.
func (j *Job) Over() bool { return j.ended }
