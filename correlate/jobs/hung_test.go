package jobs_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestAJobThatReportsRarelyHangs: of steps of 4 s every fifth is reported. When its
// members wait for one another, that is reported as soon as it has lasted two steps
// and a quarter of a minute; the onset is when they began to wait, not the last
// report.
func TestAJobThatReportsRarelyHangs(t *testing.T) {
	var since telemetry.Time
	senses := idle()
	senses.Hung = func(_ *jobs.Job, g telemetry.Time) float64 {
		if since == 0 || g <= since {
			return 0
		}
		return g.Sub(since).Seconds()
	}
	for _, seen := range []bool{true, false} {
		p := newLife(t)
		since = 0
		for range 12 {
			p.now = p.now.Add(20e9)
			p.b.Observe(played, p.now, 4, 0)
		}
		since = p.now.Add(6e9)
		s := senses
		if !seen {
			s.Hung = nil
		}
		told := telemetry.Time(0)
		for g := p.now; g <= p.now.Add(60e9) && told == 0; g = g.Add(1e9) {
			if len(p.b.Close(g, s)) > 0 {
				told = g
			}
		}
		h := p.b.Job(played).Degradation
		switch {
		case h == nil || h.State != jobs.Stalled:
			t.Fatalf("seen %v: %+v", seen, h)
		case !seen && told != p.now.Add(41e9):
			t.Errorf("unseen, told of %s after the last report", told.Sub(p.now))
		case seen && told != p.now.Add(15e9):
			t.Errorf("seen, told of %s after the last report", told.Sub(p.now))
		case seen && h.Onset != telemetry.Interval{Earliest: since.Add(-4e9), Latest: since}:
			t.Errorf("onset %s, it hangs since %s", h.Onset, since)
		}
	}
}

// rare is a job that reports every fifth of its steps of 4 s, and is asked each
// second for how long its members have waited for one another.
type rare struct {
	*life
	since telemetry.Time // they have waited since then
	told  []telemetry.Time
}

func (r *rare) pass(seconds int) {
	senses := idle()
	senses.Hung = func(_ *jobs.Job, g telemetry.Time) float64 {
		if r.since == 0 || g <= r.since {
			return 0
		}
		return g.Sub(r.since).Seconds()
	}
	for range seconds {
		r.now = r.now.Add(1e9)
		if len(r.b.Close(r.now, senses)) > 0 {
			r.told = append(r.told, r.now)
		}
	}
}

func (r *rare) reports(n int) {
	for range n {
		r.pass(20)
		r.b.Observe(played, r.now, 4, 0)
	}
}

// TestAJobHangsAfterItsCheckpoint: the end of the checkpoint is reported, so what
// the members wait for since is no checkpoint; while it lasts, it may be.
func TestAJobHangsAfterItsCheckpoint(t *testing.T) {
	for _, ended := range []bool{true, false} {
		r := &rare{life: newLife(t)}
		r.reports(12)
		r.pass(3)
		r.event(telemetry.EventCheckpointStarted, "")
		r.pass(6)
		if ended {
			r.event(telemetry.EventCheckpointEnded, "")
		}
		r.since = r.now
		r.pass(40)
		if ended && (len(r.told) != 1 || r.told[0] != r.since.Add(8e9)) || !ended && len(r.told) != 0 {
			t.Errorf("ended %v: told of at %v, it hangs since %v", ended, r.told, r.since)
		}
	}
}

// TestMembersThatWaitForAWriter: one rank writes the checkpoint of all while the
// others wait in a barrier, as long as ever; then half as long again and more.
func TestMembersThatWaitForAWriter(t *testing.T) {
	r := &rare{life: newLife(t)}
	save := func(seconds int) {
		r.event(telemetry.EventCheckpointStarted, "")
		r.since = r.now
		r.pass(seconds)
		r.since = 0
		r.event(telemetry.EventCheckpointEnded, "")
		r.reports(1)
	}
	r.reports(12)
	for range 3 {
		save(14)
		r.reports(3)
	}
	if len(r.told) != 0 {
		t.Fatalf("a barrier of 14 s was told of at %v", r.told)
	}
	from := r.now
	save(30)
	if len(r.told) == 0 || r.told[0] != from.Add(22e9) {
		t.Errorf("a barrier of 30 s since %v was told of at %v", from, r.told)
	}
}

// TestAnEvaluationThatIsSeenInPart: the first one lasts half a minute, and of the waiting in it
// the next sample but one shows 5 s; in the second all of it is seen.
func TestAnEvaluationThatIsSeenInPart(t *testing.T) {
	r := &rare{life: newLife(t)}
	r.reports(12)
	for _, seen := range []int{5, 28} {
		r.event(telemetry.EventCheckpointStarted, "phase eval")
		r.pass(2)
		r.since = r.now
		r.pass(seen)
		r.since = 0
		r.pass(28 - seen)
		r.event(telemetry.EventCheckpointEnded, "phase eval")
		r.reports(8)
	}
	if len(r.told) != 0 {
		t.Errorf("a second evaluation as long as the first was reported at %v", r.told)
	}
}

// TestAnEvaluationBeginsWithACheckpoint: at the instant at which a report ends that holds a
// checkpoint an evaluation begins, which is as long as those before.
func TestAnEvaluationBeginsWithACheckpoint(t *testing.T) {
	r := &rare{life: newLife(t)}
	r.reports(12)
	for turn := range 4 {
		if turn == 3 {
			r.pass(21)
			r.b.ObserveCheckpoint(played, r.now, 1)
			r.b.Observe(played, r.now, 4.2, 0)
		}
		r.event(telemetry.EventCheckpointStarted, "phase eval")
		r.pass(100)
		r.event(telemetry.EventCheckpointEnded, "phase eval")
		r.reports(8)
	}
	if len(r.told) != 0 {
		t.Errorf("an evaluation as long as ever was reported at %v", r.told)
	}
}
