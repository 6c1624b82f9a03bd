package pace

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Window is how many grids the period is looked for in: eight steps of 24 s.
const Window = 192

// Step is one step that was found.
type Step struct {
	End     telemetry.Time
	Seconds float64
}

// State is how far a Tracker has come.
type State uint8

// The states.
const (
	Learning State = iota // too little seen, or nothing moves
	Counting              // steps are found
	Flowing               // no period is seen: equal amounts of bytes are counted instead
)

// Tracker finds one job's steps. The zero value is ready.
type Tracker struct {
	recent []float64      // what went by in each of the last grids, oldest first; nil while counting
	at     telemetry.Time // the end of the newest
	state  State
	// amount is what one step moves; sum what has gone by since the last step's
	// end, and ended when that was.
	amount float64
	sum    float64
	ended  telemetry.Time
	looked int // grids since the last look without a result
	// unit is the amount that was counted before a hole; 0 where nothing was.
	unit float64
}

// State returns how far the tracker has come.
func (t *Tracker) State() State { return t.state }

const (
	// lookAgain is after how many grids a period that was not found is looked for
	// again.
	lookAgain = 32
	// portion is how many grids' usual bytes are counted as one step where no
	// period is seen.
	portion = Window / 8
	// portions of the window must move as much for a step's amount to be known: their
	// standard deviation is at most unsteady of what the middle one moves.
	unsteady = 0.1
	// tooFast is how many steps in one grid show that the steps are not those that
	// were learned: a period has at least LeastSamples grids, a portion more.
	tooFast = 2
)

// Add takes what the job's counters have moved in the grid that ended at, and
// returns the steps that ended in it. It reports false where what is a step has
// changed with this grid, so that the next ones are not comparable with those
// before. Grids that were not seen are left out: after a hole of more than a grid
// it starts again, because a step's bytes may be missing. Where equal amounts are counted,
// no period is looked for while the job is not steady: that of another state is not
// comparable with the amounts before, which show the change.
func (t *Tracker) Add(at telemetry.Time, moved float64, grid telemetry.Duration, steady bool) (steps []Step, same bool) {
	switch {
	case t.at != 0 && at.Sub(t.at) > grid:
		*t = Tracker{unit: max(t.amount, t.unit)}
	case t.state != Learning && moved > float64(tooFast*t.amount):
		*t = Tracker{}
	}
	t.at = at
	if t.state != Counting {
		t.recent = append(t.recent, moved)
		if len(t.recent) > Window {
			t.recent = slices.Delete(t.recent, 0, 1)
		}
		if (steady || t.state != Flowing) && t.learn() {
			same = t.resumes()
			steps = t.retrace(grid)
			if t.state == Counting {
				t.recent = nil
			}
			return steps, same
		}
	}
	if t.state == Learning {
		return nil, true
	}
	return t.count(moved, grid), true
}

// learn looks for the period once there is enough to look at, and reports whether
// what is a step is known from now on, or known better. What has gone by at the end of
// a step is then known, too.
func (t *Tracker) learn() bool {
	if t.looked++; len(t.recent) < Window/2 || t.looked < lookAgain {
		return false
	}
	t.looked = 0
	var total float64
	for _, v := range t.recent {
		total += v
	}
	if p, ok := Period(t.recent); ok {
		t.state, t.amount, t.sum = Counting, float64(total/float64(len(t.recent))*p), t.burst(p)
		return true
	}
	if t.state == Flowing || len(t.recent) < Window || total <= 0 || !steadily(t.recent) {
		return false
	}
	t.state, t.amount, t.sum = Flowing, float64(total/Window*portion), total
	return true
}

// steadily reports whether what goes by in each portion of a window is about as much, but for a
// few of them: what a checkpoint holds up for a while is steady. A program that works in fits
// has no amount that is a step of it.
func steadily(moved []float64) bool {
	var sums []float64
	for part := range slices.Chunk(moved, portion) {
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		sums = append(sums, sum)
	}
	middle, mad := stats.MAD(sums)
	return float64(stats.Consistency*mad) <= float64(unsteady*middle)
}

// alike is by how much, as part of it, what a step moves may differ before and behind
// a hole for its length to be compared.
const alike = 0.1

// resumes reports whether a step moves what it did before a hole.
func (t *Tracker) resumes() bool {
	was := t.unit
	t.unit = 0
	if t.state == Flowing && was > t.amount/2 && was < t.amount*2 {
		t.amount = was
	}
	return math.Abs(t.amount-was) <= float64(alike*was)
}

// burst is what has gone by until the middle of the last full burst, where a step is
// taken to end: where much goes by in little time, a little more or less moves an end
// the least.
func (t *Tracker) burst(period float64) (sum float64) {
	n := int(period + 0.5)
	first := len(t.recent) - n
	tail := t.recent[first:]
	best, most := 0, -1.0
	for i := range tail {
		// Of a burst the middle: what the grid and its neighbours move.
		if around := tail[i] + tail[(i+1)%n] + tail[(i+n-1)%n]; around > most {
			best, most = i, around
		}
	}
	for _, v := range t.recent[:first+best] {
		sum += v
	}
	return sum + tail[best]/2
}

// retrace counts the steps in what is kept, so that one ends where sum says, and returns
// those of which the begin is kept, too. A job is not new when its steps are found.
func (t *Tracker) retrace(grid telemetry.Duration) (steps []Step) {
	newest := t.at
	whole := math.Floor(t.sum / t.amount)
	t.sum, t.ended = t.amount-(t.sum-float64(whole*t.amount)), 0
	for i, moved := range t.recent {
		t.at = newest.Add(-telemetry.Duration(len(t.recent)-1-i) * grid)
		begun := t.ended
		for _, s := range t.count(moved, grid) {
			if begun != 0 {
				steps = append(steps, s)
			}
			begun = s.End
		}
	}
	return steps
}

// count adds a grid and returns the steps that end in it.
func (t *Tracker) count(moved float64, grid telemetry.Duration) []Step {
	var out []Step
	t.sum += moved
	for t.sum >= t.amount && moved > 0 && len(out) < 64 {
		over := t.sum - t.amount
		end := t.at.Add(-telemetry.Duration(float64(float64(grid) * min(over/moved, 1))))
		out = append(out, Step{End: end, Seconds: float64(end-t.ended) / 1e9})
		t.sum, t.ended = over, end
	}
	return out
}

// Snapshot writes or restores the tracker.
func (t *Tracker) Snapshot(c *snapshot.Codec) {
	snapshot.List(c, &t.recent, 8, (*snapshot.Codec).F64)
	c.Time(&t.at)
	c.U8((*uint8)(&t.state))
	c.F64(&t.amount)
	c.F64(&t.sum)
	c.Time(&t.ended)
	c.Int(&t.looked)
	c.F64(&t.unit)
}
