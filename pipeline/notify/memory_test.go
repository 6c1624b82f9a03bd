package notify_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// memory is a site's stream of incidents and its bucket of deliveries, in
// memory: it works within a bubble, where the real one's sockets do not.
type memory struct {
	mu       sync.Mutex
	stream   []bus.Revision
	grew     chan struct{}
	last     uint64
	values   map[string]entry
	sequence uint64 // of the bucket
	writes   int
}

func newMemory() *memory { return &memory{grew: make(chan struct{}), values: map[string]entry{}} }

// entry is a jetstream.KeyValueEntry.
type entry struct {
	jetstream.KeyValueEntry
	key      string
	value    []byte
	revision uint64
}

func (e entry) Key() string      { return e.key }
func (e entry) Value() []byte    { return e.value }
func (e entry) Revision() uint64 { return e.revision }

// publish appends a revision to the stream.
func (m *memory) publish(id string, number int, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.stream = append(m.stream, bus.Revision{Sequence: m.last, ID: id, Number: number, Data: data})
	close(m.grew)
	m.grew = make(chan struct{})
}

// forget drops the revisions up to a sequence.
func (m *memory) forget(through uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream = slices.DeleteFunc(m.stream, func(r bus.Revision) bool { return r.Sequence <= through })
}

func (m *memory) Bounds(context.Context) (first, last uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stream) == 0 {
		return m.last + 1, m.last, nil
	}
	return m.stream[0].Sequence, m.last, nil
}

func (m *memory) Follow(ctx context.Context, after uint64, fn func(bus.Revision) error) error {
	for {
		m.mu.Lock()
		i, _ := slices.BinarySearchFunc(m.stream, after+1, func(r bus.Revision, s uint64) int { return cmp.Compare(r.Sequence, s) })
		fresh, grew := slices.Clone(m.stream[i:]), m.grew
		m.mu.Unlock()
		for _, r := range fresh {
			if err := fn(r); err != nil {
				return err
			}
			after = r.Sequence
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grew:
		}
	}
}

func (m *memory) KeyValue(context.Context, string) (jetstream.KeyValue, error) {
	return bucket{memory: m}, nil
}

// bucket is what notify uses of a jetstream.KeyValue.
type bucket struct {
	jetstream.KeyValue
	memory *memory
}

func (b bucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	e, ok := b.memory.values[key]
	if !ok {
		return nil, jetstream.ErrKeyNotFound
	}
	return e, nil
}

func (b bucket) write(key string, value []byte, revision uint64, refusal error) (uint64, error) {
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key].revision != revision {
		return 0, fmt.Errorf("wrong last sequence: %w", refusal)
	}
	m.sequence++
	m.writes++
	m.values[key] = entry{key: key, value: slices.Clone(value), revision: m.sequence}
	return m.sequence, nil
}

func (b bucket) Create(_ context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.write(key, value, 0, jetstream.ErrKeyExists)
}

func (b bucket) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.write(key, value, revision, jetstream.ErrKeyRevisionMismatch)
}

// WatchAll follows the notes, which have another bucket.
func (b bucket) WatchAll(ctx context.Context, _ ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	w := make(watcher)
	go func() {
		seen := map[string]uint64{}
		for ctx.Err() == nil {
			for _, key := range b.memory.keys("inc-") {
				if e, err := b.Get(ctx, key); err == nil && e.Revision() > seen[key] {
					seen[key] = e.Revision()
					select {
					case w <- e:
					case <-ctx.Done():
					}
				}
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	return w, nil
}

func (b bucket) Put(_ context.Context, key string, value []byte) (uint64, error) {
	b.memory.mu.Lock()
	revision := b.memory.values[key].revision
	b.memory.mu.Unlock()
	return b.write(key, value, revision, jetstream.ErrKeyRevisionMismatch)
}

func (b bucket) Delete(_ context.Context, key string, _ ...jetstream.KVDeleteOpt) error {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	delete(b.memory.values, key)
	return nil
}

// keys lists the keys with a prefix.
func (m *memory) keys(prefix string) (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.values {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	return out
}

// watcher delivers the initial entries and then marks their end.
type watcher chan jetstream.KeyValueEntry

func (w watcher) Updates() <-chan jetstream.KeyValueEntry { return w }
func (w watcher) Stop() error                             { return nil }

func (b bucket) Watch(_ context.Context, keys string, _ ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	w := make(watcher, len(b.memory.values)+1)
	for key, e := range b.memory.values {
		if strings.HasPrefix(key, strings.TrimSuffix(keys, ">")) {
			w <- e
		}
	}
	w <- nil
	return w, nil
}

// incident publishes the revisions of one incident, one after the other.
type incident struct {
	id       string
	number   int
	severity string
	kind     string
}

// revise returns the next revision as the engine would publish it.
func (in *incident) revise(t testing.TB, state string) (number int, data []byte) {
	t.Helper()
	in.number++
	full := explain.Incident{ID: in.id, State: state, Kind: cmp.Or(in.kind, explain.KindIncident), Severity: cmp.Or(in.severity, explain.SeverityWarning),
		Title: `llama-70b "slow" <&> since 02:47 ± 4 s`, Updated: telemetry.Time(time.Now().UnixNano()), Revision: in.number}
	b, err := engine.Canonical(&full)
	if err != nil {
		t.Fatal(err)
	}
	return in.number, b
}

// say publishes the next revision.
func (in *incident) say(t testing.TB, m *memory, state string) {
	t.Helper()
	n, b := in.revise(t, state)
	m.publish(in.id, n, b)
}

var errKilled = errors.New("this process was killed")
