package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// pending is a revision that may have to be sent to a receiver.
type pending struct {
	number     int
	sequence   uint64
	resolved   bool
	wanted     bool // by itself; others are sent only to receivers that were notified of the incident
	updated    telemetry.Time
	properties *properties // its properties, as far as is matched; nil where that cannot be read
	refused    string      // why it is not wanted
	notice     string      // to be sent with it
	revision   *revision   // nil: it is read again when its turn comes
}

// bytes is how much of what may be kept in memory p takes up.
func (p pending) bytes() int {
	if p.revision == nil {
		return 0
	}
	return len(p.revision.data)
}

// line holds the revisions of one incident that are pending for one receiver, in the order of numbers.
// One goroutine at a time works on it.
type line struct {
	incident string
	items    []pending
	due      time.Time // not to be looked at before
	place    int       // in the queue; -1 while it is worked on
	looked   int       // the newest number when it was last looked at

	// The last claim of another process that was seen, as the key's revision, and
	// when it was first seen.
	claim   uint64
	claimed time.Time
}

// content returns the digest of a revision's content without figures; empty if it
// cannot be read.
func (p pending) content() string {
	if p.properties == nil {
		return ""
	}
	return p.properties.content
}

// contentOf is the state, kind, severity, root, signature and jobs of an
// incident, with the jobs' states: what makes a revision a correction.
func contentOf(in *explain.Incident) string {
	parts := []string{in.State, in.Kind, in.Severity, in.Root.Entity.String(), in.Root.Signature}
	var jobs []string
	for _, j := range in.Impact.Jobs {
		jobs = append(jobs, j.Job.String()+" "+j.State)
	}
	slices.Sort(jobs)
	sum := sha256.Sum256([]byte(strings.Join(append(parts, jobs...), "\n")))
	return hex.EncodeToString(sum[:8])
}

// corrections drops the leading items that differ only in figures from what the
// receiver was sent.
func corrections(items []pending, delivery Delivery) []pending {
	for len(items) > 0 && delivery.openForReceiver() && delivery.Known != "" && !items[0].resolved && items[0].content() == delivery.Known {
		items = items[1:]
	}
	return items
}

// choose returns the index of the revision to be sent next: the first, unless it
// and those behind it may be skipped. Superseded revisions may be skipped if the
// first has failed or was withheld, or if they are older than old; a resolving
// revision never, unless the receiver was not notified of the open incident.
func choose(items []pending, delivery Delivery, old telemetry.Time) int {
	failed := (delivery.State == StateFailed || delivery.State == StateHeld) && delivery.Revision >= items[0].number
	if delivery.State == StateHeld && (!delivery.openForReceiver() || delivery.Outcome == OutcomeFlapping) {
		return len(items) - 1
	}
	i := 0
	for i < len(items)-1 && !items[i].resolved && (failed || items[i].updated < old) {
		i++
	}
	return i
}

// beyond returns the items behind revision settled.
func beyond(items []pending, settled int) []pending {
	for len(items) > 0 && items[0].number <= settled {
		items = items[1:]
	}
	return items
}

// wanted drops the leading items that a receiver does not want, if it was never
// notified of the incident.
func wanted(items []pending, notified bool) []pending {
	for len(items) > 0 && !notified && !items[0].wanted {
		items = items[1:]
	}
	return items
}

// queue orders lines by when they are due; it is a container/heap.
type queue []*line

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool {
	if c := q[i].due.Compare(q[j].due); c != 0 {
		return c < 0
	}
	return q[i].items[0].sequence < q[j].items[0].sequence
}

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	l := x.(*line)
	l.place = len(*q)
	*q = append(*q, l)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	(*q)[last] = nil
	*q, l.place = (*q)[:last], -1
	return l
}
