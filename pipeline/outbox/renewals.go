package outbox

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// renewedSchema is a schema that may have to be renewed.
type renewedSchema struct {
	record []byte
	order  uint64 // of being stated; of those that were replaced, the oldest goes first
	old    bool   // its source has a newer one
}

// renewedEdge is an edge that is valid.
type renewedEdge struct {
	edge    telemetry.Edge
	size    int
	stored  bool           // what it states now is known to be in the log
	renewed telemetry.Time // when it was last stated again; zero if never
}

// renewals keeps the records that are emitted once and must be renewed: the newest
// schema of every source, older ones while there is room, because their frames may
// still be in transit, and every edge that has not ended. It is bounded in bytes.
type renewals struct {
	limit, bytes int
	order        uint64
	schemas      map[telemetry.Fingerprint]*renewedSchema
	newest       map[telemetry.Source]telemetry.Fingerprint
	edges        map[telemetry.EdgeIdentity]*renewedEdge
}

func newRenewals(limit int) renewals {
	return renewals{limit: limit, schemas: map[telemetry.Fingerprint]*renewedSchema{},
		newest: map[telemetry.Source]telemetry.Fingerprint{}, edges: map[telemetry.EdgeIdentity]*renewedEdge{}}
}

// schema keeps a schema; false means that there is no room.
func (t *renewals) schema(s *telemetry.Schema, record []byte) bool {
	fp := thin.SchemaPrint(record)
	t.order++
	if known := t.schemas[fp]; known != nil {
		known.old, known.order = false, t.order
	} else {
		size := len(record) + 128
		if !t.makeRoom(size) {
			return false
		}
		t.bytes += size
		t.schemas[fp] = &renewedSchema{record: slices.Clone(record), order: t.order}
	}
	if before, ok := t.newest[s.Source]; ok && before != fp && t.schemas[before] != nil {
		t.schemas[before].old = true
	}
	t.newest[s.Source] = fp
	return true
}

// makeRoom drops schemas that were replaced, the oldest first.
func (t *renewals) makeRoom(size int) bool {
	for t.bytes+size > t.limit {
		var oldest telemetry.Fingerprint
		var at *renewedSchema
		for fp, s := range t.schemas {
			if s.old && (at == nil || s.order < at.order) {
				oldest, at = fp, s
			}
		}
		if at == nil {
			return false
		}
		t.bytes -= len(at.record) + 128
		delete(t.schemas, oldest)
	}
	return true
}

// record returns the bytes that state a schema, nil if it is not remembered.
func (t *renewals) record(fp telemetry.Fingerprint) []byte {
	if s := t.schemas[fp]; s != nil {
		return s.record
	}
	return nil
}

// edge keeps an edge, or removes it when it ends; false means that there is no
// room. A statement that is no newer than this outbox's own renewal of the edge
// would be taken for an older one by readers of both, so it is dated after the
// renewal.
func (t *renewals) edge(e *telemetry.Edge) bool {
	key := e.Identity()
	known := t.edges[key]
	if known != nil && known.renewed != 0 && e.Received <= known.renewed {
		e.Received = known.renewed + 1
	}
	if known != nil {
		t.bytes -= known.size
		delete(t.edges, key)
	}
	if e.End != 0 {
		return true
	}
	size := edgeSize(e)
	if !t.makeRoom(size) {
		return false
	}
	t.bytes += size
	renewed := &renewedEdge{edge: *e, size: size}
	if known != nil {
		renewed.renewed = known.renewed
	}
	t.edges[key] = renewed
	return true
}

// edgeSize is about what remembering an edge takes.
func edgeSize(e *telemetry.Edge) int {
	n := 320 + len(e.From.Name) + len(e.To.Name) + len(e.Source)
	for _, a := range e.Attrs {
		n += 32 + len(a.Key) + len(a.Value)
	}
	return n
}

// edgeStored records that the log has a statement of an edge.
func (t *renewals) edgeStored(e *telemetry.Edge) {
	if known := t.edges[e.Identity()]; known != nil && known.edge.Received == e.Received && known.edge.Compare(e) == 0 {
		known.stored = true
	}
}

// openEdges lists the edges whose newest statement the log has, in order. Those
// on their way are not renewed: the renewal would overtake them. Nothing is on
// its way where everything was sent: then what the log has not, it never got.
func (t *renewals) openEdges(everythingSent bool) []telemetry.EdgeIdentity {
	keys := make([]telemetry.EdgeIdentity, 0, len(t.edges))
	for k, e := range t.edges {
		if e.stored = e.stored || everythingSent; e.stored {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b telemetry.EdgeIdentity) int { return t.edges[a].edge.Compare(&t.edges[b].edge) })
	return keys
}

// renewEdge appends the record that renews an edge at a time; it returns dst
// unchanged if there is nothing to renew.
func (t *renewals) renewEdge(dst []byte, key telemetry.EdgeIdentity, at telemetry.Time) []byte {
	known := t.edges[key]
	if known == nil || !known.stored {
		return dst
	}
	e := known.edge
	e.Received = max(at, e.Received+1, known.renewed+1)
	b, err := telemetry.AppendRecord(dst, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e})
	if err != nil {
		return dst
	}
	known.renewed = e.Received
	return b
}

// current lists the newest schema of every source, in the order in which they were
// emitted.
func (t *renewals) current() []telemetry.Fingerprint {
	var fps []telemetry.Fingerprint
	for fp, s := range t.schemas {
		if !s.old {
			fps = append(fps, fp)
		}
	}
	slices.SortFunc(fps, func(a, b telemetry.Fingerprint) int { return cmp.Compare(t.schemas[a].order, t.schemas[b].order) })
	return fps
}
