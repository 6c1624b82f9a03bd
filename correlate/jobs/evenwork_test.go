package jobs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// sequences plays steps of a job whose sequences are not packed: its tokens scatter by 15 %,
// its steps of 6 s take their time for nine tenths of them and scatter by 3 % beside that,
// and from one on they take some times as long. rate makes of the tokens a second what the
// job reports. It returns the steps with which a degradation began.
func sequences(steps, from int, times float64, seed uint64, rate func(float64) float64) (began []int, first Hurt) {
	r := rand.New(rand.NewPCG(seed, 7))
	var b Book
	job, at := telemetry.Entity{Kind: telemetry.Job, Name: "j"}, telemetry.Time(1e9)
	for i := range steps {
		held := math.Exp(0.15 * r.NormFloat64())
		x := 6 * math.Pow(held, 0.9) * math.Exp(0.03*r.NormFloat64())
		if i >= from {
			x *= times
		}
		at = at.Add(seconds(x))
		b.ObserveTokens(job, at, rate(1e6*held/x))
		b.Observe(job, at, x, 0)
		for _, c := range b.Close(at, Senses{Working: func(*Job, telemetry.Time) (telemetry.Time, bool) { return 0, false }}) {
			switch c.Change {
			case Began:
				if began = append(began, i); len(began) == 1 {
					first = *c.Job.Hurt
				}
			case Ended:
				c.Job.Forget(false, false)
			}
		}
	}
	return began, first
}

func counted(rate float64) float64 { return rate }

// TestStepsAreComparedAtTheUsualWork: a loss of a tenth, which is less than what the
// sequences alone make of a step, is found within a dozen steps, and a thousand usual
// steps are no degradation.
func TestStepsAreComparedAtTheUsualWork(t *testing.T) {
	for seed := range uint64(10) {
		began, h := sequences(240, 200, 1.1, seed, counted)
		if len(began) != 1 || began[0] < 200 || began[0] > 214 {
			t.Errorf("seed %d: began at %v, want once from 200 to 214", seed, began)
			continue
		}
		if now, _ := h.Now(); now/h.Expected < 1.06 || now/h.Expected > 1.14 {
			t.Errorf("seed %d: %.2f s a step after %.2f s, want a tenth more", seed, now, h.Expected)
		}
		if began, _ := sequences(1000, 1000, 1, seed, counted); len(began) > 0 {
			t.Errorf("seed %d: usual steps are slow at %v", seed, began)
		}
	}
}

// TestARateThatIsNotCountedExplainsNothing: a rate that is smoothed over steps makes of a
// long step one that holds more.
func TestARateThatIsNotCountedExplainsNothing(t *testing.T) {
	for seed := range uint64(10) {
		smooth := 0.0
		began, h := sequences(240, 200, 1.8, seed, func(rate float64) float64 {
			if smooth == 0 {
				smooth = rate
			}
			smooth = 0.9*smooth + 0.1*rate
			return smooth
		})
		if len(began) != 1 || began[0] < 200 || began[0] > 204 {
			t.Errorf("seed %d: began at %v, want once from 200 to 204", seed, began)
		} else if now, _ := h.Now(); now < 1.4*h.Expected {
			t.Errorf("seed %d: %.2f s a step after %.2f s, want 1.8 times as long", seed, now, h.Expected)
		}
	}
}
