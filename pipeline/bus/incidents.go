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

// Outcome is the result of publishing a revision.
type Outcome uint8

// The outcomes of PublishIncident.
const (
	Stored  Outcome = iota + 1 // this one is stored
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
	tag           string // of users that may write it
}

// Incidents are the site's incidents.
func (b *Bus) Incidents() *Revisions {
	return &Revisions{b, b.names.Incidents(), incidentsTok, WritesIncidentsTag}
}

// Alerts are the alerts of the site's own rules.
func (b *Bus) Alerts() *Revisions {
	return &Revisions{b, b.names.Alerts(), alertsTok, WritesAlertsTag}
}

// maxSlots bounds the subjects that are tried for one revision.
const maxSlots = 16

// Publish publishes one revision unless one of that number is stored; stored is then
// the stored one. It tries until ctx is done; if the answer to one try was lost,
// the next one finds its own bytes: Same.
//
// An entry of a writer without permission (Foreign) is never returned: the revision is
// published in addition, under the next of maxSlots subjects.
func (v *Revisions) Publish(ctx context.Context, id string, revision int, data []byte) (o Outcome, stored []byte, err error) {
	err = v.bus.persist(ctx, v.token, func(ctx context.Context) error {
		mark, err := v.mark(ctx)
		if err != nil {
			return err
		}
		for slot := range maxSlots {
			o, stored, err = v.publishAt(ctx, v.bus.names.revision(v.token, id, revision, slot), data, mark)
			if !errors.Is(err, errForeign) {
				return err
			}
		}
		return fmt.Errorf("%w: %d subjects hold entries that no engine wrote: run quintet repair", ErrRefused, maxSlots)
	})
	if err != nil {
		return 0, nil, fmt.Errorf("bus: publish %s %s.%d: %w", v.token, id, revision, err)
	}
	return o, stored, nil
}

// errForeign means that a subject holds an entry of a writer without permission.
var errForeign = errors.New("an entry that no engine wrote")

// publishAt publishes one revision at one subject.
func (v *Revisions) publishAt(ctx context.Context, subject string, data []byte, mark signedMark) (Outcome, []byte, error) {
	b := v.bus
	msg, err := b.signer.message(subject, data)
	if err != nil {
		return 0, nil, fmt.Errorf("sign: %w", err)
	}
	_, err = b.js.PublishMsg(ctx, msg)
	var api *jetstream.APIError
	if err == nil || !errors.As(err, &api) {
		return Stored, nil, err
	}
	// Refused: because one is stored, unless there is none.
	s, serr := b.js.Stream(ctx, v.stream)
	if serr != nil {
		return 0, nil, serr
	}
	m, gerr := s.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(gerr, jetstream.ErrMsgNotFound):
		return 0, nil, err
	case gerr != nil:
		return 0, nil, gerr
	case v.foreign(delivery{position: m.Sequence, subject: subject, header: m.Header, data: m.Data}, mark) != nil:
		return 0, nil, errForeign
	case bytes.Equal(m.Data, data):
		return Same, m.Data, nil
	}
	return Differs, m.Data, nil
}

// PublishIncident is Publish of the site's incidents.
func (b *Bus) PublishIncident(ctx context.Context, id string, revision int, data []byte) (o Outcome, stored []byte, err error) {
	return b.Incidents().Publish(ctx, id, revision, data)
}

// Revision is one revision as published.
type Revision struct {
	Sequence uint64 // in its stream
	ID       string
	Number   int
	Data     []byte
}

// Follow hands over every revision behind sequence after, in order and each once,
// as they arrive, until ctx is done or fn returns an error. Revisions removed by
// retention are skipped. Foreign entries are counted and skipped.
func (v *Revisions) Follow(ctx context.Context, after uint64, fn func(Revision) error) error {
	return v.FollowAll(ctx, after, fn, func(Foreign) error { return nil })
}

// FollowAll is Follow that also returns the foreign entries that were not removed.
func (v *Revisions) FollowAll(ctx context.Context, after uint64, fn func(Revision) error, foreign func(Foreign) error) error {
	return v.read(ctx, after, false, fn, foreign)
}

// Read hands over every revision that the stream holds, in order, and returns at
// its end. Foreign entries are counted and skipped.
func (v *Revisions) Read(ctx context.Context, fn func(Revision) error) error {
	return v.read(ctx, 0, true, fn, func(Foreign) error { return nil })
}

func (v *Revisions) read(ctx context.Context, after uint64, finite bool, fn func(Revision) error, foreign func(Foreign) error) error {
	b := v.bus
	mark, err := v.markFor(ctx)
	if err != nil {
		return err
	}
	r := reader{bus: b, stream: v.stream, position: after, lenient: true, finite: finite}
	r.fn = func(d delivery) error {
		if why := v.foreign(d, mark); why != nil {
			if mark.removed[d.position] {
				return nil
			}
			return foreign(v.refuse(d, why))
		}
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

// refuse counts and logs an entry that is not read as a revision.
func (v *Revisions) refuse(d delivery, why error) Foreign {
	f := Foreign{Sequence: d.position, Stored: d.stored, Subject: d.subject, Data: d.data, Reason: why.Error(), Damaged: errors.Is(why, errDigest)}
	what := "an entry that no engine wrote is ignored; run quintet repair"
	if f.Damaged {
		what = "a damaged revision is ignored; run quintet repair"
		v.bus.count.damaged(v.token).Inc()
	} else {
		v.bus.count.foreign(v.token).Inc()
	}
	v.bus.cfg.Logger.Error(what, "stream", v.stream, "sequence", d.position, "subject", d.subject, "reason", why)
	return f
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
	number, _, _ := strings.Cut(tokens[2], slotMark)
	n, err := strconv.Atoi(number)
	if err != nil {
		return Revision{}, fmt.Errorf("revision: subject %.100q: %w", d.subject, err)
	}
	return Revision{Sequence: d.position, ID: id, Number: n, Data: d.data}, nil
}

// Bounds returns the sequences of the oldest and the newest stored revision;
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
