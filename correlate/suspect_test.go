package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestACauseIsSearchedForAsLongHoweverLateItIsKnown: the steps of a job that reports none
// are known a minute after they ended, when the last slow one may be that old.
func TestACauseIsSearchedForAsLongHoweverLateItIsKnown(t *testing.T) {
	at := func(seconds float64) telemetry.Time { return telemetry.Time(1e18 + seconds*1e9) }
	slow := &jobs.Degradation{State: jobs.Slow, LastSlow: at(0)}
	for _, known := range []float64{0, 75} {
		c := &incidentCase{judged: at(known), naming: naming{since: at(known)}}
		for after, over := range map[float64]bool{5: false, 29: false, 31: true} {
			if c.recovers(slow, at(known+after)) != over {
				t.Errorf("first searched for %g s after the last slow step: over %g s later is %v, want %v", known, after, !over, over)
			}
		}
	}
}
