package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Outcome says what became of a revision that was published.
type Outcome uint8

// The outcomes of PublishIncident.
const (
	Stored  Outcome = iota + 1 // this one stands
	Same                       // the same bytes stand already
	Differs                    // other bytes stand: replicas disagree
)

var outcomeNames = [...]string{"", "stored", "same", "differs"}

// String returns the outcome's name.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "outcome " + strconv.Itoa(int(o))
	}
	return outcomeNames[o]
}

// Revisions is a stream of revisions: of incidents, or of alerts.
type Revisions struct {
	bus           *Bus
	stream, token string
}

// Incidents are the site's incidents.
func (b *Bus) Incidents() *Revisions {
	return &Revisions{b, b.names.Incidents(), incidentsTok}
}

// Alerts are the alerts of the site's own rules.
func (b *Bus) Alerts() *Revisions { return &Revisions{b, b.names.Alerts(), alertsTok} }

// Publish publishes one revision unless one of that number stands; held is then
// what stands. It tries until ctx is done; where the answer to one try was lost,
// the next one finds its own bytes: Same.
func (v *Revisions) Publish(ctx context.Context, id string, revision int, data []byte) (o Outcome, held []byte, err error) {
	b, subject := v.bus, v.bus.names.revision(v.token, id, revision)
	err = b.persist(ctx, v.token, func(ctx context.Context) error {
		_, err := b.js.Publish(ctx, subject, data)
		var api *jetstream.APIError
		if err == nil || !errors.As(err, &api) {
			o = Stored
			return err
		}
		// Refused: because one stands, unless there is none.
		s, serr := b.js.Stream(ctx, v.stream)
		if serr != nil {
			return serr
		}
		m, gerr := s.GetLastMsgForSubject(ctx, subject)
		switch {
		case errors.Is(gerr, jetstream.ErrMsgNotFound):
			return err
		case gerr != nil:
			return gerr
		}
		o, held = Differs, m.Data
		if bytes.Equal(held, data) {
			o = Same
		}
		return nil
	})
	if err != nil {
		return 0, nil, fmt.Errorf("bus: publish %s %s.%d: %w", v.token, id, revision, err)
	}
	return o, held, nil
}

// PublishIncident is Publish of the site's incidents.
func (b *Bus) PublishIncident(ctx context.Context, id string, revision int, data []byte) (o Outcome, held []byte, err error) {
	return b.Incidents().Publish(ctx, id, revision, data)
}

// Revision is one revision as published.
type Revision struct {
	Sequence uint64 // in its stream
	ID       string
	Number   int
	Data     []byte
}

// Follow hands over every revision behind sequence after, in order and each
// once, as they come, until ctx is done or fn returns an error. What was
// forgotten is passed over.
func (v *Revisions) Follow(ctx context.Context, after uint64, fn func(Revision) error) error {
	b := v.bus
	r := reader{bus: b, stream: v.stream, position: after, lenient: true}
	r.fn = func(d delivery) error {
		rev, err := v.revision(d)
		if err != nil {
			b.count.malformed.Inc()
			b.cfg.Logger.Warn("a revision without a name", "sequence", d.position, "error", err)
			return nil
		}
		return fn(rev)
	}
	return r.run(ctx)
}

// FollowIncidents is Follow of the site's incidents.
func (b *Bus) FollowIncidents(ctx context.Context, after uint64, fn func(Revision) error) error {
	return b.Incidents().Follow(ctx, after, fn)
}

func (v *Revisions) revision(d delivery) (Revision, error) {
	tokens := strings.Split(strings.TrimPrefix(d.subject, v.bus.names.root()), ".")
	if len(tokens) != 3 || tokens[0] != v.token {
		return Revision{}, fmt.Errorf("revision: subject %.100q", d.subject)
	}
	id, err := untoken(tokens[1])
	if err != nil {
		return Revision{}, fmt.Errorf("revision: %w", err)
	}
	n, err := strconv.Atoi(tokens[2])
	if err != nil {
		return Revision{}, fmt.Errorf("revision: subject %.100q: %w", d.subject, err)
	}
	return Revision{Sequence: d.position, ID: id, Number: n, Data: d.data}, nil
}

// Bounds returns the sequences of the oldest and the newest revision held;
// where there is none, first = last+1.
func (v *Revisions) Bounds(ctx context.Context) (first, last uint64, err error) {
	err = v.bus.persist(ctx, v.stream, func(ctx context.Context) error {
		s, err := v.bus.state(ctx, v.stream)
		first, last = s.First, s.Last
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("bus: bounds of %s: %w", v.token, err)
	}
	return first, last, nil
}

// IncidentBounds is Bounds of the site's incidents.
func (b *Bus) IncidentBounds(ctx context.Context) (first, last uint64, err error) {
	return b.Incidents().Bounds(ctx)
}
