package attribute

import (
	"errors"

	"github.com/quintet-dc/quintet/correlate/snapshot"
)

// Part is where GPU-seconds go that do not become model arithmetic, in the
// order in which they are removed: what is told of a later one is what is left
// when the earlier ones are gone.
type Part uint8

// The parts of a budget, from the outside in.
const (
	Restarts      Part = iota // failed, restarting or stalled: no step is made
	Checkpoint                // writing checkpoints
	Input                     // waiting for data
	Heat                      // clocks below their own by heat, and all who wait for them
	Power                     // clocks below their own by a limit that was lowered or a brake, and all who wait
	Stragglers                // waiting for the slowest rank, for any other reason
	Communication             // transfers that no computation hides
	Clock                     // clocks below their top by normal power capping
	Memory                    // the memory wall
	Compute                   // what is left of computing beside the model's arithmetic
	parts
)

// Tally is where a number of GPU-seconds went.
type Tally struct {
	Whole float64
	Taken [parts]float64
	// Seen is, for each part, the GPU-seconds for which it could be told.
	Seen [parts]float64
	// Achieved is GPU-seconds of peak arithmetic, and Rated the GPU-seconds for
	// which that could be told.
	Achieved, Rated float64
}

// add adds f times another tally.
func (t *Tally) add(o *Tally, f float64) {
	t.Whole += float64(o.Whole * f)
	t.Achieved += float64(o.Achieved * f)
	t.Rated += float64(o.Rated * f)
	for p := range t.Taken {
		t.Taken[p] += float64(o.Taken[p] * f)
		t.Seen[p] += float64(o.Seen[p] * f)
	}
}

var errAmount = errors.New("tally: an amount that is none")

func (t *Tally) snapshot(k *snapshot.Codec) {
	k.F64(&t.Whole)
	k.F64(&t.Achieved)
	k.F64(&t.Rated)
	for p := range t.Taken {
		k.F64(&t.Taken[p])
		k.F64(&t.Seen[p])
	}
	if !(t.Whole >= 0) {
		k.Fail(errAmount)
	}
}
