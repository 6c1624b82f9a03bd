package trace

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// times returns the span of authoritative time that r refers to; ok is false
// for what has none (schemas, config, edges).
func times(r *telemetry.Record) (first, last telemetry.Time, ok bool, err error) {
	switch r.Kind {
	case telemetry.FrameRecord:
		h, err := r.Frame.Header()
		if err != nil {
			return 0, 0, false, err
		}
		return h.First, h.Last, h.Instants > 0, nil
	case telemetry.EventRecord:
		return r.Event.At, r.Event.At, true, nil
	case telemetry.TickRecord:
		return r.Tick.At, r.Tick.At, true, nil
	}
	return 0, 0, false, nil
}

// contextKey names what a schema, config or edge record states, so that a later
// statement replaces an earlier one; "" for every other record.
func contextKey(r *telemetry.Record) string {
	switch r.Kind {
	case telemetry.SchemaRecord:
		return "s" + string(binary.LittleEndian.AppendUint64(nil, uint64(r.Schema.Fingerprint())))
	case telemetry.ConfigRecord:
		return "c" + string(r.Config.Key)
	case telemetry.EdgeRecord:
		e := r.Edge
		start := binary.LittleEndian.AppendUint64(nil, uint64(e.Start))
		return "e" + e.From.String() + " " + e.To.String() + " " + string(e.Relation) + " " + string(start) + e.Source
	}
	return ""
}

// statement is a context record as it was last stated.
type statement struct {
	position uint64
	body     []byte
}

// contextAt is what has been stated so far: what a reader needs who begins
// here. Its size is that of the site's description, not of the log.
type contextAt struct {
	statements map[string]statement
	bytes      int
}

// state notes a statement and reports whether it is new.
func (s *contextAt) state(key string, position uint64, body []byte) bool {
	if s.statements == nil {
		s.statements = map[string]statement{}
	}
	old, known := s.statements[key]
	if known && string(old.body) == string(body) {
		return false
	}
	s.bytes += len(body) - len(old.body)
	s.statements[key] = statement{position, slices.Clone(body)}
	return true
}

// ordered returns the statements in the order of the log.
func (s *contextAt) ordered() []statement {
	all := make([]statement, 0, len(s.statements))
	for _, st := range s.statements {
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b statement) int { return cmp.Compare(a.position, b.position) })
	return all
}
