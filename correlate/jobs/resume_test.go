package jobs

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// watched is a job that has been seen since it finished the given steps, from
// 1000 s on.
func watched(lengths ...float64) (*Book, *Job) {
	b := &Book{}
	e := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	at := telemetry.Time(1000e9)
	for _, l := range lengths {
		at = at.Add(seconds(l))
		b.Observe(e, at, l, 0)
	}
	return b, b.Job(e)
}

// held is a published degradation: steps of 2 s that became 6 s at 100 s, last
// published at 900 s.
func held() Published {
	return Published{Onset: telemetry.Interval{Earliest: 100e9, Latest: 106e9}, Opened: 110e9, Until: 900e9, Before: 2, Expected: 2, Now: 6, Lost: 500}
}

func times(n int, x float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// TestAJobThatOnlyKnowsItsTroubleIsComparedWithWhatWasPublished: by its own past 6 s
// are usual.
func TestAJobThatOnlyKnowsItsTroubleIsComparedWithWhatWasPublished(t *testing.T) {
	b, j := watched(times(10, 6)...)
	if got := j.Resume(held()); got != StillDegraded {
		t.Fatalf("resumed as %d, want still degraded", got)
	}
	h := j.Degradation
	if h.State != Slow || h.Onset != held().Onset || h.Opened != held().Opened || h.Expected != 2 || h.LastSlow != j.LastEnd {
		t.Errorf("degradation %+v: not the one that was published", h)
	}
	// From 900 s to 1060 s two thirds of the time were lost.
	if want := 500 + 160*2.0/3; h.Lost < want-1 || h.Lost > want+1 {
		t.Errorf("lost %.1f s, want about %.1f", h.Lost, want)
	}
	if now, ok := h.Now(); !ok || now < 5.9 || now > 6.1 {
		t.Errorf("now %.2f s, want 6", now)
	}
	// It is well after eight usual steps, as any other.
	at := j.LastEnd
	for n := range 8 {
		if h.Well() {
			t.Fatalf("well after %d usual steps", n)
		}
		at = at.Add(2e9)
		b.Observe(j.Entity, at, 2, 0)
	}
	if !h.Well() || h.Lost > 500+160*2.0/3+1 {
		t.Errorf("well %v, lost %.1f s after eight usual steps", h.Well(), h.Lost)
	}
}

func TestAJobThatIsBackAtWhatWasExpectedHasRecovered(t *testing.T) {
	for name, lengths := range map[string][]float64{
		"usual all along":                  times(10, 2),
		"usual for five steps":             append(times(10, 6), times(5, 2)...),
		"quicker than ever":                times(6, 1.5),
		"a little above, in its own noise": times(6, 2.05),
	} {
		_, j := watched(lengths...)
		if got := j.Resume(held()); got != Recovered || j.Degradation != nil {
			t.Errorf("%s: resumed as %d", name, got)
		}
	}
}

func TestTooLittleIsReportedToJudge(t *testing.T) {
	_, few := watched(times(4, 6)...)
	if got := few.Resume(held()); got != Undecided {
		t.Errorf("four steps: resumed as %d", got)
	}
	_, old := watched(times(10, 6)...)
	h := held()
	h.Until = old.LastEnd
	if got := old.Resume(h); got != Undecided {
		t.Errorf("no step since it was published: resumed as %d", got)
	}
}

// TestASlightSlowdownIsStillDetected: 6 % was published; 6 % is not usual now.
func TestASlightSlowdownIsStillDetected(t *testing.T) {
	_, j := watched(times(10, 2.12)...)
	h := held()
	h.Now = 2.12
	if got := j.Resume(h); got != StillDegraded {
		t.Errorf("resumed as %d", got)
	}
}

func TestNothingExpectedMeansTheJobSpeaksForItself(t *testing.T) {
	_, j := watched(times(10, 6)...)
	h := held()
	h.Expected = 0
	if got := j.Resume(h); got != Recovered {
		t.Errorf("resumed as %d", got)
	}
}
