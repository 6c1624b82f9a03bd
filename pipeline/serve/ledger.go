package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/status"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of the ledger.
const (
	maxIncidents = 10_000
	maxAlerts    = 2000 // groups: one may list 64 alerts
	ringSize     = 1024
)

// kept is the newest revision of an incident. It does not change: a newer
// revision takes its place.
type kept struct {
	id       string
	revision int
	first    uint64 // sequence of its first revision
	last     uint64 // of this one
	state    string
	opened   telemetry.Time
	updated  telemetry.Time
	jobs     []telemetry.Entity
	root     telemetry.Entity
	entities []telemetry.Entity
	domain   telemetry.Domain // of the root
	severity string
	title    string
	facts    match.Facts          // what silences look at
	data     []byte               // as published
	open     *notify.OpenIncident // while it is open
}

// mentions reports whether the JSON contains an entity's kind and name, or those
// of a part of it. It is a cheap test before concerns.
func (k *kept) mentions(e telemetry.Entity) bool {
	return bytes.Contains(k.data, []byte(":"+e.Name+`"`)) || bytes.Contains(k.data, []byte(":"+e.Name+"/"))
}

// concerns reports whether a scope has a part in the incident.
func (k *kept) concerns(scope status.Scope) bool {
	var in explain.Incident
	return json.Unmarshal(k.data, &in) == nil && scope.Role(&in) != ""
}

// newestFirst orders a list as people read it: the last to open first.
func newestFirst(a, b *kept) int {
	return cmp.Or(cmp.Compare(b.opened, a.opened), cmp.Compare(a.id, b.id))
}

// ledger follows the stream of incidents, or that of alerts.
type ledger struct {
	most   int // that are kept
	ringed int // revisions that are kept for who follows
	mu     sync.Mutex
	byID   map[string]*kept
	order  []*kept // newest first
	ring   []bus.Revision
	head   uint64 // sequence of the newest revision
	// wanted is the sequence up to which must be read before the ledger is
	// worth looking at; -1 while that is not known.
	wanted  int64
	changed chan struct{} // closed when something comes
	owners  []match.Owner // the teams of the configuration

	dropped   *metrics.Counter
	malformed *metrics.Counter
}

func newLedger(set *metrics.Set, what string, most, ringed int) *ledger {
	return &ledger{most: most, ringed: ringed, byID: map[string]*kept{}, wanted: -1, changed: make(chan struct{}),
		dropped:   set.GetOrCreateCounter("quintet_serve_" + what + "_dropped_total"),
		malformed: set.GetOrCreateCounter("quintet_serve_revisions_malformed_total")}
}

// follow reads the stream until ctx is done.
func (l *ledger) follow(ctx context.Context, s Stream) error {
	first, last, err := s.Bounds(ctx)
	if err != nil {
		return err
	}
	if first > last {
		last = 0 // there is none, or none any more
	}
	l.mu.Lock()
	l.wanted = int64(last)
	l.notify()
	after := l.head
	l.mu.Unlock()
	return s.Follow(ctx, after, func(r bus.Revision) error {
		l.take(r)
		return nil
	})
}

// notify wakes those who wait for something new. The caller holds mu.
func (l *ledger) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// take files a revision.
func (l *ledger) take(r bus.Revision) {
	var in explain.Incident
	err := json.Unmarshal(r.Data, &in)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = max(l.head, r.Sequence)
	if err != nil || in.ID != r.ID {
		l.malformed.Inc()
		l.notify() // it may have been what was waited for
		return
	}
	l.file(r, &in)
	if len(l.ring) == l.ringed {
		l.ring = append(l.ring[:0:0], l.ring[l.ringed/4:]...)
	}
	if l.ringed > 0 {
		l.ring = append(l.ring, r)
	}
	l.notify()
}

// file makes a revision the newest of its incident, unless it is not.
func (l *ledger) file(r bus.Revision, in *explain.Incident) {
	k := &kept{id: r.ID, revision: r.Number, first: r.Sequence, last: r.Sequence, state: in.State, opened: in.Opened, updated: in.Updated, data: r.Data,
		root: in.Root.Entity, domain: in.Root.Domain, entities: in.Impact.Entities, severity: in.Severity, title: in.Title, facts: notify.FactsOf(in, l.owners)}
	for _, j := range in.Impact.Jobs {
		k.jobs = append(k.jobs, j.Job)
	}
	if in.State == explain.StateOpen {
		k.open = notify.NewOpenIncident(in)
	}
	if old := l.byID[r.ID]; old != nil {
		k.first = old.first
		if old.revision > k.revision {
			return
		}
		if i, ok := slices.BinarySearchFunc(l.order, old, newestFirst); ok {
			l.order = slices.Delete(l.order, i, i+1)
		}
	}
	i, _ := slices.BinarySearchFunc(l.order, k, newestFirst)
	l.order = slices.Insert(l.order, i, k)
	l.byID[r.ID] = k
	if len(l.order) > l.most {
		l.shed()
	}
}

// shed drops the resolved incident that opened first, or the first of all.
func (l *ledger) shed() {
	at := len(l.order) - 1
	for i := at; i >= 0; i-- {
		if l.order[i].state == explain.StateResolved {
			at = i
			break
		}
	}
	delete(l.byID, l.order[at].id)
	l.order = slices.Delete(l.order, at, at+1)
	l.dropped.Inc()
}

// current reports whether everything was read that was there at the start.
func (l *ledger) current() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted >= 0 && l.head >= uint64(l.wanted)
}

// errReplaying is the error while current is false.
var errReplaying = errors.New("the incidents are still being read")

// get returns an incident.
func (l *ledger) get(id string) (*kept, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.byID[id]
	return k, ok
}

// list returns the incidents, newest first, and where in the stream that is.
func (l *ledger) list() ([]*kept, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order), l.head
}

// size is how many incidents there are.
func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}

// place is a reader's position in the ring.
type place struct {
	revisions []bus.Revision // what comes next; the ring's own, not to be changed
	behind    bool           // the ring has forgotten what comes next: it begins at from
	from      uint64
	changed   <-chan struct{} // closed when there is more
}

// after returns the revisions of the ring behind a sequence. A reader that is ahead
// of the stream (it was another one) is at its end.
func (l *ledger) after(sequence uint64) (place, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := place{changed: l.changed}
	if sequence > l.head {
		sequence = l.head
	}
	i, _ := slices.BinarySearchFunc(l.ring, sequence+1, func(r bus.Revision, s uint64) int { return cmp.Compare(r.Sequence, s) })
	p.revisions = l.ring[i:]
	if len(l.ring) > 0 && l.ring[0].Sequence > sequence+1 {
		p.behind, p.from = true, l.ring[0].Sequence
	}
	return p, sequence
}
