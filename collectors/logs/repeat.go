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
// within its pattern's time, and reports their number in one more.
type repeats struct {
	open    map[same]*run
	budgets map[payer]*budget
}

// same is what makes events repeats of each other.
type same struct {
	pattern string           // its name, or the event that several patterns share
	entity  telemetry.Entity // the host where it is several: each may name another thing
	key     string
}

// teller is the reporter of an event: only its own repeats count as repeats.
type teller struct {
	pattern *pattern
	way     way
}

// run is an event and its repeats.
type run struct {
	until telemetry.Time // by the events' own times: a backlog is read in no time
	over  time.Time      // when it is over for good, by our clock
	by    teller
	last  telemetry.Event
	more  int
}

// payer is who has a budget: a pattern in the logs of a host.
type payer struct {
	pattern *pattern
	host    string
}

// budget is the number of events that a payer has left in this minute.
type budget struct {
	until time.Time
	left  int
}

func newRepeats() *repeats {
	return &repeats{open: map[same]*run{}, budgets: map[payer]*budget{}}
}

// verdict is the decision about an event.
type verdict uint8

const (
	first     verdict = iota
	again             // counted, and reported later
	elsewhere         // reported already, from another log or in other words
	uncounted         // reported already, in words of which none is counted
	tooMany
)

// judge returns what becomes of an event. Reports of earlier repeats come before
// it.
func (r *repeats) judge(h *happening, now time.Time) (v verdict, before []telemetry.Event) {
	k := h.same()
	if o := r.open[k]; o != nil {
		switch {
		case h.event.At >= o.until:
		case o.by != h.teller() && o.by.pattern.Count == "" && h.pattern.Count != "":
			o.by = h.teller() // its repeats count from here on
			return uncounted, nil
		case o.by != h.teller():
			return elsewhere, nil
		default:
			o.last = h.event
			o.more++
			return again, nil
		}
		before = o.repeatEvents()
		delete(r.open, k)
	}
	return r.admit(k, h, now), before
}

// admit lets an event through, within its pattern's budget.
func (r *repeats) admit(k same, h *happening, now time.Time) verdict {
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
		*b = budget{until: now.Add(time.Minute), left: h.pattern.Most}
	}
	if b.left == 0 || h.pattern.Within > 0 && len(r.open) >= maxRepeats {
		return tooMany
	}
	b.left--
	if h.pattern.Within > 0 {
		r.open[k] = &run{until: h.event.At.Add(telemetry.Duration(h.pattern.Within)), over: now.Add(h.pattern.Within), by: h.teller()}
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

// due lists the reports of repeats whose time is over; of all of them if the end
// has come.
func (r *repeats) due(now time.Time, end bool) []telemetry.Event {
	var out []telemetry.Event
	for k, o := range r.open {
		if !end && now.Before(o.over) {
			continue
		}
		delete(r.open, k)
		out = append(out, o.repeatEvents()...)
	}
	slices.SortFunc(out, telemetry.Event.Compare)
	return out
}

// repeatEvents returns the event that reports repeats; none if there were none.
func (o *run) repeatEvents() []telemetry.Event {
	if o.more == 0 {
		return nil
	}
	e := o.last
	e.Text = fmt.Sprintf("%s (%d more within %s)", clip(e.Text, maxText-40), o.more, o.by.pattern.Within)
	return []telemetry.Event{e}
}
