package jobs

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// utilisation is what a degraded job reports of its model FLOPs utilisation, 0 to 1.
type utilisation struct {
	last float64 // the last one reported
	sum  float64 // of those reported with its slow steps
	n    int     // how many these are
	seen bool    // any were reported since the trouble was noticed
}

// add takes a report; slow is set if it came with a slow step.
func (u *utilisation) add(ratio float64, slow bool) {
	u.last, u.seen = ratio, true
	if slow {
		u.sum, u.n = u.sum+ratio, u.n+1
	}
}

func (u *utilisation) snapshot(c *snapshot.Codec) {
	c.F64(&u.last)
	c.F64(&u.sum)
	c.Int(&u.n)
	c.Bool(&u.seen)
}

// ObserveMFU takes a job's model FLOPs utilisation, 0 to 1, as it reports it.
func (b *Book) ObserveMFU(job telemetry.Entity, ratio float64) {
	if !(ratio >= 0 && ratio <= 1) {
		b.Refused++
		return
	}
	j := b.know(job)
	switch {
	case j == nil:
	case j.Degradation == nil:
		j.mfu.add(ratio)
	default:
		j.Degradation.mfu.add(ratio, j.Degradation.tailSteps == 0)
	}
}

// divide moves the reports that came with the first steps of a new degradation to
// it: they are not part of the healthy past.
func (j *Job) divide(h *Degradation) {
	n := max(0, min(h.Steps, len(j.mfu.lengths)-1))
	for _, ratio := range j.mfu.lengths[max(0, len(j.mfu.lengths)-n):] {
		h.mfu.add(ratio, true)
	}
	if n > 0 {
		j.mfu.lengths, j.mfu.known = j.mfu.lengths[:len(j.mfu.lengths)-n], false
	}
}

// MFU returns the utilisation before the degradation (the median of its last
// reports) and in it (the mean of those that came with slow steps, as Now is the
// mean of these); false where it was not reported.
func (j *Job) MFU() (before, now float64, ok bool) {
	if j.Degradation == nil || j.Degradation.mfu.n == 0 || len(j.mfu.lengths) == 0 {
		return 0, 0, false
	}
	return j.mfu.before(), j.Degradation.mfu.sum / float64(j.Degradation.mfu.n), true
}

// Utilisation returns the last model FLOPs utilisation that the job reported,
// and false where it reported none.
func (j *Job) Utilisation() (float64, bool) {
	if j.Degradation != nil && j.Degradation.mfu.seen {
		return j.Degradation.mfu.last, true
	}
	if n := len(j.mfu.lengths); n > 0 {
		return j.mfu.lengths[n-1], true
	}
	return 0, false
}
