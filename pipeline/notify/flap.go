package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxFlaps bounds how many roots are remembered for coming and going.
const maxFlaps = 10_000

// flapKey identifies a flapping fault, independent of incident ids.
type flapKey struct {
	root, job telemetry.Entity
	signature string
}

// flap is the memory of one key. It follows from the stream alone, so every
// process has the same.
type flap struct {
	changes []telemetry.Time // of state, the oldest first; Start at most
	// An episode: since when there are too many changes, the worst severity, and
	// the revision that must be sent nevertheless: the one that began it, or the
	// last that was worse than all before.
	since telemetry.Time
	worst int
	id    string
	must  uint64
}

// flaps counts how often incidents open and end.
type flaps struct {
	set   Flaps
	byKey map[flapKey]*flap
}

func newFlaps(set Flaps) flaps { return flaps{set: set, byKey: map[flapKey]*flap{}} }

// note counts a revision that opens or ends its incident.
func (f *flaps) note(rev *revision, wasOpen bool) {
	if f.set.Start == 0 || rev.root.IsZero() {
		return
	}
	k := rev.flap
	x := f.byKey[k]
	if x != nil && x.since != 0 && f.settled(x, rev.updated) {
		x.since, x.worst, x.must = 0, 0, 0
	}
	if x != nil && x.since != 0 && !rev.resolved() && rank(rev.Severity) > x.worst {
		x.worst, x.must, x.id = rank(rev.Severity), rev.sequence, rev.ID
	}
	if x != nil && x.since == 0 {
		x.worst = max(x.worst, rank(rev.Severity))
	}
	if wasOpen != rev.resolved() {
		return // it goes on as it was
	}
	if x == nil {
		if len(f.byKey) >= maxFlaps {
			f.forget(rev.updated)
		}
		x = &flap{}
		f.byKey[k] = x
	}
	if x.since == 0 && f.recent(x, rev.updated) == 0 {
		x.worst = rank(rev.Severity)
	}
	x.changes = append(x.changes, rev.updated)
	if over := len(x.changes) - f.set.Start; over > 0 {
		x.changes = slices.Delete(x.changes, 0, over)
	}
	if x.since == 0 {
		if f.recent(x, rev.updated) >= f.set.Start {
			x.since, x.must, x.id = rev.updated, rev.sequence, rev.ID
		}
	}
}

// forget removes the keys without changes in the window, and all keys if too many
// remain.
func (f *flaps) forget(now telemetry.Time) {
	for k, x := range f.byKey { // order-independent: each by itself
		if f.recent(x, now) == 0 {
			delete(f.byKey, k)
		}
	}
	if len(f.byKey) >= maxFlaps {
		clear(f.byKey)
	}
}

// recent counts the changes within the window before an instant.
func (f *flaps) recent(x *flap, now telemetry.Time) int {
	n := 0
	for _, at := range x.changes {
		if now.Sub(at) < f.set.Window {
			n++
		}
	}
	return n
}

// settled reports whether an episode is over.
func (f *flaps) settled(x *flap, now telemetry.Time) bool {
	return f.recent(x, now) <= f.set.Stop
}

// mutes returns whether messages of a flapping incident are withheld now. A
// revision that must be sent is sent once, with a notice.
func (f *flaps) mutes(p *pending, delivery *Delivery, now telemetry.Time) muted {
	x := f.byKey[p.properties.flap]
	if f.set.Start == 0 || x == nil || x.since == 0 || f.settled(x, now) {
		return muted{}
	}
	if x.id == delivery.Incident && delivery.Last < x.must {
		return muted{notice: fmt.Sprintf("flapping: %d changes of state within %v; quiet until it is stable or gets worse", f.set.Start, short2(f.set.Window))}
	}
	return muted{outcome: OutcomeFlapping, why: "flapping since " + time.Unix(0, int64(x.since)).UTC().Format(time.TimeOnly) + " UTC"}
}

// short2 is a length of time without the zeros behind it.
func short2(d time.Duration) string {
	s := d.String()
	for _, tail := range []string{"m0s", "h0m"} {
		if len(s) > len(tail) && s[len(s)-len(tail):] == tail {
			s = s[:len(s)-2]
		}
	}
	return s
}
