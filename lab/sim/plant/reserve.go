package plant

// reserve is what lets a supply give more than it can for a while: a battery,
// capacitors, the heat that a breaker bears. When it is used up, the power
// brake is drawn, which halves GPUs' clocks; what the load then leaves fills it
// again. So a small lack makes short, seldom brakes and a large one long ones:
// it takes the part lack ÷ (lack + what is left while braking) of the time.
type reserve struct {
	energy  float64 // joules left
	most    float64
	lack    float64 // watts by which the load was over when the brake was drawn
	braking bool
}

func full(joules float64) reserve { return reserve{energy: joules, most: joules} }

// step moves a reserve on and returns the watts that it gave on the mean;
// negative where it took them.
func (r *reserve) step(load, capacity, dt float64) float64 {
	over, before := load-capacity, r.energy
	if over > 0 {
		r.energy = max(0, before-float64(over*dt))
		if r.energy <= 0 {
			r.braking, r.lack = true, max(r.lack, over)
		}
		return (before - r.energy) / dt
	}
	rate := float64(charging * capacity)
	r.energy = min(r.most, before+float64(min(-over, rate)*dt))
	if r.braking && r.energy >= min(r.most, float64(release*r.lack)) {
		r.braking, r.lack = false, 0
	}
	return (before - r.energy) / dt
}
