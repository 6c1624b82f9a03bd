package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// claims is what notify needs of a bucket; jetstream.KeyValue has it.
type claims interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// errLost means that another process has changed a key in the meantime.
var errLost = errors.New("changed by another process")

// requestTimeout bounds one request to the bucket.
const requestTimeout = 5 * time.Second

// store reads and changes keys.
type store struct{ kv claims }

// get returns the value of a key and the key's revision, 0 if there is none.
func (s store) get(ctx context.Context, key string) ([]byte, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := s.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound): // ErrKeyDeleted is one, too
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return e.Value(), e.Revision(), nil
}

// swap changes a key that was seen at a revision, 0 for none, and returns the new
// one. It fails with errLost if another process was faster. Any other error leaves
// open whether it was changed.
func (s store) swap(ctx context.Context, key string, seen uint64, value any) (uint64, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	once, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var now uint64
	if seen == 0 {
		now, err = s.kv.Create(once, key, b)
	} else {
		now, err = s.kv.Update(once, key, b, seen)
	}
	if err == nil {
		return now, nil
	}
	if !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	// It may have been this process: a write whose acknowledgement was lost. A
	// value names its writer and attempt, so equal bytes are this process's own.
	stored, now, err := s.get(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case now != 0 && bytes.Equal(stored, b):
		return now, nil
	}
	return 0, fmt.Errorf("write %s: %w", key, errLost)
}

// insist is swap until it is known what became of it or ctx is done.
func (s store) insist(ctx context.Context, key string, seen uint64, value any) (uint64, error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		now, err := s.swap(ctx, key, seen, value)
		if err == nil || errors.Is(err, errLost) || ctx.Err() != nil {
			return now, err
		}
		if !bus.Sleep(ctx, wait) {
			return 0, err
		}
	}
}
