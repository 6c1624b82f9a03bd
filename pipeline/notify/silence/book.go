package silence

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bus is what a Book needs of a site's bus.
type Bus interface {
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Bounds of a book.
const (
	maxSilences = 1000
	keepExpired = 30 * 24 * time.Hour
	patience    = 5 * time.Second // with the bucket
	tries       = 8               // against others who change the same
)

// The errors of changes.
var (
	ErrUnknown = errors.New("there is no such silence")
	ErrFull    = fmt.Errorf("there are %d silences: expire one", maxSilences)
	ErrClosed  = errors.New("the bucket of silences is not open yet")
)

// Book knows the silences of a site, as the bucket has them.
type Book struct {
	bus Bus
	log *slog.Logger

	mu      sync.Mutex
	kv      jetstream.KeyValue // nil until the bucket is there
	why     error              // why it is not
	read    bool               // everything that was there has been read
	byID    map[string]Silence
	changed chan struct{} // closed when something changes
}

// NewBook returns a book that knows nothing until Run runs.
func NewBook(b Bus, log *slog.Logger) *Book {
	if log == nil {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Book{bus: b, log: log, byID: map[string]Silence{}, changed: make(chan struct{}), why: ErrClosed}
}

// Run follows the bucket until ctx is done.
func (b *Book) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		b.mu.Lock()
		news := b.why == nil || err == nil || b.why.Error() != err.Error()
		b.why = err
		b.mu.Unlock()
		if news {
			b.log.Warn("silences cannot be read", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

func (b *Book) watch(ctx context.Context) error {
	kv, err := b.bus.KeyValue(ctx, bus.Silences)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	b.mu.Lock()
	b.kv, b.why = kv, nil
	b.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("watching them has ended")
			case e == nil:
				b.tell(func() { b.read = true })
			default:
				b.hear(e)
			}
		}
	}
}

// tell changes something and wakes who waits for that.
func (b *Book) tell(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	close(b.changed)
	b.changed = make(chan struct{})
}

// hear takes an entry of the bucket.
func (b *Book) hear(e jetstream.KeyValueEntry) {
	if e.Operation() != jetstream.KeyValuePut {
		b.tell(func() { delete(b.byID, e.Key()) })
		return
	}
	s, err := parse(e.Value())
	if err != nil || s.ID != e.Key() {
		b.log.Warn("a silence that cannot be read", "key", e.Key(), "error", err)
		return
	}
	b.keep(s)
}

func (b *Book) keep(s Silence) {
	b.tell(func() {
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

// Changed returns what is closed when something changes.
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
	kv, err := b.open()
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := kv.Create(ctx, s.ID, data); err != nil {
		return s, err
	}
	b.keep(s)
	return s, nil
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

func (b *Book) open() (jetstream.KeyValue, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil || b.kv == nil {
		return nil, b.why
	}
	return b.kv, nil
}

// change rewrites a silence, whatever others do meanwhile.
func (b *Book) change(ctx context.Context, id string, to func(Silence) Silence) (Silence, error) {
	kv, err := b.open()
	if err != nil {
		return Silence{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range tries {
		if !idForm.MatchString(id) {
			return Silence{}, ErrUnknown
		}
		old, err := kv.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return Silence{}, ErrUnknown
		}
		if err != nil {
			return Silence{}, err
		}
		s, err := parse(old.Value())
		if err != nil {
			return Silence{}, err
		}
		next := to(s)
		data, err := json.Marshal(next)
		if err != nil {
			return next, err
		}
		_, err = kv.Update(ctx, id, data, old.Revision())
		var refused *jetstream.APIError
		switch {
		case err == nil:
			b.keep(next)
			return next, nil
		case !errors.As(err, &refused) || refused.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence:
			return next, err
		}
	}
	return Silence{}, errors.New("others change it at the same time")
}

// sweep forgets what has long expired, and returns how many are left.
func (b *Book) sweep(ctx context.Context, kv jetstream.KeyValue, now telemetry.Time) int {
	left := 0
	for _, s := range b.List() {
		if s.End == nil || now.Sub(*s.End) < keepExpired {
			left++
			continue
		}
		once, cancel := context.WithTimeout(ctx, patience)
		if err := kv.Delete(once, s.ID); err != nil {
			b.log.Debug("an expired silence is kept", "id", s.ID, "error", err)
		}
		cancel()
	}
	return left
}
