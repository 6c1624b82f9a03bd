package play

import (
	"context"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// catchUp is how many times faster than its speed a play runs at most while it
// is late: as fast as tickers do after an outage.
const catchUp = 10

// glance is how long a play waits at most before it looks at the clock again: a
// clock that was set, or a machine that slept, is noticed.
const glance = time.Second

// pace states when a tick is due. Times do not move with an outage: what is late
// is caught up with.
type pace struct {
	state  State
	tick   telemetry.Time // the last one given, as moved
	gaveAt telemetry.Time // when, by the clock
	behind telemetry.Duration
}

func newPace(s State, last, now telemetry.Time) pace {
	return pace{state: s, tick: max(last, s.Live), gaveAt: now}
}

// wait returns when the tick at an instant may be given.
func (p *pace) wait(ctx context.Context, at telemetry.Time, now func() telemetry.Time) error {
	if p.state.Speed < 0 || at <= p.state.Live {
		return ctx.Err()
	}
	due := p.state.Began.Add(scale(at.Sub(p.state.Live), p.state.Speed))
	when := max(due, p.gaveAt.Add(scale(at.Sub(p.tick), p.state.Speed*catchUp)))
	for {
		left := when.Sub(now())
		if left <= 0 {
			p.behind = max(0, now().Sub(due))
			return ctx.Err()
		}
		timer := time.NewTimer(min(left, glance))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// gave notes that a tick was given. Those of the past part are not paced.
func (p *pace) gave(at, now telemetry.Time) {
	p.tick, p.gaveAt = max(p.tick, at), now
}

func scale(d telemetry.Duration, by float64) telemetry.Duration {
	return telemetry.Duration(float64(d) / by)
}
