package jobs

import (
	"cmp"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// State is how a job does.
type State uint8

// The states of a job. Slow, Stalled, Failed and Restarted are those of an
// incident's impact.
const (
	Healthy State = iota
	Slow
	Stalled
	Failed
	Restarted
)

var stateNames = [...]string{"healthy", "slow", "stalled", "failed", "restarted"}

// String returns the state's name.
func (s State) String() string { return stateNames[s] }

// Degradation is the time in which a job is slow, stalled or failed. Times are step
// ends by the trainer's clock; lengths are seconds.
//
// Steps counts every step that ended from the first slow one to the last slow one,
// quick ones between them included: a fault that makes each second step slow costs
// the mean of both.
type Degradation struct {
	Measure  telemetry.MetricName // what its lengths are of: of a step where it is empty
	State    State
	Since    telemetry.Time     // when a failed job failed or was restarted; zero otherwise
	Onset    telemetry.Interval // [end of the last usual step, end of the first slow one]
	Opened   telemetry.Time     // the grid that opened it
	Before   float64            // median of the last 20 usual steps
	Expected float64            // mean of the usual steps: the step without this trouble
	Usual    float64            // median usual step, the unit of timeouts
	Steps    int
	Sum      float64
	LastSlow telemetry.Time // end of the last slow step
	Overdue  float64        // age of the step in progress, 0 if it is not overdue
	Lost     float64        // seconds lost per GPU: Σ max(0, step − expected)
	// Redone is the work, in seconds, that was done since the last reported
	// checkpoint when the job failed, and must be done again; 0 where it is not
	// known.
	Redone float64
	// EqualWork reports that its lengths are those of steps with the usual work.
	EqualWork bool
	// Periodic is the usual excess of the job's long steps that come in a period, in
	// seconds, where these have grown and the job reports no checkpoint; 0 otherwise.
	Periodic float64

	recoverAfter int // usual steps required to recover, where that is more than wellAfter
	tailSteps    int // usual steps since LastSlow, in a row
	tailSum      float64
	mfu          utilisation
	reported     State // the state last reported of
	resumed      int   // steps that have ended since the job was restarted; 0 before the first
	// line is the length above which a step is a slow one, seconds; 0 where that
	// follows from what is usual.
	line float64
	last uint64 // the number of the last slow step
	// inBlocks reports that it shows in the means of blocks only, and tally counts them.
	inBlocks bool
	// inSpikes reports that it shows in single long steps among usual ones only.
	inSpikes bool
	tally    tally
	// sampled are its steps, which are the job's own variation where that was the
	// cause.
	sampled variation
}

// Metric is the metric in which the degradation is measured.
func (h *Degradation) Metric() telemetry.MetricName {
	if h.Measure == "" {
		return MeasureStep
	}
	return h.Measure
}

// Now returns the mean step during the degradation, the step in progress included
// where it is overdue and longer than the mean already: its age is a lower bound.
// It returns false when there is none yet.
func (h *Degradation) Now() (float64, bool) {
	n, sum := h.Steps, h.Sum
	if h.Overdue > 0 && float64(h.Overdue*float64(n)) >= sum {
		n, sum = n+1, sum+h.Overdue
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}

// Begun returns when its first step had begun for certain: what ended by then was
// the step before, though clocks and stated lengths are rounded.
func (h *Degradation) Begun() telemetry.Time {
	return min(h.Onset.Latest, h.Onset.Earliest.Add(seconds(float64(rounding*h.Usual))))
}

// End returns the end of the trouble as known now: the last slow step's end,
// or at while a step is overdue.
func (h *Degradation) End(at telemetry.Time) telemetry.Time {
	if h.Overdue > 0 {
		return at
	}
	return h.LastSlow
}

// resumedAfter is how many steps after a restart it is over that the job had stopped,
// usual or not: the first ones load and compile, and what makes all of them longer did
// not stop it.
const resumedAfter = 6

// Well reports whether the job has finished enough usual steps in a row since
// the last slow one to be called well, or enough of any length since it was restarted.
func (h *Degradation) Well() bool {
	if h.State == Restarted {
		return h.tailSteps >= wellAfter || h.resumed >= resumedAfter
	}
	return h.tailSteps >= max(calmAfter, h.recoverAfter)
}

// scale scales the degradation for steps that hold by times as much from now on:
// the lengths with which it compares, and those that were.
func (h *Degradation) scale(by float64) {
	for _, x := range []*float64{&h.Before, &h.Expected, &h.Usual, &h.Sum, &h.tailSum, &h.line, &h.Periodic} {
		*x = float64(*x * by)
	}
}

// leastCost is the part of the expected step that steps must cost more in the mean
// for there to be a loss at all.
const leastCost = 0.005

// costs reports whether anything has been lost, or is being lost by a step in
// progress.
func (h *Degradation) costs() bool {
	now, ok := h.Now()
	return h.Overdue > 0 || h.Since != 0 || ok && now > float64((1+leastCost)*h.Expected)
}

// leastLoss is how many seconds a job must have lost for its degradation to begin: a
// loader that hiccups for ten short steps costs less and is over before anyone could look.
const leastLoss = 0.5

// matters reports whether as much has been lost, or is being lost by a step in progress.
func (h *Degradation) matters() bool {
	return h.Lost+max(0, h.Overdue-h.Expected) >= leastLoss
}

// mostRelapses bounds by how much relapses lengthen the calm that is required.
const mostRelapses = 5

// Relapse marks this as the n-th relapse of one trouble: each requires twice as
// long a calm as the one before to be over.
func (h *Degradation) Relapse(n int) {
	h.recoverAfter = max(h.recoverAfter, calmAfter<<min(n, mostRelapses))
}

// addSlow counts n slow steps of x seconds that ended by at.
func (h *Degradation) addSlow(at telemetry.Time, x float64, n int) {
	h.Steps += h.tailSteps + n
	h.Sum += h.tailSum + float64(x*float64(n))
	h.tailSteps, h.tailSum = 0, 0
	h.LastSlow = at
	h.Lost += float64(max(0, x-h.Expected) * float64(n))
}

// addUsual counts n usual steps of x seconds.
func (h *Degradation) addUsual(x float64, n int) {
	h.tailSteps += n
	h.tailSum += float64(x * float64(n))
}

// slower counts what ended as slow. A job that was restarted has restarted until that is
// over, however long its steps are.
func (h *Degradation) slower() {
	if h.resumed == 0 {
		h.State = Slow
	}
}

// Stop returns the degradation of a job's stop at grid g, by itself: what the job lost
// while it was only slower is none of it.
func (j *Job) Stop(g telemetry.Time) *Degradation {
	h := j.Degradation
	onset := j.stopped(cmp.Or(h.Since, g))
	return &Degradation{Measure: h.Measure, State: h.State, reported: h.reported, Since: h.Since, Onset: onset, Opened: h.Opened, Before: h.Before, Expected: h.Expected,
		Usual: h.Usual, LastSlow: onset.Latest, Overdue: h.Overdue, Redone: h.Redone, EqualWork: h.EqualWork}
}

func (h *Degradation) snapshot(c *snapshot.Codec) {
	c.String((*string)(&h.Measure))
	codeState(c, &h.State)
	c.Time(&h.Since)
	c.Interval(&h.Onset)
	c.Time(&h.Opened)
	c.F64(&h.Before)
	c.F64(&h.Expected)
	c.F64(&h.Usual)
	c.Int(&h.Steps)
	c.F64(&h.Sum)
	c.Time(&h.LastSlow)
	c.F64(&h.Overdue)
	c.F64(&h.Lost)
	c.F64(&h.Redone)
	c.Int(&h.recoverAfter)
	c.Int(&h.tailSteps)
	c.F64(&h.tailSum)
	h.sampled.snapshot(c)
	h.mfu.snapshot(c)
	codeState(c, &h.reported)
	c.U64(&h.last)
	c.F64(&h.line)
	c.Bool(&h.inBlocks)
	h.tally.snapshot(c)
	c.Bool(&h.inSpikes)
	c.F64(&h.Periodic)
	c.Bool(&h.EqualWork)
	c.Int(&h.resumed)
}

func codeState(c *snapshot.Codec, s *State) {
	c.U8((*uint8)(s))
	if *s > Restarted {
		c.Fail(fmt.Errorf("degradation: state %d", uint8(*s)))
		*s = Healthy
	}
}

// slow reports whether a step of x seconds belongs to the degradation rather than
// to the usual: it is not usual, or, where all are only a little longer, nearer to
// the slow ones.
func (h *Degradation) slow(u usual, x float64) bool {
	if h.line > 0 {
		return x > h.line
	}
	return slow(u, x)
}

// hangs dates the degradation of a job that hangs since an instant: what stopped it
// came in the step before.
func (h *Degradation) hangs(since telemetry.Time, step float64) {
	h.Onset = telemetry.Interval{Earliest: max(h.Onset.Earliest, since.Add(-seconds(step))), Latest: since}
	h.LastSlow = since
}
