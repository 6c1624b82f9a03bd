package raise

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// leaseKey is the key, among the deliveries, of who raises alerts.
const leaseKey = "alerting"

// Of a lease: how long it is respected by others, from when they saw it first by
// their own clocks, and how often its holder renews it.
const (
	leaseFor   = 30 * time.Second
	renewEvery = leaseFor / 3
)

// lease decides which of the processes that evaluate rules raises their alerts.
type lease struct {
	kv    jetstream.KeyValue
	by    string
	alone bool // no other process runs: an earlier one's lease need not be waited out

	revision uint64    // the key's revision while we hold it, 0 while we do not
	renewed  time.Time // when we wrote it
	seen     uint64    // the revision of another replica's that was seen
	since    time.Time // and when it was seen first
}

// mine reports whether this process holds the lease at now, and takes or renews it.
func (l *lease) mine(ctx context.Context, now time.Time) (bool, error) {
	if l.revision != 0 && now.Sub(l.renewed) < renewEvery {
		return true, nil
	}
	value, err := json.Marshal(map[string]string{"by": l.by})
	if err != nil {
		return false, err
	}
	at, err := l.write(ctx, value, now)
	switch {
	case err == nil && at != 0:
		l.revision, l.renewed = at, now
	case err == nil, now.Sub(l.renewed) > leaseFor/2: // others may soon take it over
		l.revision = 0
	}
	return l.revision != 0, err
}

// write writes the key if this process may write it, and returns its revision; else
// 0.
func (l *lease) write(ctx context.Context, value []byte, now time.Time) (uint64, error) {
	e, err := l.kv.Get(ctx, leaseKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return settled(l.kv.Create(ctx, leaseKey, value))
	case err != nil:
		return 0, err
	case e.Revision() == l.revision:
		return settled(l.kv.Update(ctx, leaseKey, value, l.revision))
	}
	if l.seen != e.Revision() {
		l.seen, l.since = e.Revision(), now
	}
	if now.Sub(l.since) < leaseFor && !l.alone {
		return 0, nil
	}
	return settled(l.kv.Update(ctx, leaseKey, value, l.seen))
}

// settled returns no error for a write that lost to another process.
func settled(at uint64, err error) (uint64, error) {
	if bus.Outrun(err) {
		return 0, nil
	}
	return at, err
}

// give gives the lease back, so that another process need not wait it out.
func (l *lease) give(ctx context.Context) error {
	if l.revision == 0 {
		return nil
	}
	return l.kv.Delete(ctx, leaseKey, jetstream.LastRevision(l.revision))
}
