package attribute

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Mix is how a job spends a usual step, in parts of the step's length and as
// means over its ranks or GPUs. A negative part is not known.
type Mix struct {
	Checkpoint, Input       float64
	Compute, Wait, Transfer float64
	// Heat, Brake and Clock are parts of the computing: by how much it would be
	// shorter at the top clock, by what holds the clock down.
	Heat, Brake, Clock float64
	Tensor, DRAM       float64 // part of the time for which they are active
}

// UnknownMix is that of a job of which nothing is seen but its steps.
func UnknownMix() Mix { return Mix{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1} }

// fields lists every part.
func (m *Mix) fields() []*float64 {
	return []*float64{&m.Checkpoint, &m.Input, &m.Compute, &m.Wait, &m.Transfer, &m.Heat, &m.Brake, &m.Clock, &m.Tensor, &m.DRAM}
}

// Blend mixes in a newer job interval, by its weight, 0 to 1: what comes now and
// then, such as a checkpoint, is in the mean of many intervals.
func (m *Mix) Blend(next Mix, weight float64) {
	from := next.fields()
	for i, x := range m.fields() {
		switch {
		case *from[i] < 0:
		case *x < 0:
			*x = *from[i]
		default:
			*x += float64(weight * (*from[i] - *x))
		}
	}
}

// Snapshot writes or restores the mix.
func (m *Mix) Snapshot(k *snapshot.Codec) {
	for _, x := range m.fields() {
		k.F64(x)
	}
}

// Work is what a job did in an interval. Times are seconds.
type Work struct {
	GPUs int
	// Unreported is time without data, Down time without a step, Redone steps that only
	// repeated what a failure had lost, Saving time in which a checkpoint was
	// written in addition to the steps, Base the steps as far as the healthy past
	// lets expect, and Excess what they took beyond that.
	Unreported, Down, Redone, Saving, Base, Excess float64
	// Cause is the part to which the excess is attributed, but for a share of it
	// that is attributed to Other.
	Cause, Other Part
	OtherShare   float64
	// MFU is the utilisation over Base, Excess and Redone, 0 to 1, by the PaLM convention;
	// Reported as the job states it. Negative where not known.
	MFU, Reported float64
	Steps         float64 // how many ended
	Mix           Mix     // of the healthy past where there is an excess
}

// splitter distributes the GPU-seconds of a job interval.
type splitter struct {
	t    Tally
	gpus float64
	room float64 // GPU-seconds not yet dealt out
}

// take assigns a part the GPU-seconds of the given seconds, as far as any are left,
// of which that many seconds were reported; it does nothing where seconds is negative.
func (s *splitter) take(p Part, seconds, reported float64) {
	if seconds < 0 {
		return
	}
	x := min(float64(seconds*s.gpus), s.room)
	s.room = max(0, s.room-x)
	s.t.Taken[p] += x
	s.t.Seen[p] += float64(reported * s.gpus)
}

// times returns seconds × part; negative where the part is not known.
func times(seconds, part float64) float64 {
	if part < 0 {
		return -1
	}
	return float64(seconds * part)
}

// Split returns where the GPU-seconds of a job interval went. The model's
// arithmetic is set aside first; then the parts are removed in their order, each as
// far as there is anything left. What no part takes is unexplained, so that all
// adds up to the whole.
func Split(w *Work) Tally {
	ran := w.Base + w.Excess
	reported := w.Down + w.Redone + w.Saving + ran
	s := splitter{gpus: float64(w.GPUs)}
	s.t.Whole = float64((w.Unreported + reported) * s.gpus)
	s.room = s.t.Whole
	if w.MFU >= 0 {
		s.t.Achieved, s.t.Rated = min(float64(float64(ran*w.MFU)*s.gpus), s.t.Whole), float64(reported*s.gpus)
		s.room = max(0, s.t.Whole-s.t.Achieved)
	}
	if w.Reported >= 0 {
		s.t.Reported = float64(float64((ran+w.Redone)*w.Reported) * s.gpus)
	}
	s.t.Excess = float64(w.Excess * s.gpus)
	s.t.Steps, s.t.Length, s.t.Expected = w.Steps, ran+w.Redone, w.Base+w.Redone

	m := &w.Mix
	s.take(Restarts, w.Down+w.Redone, reported)
	if w.Saving > 0 {
		s.take(Checkpoint, w.Saving, 0)
	}
	s.take(Checkpoint, times(w.Base, m.Checkpoint), reported)
	s.take(Input, times(w.Base, m.Input), reported)
	compute := times(w.Base, m.Compute)
	if compute >= 0 {
		s.take(Heat, times(compute, m.Heat), reported)
		s.take(Power, times(compute, m.Brake), reported)
	}
	if w.Excess > 0 {
		other := float64(w.Excess * w.OtherShare)
		s.take(w.Cause, w.Excess-other, w.Excess)
		if other > 0 {
			s.take(w.Other, other, w.Excess)
		}
	}
	s.take(Stragglers, times(w.Base, m.Wait), reported)
	s.take(Communication, times(w.Base, m.Transfer), reported)
	if compute >= 0 {
		s.take(Clock, times(compute, m.Clock), reported)
		s.computing(w, compute, reported)
	}
	for p := range s.t.Seen {
		s.t.Seen[p] = min(s.t.Seen[p], float64(reported*s.gpus)) // the excess is in the whole
	}
	return s.t
}

// computing divides what is left of computing without the arithmetic: the memory
// wall is the time for which memory is busy and the tensor pipes, were they
// busy at random times of the computing, are not.
func (s *splitter) computing(w *Work, compute, reported float64) {
	m := &w.Mix
	if w.MFU < 0 || m.Tensor < 0 || m.DRAM < 0 || !(m.Compute > 0) {
		return
	}
	limited := max(0, m.Heat) + max(0, m.Brake) + max(0, m.Clock)
	rest := max(0, compute-float64(compute*min(1, limited))-float64((w.Base+w.Excess)*w.MFU))
	wall := min(rest, float64(w.Base*float64(m.DRAM*(1-min(1, m.Tensor/m.Compute)))))
	s.take(Memory, wall, reported)
	if min(m.Heat, m.Brake, m.Clock) >= 0 {
		s.take(Compute, rest-wall, reported) // else low clocks are in it
		s.t.Executed = float64(float64((w.Base+w.Redone)*float64(m.Tensor*max(0, 1-limited))) * s.gpus)
		s.t.Needed, s.t.Counted = s.t.Achieved, float64(reported*s.gpus)
	}
}

// PartOf returns the part of the budget for the time by which a cause makes steps
// longer.
func PartOf(c Cause) Part {
	switch c.Signature {
	case "input-stall", "storage-slow":
		return Input
	case "checkpoint-stall":
		return Checkpoint
	}
	switch c.Domain {
	case telemetry.Cooling:
		return Heat
	case telemetry.Power:
		return Power
	case telemetry.Network:
		return Communication
	}
	return Stragglers
}
