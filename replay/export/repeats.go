package export

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxRemembered bounds the events, and the edges, that are known again.
const maxRemembered = 1 << 18

// repeats knows what had come before. A log holds a record twice where its
// sender could not know that the first had arrived; the second follows soon.
type repeats struct {
	frames map[life]*numbers
	events map[happening]bool
	edges  map[telemetry.EdgeIdentity]telemetry.Edge
}

// life is a source from one of its starts to the next.
type life struct {
	source      telemetry.Source
	incarnation uint64
}

// numbers are the newest sequence number of a life and, bit by bit, which of the
// 64 up to it have come.
type numbers struct{ newest, came uint64 }

// happening is what makes two events one: entity, time, name and text.
type happening struct {
	entity telemetry.Entity
	at     telemetry.Time
	name   telemetry.EventName
	text   string
}

func newRepeats() repeats {
	return repeats{map[life]*numbers{}, map[happening]bool{}, map[telemetry.EdgeIdentity]telemetry.Edge{}}
}

// frame reports whether this frame of a source came before.
func (r *repeats) frame(s telemetry.Source, h *telemetry.FrameHeader) bool {
	key := life{s, h.Incarnation}
	n := r.frames[key]
	if n == nil {
		r.frames[key] = &numbers{h.Sequence, 1}
		return false
	}
	return n.take(h.Sequence)
}

// take notes a number and reports whether it had come before. One that is 64 or
// more behind is taken for new: nothing states that it is not.
func (n *numbers) take(seq uint64) (again bool) {
	if seq > n.newest {
		n.came = n.came<<(seq-n.newest) | 1
		n.newest = seq
		return false
	}
	bit := uint64(1) << (n.newest - seq) // zero from 64 on
	again = n.came&bit != 0
	n.came |= bit
	return again
}

// event reports whether this event came before.
func (r *repeats) event(e *telemetry.Event) bool {
	key := happening{e.Entity, e.At, e.Name, e.Text}
	if r.events[key] {
		return true
	}
	if len(r.events) >= maxRemembered {
		clear(r.events)
	}
	r.events[key] = true
	return false
}

// edge reports whether this edge is only stated again, as it was.
func (r *repeats) edge(e *telemetry.Edge) bool {
	id := e.Identity()
	if old, ok := r.edges[id]; ok && old.End == e.End && slices.Equal(old.Attrs, e.Attrs) {
		return true
	}
	if len(r.edges) >= maxRemembered {
		clear(r.edges)
	}
	r.edges[id] = *e
	return false
}
