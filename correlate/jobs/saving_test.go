package jobs_test

import (
	"math"
	"testing"
)

// TestACheckpointThatTheJobTellsOfIsNoLoss: a slow job's step that holds a
// checkpoint of 8 s, and says so, counts without it; one that says nothing
// counts whole.
func TestACheckpointThatTheJobTellsOfIsNoLoss(t *testing.T) {
	for _, told := range []bool{true, false} {
		p := newLife(t)
		p.steps(40, 4)
		p.steps(10, 5)
		p.quiet(13)
		if told {
			p.b.ObserveCheckpoint(played, p.now, 8)
		}
		p.b.Observe(played, p.now, 13, 0)
		p.steps(9, 5)
		h := p.b.Job(played).Hurt
		if h == nil {
			t.Fatal("not hurt")
		}
		want := 5.0
		if !told {
			want = 5.4
		}
		if now, ok := h.Now(); !ok || math.Abs(now-want) > 0.03 {
			t.Errorf("told of %v: a step takes %.3f s, want %.2f", told, now, want)
		}
	}
}

// TestShortCheckpointsThatGrowAreALoss: each step holds one of a fifth of a
// second, that nobody feels; then they take two seconds.
func TestShortCheckpointsThatGrowAreALoss(t *testing.T) {
	p := newLife(t)
	save := func(n int, took, step float64) {
		for range n {
			p.quiet(step)
			p.b.ObserveCheckpoint(played, p.now, took)
			p.b.Observe(played, p.now, step, 0)
		}
	}
	save(40, 0.2, 4)
	save(10, 2.2, 6)
	h := p.b.Job(played).Hurt
	if h == nil {
		t.Fatal("not hurt")
	}
	if now, ok := h.Now(); !ok || math.Abs(now-6) > 0.3 {
		t.Errorf("a step takes %.3f s, want 6", now)
	}
}
