package jobs

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sequences plays steps of a job whose sequences are not packed. Their tokens scatter by
// 15 %; nine tenths of the length of 6 s depend on them, and it scatters by 3 % besides. From
// one step on all take times as long. rate returns the tokens a second that are reported.
func sequences(steps, from int, times float64, seed uint64, rate func(float64) float64) (began []int, first Degradation) {
	r := rand.New(rand.NewPCG(seed, 7))
	return watchWork(steps, func(i int) (float64, float64) {
		tokens := math.Exp(0.15 * r.NormFloat64())
		x := 6 * math.Pow(tokens, 0.9) * math.Exp(0.03*r.NormFloat64())
		if i >= from {
			x *= times
		}
		return x, rate(1e6 * tokens / x)
	}, Senses{})
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
		if now, _ := h.Now(); now/h.Expected < 1.05 || now/h.Expected > 1.14 {
			t.Errorf("seed %d: %.2f s a step after %.2f s, want a tenth more", seed, now, h.Expected)
		}
		if began, _ := sequences(1000, 1000, 1, seed, counted); len(began) > 0 {
			t.Errorf("seed %d: usual steps are slow at %v", seed, began)
		}
	}
}

// TestARateThatIsNotCountedExplainsNothing: a rate that is smoothed over steps makes of a
// long step one that holds more. So the sequences are in the steps: that all take longer
// shows within six steps, and in one job of five several long ones in a row are taken
// for it.
func TestARateThatIsNotCountedExplainsNothing(t *testing.T) {
	early := 0
	for seed := range uint64(10) {
		smooth := 0.0
		began, h := sequences(240, 200, 1.8, seed, func(rate float64) float64 {
			if smooth == 0 {
				smooth = rate
			}
			smooth = 0.9*smooth + 0.1*rate
			return smooth
		})
		if len(began) > 0 && began[0] < 200 {
			early++
		} else if len(began) != 1 || began[0] > 206 {
			t.Errorf("seed %d: began at %v, want once from 200 to 206", seed, began)
		} else if now, _ := h.Now(); now < 1.4*h.Expected {
			t.Errorf("seed %d: %.2f s a step after %.2f s, want 1.8 times as long", seed, now, h.Expected)
		}
	}
	if early > 2 {
		t.Errorf("%d of 10 jobs are slow before they are", early)
	}
}
