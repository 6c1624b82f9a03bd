package pace

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Window is how many grids the period is looked for in: eight steps of 24 s.
const Window = 192

// Step is one step that was found.
type Step struct {
	End     telemetry.Time
	Seconds float64
}

// State says how far a Tracker has come.
type State uint8

// The states.
const (
	Learning        State = iota // too little seen
	Counting                     // steps are found
	NotIdentifiable              // enough was seen, and it shows no period
)

// Tracker finds one job's steps. The zero value is ready.
type Tracker struct {
	recent []float64      // what went by in each of the last grids, oldest first
	at     telemetry.Time // the end of the newest
	state  State
	// amount is what one step moves; sum what has gone by since the last step's
	// end, and ended when that was.
	amount float64
	sum    float64
	ended  telemetry.Time
	looked int // grids since the last look without a result
}

// State returns how far the tracker has come.
func (t *Tracker) State() State { return t.state }

// lookAgain is after how many grids a period that was not found is looked for
// again.
const lookAgain = 32

// Add takes what the job's counters have moved in the grid that ended at, and
// returns the steps that ended in it. Grids that were not seen are left out: a
// hole of more than a grid begins anew, because a step's bytes may lie in it.
func (t *Tracker) Add(at telemetry.Time, moved float64, grid telemetry.Duration) []Step {
	if t.at != 0 && at.Sub(t.at) > grid {
		*t = Tracker{}
	}
	t.at = at
	if t.state == Counting {
		return t.count(moved, grid)
	}
	t.recent = append(t.recent, moved)
	if len(t.recent) > Window {
		t.recent = slices.Delete(t.recent, 0, 1)
	}
	t.learn(grid)
	return nil
}

// learn looks for the period once there is enough to look at.
func (t *Tracker) learn(grid telemetry.Duration) {
	if t.looked++; len(t.recent) < Window/2 || t.looked < lookAgain {
		return
	}
	t.looked = 0
	p, ok := Period(t.recent)
	if !ok {
		if len(t.recent) == Window {
			t.state = NotIdentifiable
		}
		return
	}
	var total float64
	for _, v := range t.recent {
		total += v
	}
	t.amount = float64(total / float64(len(t.recent)) * p)
	t.state = Counting
	t.begin(p, grid)
}

// begin sets the first step's end in the middle of the last full burst: where
// much goes by in little time, a little more or less moves an end the least.
func (t *Tracker) begin(period float64, grid telemetry.Duration) {
	n := int(period + 0.5)
	tail := t.recent[len(t.recent)-n:]
	best, most := 0, -1.0
	for i := range tail {
		// Of a burst the middle: what the grid and its neighbours move.
		sum := tail[i] + tail[(i+1)%n] + tail[(i+n-1)%n]
		if sum > most {
			best, most = i, sum
		}
	}
	t.sum = tail[best] / 2
	for _, v := range tail[best+1:] {
		t.sum += v
	}
	t.ended = t.at.Add(-telemetry.Duration(len(tail)-1-best)*grid - grid/2)
	t.recent = nil
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
}
