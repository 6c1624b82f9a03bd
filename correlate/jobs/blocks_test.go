package jobs

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestAJobIsInDoubtBeforeItIsSlow: the steps of a job that beats become 6 % longer.
// It is in doubt while that is not certain, and from when on it may be is right to
// a block, so that what was before is read from before.
func TestAJobIsInDoubtBeforeItIsSlow(t *testing.T) {
	const slower = 160
	var b Book
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	at, from := telemetry.Time(1e9), telemetry.Time(0)
	doubted := 0
	for i := range 400 {
		x := 2 + 0.3*math.Sin(2*math.Pi*float64(i)/8.1) + 0.01*math.Sin(float64(7*i))
		if i == slower {
			from = at
		}
		if i >= slower {
			x *= 1.06
		}
		at = at.Add(seconds(x))
		b.Observe(job, at, x, 0)
		changed := b.Close(at, Senses{})
		j := b.Job(job)
		since, ok := j.Doubted()
		switch {
		case len(changed) > 0 && i < slower:
			t.Fatalf("step %d: %v", i, changed[0].Change)
		case len(changed) > 0:
			if doubted == 0 {
				t.Error("it was never in doubt")
			}
			if !j.Hurt.inBlocks {
				t.Error("it is not seen in blocks")
			}
			return
		case ok && i >= slower:
			doubted++
			if off := since.Sub(from); off < -seconds(2*blockSteps) || off > seconds(4*blockSteps) {
				t.Fatalf("step %d: in doubt since %v after it became slower", i, off)
			}
		}
	}
	t.Error("it did not become slow")
}

// TestAJobThatRecoversInBlocksIsWell: as above, for 200 steps; the end is seen, too.
func TestAJobThatRecoversInBlocksIsWell(t *testing.T) {
	var b Book
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	at := telemetry.Time(1e9)
	var began, ended []int
	for i := range 700 {
		x := 2 + 0.3*math.Sin(2*math.Pi*float64(i)/8.1) + 0.01*math.Sin(float64(7*i))
		if i >= 160 && i < 360 {
			x *= 1.06
		}
		at = at.Add(seconds(x))
		b.Observe(job, at, x, 0)
		for _, c := range b.Close(at, Senses{}) {
			switch c.Change {
			case Began:
				began = append(began, i)
			case Ended:
				ended = append(ended, i)
				c.Job.Forget(false, false)
			}
		}
	}
	if len(began) != 1 || len(ended) != 1 || ended[0] < 360 || ended[0] > 400 {
		t.Errorf("began %v, ended %v", began, ended)
	}
}
