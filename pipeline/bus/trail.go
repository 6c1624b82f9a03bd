package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits of the kept changes.
const (
	trailRetain = 400 * 24 * time.Hour
	trailBytes  = 256 << 20
)

// Trail is the site's audit log: what people changed, in order. Nothing in it can be
// changed or deleted over the bus.
type Trail struct{ bus *Bus }

// Trail returns the site's audit log.
func (b *Bus) Trail() *Trail { return &Trail{b} }

func (b *Bus) createTrail(ctx context.Context) error {
	_, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        b.names.Audit(),
		Subjects:    []string{b.names.AuditEntries()},
		Retention:   jetstream.LimitsPolicy,
		MaxAge:      trailRetain,
		MaxBytes:    trailBytes,
		Discard:     jetstream.DiscardOld,
		Storage:     jetstream.FileStorage,
		Replicas:    b.cfg.Copies,
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
	})
	return err
}

// Keep stores an entry behind all others. It tries until ctx is done.
func (t *Trail) Keep(ctx context.Context, data []byte) error {
	id := rand.Text() // a repeat is stored once
	err := t.bus.persist(ctx, t.bus.names.Audit(), func(ctx context.Context) error {
		_, err := t.bus.js.Publish(ctx, t.bus.names.AuditEntries(), data, jetstream.WithExpectStream(t.bus.names.Audit()), jetstream.WithMsgID(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: keep change: %w", err)
	}
	return nil
}

// Recent hands over at most limit entries, the newest first, which are older than the
// one with sequence before, or the newest of all where that is 0.
func (t *Trail) Recent(ctx context.Context, before uint64, limit int, fn func(sequence uint64, data []byte) error) error {
	var state State
	err := t.bus.persist(ctx, t.bus.names.Audit(), func(ctx context.Context) (err error) {
		state, err = t.bus.state(ctx, t.bus.names.Audit())
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: changes: %w", err)
	}
	at := state.Last
	if before > 0 {
		at = min(at, before-1)
	}
	stream, err := t.bus.js.Stream(ctx, t.bus.names.Audit())
	if err != nil {
		return fmt.Errorf("bus: changes: %w", err)
	}
	for ; at >= state.First && at > 0 && limit > 0; at-- {
		m, err := stream.GetMsg(ctx, at)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // damaged, or forgotten meanwhile
			continue
		}
		if err != nil {
			return fmt.Errorf("bus: changes: %w", err)
		}
		if err := fn(m.Sequence, m.Data); err != nil {
			return err
		}
		limit--
	}
	return nil
}
