package play

import (
	"slices"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// defaultRenew is how often a live site states again what is still the case.
const defaultRenew = telemetry.Duration(5 * time.Minute)

// siteContext holds the statements that are in force and that the recording does not
// renew: a reader of the log who begins late needs them. Its size is that of the
// site's description.
type siteContext struct {
	place      map[key]int // into records
	statements []*telemetry.Record
}

// key names what a record states, so that a later statement replaces it.
type key struct {
	kind     telemetry.RecordKind
	schema   telemetry.Fingerprint
	config   telemetry.ConfigKey
	from, to telemetry.Entity
	relation telemetry.Relation
	source   string
	start    telemetry.Time
}

// note keeps a statement, or drops one that is no longer valid.
func (s *siteContext) note(r *telemetry.Record) {
	k, ok := keyOf(r)
	if !ok {
		return
	}
	at, known := s.place[k]
	if r.Kind == telemetry.EdgeRecord && (r.Edge.Received != 0 || r.Edge.End != 0) {
		r = nil // it has ended, or whoever stated it renews it
	}
	switch {
	case known:
		s.statements[at] = r
	case r != nil:
		if s.place == nil {
			s.place = map[key]int{}
		}
		s.place[k] = len(s.statements)
		s.statements = append(s.statements, r)
	}
}

func keyOf(r *telemetry.Record) (key, bool) {
	k := key{kind: r.Kind}
	switch r.Kind {
	case telemetry.SchemaRecord:
		k.schema = r.Schema.Fingerprint()
	case telemetry.ConfigRecord:
		k.config = r.Config.Key
	case telemetry.EdgeRecord:
		e := r.Edge
		k.from, k.to, k.relation, k.source, k.start = e.From, e.To, e.Relation, e.Source, e.Start
	default:
		return key{}, false
	}
	return k, true
}

// records gives what is valid, in the order in which it was first stated.
func (s *siteContext) records() []*telemetry.Record {
	return slices.DeleteFunc(slices.Clone(s.statements), func(r *telemetry.Record) bool { return r == nil })
}
