package network

import "github.com/quintet-dc/quintet/correlate/stats"

// Marking is how a queue sets ECN by its length (RED on the instantaneous
// length, as switches for RoCE do).
type Marking struct {
	Min, Max float64 // bytes
	Most     float64 // probability just below Max; above it every packet is marked
}

// DefaultMarking is the published setting for 100 Gb/s, 400 kB and 1,600 kB at
// 0.2 (High-Precision-Congestion-Control, config_doc), in proportion to speed
// in bits per second.
func DefaultMarking(speed float64) Marking {
	scale := speed / 100e9
	return Marking{Min: float64(400e3 * scale), Max: float64(1600e3 * scale), Most: 0.2}
}

// Probability is that of a mark at a queue length in bytes.
func (m Marking) Probability(queue float64) float64 {
	switch {
	case queue <= m.Min:
		return 0
	case queue > m.Max:
		return 1
	}
	return float64(m.Most * (queue - m.Min) / (m.Max - m.Min))
}

// Length is the queue length in bytes at which marks come with probability p;
// Max where p is above Most.
func (m Marking) Length(p float64) float64 {
	return m.Min + float64((m.Max-m.Min)*min(1, p/m.Most))
}

// Reaction is a sender's congestion control, DCQCN (Zhu et al., SIGCOMM 2015),
// in packets and seconds.
type Reaction struct {
	CNPInterval float64 // a receiver sends one CNP a flow in this time at most
	AlphaTimer  float64 // after which alpha falls where no CNP came
	Gain        float64 // of alpha
	Bytes       float64 // packets between two increases
	Timer       float64 // seconds between two increases
	Recovery    float64 // increases before the target itself rises
	Increase    float64 // packets per second that it rises by
}

// DefaultReaction is the paper's setting for packets of so many bytes: 50 µs
// for CNPs, 55 µs for alpha and increases, g = 1/256, 10 MB, 5 steps of
// recovery, 40 Mb/s.
func DefaultReaction(packet float64) Reaction {
	return Reaction{CNPInterval: 50e-6, AlphaTimer: 55e-6, Gain: 1.0 / 256, Bytes: 10e6 / packet, Timer: 55e-6, Recovery: 5,
		Increase: 40e6 / 8 / packet}
}

// Sender is the state of one flow's control: current and target rate in
// packets per second, and alpha, its estimate of congestion.
type Sender struct{ Rate, Target, Alpha float64 }

// Step moves a sender dt seconds on while its packets are marked with
// probability p: one explicit step of the paper's fluid equations (5) to (7),
// without the delay of feedback. dt must be small compared with the timers.
func (r Reaction) Step(s Sender, p, dt float64) Sender {
	cut, byBytes, byTimer := r.events(s.Rate, p)
	// How often the target rises: only after so many steps of recovery.
	late := float64(byBytes*stats.Pow(1-p, float64(r.Recovery*r.Bytes))) +
		float64(byTimer*stats.Pow(1-p, float64(float64(r.Recovery*r.Timer)*s.Rate)))
	noticed := 1 - stats.Pow(1-p, float64(r.AlphaTimer*s.Rate))
	gap := s.Target - s.Rate
	return Sender{
		Alpha:  s.Alpha + float64(float64(dt*r.Gain/r.AlphaTimer)*(noticed-s.Alpha)),
		Target: s.Target + float64(dt*(float64(float64(r.Increase*s.Rate)*late)-float64(gap*cut))),
		Rate: s.Rate + float64(dt*(float64(float64(gap/2)*float64(s.Rate*(byBytes+byTimer)))-
			float64(float64(s.Rate*s.Alpha/2)*cut))),
	}
}

// events returns cuts per second, and increases by bytes and by timer per
// packet sent, at a rate and probability of marks.
func (r Reaction) events(rate, p float64) (cut, byBytes, byTimer float64) {
	if p <= 0 {
		return 0, 1 / r.Bytes, 1 / float64(r.Timer*rate)
	}
	cut = (1 - stats.Pow(1-p, float64(r.CNPInterval*rate))) / r.CNPInterval
	return cut, p / (stats.Pow(1-p, -r.Bytes) - 1), p / (stats.Pow(1-p, float64(-r.Timer*rate)) - 1)
}

// CNPRate is how many CNPs a second a flow at a rate (packets per second)
// brings forth: at most one per interval.
func (r Reaction) CNPRate(rate, p float64) float64 {
	if p >= 1 {
		return min(rate, 1/r.CNPInterval)
	}
	cut, _, _ := r.events(rate, p)
	return cut
}

// Equilibrium is the probability of marks at which flows of this rate neither
// rise nor fall: that of the fluid equations' fixed point. The queue then has
// the length that Marking.Length gives, as far as the marking reaches; where it
// does not, the queue grows until something else stops the senders.
func (r Reaction) Equilibrium(rate float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		p := (low + high) / 2
		if r.falls(rate, p) {
			high = p
		} else {
			low = p
		}
	}
	return high
}

// falls reports whether at the gap between target and rate that keeps the rate,
// the target falls.
func (r Reaction) falls(rate, p float64) bool {
	cut, byBytes, byTimer := r.events(rate, p)
	late := float64(byBytes*stats.Pow(1-p, float64(r.Recovery*r.Bytes))) +
		float64(byTimer*stats.Pow(1-p, float64(float64(r.Recovery*r.Timer)*rate)))
	alpha := 1 - stats.Pow(1-p, float64(r.AlphaTimer*rate))
	fall := float64(alpha * cut)
	// gap = alpha·cut/(byBytes+byTimer); the target falls by gap·cut and rises
	// by Increase·rate·late. Multiplied out, for the increases may be nearly 0.
	return float64(fall*cut) > float64(float64(float64(r.Increase*rate)*late)*(byBytes+byTimer))
}
