package grants

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// account is what one process has used of its budget. All of it follows from the
// log: from what the process stated, and from the ticks.
type account struct {
	budget Budget
	now    int64 // slot of the tick up to which the queues have expired

	schemas                int // remembered
	series                 bucket
	records, bytes, events bucket
	stated                 bucket // edges

	waiting queue // bytes of frames, by the slot in which their grid is closed
	unknown queue // frames without a schema
	ahead   queue // events and edges
	edges   map[uint64]struct{}
}

// account returns that of a process.
func (g *Gate) account(process string) *account {
	a := g.accounts[process]
	if a == nil {
		a = &account{budget: g.grants[process].Effective()}
		for _, b := range []*bucket{&a.series, &a.records, &a.bytes, &a.events, &a.stated} {
			b.At = g.tick
		}
		g.accounts[process] = a
	}
	if now := slot(g.tick); now != a.now {
		a.now = now
		a.waiting.expire(now)
		a.unknown.expire(now)
		a.ahead.expire(now)
	}
	return a
}

// rate charges a record to the rates of its process.
func (a *account) rate(tick telemetry.Time, r *telemetry.Record) Reason {
	a.records.drain(tick, telemetry.Duration(1e9), int64(a.budget.Records))
	if !a.records.take(1, burst*int64(a.budget.Records)) {
		return OverRecords
	}
	a.bytes.drain(tick, telemetry.Duration(1e9), int64(a.budget.Bytes))
	if !a.bytes.take(size(r), burst*int64(a.budget.Bytes)) {
		return OverBytes
	}
	return ""
}

// size is about what a record takes in the log, in bytes.
func size(r *telemetry.Record) int64 {
	n := 16
	switch r.Kind {
	case telemetry.FrameRecord:
		n += len(r.Frame)
	case telemetry.SchemaRecord:
		for _, e := range r.Schema.Entities {
			n += len(e.Kind) + len(e.Name)
		}
		for _, c := range r.Schema.Columns {
			n += len(c.Metric) + 4
		}
	case telemetry.EventRecord:
		n += len(r.Event.Entity.Name) + len(r.Event.Name) + len(r.Event.Text)
	case telemetry.EdgeRecord:
		n += len(r.Edge.From.Name) + len(r.Edge.To.Name)
		for _, at := range r.Edge.Attrs {
			n += len(at.Key) + len(at.Value)
		}
	}
	return int64(n)
}

// fresh charges the series of a schema that was not known.
func (a *account) fresh(tick telemetry.Time, s *telemetry.Schema) Reason {
	most := int64(a.budget.Series)
	a.series.drain(tick, telemetry.Duration(3600e9), most/seriesWeek)
	if !a.series.take(int64(s.Len()), most) {
		return OverSeries
	}
	return ""
}

// frame charges what a frame makes the engine keep until its grid is closed. known is
// its schema's; nil if it was not stated. The engine refuses what is too far ahead.
func (a *account) frame(tick telemetry.Time, b telemetry.EncodedFrame, h telemetry.FrameHeader, known *stated) Reason {
	class := telemetry.Batch
	keeps := int64(len(b))
	if known != nil {
		class = known.class
		if h.Instants > 1 { // it is kept decoded
			keeps += int64(9 * h.Instants * known.series)
		}
	}
	lateness := telemetry.DefaultLateness()[class]
	if tick != 0 && h.Last > tick.Add(lateness+frameAhead) {
		return ""
	}
	due := slot(h.Last) + int64(lateness/slotLength) + 2
	if known == nil && !a.unknown.add(due, a.now, 1, maxUnknown) {
		return NoSchema
	}
	if !a.waiting.add(due, a.now, keeps, min(waitSeconds*int64(a.budget.Bytes), maxWaiting)) {
		return OverWaiting
	}
	return ""
}

// event charges an event.
func (a *account) event(tick telemetry.Time, e *telemetry.Event) Reason {
	a.events.drain(tick, telemetry.Duration(1e9), int64(a.budget.Events))
	if !a.events.take(1, burst*int64(a.budget.Events)) {
		return OverEvents
	}
	if tick != 0 && e.At > tick.Add(aheadAtMost) || !a.ahead.add(slot(e.At), a.now, 1, maxAhead) {
		return OverAhead
	}
	return ""
}

// edge charges an edge.
func (a *account) edge(tick telemetry.Time, e *telemetry.Edge) Reason {
	soon := tick.Add(aheadAtMost)
	if tick != 0 && e.Received > soon || !a.ahead.add(slot(max(e.Start, e.Received)), a.now, 1, maxAhead) {
		return OverAhead
	}
	most := a.budget.Edges
	if most == 0 {
		return ""
	}
	rate := int64(most / edgesAgain)
	if a.stated.drain(tick, telemetry.Duration(1e9), rate); !a.stated.take(1, burst*rate) {
		return OverEdges
	}
	key := edgeKey(e)
	_, known := a.edges[key]
	switch {
	case e.End != 0 && e.End <= soon:
		delete(a.edges, key)
	case known:
	case len(a.edges) >= most:
		return OverEdges
	default:
		if a.edges == nil {
			a.edges = map[uint64]struct{}{}
		}
		a.edges[key] = struct{}{}
	}
	return ""
}

// edgeKey is a key of an edge. Finding two edges with the same key is not cheap.
func edgeKey(e *telemetry.Edge) uint64 {
	b := make([]byte, 0, 256)
	for _, s := range []string{string(e.From.Kind), e.From.Name, string(e.Relation), string(e.To.Kind), e.To.Name, e.Source} {
		b = append(append(b, s...), 0)
	}
	h := sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(e.Start)))
	return binary.LittleEndian.Uint64(h[:])
}

// accountSnapshot is the state of an account, but for its schemas.
type accountSnapshot struct {
	Process string     `json:"process"`
	Series  bucket     `json:"series"`
	Records bucket     `json:"records"`
	Bytes   bucket     `json:"bytes"`
	Events  bucket     `json:"events"`
	Stated  bucket     `json:"stated"`
	Now     int64      `json:"now"`
	Waiting [][2]int64 `json:"waiting,omitempty"`
	Unknown [][2]int64 `json:"unknown,omitempty"`
	Ahead   [][2]int64 `json:"ahead,omitempty"`
	Edges   []byte     `json:"edges,omitempty"` // keys, eight bytes each, in order
}

func (a *account) snapshot(process string) accountSnapshot {
	s := accountSnapshot{Process: process, Series: a.series, Records: a.records, Bytes: a.bytes, Events: a.events, Stated: a.stated, Now: a.now,
		Waiting: a.waiting.pairs(), Unknown: a.unknown.pairs(), Ahead: a.ahead.pairs()}
	for _, key := range slices.Sorted(maps.Keys(a.edges)) {
		s.Edges = binary.LittleEndian.AppendUint64(s.Edges, key)
	}
	return s
}

// restore puts an account into the state of a snapshot.
func (a *account) restore(s *accountSnapshot) error {
	if len(s.Edges)%8 != 0 {
		return fmt.Errorf("account of %.60q: %d bytes of edges", s.Process, len(s.Edges))
	}
	a.series, a.records, a.bytes, a.events, a.stated, a.now = s.Series, s.Records, s.Bytes, s.Events, s.Stated, s.Now
	a.waiting, a.unknown, a.ahead = queueOf(s.Waiting), queueOf(s.Unknown), queueOf(s.Ahead)
	for b := s.Edges; len(b) > 0; b = b[8:] {
		if a.edges == nil {
			a.edges = make(map[uint64]struct{}, len(s.Edges)/8)
		}
		a.edges[binary.LittleEndian.Uint64(b)] = struct{}{}
	}
	return nil
}

func (q *queue) pairs() (out [][2]int64) {
	for _, due := range slices.Sorted(maps.Keys(q.slots)) {
		out = append(out, [2]int64{due, q.slots[due]})
	}
	return out
}

func queueOf(pairs [][2]int64) (q queue) {
	for _, p := range pairs {
		q.add(p[0], p[0]-1, p[1], 1<<62)
	}
	return q
}
