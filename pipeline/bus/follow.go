package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	followAgain    = 5 * time.Second // after following a bucket has failed
	changePatience = 5 * time.Second // with a bucket, for one change
	changeTries    = 8               // against others who change the same entry
)

// errContended: others changed an entry each time it was to be changed.
var errContended = errors.New("others change it at the same time")

// Buckets opens the key-value buckets of a site, by their kind; *Bus does.
type Buckets interface {
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Outrun reports whether err says that somebody else changed the entry first.
func Outrun(err error) bool {
	var refused *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// Watch tells hear every entry that w brings until ctx is done, which is no error,
// or it ends. It calls read, where there is one, when all that was there at first
// has been told.
func Watch(ctx context.Context, w jetstream.KeyWatcher, read func(), hear func(jetstream.KeyValueEntry)) error {
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, more := <-w.Updates():
			switch {
			case !more:
				return errors.New("watching it has ended")
			case e != nil:
				hear(e)
			case read != nil:
				read()
			}
		}
	}
}

// Follower follows a bucket: every entry that is there, then each change; and all
// anew where following it was interrupted. It changes entries without losing what
// others do to them meanwhile.
type Follower struct {
	from   Buckets
	bucket string
	log    *slog.Logger

	mu   sync.Mutex
	kv   jetstream.KeyValue
	why  error         // why it is not followed
	told uint64        // the revision told last
	more chan struct{} // closed when another is told
}

// NewFollower returns a Follower of a bucket, which is not open until Run runs.
func NewFollower(from Buckets, bucket string, log *slog.Logger) *Follower {
	return &Follower{from: from, bucket: bucket, log: log, why: fmt.Errorf("the bucket of %s is not open yet", bucket), more: make(chan struct{})}
}

// Run follows the bucket until ctx is done, and calls read each time that all that
// is there has been told.
func (f *Follower) Run(ctx context.Context, read func(), hear func(jetstream.KeyValueEntry)) {
	for ctx.Err() == nil {
		err := f.follow(ctx, read, hear)
		if ctx.Err() != nil {
			return
		}
		if f.lost(err) {
			f.log.Warn("a bucket cannot be followed", "bucket", f.bucket, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(followAgain):
		}
	}
}

func (f *Follower) follow(ctx context.Context, read func(), hear func(jetstream.KeyValueEntry)) error {
	kv, err := f.from.KeyValue(ctx, f.bucket)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.kv, f.why, f.told = kv, nil, 0
	f.mu.Unlock()
	return Watch(ctx, w, read, func(e jetstream.KeyValueEntry) {
		hear(e)
		f.tell(e.Revision())
	})
}

// tell wakes who waits until a revision has been told.
func (f *Follower) tell(revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = revision
	close(f.more)
	f.more = make(chan struct{})
}

// await returns when a revision has been told, or a later one, or ctx is done.
func (f *Follower) await(ctx context.Context, revision uint64) {
	for {
		f.mu.Lock()
		told, more := f.told, f.more
		f.mu.Unlock()
		if told >= revision {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
	}
}

// lost notes why the bucket is not followed, and reports whether that is new.
func (f *Follower) lost(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := f.why == nil || f.why.Error() != err.Error()
	f.why = err
	return news
}

// Open returns the bucket, or why it is not followed at the moment.
func (f *Follower) Open() (jetstream.KeyValue, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kv, f.why
}

// Change makes of an entry what to returns of it, whatever others do meanwhile:
// to is asked again with what they made of it. Of an entry that is not there it
// is given nil. The errors are to's and the bucket's; nothing is changed then.
// When it returns, the one who follows has heard of the change, unless that took
// too long: so who writes reads what he wrote, and nobody hears of changes in
// another order than the bucket's.
func (f *Follower) Change(ctx context.Context, key string, to func(old []byte) ([]byte, error)) error {
	kv, err := f.Open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changePatience)
	defer cancel()
	for range changeTries {
		revision, err := change(ctx, kv, key, to)
		if err == nil {
			f.await(ctx, revision)
		}
		if !Outrun(err) {
			return err
		}
	}
	return errContended
}

// change does it once, and returns the revision of the entry as it is then.
func change(ctx context.Context, kv jetstream.KeyValue, key string, to func([]byte) ([]byte, error)) (uint64, error) {
	var value []byte
	old, err := kv.Get(ctx, key)
	switch {
	case err == nil:
		value = old.Value()
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, err
	}
	next, err := to(value)
	if err != nil {
		return 0, err
	}
	if old == nil {
		return kv.Create(ctx, key, next)
	}
	return kv.Update(ctx, key, next, old.Revision())
}
