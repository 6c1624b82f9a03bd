package jobs

import (
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// beating plays a job whose steps are half as long again for 40 steps of each 120,
// and counts the degradations that begin. own is how likely it is of each that it had no
// cause.
func beating(t *testing.T, steps int, own float64) (began int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	length := func(i int) float64 {
		x := 1 + 0.01*r.NormFloat64()
		if i%120 >= 80 {
			x *= 1.5
		}
		return x
	}
	play(steps, length, func(_ int, _ telemetry.Time, j *Job, changed []Changed) {
		for _, c := range changed {
			switch c.Change {
			case Began:
				began++
			case Ended:
				j.Forget(false, own)
			}
		}
	})
	return began
}

func TestForgetLearnsWhatHadNoCause(t *testing.T) {
	if n := beating(t, 3000, 1); n > 6 {
		t.Errorf("%d degradations of a job that beats, want at most 6 until its own variation is known", n)
	}
	if n := beating(t, 3000, 0); n < 20 {
		t.Errorf("%d degradations with a cause, want each of them", n)
	}
	// What was likely caused by something else is a cause of its own again the next time.
	if n := beating(t, 500, .25); n < 4 {
		t.Errorf("%d degradations of which each likely had a cause, want each of them", n)
	}
}

func TestLongStepsThatStandAloneDoNotWidenTheSpread(t *testing.T) {
	var with, without past
	for i := range pastSteps {
		without.add(1 + 0.01*float64(i%3))
		x := 1 + 0.01*float64(i%3)
		if i%8 == 7 {
			x = 2.5
		}
		with.add(x)
	}
	a, b := with.usual(), without.usual()
	if a.spread > 1.5*b.spread {
		t.Errorf("spread %v with checkpoints, %v without", a.spread, b.spread)
	}
	if x, y := (odds{}).with(a, 2.5, false), (odds{}).with(b, 2.5, false); x.most() > y.most()/2 {
		t.Errorf("a long step adds %v, %v where none are", x, y)
	}
}
