package notify

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// Notifier sends messages to one receiver. It is called from several goroutines.
type Notifier interface {
	// Notify sends the message once and returns the outcome. It returns soon after
	// ctx is done. It must not change or keep the message.
	Notify(ctx context.Context, m *Message) Answer
	// Fingerprint identifies the configuration: a changed one means that a receiver
	// which reported that it is gone is to be tried again.
	Fingerprint() string
}

// Message is one revision as sent to one receiver.
type Message struct {
	ID      string // the same for every attempt: incident.revision.receiver
	Type    string // TypeOpened, TypeUpdated, TypeResolved
	Body    []byte // JSON, the same for every attempt
	Attempt int    // from 1
}

// Verdict is a receiver's response to a message.
type Verdict uint8

// The verdicts.
const (
	Taken    Verdict = iota + 1 // it has it
	Refused                     // it does not have it: it refused, or nothing was sent
	NoAnswer                    // nobody knows: it did not answer, or not to the end
	Gone                        // it wants no more messages, ever
)

var verdictNames = [...]string{"", "taken", "refused", "silent", "gone"}

// String returns the verdict's name.
func (v Verdict) String() string {
	if int(v) >= len(verdictNames) {
		return fmt.Sprintf("verdict %d", v)
	}
	return verdictNames[v]
}

// Answer is the outcome of one attempt.
type Answer struct {
	Verdict Verdict
	Status  int           // as the receiver's protocol counts them; 0 without one
	After   time.Duration // the receiver asks for no requests for so long; 0 if it does not
	Reason  string        // why it was not taken, in one line
}

// Receiver is the target of notifications and its filters.
type Receiver struct {
	// Name is part of ids and keys: letters, digits, '-' and '_', 64 at most.
	Name     string
	Notifier Notifier
	// Severities and Kinds list what is sent to it; empty means everything. Once it
	// was notified of an incident, it is notified until the incident ends.
	Severities []string
	Kinds      []string
	// Corrections skips revisions that change nothing but figures for the receiver:
	// slowdown, confidence, blind spots. Revisions that open, correct or resolve
	// are sent.
	Corrections bool
	Notes       bool          // it wants to hear who has acknowledged and whose it is
	Timeout     time.Duration // of one attempt; 0 means 15 s
	// Concurrent is how many attempts may be under way at once, for as many
	// incidents; 0 means 1, and then a killed process repeats one at most.
	Concurrent int
}

const (
	defaultTimeout    = 15 * time.Second
	defaultConcurrent = 1
)

func (r Receiver) withDefaults() Receiver {
	r.Timeout = cmp.Or(r.Timeout, defaultTimeout)
	r.Concurrent = cmp.Or(r.Concurrent, defaultConcurrent)
	return r
}

var receiverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate returns an error if r is invalid.
func (r Receiver) Validate() error {
	if !receiverName.MatchString(r.Name) {
		return fmt.Errorf("receiver %.80q: want a name of letters, digits, '-' and '_', 64 at most", r.Name)
	}
	if r.Notifier == nil {
		return fmt.Errorf("receiver %s: no notifier", r.Name)
	}
	if r.Timeout < 0 || r.Timeout > 5*time.Minute || r.Concurrent < 0 || r.Concurrent > 64 {
		return fmt.Errorf("receiver %s: timeout %v, %d at once: want at most 5 min and 64, neither negative", r.Name, r.Timeout, r.Concurrent)
	}
	for _, s := range r.Severities {
		if !slices.Contains([]string{explain.SeverityCritical, explain.SeverityWarning, explain.SeverityInfo}, s) {
			return fmt.Errorf("receiver %s: severity %q: want critical, warning or info", r.Name, s)
		}
	}
	for _, k := range r.Kinds {
		if k != explain.KindIncident && k != explain.KindRisk && k != KindAlert {
			return fmt.Errorf("receiver %s: kind %q: want incident, risk or alert", r.Name, k)
		}
	}
	return nil
}

// wants reports whether a revision by itself is to be sent to r.
func (r Receiver) wants(rev *revision) bool {
	return (len(r.Severities) == 0 || slices.Contains(r.Severities, rev.Severity)) &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, rev.Kind))
}
