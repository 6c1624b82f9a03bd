package jobs

import "github.com/quintet-dc/quintet/telemetry"

// Senses is what else is seen of a job, read only when its steps leave a
// question. Both must be pure.
type Senses struct {
	// Working reports whether a job whose steps are overdue is seen to work all
	// the same: then only its reports are missing. until is the instant up to which
	// it is known to have worked; zero where nothing is known of it.
	Working func(j *Job, g telemetry.Time) (until telemetry.Time, ok bool)
	// Idle reports whether nothing is launched on the job's GPUs, or was until a
	// moment ago. May be nil.
	Idle func(j *Job, g telemetry.Time) bool
	// Hung returns for how many seconds the job's members have waited for one
	// another, nothing done and nothing sent; it is called for a job whose reports
	// come too rarely to show that. May be nil.
	Hung func(j *Job, g telemetry.Time) float64
	// Corroborates reports whether there is corroborating evidence for a degradation:
	// something physical that can degrade the job is in trouble in a way that fits,
	// which makes one certainly slow step enough. May be nil.
	Corroborates func(j *Job, h *Degradation, g telemetry.Time) bool
	// Threatened lists since when something that the job depends on is in trouble, by
	// each such thing. May be nil.
	Threatened func(j *Job) []telemetry.Interval
}

// slowerSince returns the degradation of a job whose steps are longer since something that
// it depends on is in trouble; nil where there is none.
func (s *Senses) slowerSince(j *Job, g telemetry.Time, u usual) *Degradation {
	if s.Threatened == nil || len(j.Recent) < riskBefore+riskSince {
		return nil
	}
	for _, at := range s.Threatened(j) {
		if h := j.slowerSince(at, g, u); h != nil {
			return h
		}
	}
	return nil
}

// corroborates reports whether there is corroborating evidence for a degradation.
func (s *Senses) corroborates(j *Job, h *Degradation, g telemetry.Time) bool {
	return s.Corroborates != nil && s.Corroborates(j, h, g)
}
