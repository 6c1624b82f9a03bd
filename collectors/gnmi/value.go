package gnmi

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

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

// number returns the value as a number.
func (v scalar) number() (float64, bool) {
	switch v.form {
	case whole, truth:
		return float64(v.u), true
	case minus:
		return -float64(v.u), true
	case real:
		return v.f, true
	}
	return 0, false
}

// outcome is the result of reading a value.
type outcome uint8

const (
	taken   outcome = iota
	unknown         // a gap: the device says that it does not know
	spoilt          // not what the leaf can mean
	unfit           // a number that the series cannot hold
)

// word returns the word that a value is in the rule's column.
func (r *rule) word(v scalar) (uint64, outcome) {
	if r.exact && v.form == whole && (r.column.Type == telemetry.Uint || v.u <= math.MaxInt64) {
		return v.u, taken
	}
	v, o := r.plain(v)
	if o != taken {
		return 0, o
	}
	if r.exact && v.form == whole && (r.column.Type == telemetry.Uint || v.u <= math.MaxInt64) {
		return v.u, taken
	}
	if v.form == whole && r.column.Type == telemetry.Uint && r.scale == math.Trunc(r.scale) && r.scale > 0 && r.scale < 1<<53 {
		if k := uint64(r.scale); v.u <= math.MaxUint64/k {
			return v.u * k, taken
		}
		return 0, unfit
	}
	f, ok := v.number()
	if !ok {
		return 0, spoilt
	}
	return r.round(float64(f * r.scale))
}

// round fits a number into the rule's column; a count of halves is rounded down,
// so that it never falls.
func (r *rule) round(f float64) (uint64, outcome) {
	switch {
	case f != f:
		return 0, unknown
	case math.IsInf(f, 0):
		return 0, unfit
	case r.column.Type == telemetry.Uint:
		if f < 0 || f >= 1<<64 {
			return 0, unfit
		}
		return uint64(f), taken
	case r.column.Type == telemetry.Decimal:
		if math.Abs(f) >= math.MaxInt64/math.Pow10(int(r.column.Exp)) {
			return 0, unfit
		}
	}
	return r.column.Word(f), taken
}

// plain turns text and bytes into the number that they mean.
func (r *rule) plain(v scalar) (scalar, outcome) {
	switch v.form {
	case nothing:
		return v, unknown
	case binaryBytes:
		if !r.ieee || len(v.b) != 4 {
			return v, spoilt
		}
		return scalar{form: real, f: float64(math.Float32frombits(binary.BigEndian.Uint32(v.b)))}, taken
	case text:
		return r.spoken(v.b)
	}
	return v, taken
}

// spoken reads a value that came as text.
func (r *rule) spoken(b []byte) (scalar, outcome) {
	if r.words != nil {
		if f, ok := r.words[string(b)]; ok {
			return scalar{form: real, f: f}, taken
		}
		if f, ok := r.words[unqualified(string(b))]; ok {
			return scalar{form: real, f: f}, taken
		}
	}
	if absent(b) {
		return scalar{}, unknown
	}
	if r.ieee && len(b) == 8 {
		var raw [6]byte
		if n, err := base64.StdEncoding.Decode(raw[:], b); err == nil && n == 4 {
			return scalar{form: real, f: float64(math.Float32frombits(binary.BigEndian.Uint32(raw[:4])))}, taken
		}
	}
	if v, ok := parseNumber(b); ok {
		return v, taken
	}
	if r.other != nil {
		return scalar{form: real, f: *r.other}, taken
	}
	return scalar{}, spoilt
}

// absent matches the words with which devices report that they have no value.
func absent(b []byte) bool {
	switch string(b) {
	case "", "-", "--", "N/A", "n/a", "NA", "None", "none", "null", "Null", "NULL", "nan", "NaN", "Out of range", "not available", "Unknown":
		return true
	}
	return false
}

// parseNumber reads a number as JSON or a person writes it.
func parseNumber(b []byte) (scalar, bool) {
	if len(b) == 0 || len(b) > 64 {
		return scalar{}, false
	}
	digits, negative := b, b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if u, ok := parseDigits(digits); ok {
		if negative && u > 0 {
			return scalar{form: minus, u: u}, true
		}
		return scalar{form: whole, u: u}, true
	}
	if c := digits; len(c) == 0 || c[0] != '.' && (c[0] < '0' || c[0] > '9') || len(c) > 1 && (c[1] == 'x' || c[1] == 'X') {
		return scalar{}, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return scalar{}, false
	}
	return scalar{form: real, f: f}, true
}

// parseDigits reads digits and nothing else, up to 2^64-1.
func parseDigits(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var u uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || u > (math.MaxUint64-d)/10 {
			return 0, false
		}
		u = u*10 + d
	}
	return u, true
}
