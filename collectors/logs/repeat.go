package logs

import (
	"fmt"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxRepeats bounds how many different events are watched for repeats.
const maxRepeats = 2048

// repeats lets the first of a repeating event through, counts those that follow
// within its pattern's time, and tells their number in one more.
type repeats struct {
	open    map[same]*run
	budgets map[payer]*budget
}

// same is what makes events repeats of each other.
type same struct {
	pattern *pattern
	entity  telemetry.Entity
	key     string
}

// run is an event and its repeats.
type run struct {
	until time.Time
	last  telemetry.Event
	more  int
}

// payer is who has a budget: a pattern in the logs of a host.
type payer struct {
	pattern *pattern
	host    string
}

// budget is what is left of a payer's events in this minute.
type budget struct {
	until time.Time
	left  int
}

func newRepeats() *repeats {
	return &repeats{open: map[same]*run{}, budgets: map[payer]*budget{}}
}

// verdict is what becomes of an event.
type verdict uint8

const (
	first verdict = iota
	again         // counted, and told later
	tooMany
)

// judge says what becomes of an event.
func (r *repeats) judge(h *happening, now time.Time) verdict {
	k := same{h.pattern, h.event.Entity, h.key}
	if o := r.open[k]; o != nil && now.Before(o.until) {
		o.last = h.event
		o.more++
		return again
	}
	p := payer{h.pattern, h.host}
	b := r.budgets[p]
	if b == nil {
		if len(r.budgets) >= maxRepeats {
			r.settle(now)
		}
		if len(r.budgets) >= maxRepeats {
			return tooMany
		}
		b = &budget{}
		r.budgets[p] = b
	}
	if !now.Before(b.until) {
		*b = budget{until: now.Add(time.Minute), left: h.pattern.most}
	}
	if b.left == 0 || h.pattern.within > 0 && r.open[k] == nil && len(r.open) >= maxRepeats {
		return tooMany
	}
	b.left--
	if h.pattern.within > 0 {
		r.open[k] = &run{until: now.Add(h.pattern.within)}
	}
	return first
}

// settle forgets the budgets of minutes that are over.
func (r *repeats) settle(now time.Time) {
	for p, b := range r.budgets {
		if !now.Before(b.until) {
			delete(r.budgets, p)
		}
	}
}

// due lists what is to be told of repeats whose time is over; of all of them
// where the end has come.
func (r *repeats) due(now time.Time, end bool) []telemetry.Event {
	var out []telemetry.Event
	for k, o := range r.open {
		if !end && now.Before(o.until) {
			continue
		}
		delete(r.open, k)
		if o.more == 0 {
			continue
		}
		e := o.last
		e.Text = fmt.Sprintf("%s (repeated %d times in %s)", clip(e.Text, maxText-40), o.more, k.pattern.within)
		out = append(out, e)
	}
	slices.SortFunc(out, telemetry.Event.Compare)
	return out
}
