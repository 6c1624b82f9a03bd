package jobs

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// play makes a job of steps of the given lengths, in seconds, and calls closed with
// what the book reports after each.
func play(steps int, length func(i int) float64, closed func(i int, end telemetry.Time, j *Job, changed []Changed)) {
	var b Book
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	at := telemetry.Time(1e9)
	for i := range steps {
		x := length(i)
		at = at.Add(seconds(x))
		b.Observe(job, at, x, 0)
		changed := b.Close(at, Senses{})
		closed(i, at, b.Job(job), changed)
	}
}

// slowerFrom is the step from which on the jobs of these tests are 6 % slower.
const slowerFrom = 160

// beatsOfEight returns steps that are longer and shorter in turn by 15 %, and all of
// them 6 % longer from slowerFrom to the given one.
func beatsOfEight(to int) func(i int) float64 {
	return func(i int) float64 {
		x := 2 + 0.3*math.Sin(2*math.Pi*float64(i)/8.1) + 0.01*math.Sin(float64(7*i))
		if i >= slowerFrom && i < to {
			x *= 1.06
		}
		return x
	}
}

// TestDoubtedBeforeADegradationBegins: a job is in doubt while it is not certain that
// it is slower, and from when on it may be is right to some blocks, so that its
// baseline is read from before.
func TestDoubtedBeforeADegradationBegins(t *testing.T) {
	var from telemetry.Time
	doubted, began := 0, false
	play(400, beatsOfEight(400), func(i int, end telemetry.Time, j *Job, changed []Changed) {
		if i < slowerFrom {
			from = end
			if len(changed) > 0 {
				t.Fatalf("step %d: change %v", i, changed[0].Change)
			}
			return
		}
		if len(changed) > 0 && !began {
			began = true
			if doubted == 0 || !j.Degradation.inBlocks {
				t.Errorf("it began after %d steps in doubt, in blocks: %v", doubted, j.Degradation.inBlocks)
			}
		}
		if since, ok := j.Doubted(); ok && !began {
			doubted++
			if off := since.Sub(from); off < -seconds(2*blockSteps) || off > seconds(4*blockSteps) {
				t.Fatalf("step %d: in doubt since %v after it became slower", i, off)
			}
		}
	})
	if !began {
		t.Error("it did not become slow")
	}
}

// TestADegradationInBlocksEnds with the blocks that are as usual again.
func TestADegradationInBlocksEnds(t *testing.T) {
	const to = slowerFrom + 200
	var began, ended []int
	play(700, beatsOfEight(to), func(i int, _ telemetry.Time, j *Job, changed []Changed) {
		for _, c := range changed {
			switch c.Change {
			case Began:
				began = append(began, i)
			case Ended:
				ended = append(ended, i)
				j.Forget(false, 0)
			}
		}
	})
	if len(began) != 1 || len(ended) != 1 || ended[0] < to || ended[0] > to+5*blockSteps {
		t.Errorf("began %v, ended %v", began, ended)
	}
}
