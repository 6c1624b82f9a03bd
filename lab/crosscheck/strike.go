package crosscheck

// strike is one fault at one place and time.
type strike struct {
	name             string
	entity           string
	accept           []string
	acceptSignatures []string
	domain           string
	expect           string // risk, benign, or "" for an incident
	onset, end       float64
	on, off          float64 // of a fault that comes and goes, 0: it stays
	ramp             float64 // seconds until it is at its full size
	size             float64 // of (0, 1], found by search
	fixed            bool    // there is only one size
	stalls           bool    // the job does not go on
	apply            func(c *conditions, level float64)
	streams          func(w *world) []*pattern
	xid              string // text of the event at the onset, of the entity
	event            string // another event at the onset
	drift            []int  // ports whose error ratio rises
	judged           []string
}

const rampSteps = 8

// changes returns the instants at which the conditions change.
func (s *strike) changes() []float64 {
	var out []float64
	if s.on > 0 {
		for t := s.onset; t < s.end; t += s.on + s.off {
			out = append(out, t, min(t+s.on, s.end))
		}
		return append(out, s.end)
	}
	steps := 1
	if s.ramp > 0 {
		steps = rampSteps
	}
	for i := range steps {
		out = append(out, s.onset+s.ramp*float64(i)/rampSteps)
	}
	return append(out, s.end)
}

// level returns the size of the fault at an instant, 0 where it is not there.
func (s *strike) level(t float64) float64 {
	switch {
	case t < s.onset || t >= s.end:
		return 0
	case s.on > 0:
		since := t - s.onset
		if since-float64(int(since/(s.on+s.off)))*(s.on+s.off) >= s.on-1e-9 {
			return 0
		}
	case s.ramp > 0 && t < s.onset+s.ramp:
		return s.size * (float64(int((t-s.onset)/s.ramp*rampSteps+1e-9)) + 1) / rampSteps
	}
	return s.size
}
