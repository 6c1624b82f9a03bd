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
	followAgain   = 5 * time.Second // after following a bucket has failed
	changeTimeout = 5 * time.Second // with a bucket, for one change
	changeTries   = 8               // against others who change the same entry
)

// errContended: others changed an entry each time it was to be changed.
var errContended = errors.New("others change it at the same time")

// Buckets opens the key-value buckets of a site, by their kind; *Bus does.
type Buckets interface {
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Outrun reports whether err means that another writer changed the entry first.
func Outrun(err error) bool {
	var refused *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// Watch calls hear for every entry of w until ctx is done, which is not an error,
// or w ends. It calls read, if not nil, after the last of the initial entries.
func Watch(ctx context.Context, w jetstream.KeyWatcher, read func(), receive func(jetstream.KeyValueEntry)) error {
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
				receive(e)
			case read != nil:
				read()
			}
		}
	}
}

// Follower follows a bucket: every entry that is there, then each change; and all
// again after an interruption. It changes entries without losing concurrent
// changes.
type Follower struct {
	from   Buckets
	bucket string
	log    *slog.Logger

	mu        sync.Mutex
	kv        jetstream.KeyValue
	why       error         // why it is not followed
	delivered uint64        // the revision delivered last
	more      chan struct{} // closed when another is delivered
}

// NewFollower returns a Follower of a bucket, which is not open until Run runs.
func NewFollower(from Buckets, bucket string, log *slog.Logger) *Follower {
	return &Follower{from: from, bucket: bucket, log: log, why: fmt.Errorf("the bucket of %s is not open yet", bucket), more: make(chan struct{})}
}

// Run follows the bucket until ctx is done, and calls read each time after the last
// of the initial entries.
func (f *Follower) Run(ctx context.Context, read func(), receive func(jetstream.KeyValueEntry)) {
	for ctx.Err() == nil {
		err := f.follow(ctx, read, receive)
		if ctx.Err() != nil {
			return
		}
		if f.lost(err) {
			f.log.Warn("a bucket cannot be followed", "bucket", f.bucket, "error", err)
		}
		Sleep(ctx, followAgain)
	}
}

func (f *Follower) follow(ctx context.Context, read func(), receive func(jetstream.KeyValueEntry)) error {
	kv, err := f.from.KeyValue(ctx, f.bucket)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.kv, f.why, f.delivered = kv, nil, 0
	f.mu.Unlock()
	return Watch(ctx, w, read, func(e jetstream.KeyValueEntry) {
		receive(e)
		f.notify(e.Revision())
	})
}

// notify wakes the waiters when a revision has been delivered.
func (f *Follower) notify(revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delivered = revision
	close(f.more)
	f.more = make(chan struct{})
}

// await returns when this revision or a later one has been delivered, or ctx is
// done.
func (f *Follower) await(ctx context.Context, revision uint64) {
	for {
		f.mu.Lock()
		delivered, more := f.delivered, f.more
		f.mu.Unlock()
		if delivered >= revision {
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

// Change replaces an entry's value by what to returns for it, under concurrent
// writes too: to is then called again with the new value. For an entry that does
// not exist its argument is nil. Change returns the errors of to and of the bucket;
// the entry is unchanged then. When it returns, the follower has received the
// change, unless that timed out: so a writer reads its own writes, and all
// followers receive changes in the bucket's order.
func (f *Follower) Change(ctx context.Context, key string, to func(old []byte) ([]byte, error)) error {
	kv, err := f.Open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
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
