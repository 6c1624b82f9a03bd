package collectorstest

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// tape is a Sink that checks what it is given as it comes.
type tape struct {
	changed chan struct{} // signalled, without waiting, after every call
	slow    time.Duration // how long an Emit takes

	mu      sync.Mutex
	faults  []string
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	last    map[telemetry.Fingerprint]numbered
	decoder telemetry.Decoder
	frame   telemetry.Frame

	frames  int
	present int // samples that were there
	fresh   int // frames with any
	series  map[telemetry.Source]int
	others  int // edges and events
	newest  uint64
	sweeps  int
	failed  int // sweeps with an error
	dropped map[collectors.Reason]int
}

// numbered is the place of a frame in its source.
type numbered struct{ incarnation, sequence uint64 }

func newTape() *tape {
	return &tape{
		changed: make(chan struct{}, 1),
		schemas: map[telemetry.Fingerprint]*telemetry.Schema{},
		last:    map[telemetry.Fingerprint]numbered{},
		series:  map[telemetry.Source]int{},
		dropped: map[collectors.Reason]int{},
	}
}

// satisfies reports whether cond is true now.
func (tp *tape) satisfies(cond func(*tape) bool) bool {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return cond(tp)
}

// String lists what was received, for a failure message.
func (tp *tape) String() string {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return fmt.Sprintf("%d frames, %d of them with samples, %d edges and events, %d sweeps, %d of them failed, dropped %v",
		tp.frames, tp.fresh, tp.others, tp.sweeps, tp.failed, tp.dropped)
}

func (tp *tape) fault(format string, args ...any) {
	if len(tp.faults) < 20 {
		tp.faults = append(tp.faults, fmt.Sprintf(format, args...))
	}
}

func (tp *tape) notify() {
	select {
	case tp.changed <- struct{}{}:
	default:
	}
}

// Emit checks and counts one record.
func (tp *tape) Emit(r *telemetry.Record) {
	if tp.slow > 0 {
		<-time.After(tp.slow)
	}
	tp.mu.Lock()
	defer tp.mu.Unlock()
	defer tp.notify()
	if err := Sound(r); err != nil {
		tp.fault("%v", err)
		return
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		tp.schemas[r.Schema.Fingerprint()] = r.Schema
		tp.series[r.Schema.Source] = r.Schema.Len()
	case telemetry.FrameRecord:
		tp.addFrame(r.Frame)
	case telemetry.EventRecord:
		tp.others++
		if r.Event.At < 0 || r.Event.Received < 0 || r.Event.Source.Collector == "" {
			tp.fault("event %s %s at %d of source %q", r.Event.Entity, r.Event.Name, r.Event.At, r.Event.Source)
		}
	case telemetry.EdgeRecord:
		tp.others++
		if r.Edge.Start < 0 || r.Edge.End < 0 || r.Edge.Source == "" {
			tp.fault("edge %s %s %s from %d to %d of source %q", r.Edge.From, r.Edge.Relation, r.Edge.To, r.Edge.Start, r.Edge.End, r.Edge.Source)
		}
	default:
		tp.fault("a %s record: collectors emit schemas, frames, events and edges", r.Kind)
	}
}

func (tp *tape) addFrame(b telemetry.EncodedFrame) {
	h, err := b.Header()
	if err != nil {
		tp.fault("%v", err)
		return
	}
	s := tp.schemas[h.Fingerprint]
	if s == nil {
		tp.fault("a frame of schema %s, which was not stated before", h.Fingerprint)
		return
	}
	if err := tp.decoder.Decode(b, s, &tp.frame); err != nil {
		tp.fault("%v", err)
		return
	}
	now := numbered{h.Incarnation, h.Sequence}
	if last, ok := tp.last[h.Fingerprint]; ok && !now.follows(last) {
		tp.fault("frame %d of incarnation %d of %s after frame %d of %d", now.sequence, now.incarnation, s.Source, last.sequence, last.incarnation)
	}
	tp.last[h.Fingerprint] = now
	tp.newest = max(tp.newest, now.incarnation)
	for _, i := range tp.frame.Instants {
		if i.Source < 0 || i.Received < 0 || i.Source == 0 && i.Received == 0 {
			tp.fault("instant %d, received %d", i.Source, i.Received)
		}
	}
	tp.frames++
	tp.count()
}

// follows: the next number of the same incarnation, or the first of a later
// one.
func (n numbered) follows(last numbered) bool {
	if n.incarnation == last.incarnation {
		return n.sequence == last.sequence+1
	}
	return n.incarnation > last.incarnation
}

// count adds up the samples of the frame just decoded.
func (tp *tape) count() {
	n := 0
	for i := range tp.frame.Words {
		if tp.frame.State(i) == telemetry.Present {
			n++
		}
	}
	tp.present += n
	if n > 0 {
		tp.fresh++
	}
}

// Logger implements collectors.Sink.
func (tp *tape) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Swept checks and counts one sweep.
func (tp *tape) Swept(s collectors.Sweep) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	defer tp.notify()
	if s.Took < 0 || s.Read < 0 {
		tp.fault("a sweep that took %s and read %d", s.Took, s.Read)
	}
	tp.sweeps++
	if s.Err != nil {
		tp.failed++
	}
	for r, n := range s.Dropped {
		if n < 0 {
			tp.fault("dropped %d for %q", n, r)
		}
		tp.dropped[r] += n
	}
}
