package replica

import (
	"errors"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// progressOver is the shortest time over which a speed is measured.
const progressOver = 5 * time.Second

// progress measures how fast the engine moves along the log. The zero value has
// seen no tick.
type progress struct {
	before, since mark // when measuring began: of the last interval and of this one
}

// mark is a tick and when the engine took it.
type mark struct {
	tick telemetry.Time
	at   time.Time
}

func (p *progress) ticked(tick telemetry.Time, now time.Time) {
	switch {
	case p.since.at.IsZero():
		p.since = mark{tick, now}
	case now.Sub(p.since.at) >= progressOver:
		p.before, p.since = p.since, mark{tick, now}
	}
}

// speed returns how many times as fast as real time the engine went of late; 0
// where that is not known.
func (p *progress) speed(tick telemetry.Time, now time.Time) float64 {
	from := p.before
	if from.at.IsZero() {
		from = p.since
	}
	passed := now.Sub(from.at)
	if from.at.IsZero() || passed < progressOver {
		return 0
	}
	return tick.Sub(from.tick).Seconds() / passed.Seconds()
}

// errLeap ends a life whose engine takes no more ticks of this log.
var errLeap = errors.New("the log goes on more than a day after the engine's time")

// clocksApart is how far a tick may be ahead of when the log stored it and still be
// the time of day.
const clocksApart = telemetry.Duration(time.Minute)

// leaps reports whether an entry is a tick that the engine refuses although it is
// the time of day: no ticker ran for more than a day, and the log no longer holds
// the last tick. One wrong tick of a far future ends no life.
func (o *owner) leaps(e bus.Entry) bool {
	r := e.Record
	return r.Kind == telemetry.TickRecord && o.runner.Leaps(r.Tick.At) && e.Stored != 0 && r.Tick.At.Sub(e.Stored).Abs() < clocksApart
}
