package window

import (
	"errors"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

var errRange = errors.New("out of range")

// Snapshot writes the whole state or restores it into an empty Window of the same
// Config. It carries the schemas in the order in which they came, so that a
// restored Window has the same slots, and the frames that still wait: it is
// indistinguishable from one that never stopped (I5).
func (w *Window) Snapshot(c *snapshot.Codec) {
	c.Tag("window2")
	w.snapshotConfig(c)
	for i := range w.closed {
		c.Time(&w.closed[i])
	}
	w.counts.snapshot(c)
	w.snapshotSchemas(c)
	if c.Err() != nil {
		return
	}
	for _, list := range w.byClass {
		for _, s := range list {
			w.snapshotSource(c, s)
		}
	}
	w.snapshotSlots(c)
	for _, b := range w.blocks {
		fixed(c, &b.past.cells, (*snapshot.Codec).F32s)
		fixed(c, &b.past.cover, (*snapshot.Codec).F32s)
	}
	for _, r := range w.rivals {
		c.Int(&r.chosen)
		fixed(c, &r.since, snapshot.U64s[telemetry.Time])
		if r.chosen < -1 || r.chosen >= len(r.slots) {
			c.Fail(fmt.Errorf("window: rival: %w", errRange))
			r.chosen = -1
		}
		w.cast(r)
	}
	w.snapshotWaiting(c)
}

// snapshotConfig refuses a snapshot of another configuration.
func (w *Window) snapshotConfig(c *snapshot.Codec) {
	same := func(what string, have int64) {
		x := have
		c.I64(&x)
		if x != have {
			c.Fail(fmt.Errorf("window: %s is %d, snapshot has %d", what, have, x))
		}
	}
	same("grid", int64(w.cfg.Grid))
	same("history", int64(w.cfg.History))
	for i, l := range w.cfg.Lateness {
		same(fmt.Sprintf("lateness %d", i), int64(l))
	}
	if !c.Writing() && len(w.order) > 0 {
		c.Fail(errors.New("window: not empty"))
	}
}

func (k *Counts) snapshot(c *snapshot.Codec) {
	for i := range k.Frames {
		c.U64(&k.Frames[i])
		c.U64(&k.Schemas[i])
	}
	for _, n := range []*uint64{&k.Samples, &k.LateSamples, &k.Gaps, &k.Contradictions, &k.Resets, &k.Wraps, &k.CorruptLate, &k.Expired, &k.Switches} {
		c.U64(n)
	}
}

func (w *Window) snapshotSchemas(c *snapshot.Codec) {
	n := c.Len(len(w.order), 8)
	for i := 0; i < n && c.Err() == nil; i++ {
		var b []byte
		if c.Writing() {
			b = w.order[i].AppendBinary(nil)
		}
		c.Bytes(&b)
		if c.Writing() || c.Err() != nil {
			continue
		}
		s, err := telemetry.ParseSchema(b)
		if err != nil {
			c.Fail(fmt.Errorf("window: schema: %w", err))
			return
		}
		if o := w.addSchema(s); o != Accepted {
			c.Fail(fmt.Errorf("window: schema of %s: %s", s.Source, o))
		}
	}
}

func (w *Window) snapshotSource(c *snapshot.Codec, s *source) {
	c.Time(&s.latest)
	c.Time(&s.closed)
	s.wait.snapshot(c)
	s.clock.snapshot(c)
	for _, col := range s.columns {
		col.rhythm.snapshot(c)
	}
	n := c.Len(len(s.frames), 16)
	for i := 0; i < n && c.Err() == nil; i++ {
		var b []byte
		done := never
		if c.Writing() {
			f := s.frames[i]
			b, done = s.bytes[f.off:f.off+f.len], f.done
		}
		c.Bytes(&b)
		c.Time(&done)
		if !c.Writing() && c.Err() == nil {
			w.restoreFrame(c, s, b, done)
		}
	}
}

func (w *Window) restoreFrame(c *snapshot.Codec, s *source, b telemetry.EncodedFrame, done telemetry.Time) {
	h, err := b.Header()
	sc := w.schemas[h.Fingerprint]
	if err != nil || sc == nil || sc.source != s || h.Instants*sc.Len() > telemetry.MaxFrameSamples {
		c.Fail(fmt.Errorf("window: frame of %s does not belong", s.name))
		return
	}
	w.pending += s.push(sc, h, b)
	s.frames[len(s.frames)-1].done = done
}

// snapshotSlots has no even runs: whether one is even changes no answer.
func (w *Window) snapshotSlots(c *snapshot.Codec) {
	for _, b := range w.blocks {
		for i := range b.runs {
			w.spreadOut(b, &b.runs[i])
		}
	}
	fixed(c, &w.word, (*snapshot.Codec).U64s)
	fixed(c, &w.at, snapshot.U64s[telemetry.Time])
	fixed(c, &w.val, (*snapshot.Codec).F32s)
	fixed(c, &w.peak, (*snapshot.Codec).F32s)
	fixed(c, &w.flag, snapshot.U8s[Flag])
	fixed(c, &w.step, (*snapshot.Codec).U32s)
}

// fixed codes a list whose length the schemas have set already.
func fixed[T any](c *snapshot.Codec, s *[]T, code func(*snapshot.Codec, *[]T)) {
	have := *s
	code(c, s)
	if len(*s) != len(have) {
		c.Fail(fmt.Errorf("window: list of %d items, want %d", len(*s), len(have)))
		*s = have
	}
}

func (w *Window) snapshotWaiting(c *snapshot.Codec) {
	n := c.Len(len(w.waiting), 8)
	for i := 0; i < n && c.Err() == nil; i++ {
		var b []byte
		if c.Writing() {
			b = w.waiting[i].bytes
		}
		c.Bytes(&b)
		if c.Writing() || c.Err() != nil {
			continue
		}
		h, err := telemetry.EncodedFrame(b).Header()
		if err != nil || w.schemas[h.Fingerprint] != nil {
			c.Fail(errors.New("window: waiting frame does not belong"))
			return
		}
		w.waiting = append(w.waiting, waiting{h, b})
		w.pending += len(b)
	}
}
