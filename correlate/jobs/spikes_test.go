package jobs

import (
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// interrupted returns steps of 3 s, of which from one on one in 10 to 20 is longer by 60 %:
// 4 % in the mean.
func interrupted(from int, seed uint64) func(i int) float64 {
	r, next := rand.New(rand.NewPCG(seed, 5)), from
	return func(i int) float64 {
		x := 3 + 0.03*r.NormFloat64()
		if i == next {
			next, x = i+10+r.IntN(11), float64(1.6*x)
		}
		return x
	}
}

// watchLong plays steps and returns the numbers of those with which a degradation began,
// and the first degradation as it began.
func watchLong(steps int, length func(i int) float64, s Senses) (began []int, first Degradation) {
	return watchWork(steps, func(i int) (float64, float64) { return length(i), 0 }, s)
}

// watchWork is watchLong for a job that reports tokens a second, where these are not 0.
func watchWork(steps int, step func(i int) (length, rate float64), s Senses) (began []int, first Degradation) {
	s.Working = func(*Job, telemetry.Time) (telemetry.Time, bool) { return 0, false }
	var b Book
	job, at := telemetry.Entity{Kind: telemetry.Job, Name: "j"}, telemetry.Time(1e9)
	for i := range steps {
		x, rate := step(i)
		at = at.Add(seconds(x))
		b.ObserveTokens(job, at, rate)
		b.Observe(job, at, x, 0)
		for _, c := range b.Close(at, s) {
			switch c.Change {
			case Began:
				if began = append(began, i); len(began) == 1 {
					first = *c.Job.Degradation
				}
			case Ended:
				c.Job.Forget(false, 0)
			}
		}
	}
	return began, first
}

// TestLongStepsThatComeMoreOftenAreADegradation: where a job has had none for long, a
// few are enough; it begins with the first of them, lasts while they come, and costs
// what they cost in the mean.
func TestLongStepsThatComeMoreOftenAreADegradation(t *testing.T) {
	const from = 3000
	for seed := range uint64(20) {
		began, h := watchLong(from+250, interrupted(from, seed), Senses{})
		if len(began) != 1 || began[0] < from || began[0] > from+130 {
			t.Errorf("seed %d: began at %v, want once within 130 steps of %d", seed, began, from)
			continue
		}
		if mean, _ := h.Now(); mean < 3*1.03 || mean > 3*1.09 || h.Steps < began[0]-from-20 {
			t.Errorf("seed %d: %d steps of %.3f s, want those since step %d", seed, h.Steps, mean, from)
		}
	}
}

// TestFewLongStepsNeedCorroboration: after a short past a few prove nothing, but with
// evidence of a cause they do.
func TestFewLongStepsNeedCorroboration(t *testing.T) {
	const from = 150
	asked := 0
	for _, c := range []struct {
		said bool
		want int
	}{{false, 0}, {true, 1}} {
		sees := func(j *Job, h *Degradation, g telemetry.Time) bool {
			if h.Steps > 1 {
				asked++
			}
			return c.said && h.Steps > 1
		}
		began, _ := watchLong(from+60, interrupted(from, 1), Senses{Corroborates: sees})
		if len(began) != c.want {
			t.Errorf("corroborated: %v; began at %v", c.said, began)
		}
	}
	if asked == 0 || asked > 60 {
		t.Errorf("asked %d times, want at most once a step", asked)
	}
}

// TestBlocksThatAreNearlySlowNeedCorroboration: with evidence of a cause, the means of
// eight steps show a degradation before they are enough by themselves.
func TestBlocksThatAreNearlySlowNeedCorroboration(t *testing.T) {
	steps := beatsOfEight(400)
	alone, _ := watchLong(400, steps, Senses{})
	with, h := watchLong(400, steps, Senses{Corroborates: func(*Job, *Degradation, telemetry.Time) bool { return true }})
	if len(alone) == 0 || len(with) == 0 || with[0] < slowerFrom || with[0] >= alone[0] {
		t.Fatalf("begins at %v, corroborated at %v", alone, with)
	}
	if mean, _ := h.Now(); mean < 2*1.04 || mean > 2*1.08 {
		t.Errorf("steps of %.3f s, want 6 %% more than 2", mean)
	}
}

// TestRateOdds checks the odds against the probabilities of a rate that is certain: four
// of fifty after none of two thousand are no chance, and as many as before are no news.
func TestRateOdds(t *testing.T) {
	for _, c := range []struct {
		k, n, k0, n0 int
		least, most  float64
	}{
		{4, 50, 0, 2000, 10, 15},
		{1, 100, 20, 2000, -5, 0},
		{2, 18, 0, 200, 2, 4},
		{5, 50, 200, 2000, -5, 0},
	} {
		if odds := rateOdds(c.k, c.n, c.k0, c.n0); odds < c.least || odds > c.most {
			t.Errorf("%d of %d after %d of %d: %.1f, want %v to %v", c.k, c.n, c.k0, c.n0, odds, c.least, c.most)
		}
	}
}

// TestAnyStepsCanBeJudged: steps of several lengths in turn, single long ones among
// them, with evidence of a cause now and then. No degradation begins after it is
// opened.
func TestAnyStepsCanBeJudged(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 11))
		level, turn, wrong := 1.0, 5+r.IntN(60), 0
		length := func(i int) float64 {
			if i%turn == 0 {
				level = 1 + 0.15*r.Float64()
			}
			x := level * (1 + 0.02*r.NormFloat64())
			if r.IntN(12) == 0 {
				x *= 1.3 + r.Float64()
			}
			return x
		}
		sees := func(_ *Job, h *Degradation, g telemetry.Time) bool {
			if h.Onset.Earliest > g {
				wrong++
			}
			return r.IntN(40) == 0
		}
		if watchLong(1500, length, Senses{Corroborates: sees}); wrong > 0 {
			t.Errorf("seed %d: %d begin after they are opened", seed, wrong)
		}
	}
}
