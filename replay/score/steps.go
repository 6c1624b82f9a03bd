package score

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// degradedAbove is how many times its counterfactual a step must take to count as the
// first degraded one (docs/scoring.md).
const degradedAbove = 1.02

// steps are the steps of one degraded job around a fault, as a bundle reports them.
type steps struct {
	job    telemetry.Entity // none where no job of the fault reports steps
	all    []Step           // of the job, by end
	before float64          // mean seconds of the healthy steps that ended by the onset; 0 if there were none
	onset  telemetry.Time
	end    telemetry.Time
}

// stepsOf gathers the steps of the first of the fault's jobs that reports any.
func (c *Case) stepsOf(f *Fault) steps {
	s := steps{onset: f.Onset, end: c.faultEnd(f)}
	for _, job := range c.Truth.jobsOf(f) {
		for _, st := range c.Steps {
			if st.Job == job {
				s.all = append(s.all, st)
			}
		}
		if s.all != nil {
			s.job = job
			break
		}
	}
	slices.SortStableFunc(s.all, func(a, b Step) int { return cmp.Compare(a.End, b.End) })
	s.before = s.usual(c, f)
	return s
}

// usual is the counterfactual step: the mean of the steps that ended by the
// onset, without those that another fault of the run touched, unless that
// leaves none. The mean and not the median, because the labels' slowdown is a
// ratio of means.
func (s *steps) usual(c *Case, f *Fault) float64 {
	clean := func(st Step) bool {
		for i := range c.Truth.Faults {
			if o := &c.Truth.Faults[i]; o != f && st.End > o.Onset && st.start() < c.faultEnd(o) {
				return false
			}
		}
		return true
	}
	if m := s.meanBefore(clean); m > 0 {
		return m
	}
	return s.meanBefore(func(Step) bool { return true })
}

func (s *steps) meanBefore(keep func(Step) bool) float64 {
	var xs []float64
	for _, st := range s.all {
		if st.End <= s.onset && keep(st) {
			xs = append(xs, st.Seconds)
		}
	}
	return mean(xs)
}

// during returns the steps that overlap the fault.
func (s *steps) during() []Step {
	var out []Step
	for _, st := range s.all {
		if st.End > s.onset && st.start() < s.end {
			out = append(out, st)
		}
	}
	return out
}

// loss is L, the true seconds per step above the counterfactual:
// (slowdown - 1) x before, where the label's slowdown is the mean length of the
// steps that overlap the fault over the mean before. Without a label it is
// measured from the steps. ok is false where there is no loss to speak of.
func (s *steps) loss(f *Fault) (l float64, ok bool) {
	if s.before <= 0 {
		return 0, false
	}
	slowdown := f.Slowdown
	if slowdown == 0 {
		var xs []float64
		for _, st := range s.during() {
			xs = append(xs, st.Seconds)
		}
		slowdown = mean(xs) / s.before
	}
	l = (slowdown - 1) * s.before
	return l, l > 0
}

// degradedSince is when the job was first degraded by the fault: the label's time, else the
// first step overlapping the fault that took at least 2 % more than its
// counterfactual. Such a step counts from its beginning, or from the onset where
// that is later; counting from its end would flatter the engine. A job without such
// a step counts from the onset.
func (s *steps) degradedSince(f *Fault) telemetry.Time {
	if f.Degraded != 0 {
		return f.Degraded
	}
	for _, st := range s.during() {
		if s.before > 0 && st.Seconds >= degradedAbove*s.before {
			return max(s.onset, st.start())
		}
	}
	return s.onset
}

// until counts the job's own steps between the onset and t, with fractions of
// a step: time within a step counts as time over that step's length, time in no
// recorded step as time over the usual length.
func (s *steps) until(t telemetry.Time) (n float64, ok bool) {
	if s.before <= 0 {
		return 0, false
	}
	at := s.onset
	for _, st := range s.all {
		if st.End <= at || st.Seconds <= 0 || at >= t {
			continue
		}
		if gap := min(st.start(), t).Sub(at); gap > 0 {
			n += gap.Seconds() / s.before
			at = at.Add(gap)
		}
		n += max(0, min(st.End, t).Sub(at)).Seconds() / st.Seconds
		at = max(at, min(st.End, t))
	}
	return n + max(0, t.Sub(at)).Seconds()/s.before, true
}

// usualUntil counts the time between the onset and t in steps of usual length.
func (s *steps) usualUntil(t telemetry.Time) (n float64, ok bool) {
	if s.before <= 0 {
		return 0, false
	}
	return max(0, t.Sub(s.onset)).Seconds() / s.before, true
}

// count returns how many steps overlap the fault: the labeller's count, else
// ours.
func (s *steps) count(f *Fault) int {
	if f.StepsInFault > 0 {
		return f.StepsInFault
	}
	return len(s.during())
}
