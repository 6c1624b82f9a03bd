package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// retryPrefix is the prefix of the keys that request a retry of a dead delivery:
// retry.<incident>.<receiver>. The process that serves the receiver retries it and
// deletes the key.
const retryPrefix = "retry."

// wish is what such a key holds.
type wish struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// The errors of Retry.
var (
	ErrNoDelivery = errors.New("there is no such delivery")
	ErrNotDead    = errors.New("the delivery is not dead")
)

// ID names a delivery in the API: incident and receiver, with a dot between.
func (d Delivery) ID() string { return d.Incident + "." + d.Receiver }

// IsDead reports whether d was given up, after all retries or because the
// receiver was gone.
func (d Delivery) IsDead() bool {
	return d.State == StateDone && (d.Outcome == OutcomeDead || d.Outcome == OutcomeGone)
}

// Retry requests that a dead delivery be retried, and returns its current state.
func Retry(ctx context.Context, b Bus, id, by string) (Delivery, error) {
	incident, receiver, _ := strings.Cut(id, ".")
	if !incidentID.MatchString(incident) || !receiverName.MatchString(receiver) {
		return Delivery{}, ErrNoDelivery
	}
	kv, err := b.KeyValue(ctx, bus.Deliveries)
	if err != nil {
		return Delivery{}, err
	}
	e, err := kv.Get(ctx, deliveryKey(incident, receiver))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Delivery{}, ErrNoDelivery
	}
	if err != nil {
		return Delivery{}, err
	}
	d, err := parseDelivery(e.Value())
	if err != nil {
		return Delivery{}, err
	}
	if !d.IsDead() {
		return d, ErrNotDead
	}
	value, err := json.Marshal(wish{By: by, At: time.Now().UTC()})
	if err != nil {
		return d, err
	}
	if _, err := kv.Put(ctx, retryPrefix+id, value); err != nil {
		return d, fmt.Errorf("ask for a retry: %w", err)
	}
	return d, nil
}

// wishes follows the keys that request retries until ctx is done.
func (c *Config) wishes(ctx context.Context, kv jetstream.KeyValue, desks []*desk) {
	_ = c.untilDone(ctx, "watching retry requests failed", func() error {
		w, err := kv.Watch(ctx, retryPrefix+">", jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		return bus.Watch(ctx, w, nil, func(e jetstream.KeyValueEntry) { c.fulfil(ctx, kv, e.Key(), desks) })
	})
}

// fulfil tries a dead delivery again, where its receiver is served here.
func (c *Config) fulfil(ctx context.Context, kv jetstream.KeyValue, key string, desks []*desk) {
	incident, receiver, _ := strings.Cut(strings.TrimPrefix(key, retryPrefix), ".")
	for _, d := range desks {
		if d.r.Name != receiver || d.alerts != strings.HasPrefix(incident, AlertPrefix) {
			continue
		}
		if err := d.again(ctx, incident); err != nil {
			d.log.Warn("a dead delivery cannot be tried again", "incident", incident, "error", err)
			continue
		}
		if err := kv.Delete(ctx, key); err != nil {
			d.log.Debug("a request for a retry stays", "key", key, "error", err)
		}
	}
}

// again makes a dead delivery pending again.
func (d *desk) again(ctx context.Context, incident string) error {
	if d.left() {
		return errors.New("receiver gone (HTTP 410): change its configuration")
	}
	delivery, seen, err := d.delivery(ctx, incident)
	if err != nil || !delivery.IsDead() {
		return err
	}
	p := pending{number: delivery.Revision, sequence: delivery.Sequence, wanted: true, notice: delivery.Notice}
	rev, err := d.revision(ctx, p)
	if err != nil {
		return err
	}
	p.resolved, p.updated, p.properties, p.revision = rev.resolved(), rev.updated, rev.properties, rev
	now := d.c.Now()
	next := delivery.fail(now, now, delivery.Revision, Answer{Verdict: Refused, Reason: "retry requested"})
	next.Done, next.Attempt, next.Outcome, next.Address = delivery.Revision-1, 1, "", d.address
	next = next.decide(Decision{Revision: delivery.Revision, At: now, Outcome: "retried", Why: "retry requested"})
	if _, err := d.store.swap(ctx, deliveryKey(incident, d.r.Name), seen, next); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(incident, p)
	d.rouse()
	return nil
}
