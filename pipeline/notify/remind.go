package notify

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Reminder is a Notifier whose receiver forgets what is not repeated.
type Reminder interface {
	Notifier
	// Remind repeats the open incidents, as they were last sent. It is no delivery:
	// nothing is claimed, and a failure is left to the next time.
	Remind(ctx context.Context, open []*Message) Answer
	RemindEvery() time.Duration
}

// maxReminded bounds what one receiver is reminded of.
const maxReminded = 2000

// remind reminds the receiver until ctx is done.
func (d *desk) remind(ctx context.Context, r Reminder) {
	every := time.NewTicker(r.RemindEvery())
	defer every.Stop()
	cache := map[string]reminded{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if d.left() {
			return
		}
		open := d.openForReceiver(ctx, cache)
		if len(open) == 0 {
			continue
		}
		a := r.Remind(ctx, open)
		d.meters.reminded(a.Verdict)
		if a.Verdict != Taken && ctx.Err() == nil {
			d.log.Debug("a reminder is not taken", "status", a.Status, "reason", a.Reason)
		}
	}
}

// left reports whether the receiver has refused all further messages.
func (d *desk) left() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone != nil
}

// reminded is the message last sent for its incident.
type reminded struct {
	sequence uint64
	message  *Message
}

// openForReceiver returns the incidents that are open for the receiver. It caches what it
// read.
func (d *desk) openForReceiver(ctx context.Context, cache map[string]reminded) (out []*Message) {
	ids := d.board.ids(d.alerts)
	for id := range cache { // order-independent: each by itself
		if _, open := slices.BinarySearch(ids, id); !open {
			delete(cache, id)
		}
	}
	for _, id := range ids[:min(len(ids), maxReminded)] {
		delivery, seen, err := d.delivery(ctx, id)
		if err != nil || seen == 0 || delivery.Last == 0 || !delivery.openForReceiver() {
			continue
		}
		x := cache[id]
		if x.sequence != delivery.Last {
			rev, err := d.revision(ctx, pending{sequence: delivery.Last})
			if err != nil || rev.resolved() {
				continue
			}
			x = reminded{delivery.Last, rev.message(d.r.Name, Delivery{Attempt: 1})}
			cache[id] = x
		}
		out = append(out, x.message)
	}
	return out
}

// ids lists the open alerts, or the open incidents and risks, in order.
func (b *board) ids(alerts bool) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]string, 0, len(b.open))
	for id, p := range b.open { // order-independent: it is sorted
		if p.rev.alert() == alerts {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}
