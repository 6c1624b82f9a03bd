package silence

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of a book.
const (
	maxSilences    = 1000
	keepExpired    = 30 * 24 * time.Hour
	requestTimeout = 5 * time.Second // with the bucket, to forget one
)

// The errors of changes.
var (
	ErrUnknown = errors.New("there is no such silence")
	ErrFull    = fmt.Errorf("there are %d silences: expire one", maxSilences)
)

// Book knows the silences of a site, as the bucket has them.
type Book struct {
	bucket *bus.Follower
	log    *slog.Logger

	mu      sync.Mutex
	read    bool // everything that was there has been read
	byID    map[string]Silence
	changed chan struct{} // closed when something changes
}

// NewBook returns a book that knows nothing until Run runs.
func NewBook(b bus.Buckets, log *slog.Logger) *Book {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Book{bucket: bus.NewFollower(b, bus.Silences, log), log: log, byID: map[string]Silence{}, changed: make(chan struct{})}
}

// Run follows the bucket until ctx is done.
func (b *Book) Run(ctx context.Context) {
	b.bucket.Run(ctx, func() { b.update(func() { b.read = true }) }, b.handleEntry)
}

// update applies a change and wakes those who wait for one.
func (b *Book) update(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	close(b.changed)
	b.changed = make(chan struct{})
}

// handleEntry processes an entry of the bucket.
func (b *Book) handleEntry(e jetstream.KeyValueEntry) {
	if e.Operation() != jetstream.KeyValuePut {
		b.update(func() { delete(b.byID, e.Key()) })
		return
	}
	s, err := parse(e.Value())
	if err != nil || s.ID != e.Key() {
		b.log.Warn("a silence that cannot be read", "key", e.Key(), "error", err)
		return
	}
	b.update(func() {
		if _, known := b.byID[s.ID]; known || len(b.byID) < 2*maxSilences {
			b.byID[s.ID] = s
		}
	})
}

func parse(data []byte) (Silence, error) {
	var s Silence
	if err := json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	return s, s.Validate()
}

// Known reports whether everything that was there at the start has been read,
// and Changed returns what is closed when something changes.
func (b *Book) Known() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

// Changed returns a channel that is closed when something changes.
func (b *Book) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// List returns the silences, the last to change first.
func (b *Book) List() []Silence {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Silence, 0, len(b.byID))
	for _, s := range b.byID { // order-independent: it is sorted
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y Silence) int { return cmp.Or(cmp.Compare(y.Updated, x.Updated), cmp.Compare(x.ID, y.ID)) })
	return out
}

// Muting returns the silences that hold back facts at an instant, by id.
func (b *Book) Muting(f match.Facts, at telemetry.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for id, s := range b.byID { // order-independent: it is sorted
		if s.Mutes(f, at) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Put creates a silence, or changes the one whose id it has, and returns it as
// it is kept. The error is a *Problem, ErrUnknown, ErrFull, or the bucket's.
func (b *Book) Put(ctx context.Context, s Silence, now telemetry.Time) (Silence, error) {
	if s.Start == 0 {
		s.Start = now
	}
	if s.Windows == nil {
		s.Windows = []Window{}
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	if s.End != nil && *s.End <= now {
		return s, problem("end", "it is over already")
	}
	if s.ID != "" {
		return b.change(ctx, s.ID, func(old Silence) Silence {
			s.Created, s.Updated, s.ExpiredBy = old.Created, now, ""
			return s
		})
	}
	s.Created, s.Updated = now, now
	kv, err := b.bucket.Open()
	if err != nil {
		return s, err
	}
	if b.sweep(ctx, kv, now) >= maxSilences {
		return s, ErrFull
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return s, err
	}
	s.ID = "sil-" + hex.EncodeToString(id[:])
	data, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	return s, b.bucket.Change(ctx, s.ID, func([]byte) ([]byte, error) { return data, nil })
}

// Expire ends a silence now; one that had not begun is ended before it begins.
func (b *Book) Expire(ctx context.Context, id, by string, now telemetry.Time) (Silence, error) {
	return b.change(ctx, id, func(s Silence) Silence {
		if s.State(now) == Expired {
			return s
		}
		if now <= s.Start {
			s.Start = now - 1
		}
		s.End, s.Updated, s.ExpiredBy = &now, now, by
		return s
	})
}

// change rewrites a silence, whatever others do meanwhile.
func (b *Book) change(ctx context.Context, id string, to func(Silence) Silence) (next Silence, err error) {
	if !idForm.MatchString(id) {
		return next, ErrUnknown
	}
	err = b.bucket.Change(ctx, id, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, ErrUnknown
		}
		s, err := parse(old)
		if err != nil {
			return nil, err
		}
		next = to(s)
		return json.Marshal(next)
	})
	return next, err
}

// sweep removes silences that expired long ago, and returns how many are left.
func (b *Book) sweep(ctx context.Context, kv jetstream.KeyValue, now telemetry.Time) int {
	left := 0
	for _, s := range b.List() {
		if s.End == nil || now.Sub(*s.End) < keepExpired {
			left++
			continue
		}
		once, cancel := context.WithTimeout(ctx, requestTimeout)
		if err := kv.Delete(once, s.ID); err != nil {
			b.log.Debug("an expired silence is kept", "id", s.ID, "error", err)
		}
		cancel()
	}
	return left
}
