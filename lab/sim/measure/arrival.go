package measure

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// delayed is a record that has not arrived yet.
type delayed struct {
	arrives telemetry.Duration
	frame   []byte           // of a frame
	event   *telemetry.Event // else of an event
}

// deliver emits a frame that has arrived by now, and keeps another.
func (m *Meter) deliver(frame []byte, arrives, now telemetry.Duration, emit func(*telemetry.Record) error) error {
	if arrives <= now {
		m.record = telemetry.Record{Kind: telemetry.FrameRecord, Frame: frame}
		return emit(&m.record)
	}
	var b []byte
	if n := len(m.free); n > 0 {
		b, m.free = m.free[n-1], m.free[:n-1]
	}
	m.delay(delayed{arrives: arrives, frame: append(b[:0], frame...)})
	return nil
}

// delay keeps a record in the order of arrival; of two that arrive together the
// one that was sent first comes first.
func (m *Meter) delay(h delayed) {
	i := len(m.waiting)
	for i > 0 && m.waiting[i-1].arrives > h.arrives {
		i--
	}
	m.waiting = slices.Insert(m.waiting, i, h)
}

// release emits what has arrived by now.
func (m *Meter) release(now telemetry.Duration, emit func(*telemetry.Record) error) error {
	n, _ := slices.BinarySearchFunc(m.waiting, now+1, func(h delayed, t telemetry.Duration) int { return cmp.Compare(h.arrives, t) })
	for i := range m.waiting[:n] {
		h := &m.waiting[i]
		m.record = telemetry.Record{Kind: telemetry.FrameRecord, Frame: h.frame}
		if h.event != nil {
			m.record = telemetry.Record{Kind: telemetry.EventRecord, Event: h.event}
		}
		if err := emit(&m.record); err != nil {
			return err
		}
		if h.frame != nil {
			m.free = append(m.free, h.frame)
		}
	}
	m.waiting = slices.Delete(m.waiting, 0, n)
	return nil
}
