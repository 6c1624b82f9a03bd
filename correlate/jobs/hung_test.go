package jobs_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestAJobThatReportsRarelyHangs: of steps of 4 s every fifth is reported. When
// its members wait for one another, that is told as soon as it has lasted two
// steps and a quarter of a minute; the onset is theirs, not the last report's.
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
		h := p.b.Job(played).Hurt
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
