package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

var errAway = errors.New("the log is away")

// mood is how the fake log treats a batch.
type mood int

const (
	moodStores  mood = iota
	moodAway         // stores nothing, says so
	moodPartly       // stores some from the front, says so
	moodLies         // stores everything, says that it failed
	moodHoles        // stores some here and there, says how many from the front
	moodHangs        // answers only when its context is done
	moodRefuses      // will never take the first one
)

// fakeLog is a log that misbehaves on command. It knows repeated ids, as a
// stream does.
type fakeLog struct {
	mu      sync.Mutex
	rand    *rand.Rand
	mood    func() mood
	stored  [][]byte // records, in order
	ids     map[string]bool
	sends   int
	largest int  // bytes of a batch
	mixed   bool // it did not keep the order
}

func newFakeLog(seed uint64) *fakeLog {
	return &fakeLog{rand: rand.New(rand.NewPCG(seed, 7)), mood: func() mood { return moodStores }, ids: map[string]bool{}}
}

func (l *fakeLog) Message(collector string, encoded []byte) (bus.Message, error) {
	m := bus.Message{Subject: collector + "." + telemetry.RecordKind(encoded[0]).String(), Data: encoded}
	if telemetry.RecordKind(encoded[0]) == telemetry.FrameRecord {
		h, err := telemetry.EncodedFrame(encoded[1:]).Header()
		if err != nil {
			return bus.Message{}, fmt.Errorf("%w: %w", bus.ErrRefused, err)
		}
		m.ID = h.Fingerprint.String() + "/" + strconv.FormatUint(h.Incarnation, 10) + "/" + strconv.FormatUint(h.Sequence, 10)
	}
	return m, nil
}

func (l *fakeLog) Send(ctx context.Context, ms []bus.Message) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends++
	size := 0
	for _, m := range ms {
		size += len(m.Data)
	}
	l.largest = max(l.largest, size)
	switch l.mood() {
	case moodAway:
		return 0, errAway
	case moodPartly:
		n := l.rand.IntN(len(ms) + 1)
		l.store(ms[:n])
		return n, errAway
	case moodLies:
		l.store(ms)
		return 0, errAway
	case moodHoles:
		return l.holes(ms), errAway
	case moodHangs:
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		return 0, ctx.Err()
	case moodRefuses:
		return 0, fmt.Errorf("%w: not today", bus.ErrRefused)
	}
	l.store(ms)
	return len(ms), nil
}

func (l *fakeLog) holes(ms []bus.Message) int {
	front, whole := 0, true
	l.mixed = true
	for i := range ms {
		if l.rand.IntN(3) == 0 {
			whole = false
			continue
		}
		l.store(ms[i : i+1])
		if whole {
			front++
		}
	}
	return front
}

func (l *fakeLog) store(ms []bus.Message) {
	for _, m := range ms {
		if m.ID != "" && l.ids[m.ID] {
			continue
		}
		l.ids[m.ID] = true
		l.stored = append(l.stored, append([]byte(nil), m.Data...))
	}
}

// forgetIDs is what a stream does after its window.
func (l *fakeLog) forgetIDs() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ids)
}

func (l *fakeLog) set(m mood) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mood = func() mood { return m }
}

// seriesKey is a series of a source, sampleKey a sample of it.
type seriesKey struct {
	schema   telemetry.Fingerprint
	position int
}

type sampleKey struct {
	series seriesKey
	at     telemetry.Time
}

// contents is the decoded content of a list of records.
type contents struct {
	samples map[sampleKey]uint64
	gaps    map[sampleKey]bool
	events  map[string]bool
	edges   []telemetry.Edge
	frames  int
	own     uint64 // samples that the outbox states of itself
}

// read decodes records in order. A frame whose schema does not precede it, or that
// follows a newer one of its source, is an error, unless the log itself mixed them.
func read(t *testing.T, records [][]byte, mixed bool) contents {
	t.Helper()
	c := contents{samples: map[sampleKey]uint64{}, gaps: map[sampleKey]bool{}, events: map[string]bool{}}
	schemas := map[telemetry.Fingerprint]*telemetry.Schema{}
	newest := map[telemetry.Fingerprint]telemetry.FrameHeader{}
	var dec telemetry.Decoder
	for _, b := range records {
		if r, err := telemetry.ParseRecord(b); mixed && err == nil && r.Kind == telemetry.SchemaRecord {
			schemas[r.Schema.Fingerprint()] = r.Schema
		}
	}
	for i, b := range records {
		r, err := telemetry.ParseRecord(b)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		switch r.Kind {
		case telemetry.SchemaRecord:
			schemas[r.Schema.Fingerprint()] = r.Schema
		case telemetry.EventRecord:
			c.events[r.Event.Entity.String()+r.Event.At.String()+string(r.Event.Name)+r.Event.Text] = true
		case telemetry.EdgeRecord:
			c.edges = append(c.edges, *r.Edge)
		case telemetry.FrameRecord:
			h, err := r.Frame.Header()
			if err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			s := schemas[h.Fingerprint]
			if s == nil {
				t.Fatalf("record %d: a frame before its schema", i)
			}
			if before := newest[h.Fingerprint]; !mixed && (h.Incarnation < before.Incarnation || h.Incarnation == before.Incarnation && h.Sequence < before.Sequence) {
				t.Fatalf("record %d: frame %d/%d of %s after %d/%d", i, h.Incarnation, h.Sequence, s.Source, before.Incarnation, before.Sequence)
			}
			newest[h.Fingerprint] = h
			c.frames++
			var f telemetry.Frame
			if err := dec.Decode(r.Frame, s, &f); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			if s.Source.Collector == "outbox" {
				var held thin.Removal
				for _, state := range f.States {
					if state == telemetry.Present {
						held.Samples++
					}
				}
				if f.States == nil {
					held.Samples = uint64(len(f.Words))
				}
				c.own += held.Samples
				continue
			}
			c.frame(s.Len(), &f)
		}
	}
	return c
}

func (c *contents) frame(n int, f *telemetry.Frame) {
	for k := range f.Instants {
		for i := range n {
			key := sampleKey{seriesKey{f.Fingerprint, i}, f.Time(k)}
			state := telemetry.Present
			if f.States != nil {
				state = f.States[k*n+i]
			}
			switch state {
			case telemetry.Present:
				c.samples[key] = f.Words[k*n+i]
			case telemetry.Gap:
				c.gaps[key] = true
			}
		}
	}
}

// removedOf sums a counter of removals over its reasons.
func removedOf(o *Outbox, what string) (n uint64) {
	for _, why := range []reason{byThinning, byFullness, bySize, byForm, byLog, byEnd} {
		n += o.account.set.GetOrCreateCounter(fmt.Sprintf("quintet_outbox_removed_%s_total{reason=%q}", what, why)).Get()
	}
	return n
}

func metricsText(o *Outbox) string {
	var b strings.Builder
	o.account.set.WritePrometheus(&b)
	return b.String()
}
