package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// staleAfter is the age from which a superseded revision is not sent by itself: a
// receiver that is back after an outage is sent the current state.
const staleAfter = telemetry.Duration(15 * time.Minute)

// storeRetry is how long a line waits when the bucket does not answer.
const storeRetry = time.Second

// work does the next thing that a line needs.
func (d *desk) work(ctx context.Context, t term, l *line) {
	done, due := d.step(ctx, t, l)
	d.finish(l, done, due)
}

// step looks up the state of the line and sends its next revision, if it is due. It
// returns the revision up to which all is settled and when to check again.
func (d *desk) step(ctx context.Context, t term, l *line) (done int, due time.Time) {
	all := d.look(l)
	newest := all[len(all)-1].number
	delivery, seen, err := d.delivery(ctx, l.incident)
	now := d.c.Now()
	if err != nil {
		return 0, d.storeTrouble(err)
	}
	left := beyond(all, delivery.Done)
	if len(left) == 0 {
		return newest, now
	}
	if until := d.taken(l, delivery, seen, now); until.After(now) {
		return left[0].number - 1, until
	}
	k := task{delivery: delivery, seen: seen, incident: l.incident, newest: newest}
	items := wanted(left, delivery.attempted())
	if len(items) == 0 {
		k.item = left[len(left)-1]
		return d.withhold(t, k, StateDone, muted{outcome: OutcomeUnrouted, why: k.item.refused})
	}
	if d.r.Corrections {
		last := items[len(items)-1]
		if items = corrections(items, delivery); len(items) == 0 {
			k.item = last
			return d.withhold(t, k, StateDone, muted{outcome: OutcomeUnchanged, why: "only figures have changed"})
		}
	}
	done = items[0].number - 1
	i, m, state := d.gate(items, delivery)
	switch {
	case !m.again.IsZero():
		return done, m.again
	case state != "":
		k.item = items[len(items)-1]
		return d.withhold(t, k, state, m)
	}
	again := delivery.State == StateFailed && delivery.Revision == items[i].number
	if again && delivery.Address == d.address && newest <= delivery.Newest && now.Before(delivery.Next) {
		return done, delivery.Next
	}
	if ctx.Err() != nil {
		return done, now
	}
	k.item, k.skipped = items[i], i
	k.item.notice = m.notice
	return d.deliver(t, k)
}

// recheckEvery is how often a withheld revision is checked again.
const recheckEvery = 5 * time.Second

// gate returns which of the items is to be sent next, or what is to be done
// instead: with a state, nothing is sent now (StateHeld) or ever (StateSettled).
func (d *desk) gate(items []pending, delivery Delivery) (i int, m muted, state string) {
	last := len(items) - 1
	newest := &items[last]
	m = d.board.mutes(d, newest, &delivery)
	i = choose(items, delivery, telemetry.Time(d.c.Now().UnixNano()).Add(-staleAfter))
	switch {
	case !m.again.IsZero():
		return i, m, ""
	case newest.resolved && !delivery.openForReceiver() && (m.outcome != "" || delivery.State == StateHeld):
		if m.outcome == "" {
			m.outcome, m.why = delivery.Outcome, "it was over before that ended: "+delivery.Reason
		}
		return last, m, StateDone
	case m.notice != "":
		return last, m, ""
	case m.outcome == "":
		return i, m, ""
	case m.outcome != OutcomeFlapping && delivery.openForReceiver():
		for i := range items { // a receiver that knows that it was open is notified that it is not
			if items[i].resolved {
				return i, muted{}, ""
			}
		}
	}
	return last, m, StateHeld
}

// withhold records that the revision was not delivered, and why, unless that is
// recorded already.
func (d *desk) withhold(t term, k task, state string, m muted) (done int, due time.Time) {
	now := d.c.Now()
	done, due = k.delivery.Done, now.Add(recheckEvery)
	if state == StateDone {
		done, due = k.item.number, now
	}
	if k.delivery.State == state && k.delivery.Revision == k.item.number && k.delivery.Outcome == m.outcome && k.delivery.Reason == short(m.why) {
		return done, due
	}
	next := k.delivery.withhold(k.item, state, m, claimant{by: d.by, address: d.address, at: now})
	if _, err := d.store.swap(t.marking, deliveryKey(k.incident, d.r.Name), k.seen, next); err != nil {
		return 0, d.contended(err)
	}
	if state == StateDone {
		d.meters.outcome(m.outcome)
	} else {
		d.meters.withheld(m.outcome)
	}
	d.log.Debug("revision not delivered", "incident", k.incident, "revision", k.item.number, "state", state, "outcome", m.outcome, "reason", m.why)
	return done, due
}

// delivery reads an incident's delivery. An invalid value counts as none, and is
// overwritten.
func (d *desk) delivery(ctx context.Context, incident string) (Delivery, uint64, error) {
	key := deliveryKey(incident, d.r.Name)
	b, seen, err := d.store.get(ctx, key)
	if err != nil {
		return Delivery{}, 0, err
	}
	if seen == 0 {
		return Delivery{Incident: incident, Receiver: d.r.Name}, 0, nil
	}
	delivery, err := parseDelivery(b)
	if err != nil {
		d.meters.storeErrors.Inc()
		d.log.Error("delivery state cannot be decoded: starting from an empty state", "key", key, "error", err)
		return Delivery{Incident: incident, Receiver: d.r.Name}, seen, nil
	}
	return delivery, seen, nil
}

// taken returns until when another process owns a line. A claim is respected for
// its lease from when it was first seen here: no two clocks are compared.
func (d *desk) taken(l *line, delivery Delivery, seen uint64, now time.Time) time.Time {
	if delivery.State != StateClaimed || delivery.By == d.by || d.c.Alone {
		return now
	}
	if l.claim != seen {
		l.claim, l.claimed = seen, now
	}
	until := l.claimed.Add(time.Duration(delivery.Lease))
	if !until.After(now) {
		d.log.Warn("a claim is taken over", "incident", l.incident, "revision", delivery.Revision, "by", delivery.By, "attempt", delivery.Attempt)
	}
	return until
}

// task is a revision to be sent, and the delivery state of its incident.
type task struct {
	incident string
	delivery Delivery
	seen     uint64
	item     pending
	skipped  int // before item
	newest   int // in the line
}

// deliver claims a revision, sends it and records the outcome.
func (d *desk) deliver(t term, k task) (done int, due time.Time) {
	rev, err := d.revision(t.marking, k.item)
	if err != nil && !errors.Is(err, errForgotten) {
		return 0, d.storeTrouble(err)
	}
	key, now := deliveryKey(k.incident, d.r.Name), d.c.Now()
	claimed := k.delivery.claim(k.item, k.skipped, claimant{by: d.by, address: d.address, at: now, lease: d.lease()})
	at, err := d.store.swap(t.marking, key, k.seen, claimed)
	if err != nil {
		return 0, d.contended(err)
	}
	d.meters.skipped.Add(k.skipped)
	d.meters.repeats.Add(claimed.Repeats - k.delivery.Repeats)
	next := claimed.settle(OutcomeForgotten, now, Answer{})
	if rev != nil {
		next = d.judge(t, claimed, d.send(t, rev.message(d.r.Name, claimed), now), k.newest)
	}
	if _, err := d.store.insist(t.marking, key, at, next); err != nil {
		return 0, d.contended(err)
	}
	d.settled(&next)
	return next.Done, next.Next
}

// send makes one attempt. It ends within the timeout from the time of the claim, so
// that the rest of the lease is left for the mark.
func (d *desk) send(t term, m *Message, claimed time.Time) Answer {
	began := d.c.Now()
	ctx, cancel := context.WithTimeout(t.sending, d.r.Timeout-began.Sub(claimed))
	defer cancel()
	if ctx.Err() != nil {
		return Answer{Verdict: Refused, Reason: "the claim took too long"}
	}
	a := d.r.Notifier.Notify(ctx, m)
	d.meters.attempt(a.Verdict)
	d.meters.seconds.Observe(d.c.Now().Sub(began))
	return a
}

// judge returns a claim updated by an answer.
func (d *desk) judge(t term, claimed Delivery, a Answer, newest int) Delivery {
	now := d.c.Now()
	d.recordAnswer(a, now)
	switch a.Verdict {
	case Taken:
		return claimed.settle(OutcomeDelivered, now, a)
	case Gone:
		d.log.Error("receiver gone (HTTP 410): deliveries stop until its configuration changes", "status", a.Status)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.leave(&farewell{At: now, By: d.by, Status: a.Status, Fingerprint: d.address})
		return claimed.settle(OutcomeGone, now, a)
	}
	if t.sending.Err() != nil { // we went, not the receiver
		return claimed.fail(now, now, newest, a)
	}
	wait, more := delay(d.c.Retries, claimed.Attempt, a.After, d.c.Random())
	if !more {
		d.log.Error("a delivery is given up", "incident", claimed.Incident, "revision", claimed.Revision, "attempts", claimed.Attempt, "reason", a.Reason)
		return claimed.settle(OutcomeDead, now, a)
	}
	return claimed.fail(now.Add(wait), now, newest, a)
}

// recordAnswer records whether the receiver accepts messages, and logs changes.
func (d *desk) recordAnswer(a Answer, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if trouble := a.Verdict != Taken; trouble != d.trouble {
		d.trouble = trouble
		if trouble {
			d.log.Warn("the receiver takes no messages", "status", a.Status, "reason", a.Reason)
		} else {
			d.log.Info("the receiver takes messages again")
		}
	}
	if a.After > 0 && a.Verdict != Taken {
		d.silence = now.Add(min(a.After, longestWish))
	}
}

// settled counts what became of a delivery.
func (d *desk) settled(next *Delivery) {
	if next.State == StateDone {
		d.meters.outcome(next.Outcome)
	}
}

// lease is how long a claim is respected by others: a request, and the mark.
func (d *desk) lease() time.Duration { return d.r.Timeout + d.c.Margin }

// storeTrouble records that the bucket did not answer and returns when to try
// again.
func (d *desk) storeTrouble(err error) time.Time {
	d.meters.storeErrors.Inc()
	d.log.Debug("the bucket of deliveries does not answer", "error", err)
	return d.c.Now().Add(storeRetry)
}

// contended returns when to check a line again whose key could not be written.
func (d *desk) contended(err error) time.Time {
	if errors.Is(err, errLost) {
		d.meters.lost.Inc()
		return d.c.Now()
	}
	return d.storeTrouble(err)
}

var (
	errForgotten = errors.New("the stream no longer holds the revision")
	errEnough    = errors.New("enough was read")
)

// revision returns the revision to be sent, from memory or from the stream.
func (d *desk) revision(ctx context.Context, p pending) (*revision, error) {
	if p.revision != nil {
		return p.revision, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var found *revision
	err := d.stream.Follow(ctx, p.sequence-1, func(r bus.Revision) error {
		if r.Sequence == p.sequence {
			if rev, err := parse(r, d.c.Teams); err == nil {
				found = rev
			}
		}
		return errEnough
	})
	switch {
	case found != nil:
		return found, nil
	case errors.Is(err, errEnough):
		return nil, errForgotten
	case err == nil:
		err = ctx.Err()
	}
	return nil, fmt.Errorf("read revision at %d again: %w", p.sequence, err)
}
