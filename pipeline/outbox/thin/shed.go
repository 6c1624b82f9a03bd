package thin

import (
	"github.com/quintet-dc/quintet/telemetry"
)

// shed drops what exceeds the bounds: events beyond their bound, and, as a last
// resort, any records. Records with the least information go first: a frame with a
// newer one of the same schema, then events, then the last frames, then everything
// else; the oldest first each time.
func (t *thinner) shed() error {
	total, events := 0, 0
	for i := range t.slots {
		if s := &t.slots[i]; !s.gone {
			total += s.size
			if s.kind == telemetry.EventRecord {
				events += s.size
			}
		}
	}
	isEvent := func(s *slot) bool { return s.kind == telemetry.EventRecord }
	n, err := t.drop(events-t.pass.Events, isEvent)
	total -= n
	if !t.pass.Shed {
		return err
	}
	keep := t.pass.Keep
	if keep == 0 {
		keep = total / 2
	}
	newest := t.newestFrames()
	for _, goes := range []func(*slot) bool{
		func(s *slot) bool {
			return s.kind == telemetry.FrameRecord && newest[s.frame.Fingerprint] != s
		},
		isEvent,
		func(s *slot) bool { return s.kind == telemetry.FrameRecord },
		func(*slot) bool { return true },
	} {
		if err != nil {
			return err
		}
		n, err = t.drop(total-keep, goes)
		total -= n
	}
	return err
}

func (t *thinner) newestFrames() map[telemetry.Fingerprint]*slot {
	newest := map[telemetry.Fingerprint]*slot{}
	for i := range t.slots {
		if s := &t.slots[i]; s.kind == telemetry.FrameRecord {
			newest[s.frame.Fingerprint] = s
		}
	}
	return newest
}

// drop gives up the oldest slots that may go until at least so many bytes are
// freed, and returns how many were.
func (t *thinner) drop(bytes int, goes func(*slot) bool) (freed int, err error) {
	for i := range t.slots {
		s := &t.slots[i]
		if freed >= bytes {
			return freed, nil
		}
		if s.gone || !goes(s) {
			continue
		}
		if err := t.account(int32(i)); err != nil {
			return freed, err
		}
		s.gone = true
		freed += s.size
	}
	return freed, nil
}

// account counts an entry that is given up.
func (t *thinner) account(i int32) error {
	s, gone := &t.slots[i], &t.result.Dropped
	switch s.kind {
	case telemetry.EventRecord:
		gone.Events++
	case telemetry.FrameRecord:
		gone.Frames++
		schema := t.schema(s.frame.Fingerprint)
		e, err := t.tape.Entry(int(i))
		if err != nil {
			return err
		}
		gone.Add(t.merger.contents(schema, e.Record[1:]))
	default:
		gone.Others++
	}
	return nil
}

// contents counts the contents of a frame; nothing if its schema is not known.
func (m *merger) contents(s *telemetry.Schema, b telemetry.EncodedFrame) (removed Removal) {
	if s == nil || m.decoder.Decode(b, s, &m.frame) != nil {
		return removed
	}
	if m.frame.States == nil {
		removed.Samples = uint64(len(m.frame.Words))
	}
	for _, state := range m.frame.States {
		removed.count(state)
	}
	return removed
}

// Count returns what is lost with a record; schemas finds the record of a frame's
// schema, and a frame of an unknown schema counts as a frame only.
func Count(record []byte, schemas func(telemetry.Fingerprint) []byte) (r Removal) {
	switch KindOf(record) {
	case telemetry.EventRecord:
		return Removal{Events: 1}
	case telemetry.FrameRecord:
		r.Frames = 1
	default:
		return Removal{Others: 1}
	}
	if parsed, err := telemetry.ParseRecord(schemas(FramePrint(record))); err == nil && parsed.Schema != nil {
		var m merger
		r.Add(m.contents(parsed.Schema, record[1:]))
	}
	return r
}
