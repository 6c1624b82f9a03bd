package trace

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// SeekTime moves to the first record at or after an instant. What was stated
// before it and is still valid (schemas, config, edges) is given first, with the
// positions at which it was stated. It clears an end reached before.
func (t *Reader) SeekTime(at telemetry.Time) error {
	t.err, t.open, t.rest, t.pending = nil, nil, nil, nil
	target := len(t.segs)
	for i := range t.segs {
		if h := &t.segs[i].head; t.segs[i].bad == nil && h.kind == recordsBlock && h.max >= at {
			target = i
			break
		}
	}
	if err := t.loadContext(target); err != nil {
		return err
	}
	t.seg, t.from, t.seeking = target, at, true
	return nil
}

// loadContext gathers the context that is valid at a segment: the last statement of
// it, and what was newly stated since.
func (t *Reader) loadContext(target int) error {
	from := 0
	for i := target - 1; i >= 0 && from == 0; i-- {
		if t.segs[i].bad == nil && t.segs[i].head.kind == contextBlock {
			for from = i; from > 0 && t.segs[from-1].bad == nil && t.segs[from-1].head.kind == contextBlock; {
				from--
			}
		}
	}
	var found contextAt
	for i := from; i < target; i++ {
		h := &t.segs[i].head
		if t.segs[i].bad == nil && h.kind != contextBlock && (h.kind != recordsBlock || h.flags&flagNewContext == 0) {
			continue
		}
		if err := t.gather(i, &found); err != nil {
			if e := t.blockError(i, err); !t.skip {
				return e
			} else {
				t.skipped = append(t.skipped, e)
			}
		}
	}
	for _, s := range found.ordered() {
		r, err := telemetry.ParseRecord(s.body)
		if err != nil {
			return fmt.Errorf("read trace: position %d: %w", s.position, err)
		}
		t.pending = append(t.pending, Entry{Position: s.position, Record: &r})
	}
	return nil
}

// gather notes the context records of one block.
func (t *Reader) gather(i int, found *contextAt) error {
	s := &t.segs[i]
	if s.bad != nil {
		return s.bad
	}
	p, err := t.payload(s)
	if err != nil {
		return err
	}
	for position := s.head.first; len(p) > 0; {
		delta, digest, body, rest, err := cutEntry(p)
		if err != nil {
			return err
		}
		position, p = position+delta, rest
		if digest {
			continue
		}
		r, err := telemetry.ParseRecord(body)
		if err != nil {
			return fmt.Errorf("position %d: %w", position, err)
		}
		if key := contextKey(&r); key != "" {
			found.state(key, position, body)
		}
	}
	return nil
}
