package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TypeNoted is the type of a message about an acknowledgement or an assignment of
// an incident.
const TypeNoted = "incident.noted"

// StoredNote is a person's note on an incident, as stored in the bucket of notes.
type StoredNote struct {
	To   string    `json:"to,omitempty"` // whom it is assigned to
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Note is the part of a note that is sent: receivers with notes enabled are
// notified when it changes.
type Note struct {
	ID           string      `json:"id"`
	Acknowledged *StoredNote `json:"acknowledged"`
	Assigned     *StoredNote `json:"assigned"`
}

// noting is the state of one incident's notes at one receiver, under
// note.<incident>.<receiver>. Like a Delivery it is claimed before it is sent and
// marked after; Body is what every attempt sends.
type noting struct {
	Sequence uint64    `json:"sequence"` // of the note in its bucket
	State    string    `json:"state"`
	Body     string    `json:"body"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Lease    Seconds   `json:"lease_seconds,omitempty"`
	Attempt  int       `json:"attempt"`
	Reason   string    `json:"reason,omitempty"`
}

const notePrefix = "note."

// maxNotes bounds the notes that wait for one receiver.
const maxNotes = 1000

// pendingNote is a note that may have to be sent to a receiver.
type pendingNote struct {
	note     Note
	sequence uint64
	due      time.Time
	claim    uint64 // another replica's that was seen, and when first
	claimed  time.Time
}

// notes follows the bucket of notes until ctx is done, and hands what changes to
// the desks that want it.
func (c *Config) notes(ctx context.Context, into []chan<- pendingNote) {
	_ = c.untilDone(ctx, "watching notes failed", func() error {
		kv, err := c.Bus.KeyValue(ctx, bus.Notes)
		if err != nil {
			return err
		}
		w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		return bus.Watch(ctx, w, nil, func(e jetstream.KeyValueEntry) {
			n := pendingNote{sequence: e.Revision(), due: c.Now()}
			if !incidentID.MatchString(e.Key()) || json.Unmarshal(e.Value(), &n.note) != nil {
				return
			}
			n.note.ID = e.Key()
			for _, to := range into {
				select {
				case to <- n:
				case <-ctx.Done():
					return
				}
			}
		})
	})
}

// sendNotes sends notes to the receiver until ctx is done, one at a time.
func (d *desk) sendNotes(ctx context.Context, in <-chan pendingNote) {
	due := map[string]*pendingNote{}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-in:
			if len(due) < maxNotes {
				due[n.note.ID] = &n
			}
		case <-timer.C:
		}
		wait, now := time.Hour, d.c.Now()
		for id, n := range due { // order-independent: each is another incident's
			if !n.due.After(now) {
				n.due = d.sendNote(ctx, n)
			}
			if n.due.IsZero() || d.left() {
				delete(due, id)
				continue
			}
			wait = min(wait, n.due.Sub(now))
		}
		timer.Reset(max(wait, 10*time.Millisecond))
	}
}

// sendNote sends one note, if the receiver was notified of the incident and was not
// sent the same note. It returns when to check again; zero means never.
func (d *desk) sendNote(ctx context.Context, n *pendingNote) time.Time {
	now, key := d.c.Now(), notePrefix+n.note.ID+"."+d.r.Name
	delivery, _, err := d.delivery(ctx, n.note.ID)
	if err != nil {
		return d.storeTrouble(err)
	}
	if !delivery.openForReceiver() {
		return time.Time{}
	}
	b, seen, err := d.store.get(ctx, key)
	if err != nil {
		return d.storeTrouble(err)
	}
	var last noting
	if seen != 0 && json.Unmarshal(b, &last) != nil {
		last = noting{}
	}
	body := n.body()
	switch {
	case last.Sequence > n.sequence, last.Sequence == n.sequence && last.State == StateDone:
		return time.Time{}
	case last.State == StateDone && last.Body == body, seen == 0 && n.note.Acknowledged == nil && n.note.Assigned == nil:
		return time.Time{} // the owner has not changed
	case last.State == StateClaimed && last.By != d.by && !d.c.Alone:
		if n.claim != seen {
			n.claim, n.claimed = seen, now
		}
		if until := n.claimed.Add(time.Duration(last.Lease)); until.After(now) {
			return until
		}
	}
	if last.Sequence != n.sequence {
		last = noting{Sequence: n.sequence, Body: body}
	}
	return d.claimNote(ctx, key, seen, n, last)
}

func (d *desk) claimNote(ctx context.Context, key string, seen uint64, n *pendingNote, last noting) time.Time {
	last.State, last.By, last.At, last.Lease = StateClaimed, d.by, d.c.Now(), Seconds(d.lease())
	last.Attempt++
	at, err := d.store.swap(ctx, key, seen, last)
	if err != nil {
		return d.contended(err)
	}
	m := &Message{ID: n.note.ID + ".note-" + strconv.FormatUint(n.sequence, 10) + "." + d.r.Name, Type: TypeNoted, Body: []byte(last.Body), Attempt: last.Attempt}
	within, cancel := context.WithTimeout(ctx, d.r.Timeout)
	a := d.r.Notifier.Notify(within, m)
	cancel()
	d.meters.attempt(a.Verdict)
	last.State, last.Lease, last.At, last.Reason = StateDone, 0, d.c.Now(), short(a.Reason)
	var again time.Time
	if a.Verdict != Taken && a.Verdict != Gone {
		if wait, more := delay(d.c.Retries, last.Attempt, a.After, d.c.Random()); more {
			last.State, again = StateFailed, d.c.Now().Add(wait)
		} else {
			d.log.Error("a note is given up", "incident", n.note.ID, "attempts", last.Attempt, "reason", a.Reason)
		}
	}
	if _, err := d.store.insist(ctx, key, at, last); err != nil {
		return d.contended(err)
	}
	return again
}

// body returns the note as every attempt sends it. It follows from the note alone.
func (n *pendingNote) body() string {
	at := time.Time{}
	for _, s := range []*StoredNote{n.note.Acknowledged, n.note.Assigned} {
		if s != nil && s.At.After(at) {
			at = s.At
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      Note      `json:"data"`
	}{TypeNoted, at.UTC(), n.note})
	if err != nil { // a year beyond 9999
		return fmt.Sprintf(`{"type":%q,"data":{"id":%q}}`, TypeNoted, n.note.ID)
	}
	return string(bytes.TrimSpace(out.Bytes()))
}

// ReadNote returns the content of a message of TypeNoted.
func (m *Message) ReadNote() (*Note, error) {
	var t struct {
		Data Note `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &t); err != nil {
		return nil, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return &t.Data, nil
}

// Words is the note in one line.
func (n *Note) Words() string {
	phrase := func(s *StoredNote, words string) string {
		if s.By != "" {
			words += " by " + s.By
		}
		if s.Text != "" {
			words += ": " + s.Text
		}
		return words
	}
	switch {
	case n.Assigned != nil && (n.Acknowledged == nil || n.Assigned.At.After(n.Acknowledged.At)):
		return phrase(n.Assigned, "Assigned to "+n.Assigned.To)
	case n.Acknowledged != nil:
		return phrase(n.Acknowledged, "Acknowledged")
	}
	return "Acknowledgement withdrawn"
}
