package post

import (
	"context"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

// Sender is a notify.Notifier whose messages are one request each.
type Sender struct {
	client      *Client
	fingerprint string
	request     Requester
}

// Requester returns the request for a message that is sent now. One without a body is
// not sent: the receiver has no place for such a message. An error is a refusal.
type Requester func(m *notify.Message, now time.Time) (Request, error)

// NewSender makes a receiver of a kind. It reads the files of c.TLS.
func NewSender(kind string, c Config, fingerprint string, request Requester) (*Sender, error) {
	client, err := New(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return &Sender{client, fingerprint, request}, nil
}

// Fingerprint implements notify.Notifier.
func (s *Sender) Fingerprint() string { return s.fingerprint }

// Notify implements notify.Notifier.
func (s *Sender) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	r, err := s.request(m, s.client.Now())
	switch {
	case err != nil:
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	case r.Body == nil:
		return notify.Answer{Verdict: notify.Taken}
	}
	return s.client.Send(ctx, r)
}
