package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// Entry is a record of the log with its place in it.
type Entry struct {
	Position  uint64
	Collector string            // the collecting process; "" for ticks and config records
	Stored    telemetry.Time    // when the log took it in, by its server's clock
	Record    *telemetry.Record // nil: malformed, and Err is the reason
	Err       error
	Size      int    // bytes of the record as stored
	Behind    uint64 // how many more the log held when this one was sent
}

func (b *Bus) entry(d delivery) Entry {
	e := Entry{Position: d.position, Collector: b.names.collector(d.subject), Stored: d.stored, Size: len(d.data), Behind: d.pending}
	b.count.followed.Inc()
	b.count.followedBytes.Add(len(d.data))
	r, err := telemetry.ParseRecord(d.data)
	if err == nil {
		err = b.placed(d.subject, r.Kind)
	}
	if err != nil {
		b.count.malformed.Inc()
		e.Err = fmt.Errorf("bus: entry %d of %s: %w", d.position, d.subject, err)
		return e
	}
	e.Record = &r
	return e
}

// placed refuses a record on a subject of another kind: permissions are granted by
// subjects, so a collector could state ticks otherwise.
func (b *Bus) placed(subject string, k telemetry.RecordKind) error {
	ok := false
	switch k {
	case telemetry.TickRecord:
		ok = subject == b.names.Ticks()
	case telemetry.ConfigRecord:
		ok = subject == b.names.Config()
	default:
		last := kindToken(k)
		ok = len(subject) > len(last) && subject[len(subject)-len(last)-1] == '.' && subject[len(subject)-len(last):] == last
	}
	if !ok {
		return fmt.Errorf("a %s record does not belong there", k)
	}
	return nil
}

// Follow hands over every entry behind position after, in order and each once, as
// they arrive, until ctx is done (its error) or fn returns an error (that error).
// It survives any loss of connection and restart of the server. It ends with
// ErrForgotten if after is not zero and the log no longer stores the next entry, and
// with ErrRewritten if the log ends before after or stores another entry where it
// read before. fn is called from this goroutine and owns the entry.
func (b *Bus) Follow(ctx context.Context, after uint64, fn func(Entry) error) error {
	r := reader{bus: b, stream: b.names.Log(), position: after, fn: func(d delivery) error { return fn(b.entry(d)) }}
	return r.run(ctx)
}

// Span is the part of the log to read.
type Span struct {
	From, To   telemetry.Time         // of storing, both included; a zero To means all there is
	Collectors []string               // collecting processes; nil is all; ticks and config records have none
	Kinds      []telemetry.RecordKind // nil is all
}

// Slice hands over the log's entries of a span, in order, and returns at its end.
// Entries that are stored while it reads may or may not be part of it.
func (b *Bus) Slice(ctx context.Context, s Span, fn func(Entry) error) error {
	filters := b.filters(s)
	if filters != nil && len(filters) == 0 {
		return nil
	}
	r := reader{bus: b, stream: b.names.Log(), filters: filters, from: max(s.From, 1), lenient: true, finite: true}
	past := errors.New("past the span")
	r.fn = func(d delivery) error {
		if s.To != 0 && d.stored > s.To {
			return past
		}
		return fn(b.entry(d))
	}
	if err := r.run(ctx); !errors.Is(err, past) {
		return err
	}
	return nil
}

// filters returns the subjects of a span; nil is all of them.
func (b *Bus) filters(s Span) []string {
	if s.Collectors == nil && s.Kinds == nil {
		return nil
	}
	kinds := s.Kinds
	if kinds == nil {
		kinds = recordKinds[:]
	}
	out := []string{}
	seen := map[string]bool{}
	add := func(subject string) {
		if !seen[subject] {
			seen[subject] = true
			out = append(out, subject)
		}
	}
	for _, k := range kinds {
		switch {
		case k == telemetry.TickRecord, k == telemetry.ConfigRecord, s.Collectors == nil:
			add(b.names.filter("", k))
		default:
			for _, c := range s.Collectors {
				add(b.names.filter(c, k))
			}
		}
	}
	return out
}

// Entry returns the entry at a position; ErrNotRetained if there is none.
func (b *Bus) Entry(ctx context.Context, position uint64) (e Entry, err error) {
	err = b.persist(ctx, b.names.Log(), func(ctx context.Context) error {
		m, err := b.message(ctx, func(s jetstream.Stream) (*jetstream.RawStreamMsg, error) { return s.GetMsg(ctx, position) })
		if err != nil {
			return err
		}
		e = b.entry(delivery{position: m.Sequence, stored: telemetry.Time(m.Time.UnixNano()), subject: m.Subject, data: m.Data})
		return nil
	})
	if err != nil {
		return Entry{}, fmt.Errorf("bus: entry %d: %w", position, err)
	}
	return e, nil
}

// LastTick returns the log's newest tick, and whether it holds one.
func (b *Bus) LastTick(ctx context.Context) (at telemetry.Time, ok bool, err error) {
	err = b.persist(ctx, b.names.Log(), func(ctx context.Context) error {
		m, err := b.message(ctx, func(s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
			return s.GetLastMsgForSubject(ctx, b.names.Ticks())
		})
		if errors.Is(err, ErrNotRetained) {
			return nil
		}
		if err != nil {
			return err
		}
		if r, err := telemetry.ParseRecord(m.Data); err == nil && r.Kind == telemetry.TickRecord {
			at, ok = r.Tick.At, true
			return nil
		}
		// If the last entry is no valid tick, use the last valid tick before it.
		return b.Slice(ctx, Span{Kinds: []telemetry.RecordKind{telemetry.TickRecord}}, func(e Entry) error {
			if e.Record != nil {
				at, ok = e.Record.Tick.At, true
			}
			return nil
		})
	})
	if err != nil {
		return 0, false, fmt.Errorf("bus: last tick: %w", err)
	}
	return at, ok, nil
}

// message gets one message of the log.
func (b *Bus) message(ctx context.Context, get func(jetstream.Stream) (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	s, err := b.js.Stream(ctx, b.names.Log())
	if err != nil {
		return nil, err
	}
	m, err := get(s)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrNotRetained
	}
	return m, err
}
