package attribute

import (
	"errors"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Part is a use of GPU-seconds other than model arithmetic. Parts are in the order
// in which they are removed: a later one is measured on what is left without the
// earlier ones.
type Part uint8

// The parts of a budget, from the outside in, and last those outside jobs.
const (
	Restarts      Part = iota // starting, failed, restarting or stalled: no step is made, or one that was made before
	Checkpoint                // writing checkpoints
	Input                     // waiting for data
	Heat                      // clocks limited by heat, and all who wait for them
	Power                     // clocks limited by a brake or a lowered limit, and all who wait for them
	Stragglers                // waiting for others, for any other reason
	Communication             // transfers that no computing hides
	Clock                     // clocks below the top by normal power capping
	Memory                    // the memory wall
	Compute                   // what is left of computing without the model's arithmetic
	Idle                      // GPUs that no job has, on nodes without a job
	Drained                   // GPUs that no job has, under maintenance
	Fragmented                // GPUs that no job has, on nodes where a job has others
	parts
)

// Parts lists them in their order.
func Parts() []Part {
	var out []Part
	for p := range parts {
		out = append(out, p)
	}
	return out
}

// String returns the part's name.
func (p Part) String() string {
	return [parts]string{"restarts", "checkpoint", "input", "heat", "power", "stragglers", "communication", "clock", "memory", "compute",
		"idle", "drained", "fragmented"}[p]
}

// Domain returns which of the five takes the part; zero where the part does not
// determine it: what stopped a job is in the losses.
func (p Part) Domain() telemetry.Domain {
	return [parts]telemetry.Domain{0, telemetry.Software, telemetry.Software, telemetry.Cooling, telemetry.Power, telemetry.Computing, telemetry.Network,
		telemetry.Power, telemetry.Computing, telemetry.Computing, 0, 0, 0}[p]
}

// outside reports whether a part is of GPUs that no job has.
func (p Part) outside() bool { return p >= Idle }

// Tally is where a number of GPU-seconds went.
type Tally struct {
	Whole float64
	Taken [parts]float64
	// Seen is, for each part, the GPU-seconds for which it could be determined.
	Seen [parts]float64
	// Achieved is GPU-seconds of peak arithmetic by the PaLM convention, and Rated
	// the GPU-seconds for which that could be determined. Reported is the same as
	// the jobs report it themselves, by whatever convention.
	Achieved, Rated, Reported float64
	// Excess is GPU-seconds of steps beyond what the job's healthy past lets
	// expect; they are in the parts already.
	Excess float64
	// Executed is GPU-seconds of peak arithmetic that the tensor pipes did, and
	// Needed what the model needed meanwhile, of Counted GPU-seconds.
	Executed, Needed, Counted float64
	// Steps is how many ended, and Length and Expected their lengths together as
	// they were and as expected, in seconds.
	Steps, Length, Expected float64
}

// outside is the GPU-seconds of GPUs that no job has.
func (t *Tally) outside() float64 {
	sum := 0.0
	for p := range parts {
		if p.outside() {
			sum += t.Taken[p]
		}
	}
	return sum
}

// amounts lists every field.
func (t *Tally) amounts() []*float64 {
	out := []*float64{&t.Whole, &t.Achieved, &t.Rated, &t.Reported, &t.Excess, &t.Executed, &t.Needed, &t.Counted, &t.Steps, &t.Length, &t.Expected}
	for p := range t.Taken {
		out = append(out, &t.Taken[p], &t.Seen[p])
	}
	return out
}

// add adds f times another tally.
func (t *Tally) add(o *Tally, f float64) {
	to, from := t.amounts(), o.amounts()
	for i := range to {
		*to[i] += float64(*from[i] * f)
	}
}

var errAmount = errors.New("tally: an amount that is none")

func (t *Tally) snapshot(k *snapshot.Codec) {
	for _, x := range t.amounts() {
		k.F64(x)
		if !(*x >= 0) {
			k.Fail(errAmount)
		}
	}
}
