package fabric

import "time"

// Pacing. A program sends its datagrams as fast as they are answered, so a round is
// cut into portions of at most a twentieth of a second's worth, and each is
// followed by a pause as long as it should have taken. The pauses keep to 95 % of
// the rate: with one portion more, no second has more than the rate.
const (
	portionsPerSecond = 20
	share             = 0.95
)

// Back-off: one second after the first failure would not be noticed by a subnet
// that loses its managers' datagrams; ten are, and they double.
const (
	firstRest  = 10 * time.Second
	mostRests  = 5 // 160 s
	recovery   = 5 * time.Minute
	mostHalves = 4 // a sixteenth of the rate
	// toleratedLosses is the number of unanswered datagrams in a minute that are
	// tolerated: a node that goes away leaves some.
	toleratedLosses = 3
)

// pacer decides when the next datagrams may be sent. It knows no clock.
type pacer struct {
	rate     float64
	free     time.Time // when what was spent is paid for
	resting  time.Time // until when nothing is sent at all
	halves   int       // how often the rate was halved
	rests    int       // in a row
	recent   int       // datagrams lost in the minute that began at
	since    time.Time
	troubled time.Time // when last
}

// now is the rate at present, in datagrams a second.
func (p *pacer) now() float64 { return p.rate / float64(int(1)<<p.halves) }

// portion is how many datagrams may be sent at once.
func (p *pacer) portion() int { return max(2, int(p.now()/portionsPerSecond)) }

// wait is how long from at until something may be sent.
func (p *pacer) wait(at time.Time) time.Duration {
	return max(0, p.free.Sub(at), p.resting.Sub(at))
}

// spend records that so many datagrams are being sent from at on.
func (p *pacer) spend(at time.Time, datagrams int) {
	if p.free.Before(at) {
		p.free = at
	}
	p.free = p.free.Add(time.Duration(float64(datagrams) / (share * p.now()) * float64(time.Second)))
}

// lost records unanswered datagrams, and reports whether they are more than a node
// that went away explains.
func (p *pacer) lost(at time.Time, datagrams int) bool {
	if at.Sub(p.since) > time.Minute {
		p.since, p.recent = at, 0
	}
	if p.recent += datagrams; p.recent <= toleratedLosses {
		return false
	}
	p.recent = 0
	p.rest(at)
	return true
}

// rest pauses everything for a while, and halves the rate.
func (p *pacer) rest(at time.Time) {
	p.resting = at.Add(firstRest << min(p.rests, mostRests-1))
	p.rests++
	p.halves = min(p.halves+1, mostHalves)
	p.troubled = at
}

// mend doubles the rate again when nothing has failed for a while.
func (p *pacer) mend(at time.Time) {
	if p.halves > 0 && at.Sub(p.troubled) >= recovery {
		p.halves--
		p.rests = 0
		p.troubled = at
	}
}
