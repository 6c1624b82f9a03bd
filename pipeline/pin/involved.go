package pin

import (
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxBytes bounds the frames of one pinned trace, as encoded.
const maxBytes = 256 << 20

// involved decides which part of the log belongs to an incident: the hosts of the
// degraded jobs, which are each other's peers, the switches they are cabled to and
// those the incident names, and everything that is not a host's or a switch's
// (power, cooling, storage, jobs), which is little. Statements are kept whole.
type involved struct {
	owners  map[telemetry.Entity]bool // hosts and switches
	wanted  map[telemetry.Fingerprint]bool
	bytes   int
	dropped uint64 // frames beyond maxBytes
}

func newInvolved(in *explain.Incident) *involved {
	v := &involved{owners: map[telemetry.Entity]bool{}, wanted: map[telemetry.Fingerprint]bool{}}
	v.name(in)
	return v
}

// name adds the entities that an incident names.
func (v *involved) name(in *explain.Incident) {
	for _, e := range in.Impact.Entities {
		v.own(e)
	}
	v.own(in.Root.Entity)
	for _, l := range in.Chain {
		v.own(l.Entity)
	}
	for _, a := range in.Alternatives {
		v.own(a.Entity)
	}
}

func (v *involved) own(e telemetry.Entity) {
	if o, ok := owner(e); ok {
		v.owners[o] = true
	}
}

// owner returns the host or switch that an entity is, or is contained in by its
// name.
func owner(e telemetry.Entity) (telemetry.Entity, bool) {
	switch e.Kind {
	case telemetry.Node, telemetry.Switch:
		return e, true
	case telemetry.GPU, telemetry.NIC, telemetry.NVLink, telemetry.NVSwitch, telemetry.Fan:
		return telemetry.Entity{Kind: telemetry.Node, Name: first(e.Name)}, true
	case telemetry.Port, telemetry.Queue:
		return telemetry.Entity{Kind: telemetry.Switch, Name: first(e.Name)}, true
	}
	return telemetry.Entity{}, false
}

func first(name string) string {
	part, _, _ := strings.Cut(name, "/")
	return part
}

// keep reports whether a record belongs to the incident.
func (v *involved) keep(r *telemetry.Record) bool {
	switch r.Kind {
	case telemetry.EdgeRecord:
		v.cabled(r.Edge)
	case telemetry.SchemaRecord:
		if v.states(r.Schema) {
			v.wanted[r.Schema.Fingerprint()] = true
		}
	case telemetry.FrameRecord:
		return v.frame(r.Frame)
	}
	return true
}

// cabled takes the switch at the other end of a host's cable for involved, too.
func (v *involved) cabled(e *telemetry.Edge) {
	if e.Relation != telemetry.Connects {
		return
	}
	a, okA := owner(e.From)
	b, okB := owner(e.To)
	if !okA || !okB {
		return
	}
	if a.Kind == telemetry.Node && v.owners[a] {
		v.owners[b] = true
	}
	if b.Kind == telemetry.Node && v.owners[b] {
		v.owners[a] = true
	}
}

func (v *involved) states(s *telemetry.Schema) bool {
	for _, e := range s.Entities {
		if o, ok := owner(e); !ok || v.owners[o] {
			return true
		}
	}
	return false
}

func (v *involved) frame(f telemetry.EncodedFrame) bool {
	h, err := f.Header()
	if err != nil || !v.wanted[h.Fingerprint] {
		return false
	}
	if v.bytes += len(f); v.bytes > maxBytes {
		v.dropped++
		return false
	}
	return true
}
