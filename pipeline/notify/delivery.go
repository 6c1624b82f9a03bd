package notify

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The states of a Delivery's attempt.
const (
	StateClaimed = "claimed" // a process is about to send, or has sent and not recorded it
	StateFailed  = "failed"  // to be repeated at Next
	StateHeld    = "held"    // not to be sent now, for Outcome and Reason
	StateDone    = "settled" // done with, with Outcome
)

// The outcomes of a revision that is settled or withheld.
const (
	OutcomeDelivered = "delivered"
	OutcomeDead      = "dead"      // given up after all retries
	OutcomeGone      = "gone"      // the receiver wants no more
	OutcomeForgotten = "forgotten" // the stream no longer stores the revision
	OutcomeUnrouted  = "unrouted"  // not for this receiver
	OutcomeSilenced  = "silenced"  // by a silence or by maintenance
	OutcomeInhibited = "inhibited" // it follows from another incident
	OutcomeFlapping  = "flapping"  // it comes and goes
	OutcomeUnchanged = "unchanged" // the receiver knows all but figures of it
)

// Delivery is the state of one incident at one receiver: what is settled and what
// is in flight. It is kept as JSON under one key.
type Delivery struct {
	Incident string `json:"incident"`
	Receiver string `json:"receiver"`
	// Done is the revision up to which everything is done with.
	Done int `json:"settled"`
	// Revision is the last claimed revision, at Sequence of the stream.
	Revision int    `json:"revision"`
	Sequence uint64 `json:"sequence"`
	State    string `json:"state"`
	Outcome  string `json:"outcome,omitempty"` // of Revision, once settled

	By      string    `json:"by"`      // who claimed it: process and incarnation
	Address string    `json:"address"` // the notifier's fingerprint: another address is tried at once
	At      time.Time `json:"at"`      // when State came about, by his clock
	Lease   Seconds   `json:"lease_seconds,omitempty"`
	Attempt int       `json:"attempt"` // of Revision, from 1
	Next    time.Time `json:"next,omitzero"`
	Status  int       `json:"status,omitempty"` // of the last answer
	Reason  string    `json:"reason,omitempty"` // of the last failure
	// Unanswered is set if the last attempt may have reached the receiver.
	Unanswered bool `json:"unanswered,omitempty"`
	// Newest is the newest revision that was known at the last failure: a later one
	// is a reason to try before Next.
	Newest int `json:"newest,omitempty"`

	// Notice is the text that is sent with Revision, in every attempt.
	Notice string `json:"notice,omitempty"`
	// Last is the newest revision's sequence that was delivered. Closed is set if
	// the last delivered revision resolved the incident.
	Last   uint64 `json:"last_sequence,omitempty"`
	Closed bool   `json:"closed,omitempty"`
	// Content is the digest of Revision's content without figures, Known that of
	// the revision that was delivered last.
	Content string `json:"content,omitempty"`
	Known   string `json:"known,omitempty"`
	// Log lists why each of the last revisions was sent or not, the oldest first.
	Log []Decision `json:"log,omitempty"`

	// Counts over all revisions of the incident.
	Delivered int `json:"delivered"`
	Skipped   int `json:"skipped"` // superseded revisions that were passed over
	Repeats   int `json:"repeats"` // attempts that followed one without a recorded answer
	Dead      int `json:"dead"`
}

// Decision is the decision on one revision.
type Decision struct {
	Revision int       `json:"revision"`
	At       time.Time `json:"at"`
	Outcome  string    `json:"outcome"` // as of a Delivery
	Held     bool      `json:"held,omitempty"`
	Why      string    `json:"why,omitempty"`
}

// maxLog bounds the decisions that a delivery keeps.
const maxLog = 16

// decide adds to the log. The same decision on a revision for the same reason is
// recorded once.
func (d Delivery) decide(c Decision) Delivery {
	if n := len(d.Log); n > 0 && d.Log[n-1].Revision == c.Revision && d.Log[n-1].Outcome == c.Outcome && d.Log[n-1].Held == c.Held && d.Log[n-1].Why == c.Why {
		return d
	}
	d.Log = append(slices.Clone(d.Log), c)
	d.Log = d.Log[max(0, len(d.Log)-maxLog):]
	return d
}

// attempted reports whether the receiver may have received a revision of the
// incident.
func (d Delivery) attempted() bool { return d.Attempt > 0 }

// openForReceiver reports whether the incident is open, as far as the receiver knows.
func (d Delivery) openForReceiver() bool { return d.attempted() && !d.Closed }

// Seconds is a length of time, in seconds as JSON.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if !(f >= 0 && f <= 1e6) {
		return fmt.Errorf("%v seconds: want 0 to a million", f)
	}
	*s = Seconds(math.Round(f * float64(time.Second)))
	return nil
}

const deliveryPrefix = "delivery."

func deliveryKey(incident, receiver string) string {
	return deliveryPrefix + incident + "." + receiver
}

// parseDelivery reads the value of a key.
func parseDelivery(b []byte) (Delivery, error) {
	var d Delivery
	if err := json.Unmarshal(b, &d); err != nil {
		return Delivery{}, fmt.Errorf("delivery: %w", err)
	}
	untried := d.State == StateHeld || d.State == StateDone // it may never have been tried
	if d.Done < 0 || d.Revision < 1 || d.Attempt < 0 || d.Attempt < 1 && !untried || d.State != StateClaimed && d.State != StateFailed && !untried {
		return Delivery{}, fmt.Errorf("delivery: revision %d, settled to %d, attempt %d, state %.20q", d.Revision, d.Done, d.Attempt, d.State)
	}
	d.Log = d.Log[max(0, len(d.Log)-maxLog):]
	if len(d.Log) == 0 {
		d.Log = nil
	}
	return d, nil
}

// maxReason bounds the kept text of a failure.
const maxReason = 300

// claimant is who claims, and when.
type claimant struct {
	by, address string
	at          time.Time
	lease       time.Duration
}

// claim returns d as claimed for a revision, with skipped superseded ones passed
// over before it. An own claim that is claimed again was never sent: it was its
// acknowledgement that was lost.
func (d Delivery) claim(rev pending, skipped int, c claimant) Delivery {
	again := d.Revision == rev.number
	if again && d.State == StateFailed && d.Unanswered || again && d.State == StateClaimed && d.By != c.by {
		d.Repeats++
	}
	d.Attempt++
	if !again || d.Address != c.address {
		d.Attempt = 1
	}
	d.Done, d.Revision, d.Sequence = rev.number-1, rev.number, rev.sequence
	d.State, d.Outcome, d.By, d.Address, d.At, d.Lease = StateClaimed, "", c.by, c.address, c.at, Seconds(c.lease)
	d.Next, d.Status, d.Reason, d.Unanswered, d.Newest = time.Time{}, 0, "", false, 0
	d.Skipped += skipped
	d.Content = rev.content()
	d.Closed = rev.resolved
	if !again {
		d.Notice = rev.notice
	}
	if skipped > 0 {
		d = d.decide(Decision{Revision: rev.number - 1, At: c.at, Outcome: "superseded", Why: fmt.Sprintf("revision %d is newer", rev.number)})
	}
	return d
}

// withhold returns d with a revision that is not sent now, or never.
func (d Delivery) withhold(rev pending, state string, m muted, c claimant) Delivery {
	d.Done, d.Revision, d.Sequence = rev.number-1, rev.number, rev.sequence
	if state == StateDone {
		d.Done = rev.number
	}
	d.State, d.Outcome, d.Reason, d.By, d.Address, d.At = state, m.outcome, short(m.why), c.by, c.address, c.at
	d.Lease, d.Next, d.Status, d.Unanswered, d.Newest = 0, time.Time{}, 0, false, 0
	return d.decide(Decision{Revision: rev.number, At: c.at, Outcome: m.outcome, Held: state == StateHeld, Why: short(m.why)})
}

// settle returns d with its revision done with.
func (d Delivery) settle(outcome string, now time.Time, a Answer) Delivery {
	d.State, d.Outcome, d.At, d.Done = StateDone, outcome, now, d.Revision
	d.Lease, d.Status, d.Reason = 0, a.Status, short(a.Reason)
	switch outcome {
	case OutcomeDelivered:
		d.Delivered++
		d.Last, d.Known = d.Sequence, d.Content
	case OutcomeDead:
		d.Dead++
	}
	why := d.Notice
	if outcome != OutcomeDelivered {
		why = d.Reason
	}
	return d.decide(Decision{Revision: d.Revision, At: now, Outcome: outcome, Why: why})
}

// fail returns d to be repeated at next.
func (d Delivery) fail(next, now time.Time, newest int, a Answer) Delivery {
	d.State, d.At, d.Lease, d.Next, d.Newest = StateFailed, now, 0, next, newest
	d.Status, d.Reason, d.Unanswered = a.Status, short(a.Reason), a.Verdict == NoAnswer
	return d
}

func short(reason string) string {
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
}
