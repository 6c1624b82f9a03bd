package jobs

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Goodput is a job's account of useful time, in seconds. Its ratio is the
// effective training time ratio (Kokolis et al., Revisiting Reliability, 2024):
// productive time over wall time since the job started.
type Goodput struct {
	Started    telemetry.Time // as reported, else the begin of the first step seen
	Ended      telemetry.Time // zero while it runs
	Productive float64        // what the finished steps would have taken without trouble
	Redone     float64        // of that, what was lost since the last checkpoint when the job failed
	Failures   int
	// Unsaved is the productive time since the last reported checkpoint, up to
	// Saved: the last instant at which all was safe. Zero where none has been
	// reported: the cost of a failure is not known then.
	Unsaved float64
	Saved   telemetry.Time
}

// Spent returns the seconds until now since the job started, or since the instant
// from which it was watched if it started before, and how many of them were
// productive; 0 before the first step. What a job did unwatched is not known.
func (p *Goodput) Spent(watched, now telemetry.Time) (productive, wall float64) {
	if p.Ended != 0 {
		now = p.Ended
	}
	if p.Started == 0 {
		return 0, 0
	}
	wall = max(0, now.Sub(max(p.Started, watched)).Seconds())
	return min(max(0, p.Productive-p.Redone), wall), wall
}

// start begins the account.
func (p *Goodput) start(at telemetry.Time) { *p = Goodput{Started: at} }

// step counts productive seconds.
func (p *Goodput) step(seconds float64) {
	p.Productive += seconds
	p.Unsaved += seconds
}

// save records that a checkpoint was complete at an instant.
func (p *Goodput) save(at telemetry.Time) { p.Saved, p.Unsaved = at, 0 }

// fail loses what is not saved, and returns how much that is; 0 where it is not
// known.
func (p *Goodput) fail() float64 {
	p.Failures++
	if p.Saved == 0 {
		return 0
	}
	lost := p.Unsaved
	p.Redone += lost
	p.Unsaved = 0
	return lost
}

// Goodput returns the job's account.
func (j *Job) Goodput() Goodput { return j.good }

// Accounted returns until when it is known what a job's time was used for: a step in
// progress is neither productive nor lost until it takes longer than usual.
func (j *Job) Accounted(now telemetry.Time) telemetry.Time {
	if j.LastEnd == 0 || now <= j.LastEnd {
		return now
	}
	usual := j.Last
	if u := j.past.usual(); u.n >= minPast {
		usual = u.median
	}
	return max(j.LastEnd, now.Add(-seconds(float64(usual*float64(j.each())))))
}

// account counts n steps of x seconds that ended by at.
func (j *Job) account(at telemetry.Time, x float64, n int) {
	if j.good.Started == 0 {
		j.good.Started = at.Add(-seconds(x))
	}
	if u := j.past.usual(); u.n >= minPast {
		x = min(x, u.median)
	}
	j.good.step(float64(x * float64(n)))
}

// ObserveCheckpoint takes for how many seconds of each step of the report that ends at
// end the job wrote a checkpoint; where no report ends then, how long one took that
// ended then.
func (b *Book) ObserveCheckpoint(job telemetry.Entity, end telemetry.Time, took float64) {
	if !(took > 0) {
		return
	}
	j := b.know(job)
	if j == nil {
		return
	}
	if end > j.good.Saved {
		j.good.save(end)
	}
	if j.saving = (Step{End: end, Seconds: took}); end <= j.LastEnd {
		j.fileSaving()
	}
}

func (p *Goodput) snapshot(c *snapshot.Codec) {
	c.Time(&p.Started)
	c.Time(&p.Ended)
	c.F64(&p.Productive)
	c.F64(&p.Redone)
	c.Int(&p.Failures)
	c.F64(&p.Unsaved)
	c.Time(&p.Saved)
}
