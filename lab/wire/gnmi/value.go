package gnmi

import (
	"math"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/quintet-dc/quintet/telemetry"
)

// kind is what a value is.
type kind uint8

const (
	whole kind = iota
	real
	text
	truth
	document // JSON
)

// value is what a leaf has now. Values can be compared.
type value struct {
	kind kind
	u    uint64
	f    float64
	s    string
}

func textOf(s string) value { return value{kind: text, s: s} }

// json writes a value as JSON; IETF has numbers of 64 bits as text (RFC 7951).
func (v value) json(ietf bool) string {
	switch v.kind {
	case whole:
		s := strconv.FormatUint(v.u, 10)
		if ietf {
			return strconv.Quote(s)
		}
		return s
	case real:
		s := strconv.FormatFloat(v.f, 'f', -1, 64)
		if ietf {
			return strconv.Quote(s)
		}
		return s
	case truth:
		return strconv.FormatBool(v.u == 1)
	case document:
		return v.s
	}
	return strconv.Quote(v.s)
}

// typed writes a value in an encoding.
func (v value) typed(enc gpb.Encoding) *gpb.TypedValue {
	switch {
	case enc == gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(v.json(false))}}
	case enc == gpb.Encoding_JSON_IETF || v.kind == document:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(v.json(true))}}
	case v.kind == whole:
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v.u}}
	case v.kind == real:
		return &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: v.f}}
	case v.kind == truth:
		return &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: v.u == 1}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: v.s}}
}

// leaf is a value that a switch can report.
type leaf struct {
	prefix []elem // of the notification that it is sent in
	path   []elem // below that
	read   func() (value, telemetry.Time, bool)
}

// elem is an element of a path with at most one key.
type elem struct{ name, key, value string }

func el(names ...string) (out []elem) {
	for _, n := range names {
		out = append(out, elem{name: n})
	}
	return out
}

func keyed(name, key, value string) elem { return elem{name, key, value} }

// pathOf writes elements as gNMI has them.
func pathOf(es []elem) *gpb.Path {
	p := &gpb.Path{}
	for _, e := range es {
		x := &gpb.PathElem{Name: e.name}
		if e.key != "" {
			x.Key = map[string]string{e.key: e.value}
		}
		p.Elem = append(p.Elem, x)
	}
	return p
}

// constant is a leaf's reading that never changes.
func constant(v value) func() (value, telemetry.Time, bool) {
	return func() (value, telemetry.Time, bool) { return v, 0, true }
}

// micro is a number of seconds in microseconds.
func micro(seconds float64) uint64 { return uint64(math.Round(seconds * 1e6)) }
