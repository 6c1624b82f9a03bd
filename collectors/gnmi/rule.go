package gnmi

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// role is what a leaf is for.
type role uint8

const (
	reading   role = iota // a number of a series
	portName              // what somebody calls a port
	neighbour             // a word about who is at a port's other end
	ignored               // known, and nothing of ours
)

// rule is what a leaf means.
type rule struct {
	*mapping.Quantity // of a reading
	role              role
	field             string // of a portName or neighbour: which word it is
	kind              telemetry.Kind
	of                mapping.EntityTemplate
	queues            bool // only where queues are asked for
	exact             bool // whole numbers are words as they are
	ieee              bool // four bytes are an IEEE 754 number
	event             bool // its changes are events: a link's going down and coming up
}

// form is what kind of value a leaf has on the wire.
type form uint8

const (
	nothing     form = iota // null
	whole                   // u
	minus                   // -u
	real                    // f
	truth                   // u is 0 or 1
	text                    // b
	binaryBytes             // b
)

// scalar is a value as it came. Its bytes are those of the message.
type scalar struct {
	form form
	u    uint64
	f    float64
	b    []byte
}

// word returns the word that a value is in the rule's column, or the reason why it has
// none.
func (r *rule) word(v scalar) (uint64, collectors.Reason) {
	if v.form == text {
		if u, ok := parseDigits(v.b); ok && r.exact {
			v = scalar{form: whole, u: u}
		}
	}
	if r.exact && v.form == whole && (r.Column.Type == telemetry.Uint || v.u <= math.MaxInt64) {
		return v.u, ""
	}
	n, why := r.number(v)
	if why != "" {
		return 0, why
	}
	return r.Word(n)
}

// number returns the number that a value means.
func (r *rule) number(v scalar) (mapping.Number, collectors.Reason) {
	switch v.form {
	case whole, truth:
		return mapping.UintNumber(v.u), ""
	case minus:
		n := mapping.UintNumber(v.u)
		n.Negative, n.Float = true, -n.Float
		return n, ""
	case real:
		return mapping.FloatNumber(v.f), ""
	case nothing:
		return mapping.Number{}, collectors.Unsupported
	case binaryBytes:
		if !r.ieee || len(v.b) != 4 {
			return mapping.Number{}, collectors.Malformed
		}
		return mapping.FloatNumber(float64(math.Float32frombits(binary.BigEndian.Uint32(v.b)))), ""
	}
	if r.ieee && len(v.b) == 8 {
		var raw [6]byte
		if n, err := base64.StdEncoding.Decode(raw[:], v.b); err == nil && n == 4 {
			return mapping.FloatNumber(float64(math.Float32frombits(binary.BigEndian.Uint32(raw[:4])))), ""
		}
	}
	return r.Text(string(v.b))
}

// parseNumber reads a number as JSON writes it.
func parseNumber(b []byte) (scalar, bool) {
	if u, ok := parseDigits(b); ok {
		return scalar{form: whole, u: u}, true
	}
	if len(b) > 1 && b[0] == '-' {
		if u, ok := parseDigits(b[1:]); ok && u > 0 {
			return scalar{form: minus, u: u}, true
		}
	}
	if len(b) > 64 {
		return scalar{}, false
	}
	n, ok := mapping.Decimal(string(b))
	return scalar{form: real, f: n.Float}, ok && !math.IsInf(n.Float, 0)
}

// parseDigits reads digits and nothing else, up to 2^64-1.
func parseDigits(b []byte) (uint64, bool) {
	if len(b) > 20 {
		return 0, false
	}
	u, err := strconv.ParseUint(string(b), 10, 64)
	return u, err == nil
}
