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

// TestACheckpointThatTakesManyTimesAsLongHurts: one every 20 steps takes 5 s,
// then 40. It is found with the first, lasts through the usual steps between
// them, and ends with one that is as it was. One and a half times as long is no
// trouble.
func TestACheckpointThatTakesManyTimesAsLongHurts(t *testing.T) {
	for _, c := range []struct{ took, mean float64 }{{40, 4 + 35.0/20}, {7.5, 0}} {
		p := newLife(t)
		turn := func(n int, took float64) {
			for range n {
				p.steps(19, 4)
				p.quiet(4 + took)
				p.b.ObserveCheckpoint(played, p.now, took)
				p.b.Observe(played, p.now, 4+took, 0)
				p.quiet(1)
			}
		}
		turn(4, 5)
		turn(1, c.took)
		if h := p.b.Job(played).Hurt; (h != nil) != (c.mean > 0) {
			t.Fatalf("%g s: hurt %v with the first", c.took, h != nil)
		}
		turn(3, c.took)
		h := p.b.Job(played).Hurt
		if (h != nil) != (c.mean > 0) {
			t.Fatalf("%g s: hurt %v after four", c.took, h != nil)
		}
		if h == nil {
			continue
		}
		if now, ok := h.Now(); !ok || math.Abs(now-c.mean) > 1 {
			t.Errorf("%g s: a step takes %.2f s in the mean, want about %.2f", c.took, now, c.mean)
		}
		turn(1, 5)
		p.steps(8, 4)
		if p.b.Job(played).Hurt != nil {
			t.Errorf("%g s: not well with a usual one", c.took)
		}
	}
}
