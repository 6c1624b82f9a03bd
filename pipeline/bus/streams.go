package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// requestTimeout bounds one request to the server; whole operations last as
// long as their context.
const requestTimeout = 4 * time.Second

// Create makes the site's streams and buckets, or adjusts the limits of those
// that are there. It waits for a server until ctx is done.
func (b *Bus) Create(ctx context.Context) error {
	steps := []struct {
		name string
		make func(context.Context) error
	}{
		{b.names.Incidents(), b.createRevisions(b.names.Incidents(), b.names.Revisions())},
		{b.names.Alerts(), b.createRevisions(b.names.Alerts(), b.names.AlertRevisions())},
		{b.names.Audit(), b.createTrail},
		{b.names.Bucket(Snapshots), b.createSnapshots},
		{b.names.Bucket(Deliveries), b.createBucket(Deliveries, RevisionsRetain)},
		{b.names.Bucket(Notes), b.createBucket(Notes, RevisionsRetain)},
		{b.names.Bucket(Silences), b.createBucket(Silences, 0)}, // what recurs has no age
		{b.names.Bucket(Replicas), b.createBucket(Replicas, replicasRetain)},
		{b.names.Log(), b.createLog}, // the last: it is made smaller to fit, and would leave no room to what has a size
	}
	for _, s := range steps {
		if err := b.persist(ctx, s.name, s.make); err != nil {
			return fmt.Errorf("bus: create %s: %w", s.name, err)
		}
	}
	return nil
}

// leastRetained is the smallest log that is made without being asked for it.
const leastRetained = 64 << 20

// createLog creates the log. If no size is configured and the disk has no room for
// the default, the log is smaller.
func (b *Bus) createLog(ctx context.Context) error {
	size, given := b.cfg.RetainBytes, b.cfg.RetainBytes > 0
	if !given {
		size = DefaultRetainBytes
	}
	for {
		_, err := b.js.CreateOrUpdateStream(ctx, b.logConfig(size))
		if !noRoom(err) {
			return err
		}
		if given || size/2 < leastRetained {
			return fmt.Errorf("room for %d MiB: %w", size>>20, err)
		}
		size /= 2
		b.cfg.Logger.Warn("the disk has little room, so the log is kept short", "MiB", size>>20)
	}
}

// noRoom reports whether a stream was refused because it would not fit on the disk:
// of one server (its error 10047), or of each server of a cluster (error 10005, which
// has other reasons too, so that its text decides).
func noRoom(err error) bool {
	const oneServer, cluster = 10047, 10005
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == oneServer ||
		api.ErrorCode == cluster && strings.Contains(api.Description, "insufficient storage"))
}

// logConfig returns the configuration of the log: all records of a site, in one
// order. No client deletes from it; its oldest entries are removed by age and size.
func (b *Bus) logConfig(size int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        b.names.Log(),
		Subjects:    b.names.logSubjects(),
		Retention:   jetstream.LimitsPolicy,
		MaxAge:      b.cfg.Retain,
		MaxBytes:    size,
		Discard:     jetstream.DiscardOld,
		Storage:     jetstream.FileStorage,
		Replicas:    b.cfg.Copies,
		Duplicates:  min(duplicateWindow, b.cfg.Retain),
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
	}
}

// createRevisions: one message for each revision, and no second one.
func (b *Bus) createRevisions(stream, subjects string) func(context.Context) error {
	return func(ctx context.Context) error {
		metadata, err := b.revisionsMetadata(ctx, stream)
		if err != nil {
			return err
		}
		_, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name:                 stream,
			Metadata:             metadata,
			Subjects:             []string{subjects},
			Retention:            jetstream.LimitsPolicy,
			MaxAge:               RevisionsRetain,
			MaxMsgsPerSubject:    1,
			Discard:              jetstream.DiscardNew,
			DiscardNewPerSubject: true,
			Storage:              jetstream.FileStorage,
			Replicas:             b.cfg.Copies,
			AllowDirect:          true,
			DenyDelete:           true,
			DenyPurge:            true,
		})
		return err
	}
}

func (b *Bus) createSnapshots(ctx context.Context) error {
	_, err := b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: b.names.Bucket(Snapshots), Storage: jetstream.FileStorage, Replicas: b.cfg.Copies,
	})
	return err
}

func (b *Bus) createBucket(bucket string, keep time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: b.names.Bucket(bucket), History: 1, TTL: keep, Storage: jetstream.FileStorage, Replicas: b.cfg.Copies,
		})
		return err
	}
}

// KeyValue returns one of the site's buckets (Deliveries, Replicas).
func (b *Bus) KeyValue(ctx context.Context, bucket string) (kv jetstream.KeyValue, err error) {
	err = b.persist(ctx, b.names.Bucket(bucket), func(ctx context.Context) error {
		kv, err = b.js.KeyValue(ctx, b.names.Bucket(bucket))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: bucket %s: %w", bucket, err)
	}
	return kv, nil
}

// persist repeats a request of a stream or bucket until it succeeds, fails for
// good, or ctx is done.
func (b *Bus) persist(ctx context.Context, name string, request func(context.Context) error) error {
	return b.persistFor(ctx, requestTimeout, name, request)
}

// persistFor is persist with a timeout for one request.
func (b *Bus) persistFor(ctx context.Context, timeout time.Duration, name string, request func(context.Context) error) error {
	wait := 100 * time.Millisecond
	for {
		err := b.attempt(ctx, timeout, name, request)
		if err == nil || !passing(err) || b.fatal(ctx, err) {
			return err
		}
		b.cfg.Logger.Debug("the log does not answer", "asked", name, "error", err)
		if late := b.pause(ctx, wait); late != nil {
			return fmt.Errorf("%w (%w)", late, err)
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// attempt makes one request to a stream or bucket. It gives up when the connection
// is lost, because no answer arrives over another one, and when the server reports
// that such a request is not permitted, because then none arrives at all.
func (b *Bus) attempt(ctx context.Context, timeout time.Duration, name string, request func(context.Context) error) error {
	once, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	why, done := make(chan error, 1), make(chan struct{})
	gone, denied := b.gone(), b.denials() // before the request is made
	go func() {
		defer cancel()
		why <- b.watch(done, gone, denied, name)
	}()
	err := request(once)
	close(done)
	if cause := <-why; err != nil && cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// watch waits until done, which it returns as nil, or for what makes waiting for
// an answer pointless.
func (b *Bus) watch(done, gone, denied <-chan struct{}, name string) error {
	for {
		select {
		case <-done:
			return nil
		case <-gone:
			return nats.ErrDisconnected
		case <-denied:
			denied = b.denials()
		}
		refusal := b.lastRefusal()
		if subject, ok := deniedSubject(refusal); ok && strings.Contains(subject, name) {
			return fmt.Errorf("%w: %w", ErrRefused, refusal)
		}
	}
}

// passing reports whether a request may succeed later: no server, no leader, no
// answer.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 503
	}
	for _, e := range [...]error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrReconnectBufExceeded, ErrUnreachable, nats.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse} {
		if errors.Is(err, e) {
			return true
		}
	}
	return isNetwork(err)
}

// State is the extent of the log.
type State struct {
	First, Last uint64 // positions; an empty log has First = Last+1
	Entries     uint64
	Bytes       uint64 // on disk
}

// State requests the extent of the log.
func (b *Bus) State(ctx context.Context) (s State, err error) {
	err = b.persist(ctx, b.names.Log(), func(ctx context.Context) error {
		s, err = b.state(ctx, b.names.Log())
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("bus: state of the log: %w", err)
	}
	return s, nil
}

// Bounds returns the positions of the oldest and the newest stored entry; an
// empty log has first = last+1.
func (b *Bus) Bounds(ctx context.Context) (first, last uint64, err error) {
	s, err := b.State(ctx)
	return s.First, s.Last, err
}

func (b *Bus) state(ctx context.Context, stream string) (State, error) {
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return State{}, err
	}
	state := s.CachedInfo().State
	out := State{First: state.FirstSeq, Last: state.LastSeq, Entries: state.Msgs, Bytes: state.Bytes}
	if state.Msgs == 0 {
		out.First = out.Last + 1
	}
	return out, nil
}
