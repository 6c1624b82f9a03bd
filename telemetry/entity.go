package telemetry

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what an entity is: node, nic, switch, port …
type Kind string

// The kinds of entities.
const (
	Site      Kind = "site"
	Hall      Kind = "hall"
	Row       Kind = "row"
	Rack      Kind = "rack"
	Node      Kind = "node"
	GPU       Kind = "gpu"
	NIC       Kind = "nic"
	Switch    Kind = "switch"
	Port      Kind = "port"
	Queue     Kind = "queue"
	NVSwitch  Kind = "nvswitch"
	NVLink    Kind = "nvlink"
	Optic     Kind = "optic"
	PSU       Kind = "psu"
	PDU       Kind = "pdu"
	Feed      Kind = "feed"
	Breaker   Kind = "breaker"
	Shelf     Kind = "shelf"
	UPS       Kind = "ups"
	Battery   Kind = "battery"
	CDU       Kind = "cdu"
	Loop      Kind = "loop"
	Pump      Kind = "pump"
	Valve     Kind = "valve"
	Fan       Kind = "fan"
	CRAH      Kind = "crah"
	Job       Kind = "job"
	Rank      Kind = "rank"
	SM        Kind = "sm"
	Storage   Kind = "storage"
	Plane     Kind = "plane"
	Rail      Kind = "rail"
	Tenant    Kind = "tenant"
	Group     Kind = "group"
	Collector Kind = "collector"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{Site, Hall, Row, Rack, Node, GPU, NIC, Switch, Port, Queue, NVSwitch, NVLink, Optic, PSU, PDU, Feed,
		Breaker, Shelf, UPS, Battery, CDU, Loop, Pump, Valve, Fan, CRAH, Job, Rank, SM, Storage, Plane, Rail, Tenant, Group, Collector}
}

// MaxNameBytes is the longest entity name.
const MaxNameBytes = 200

// Entity is a thing with an identity. Name is built from the outside in with
// '/': "leaf3/eth12" is a port of switch leaf3. A '/' inside a part is written
// %2F. Entities are comparable and order by kind, then name.
type Entity struct {
	Kind Kind
	Name string
}

// String returns "kind:name".
func (e Entity) String() string {
	if e == (Entity{}) {
		return ""
	}
	return string(e.Kind) + ":" + e.Name
}

// IsZero reports whether e names nothing.
func (e Entity) IsZero() bool { return e == Entity{} }

// Compare orders entities by kind, then name.
func (e Entity) Compare(o Entity) int {
	if c := cmp.Compare(e.Kind, o.Kind); c != 0 {
		return c
	}
	return cmp.Compare(e.Name, o.Name)
}

// Prefix returns the name up to its last '/', which is the name of the entity
// that contains it where containment is not stated ("leaf3" for
// port:leaf3/eth12), and "" where there is none.
func (e Entity) Prefix() string {
	i := strings.LastIndexByte(e.Name, '/')
	if i < 0 {
		return ""
	}
	return e.Name[:i]
}

// Validate reports what is wrong with e: an unknown kind, an empty or overlong
// name, invalid UTF-8, a space or a control character.
func (e Entity) Validate() error {
	if !knownKind(e.Kind) {
		return fmt.Errorf("entity %q: unknown kind %q", e.String(), e.Kind)
	}
	switch {
	case e.Name == "":
		return fmt.Errorf("entity %q: empty name", e.String())
	case len(e.Name) > MaxNameBytes:
		return fmt.Errorf("entity %.40q…: name of %d bytes, at most %d", e.String(), len(e.Name), MaxNameBytes)
	case !utf8.ValidString(e.Name):
		return fmt.Errorf("entity %q: name is not UTF-8", e.String())
	}
	for _, r := range e.Name {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return fmt.Errorf("entity %q: space or control character %q in name", e.String(), r)
		}
	}
	return nil
}

// ParseEntity reads "kind:name" and validates it.
func ParseEntity(s string) (Entity, error) {
	k, n, ok := strings.Cut(s, ":")
	if !ok {
		return Entity{}, fmt.Errorf("entity %.60q: want kind:name", s)
	}
	e := Entity{Kind: Kind(k), Name: n}
	return e, e.Validate()
}

// MarshalText implements encoding.TextMarshaler.
func (e Entity) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; an empty text is the zero
// Entity.
func (e *Entity) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*e = Entity{}
		return nil
	}
	*e, err = ParseEntity(string(b))
	return err
}

func knownKind(k Kind) bool {
	switch k {
	case Site, Hall, Row, Rack, Node, GPU, NIC, Switch, Port, Queue, NVSwitch, NVLink, Optic, PSU, PDU, Feed, Breaker, Shelf, UPS,
		Battery, CDU, Loop, Pump, Valve, Fan, CRAH, Job, Rank, SM, Storage, Plane, Rail, Tenant, Group, Collector:
		return true
	}
	return false
}

// Series is what a sample belongs to: an entity and a metric, nothing else.
type Series struct {
	Entity Entity
	Metric MetricName
}

// String returns "kind:name metric".
func (s Series) String() string { return s.Entity.String() + " " + string(s.Metric) }

// Compare orders series by entity, then metric.
func (s Series) Compare(o Series) int {
	if c := s.Entity.Compare(o.Entity); c != 0 {
		return c
	}
	return cmp.Compare(s.Metric, o.Metric)
}

// NamePart writes text as one part of an entity's name: a '/', a space or a
// control character as %XX, each byte of it.
func NamePart(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c == '/' || unicode.IsSpace(c) || unicode.IsControl(c) {
			for _, x := range []byte(string(c)) {
				fmt.Fprintf(&b, "%%%02X", x)
			}
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
