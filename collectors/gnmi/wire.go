package gnmi

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

var errWire = errors.New("not a gNMI message")

// errStream is an error that a target reported in the deprecated error field.
var errStream = errors.New("the target reports an error")

// prefix is a notification's prefix and the paths below it, by their bytes.
type prefix struct {
	key   string
	elems []mapping.Element
	paths map[string]*spot
	order []*spot
	next  int // in order: where the next update's path is expected
}

// spot is where a path's bytes lead.
type spot struct {
	key   string
	place int // in order
	node  *node
	why   collectors.Reason // where there is no node
}

// field is one field of a message: its number, and its value by its type.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	value uint64
	bytes []byte
}

// cut reads the first field of b into f and returns what follows it.
func (f *field) cut(b []byte) ([]byte, error) {
	var n int
	if f.num, f.typ, n = protowire.ConsumeTag(b); n < 0 {
		return nil, errWire
	}
	b, f.value, f.bytes = b[n:], 0, nil
	switch f.typ {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.value = uint64(v)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(b)
	default:
		n = protowire.ConsumeFieldValue(f.num, f.typ, b)
	}
	if n < 0 {
		return nil, errWire
	}
	return b[n:], nil
}

// Tags of what most of a notification is: a field's number and its type.
const (
	tagNotificationUpdate = 4<<3 | byte(protowire.BytesType)
	tagUpdatePath         = 1<<3 | byte(protowire.BytesType)
	tagUpdateValue        = 3<<3 | byte(protowire.BytesType)
	tagUintValue          = 3<<3 | byte(protowire.VarintType)
)

// body returns the bytes of a field whose tag is at the beginning of b, and what
// follows; ok is false where the length has more than two digits, or is damaged.
func body(b []byte) (in, rest []byte, ok bool) {
	if len(b) < 3 {
		return nil, nil, false
	}
	n, from := int(b[1]), 2
	if n >= 0x80 {
		if b[2] >= 0x80 {
			return nil, nil, false
		}
		n, from = n&0x7f|int(b[2])<<7, 3
	}
	if n > len(b)-from {
		return nil, nil, false
	}
	return b[from : from+n], b[from+n:], true
}

// message reads a SubscribeResponse. It reports whether the device has sent all
// initial data. Of a damaged message, the part before the damage is kept.
func (r *reader) message(b []byte, received telemetry.Time) (synced bool, err error) {
	var f field
	for len(b) > 0 {
		if b, err = f.cut(b); err != nil {
			return synced, err
		}
		switch {
		case f.num == 1 && f.typ == protowire.BytesType:
			if err := r.notification(f.bytes, received); err != nil {
				return synced, err
			}
		case f.num == 3 && f.typ == protowire.VarintType:
			synced = f.value != 0
		case f.num == 4 && f.typ == protowire.BytesType:
			_, reason, err := pair(f.bytes, 0, 2)
			if err != nil {
				return synced, err
			}
			return synced, fmt.Errorf("%w: %.200q", errStream, reason)
		}
	}
	return synced, nil
}

// notification reads the updates of one instant.
func (r *reader) notification(b []byte, received telemetry.Time) error {
	var stated int64
	var about []byte
	atomic := false
	var f field
	for rest := b; len(rest) > 0; {
		if rest[0] == tagNotificationUpdate {
			if _, more, ok := body(rest); ok {
				rest = more
				continue
			}
		}
		var err error
		if rest, err = f.cut(rest); err != nil {
			return err
		}
		switch {
		case f.num == 1 && f.typ == protowire.VarintType:
			stated = int64(f.value)
		case f.num == 2 && f.typ == protowire.BytesType:
			about = f.bytes
		case f.num == 6 && f.typ == protowire.VarintType:
			atomic = f.value != 0
		}
	}
	r.begin(stated, received)
	p, err := r.prefix(about)
	if err != nil {
		return err
	}
	p.next = 0
	for rest := b; len(rest) > 0; {
		if rest[0] == tagNotificationUpdate {
			if in, more, ok := body(rest); ok {
				rest = more
				if err := r.update(p, in); err != nil {
					return err
				}
				continue
			}
		}
		rest, _ = f.cut(rest) // it was read above
		switch {
		case f.num == 4 && f.typ == protowire.BytesType:
			if err := r.update(p, f.bytes); err != nil {
				return err
			}
		case f.num == 5 && f.typ == protowire.BytesType:
			elems, err := decodePath(f.bytes)
			if err != nil {
				return err
			}
			r.gone(append(slices.Clone(p.elems), elems...))
		}
	}
	if atomic {
		for _, n := range r.find(p.elems) {
			r.replaced(n)
		}
	}
	return nil
}

// prefix returns what is known below a prefix.
func (r *reader) prefix(b []byte) (*prefix, error) {
	if r.last != nil && r.last.key == string(b) {
		return r.last, nil
	}
	p := r.prefixes[string(b)]
	if p == nil {
		elems, err := decodePath(b)
		if err != nil {
			return nil, err
		}
		p = &prefix{key: string(b), elems: elems, paths: map[string]*spot{}}
		if r.keep(placeBytes + 2*len(b)) {
			r.prefixes[p.key] = p
		}
	}
	r.last = p
	return p, nil
}

// update reads one path's value.
func (r *reader) update(p *prefix, b []byte) error {
	var path, value, old []byte
	var f field
	for len(b) > 0 {
		if tag := b[0]; tag == tagUpdatePath || tag == tagUpdateValue {
			if in, rest, ok := body(b); ok {
				b = rest
				if tag == tagUpdatePath {
					path = in
				} else {
					value = in
				}
				continue
			}
		}
		var err error
		if b, err = f.cut(b); err != nil {
			return err
		}
		switch {
		case f.num == 1 && f.typ == protowire.BytesType:
			path = f.bytes
		case f.num == 2 && f.typ == protowire.BytesType:
			old = f.bytes
		case f.num == 3 && f.typ == protowire.BytesType:
			value = f.bytes
		case f.num == 4 && f.typ == protowire.VarintType && f.value > 0:
			// Values that the device merged because we were slow.
			r.dropped[collectors.Skipped] += int(min(f.value, 1<<20))
		}
	}
	s, err := r.spot(p, path)
	if err != nil {
		return err
	}
	if s.node == nil {
		r.drop(s.why)
		return nil
	}
	if value == nil && old != nil {
		return r.deprecated(s.node, old)
	}
	return r.value(s.node, value)
}

// spot returns where a path leads: most often to where the update at this place
// led last time.
func (r *reader) spot(p *prefix, b []byte) (*spot, error) {
	if p.next < len(p.order) && p.order[p.next].key == string(b) {
		p.next++
		return p.order[p.next-1], nil
	}
	s := p.paths[string(b)]
	if s == nil {
		elems, err := decodePath(b)
		if err != nil {
			return nil, err
		}
		s = &spot{key: string(b), place: len(p.order), why: collectors.Unknown}
		over := r.dropped[collectors.OverLimit]
		s.node = r.root
		for _, e := range append(slices.Clone(p.elems), elems...) {
			if s.node = r.child(s.node, e); s.node == nil {
				break
			}
		}
		if r.dropped[collectors.OverLimit] > over {
			s.why = collectors.OverLimit
		}
		if !r.keep(placeBytes + len(b)) {
			return s, nil
		}
		p.paths[s.key] = s
		p.order = append(p.order, s)
	}
	p.next = s.place + 1
	return s, nil
}

// decodePath reads a path's elements.
func decodePath(b []byte) ([]mapping.Element, error) {
	var p gpb.Path
	if err := proto.Unmarshal(b, &p); err != nil {
		return nil, errWire
	}
	var out []mapping.Element
	for _, e := range p.GetElem() {
		x := mapping.Element{Name: e.GetName()}
		for k, v := range e.GetKey() {
			x.Keys = append(x.Keys, mapping.Binding{Name: k, Value: v})
		}
		slices.SortFunc(x.Keys, func(a, b mapping.Binding) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, x)
	}
	if len(out) > 0 {
		return out, nil
	}
	//lint:ignore SA1019 devices of before gNMI 0.4 send nothing else
	for _, s := range p.GetElement() {
		parts, err := mapping.SplitPath(s)
		if err != nil || len(parts) != 1 {
			out = append(out, mapping.Element{Name: s})
			continue
		}
		out = append(out, parts[0])
	}
	return out, nil
}

// value reads a TypedValue at a node.
func (r *reader) value(n *node, b []byte) error {
	if len(b) > 1 && b[0] == tagUintValue && n.leaf != nil {
		if u, k := protowire.ConsumeVarint(b[1:]); k == len(b)-1 {
			r.set(n.leaf, scalar{form: whole, u: u})
			return nil
		}
	}
	var f field
	for len(b) > 0 { // of several the last holds
		var err error
		if b, err = f.cut(b); err != nil {
			return err
		}
	}
	switch {
	case f.num == 10 || f.num == 11: // JSON
		if f.typ != protowire.BytesType || r.jsonValue(n, f.bytes) != nil {
			r.drop(collectors.Malformed)
		}
		return nil
	case n.leaf == nil:
		r.drop(collectors.Unknown)
		return nil
	case f.num == 8 && f.typ == protowire.BytesType:
		return r.leafList(n, f.bytes)
	}
	v, ok := f.scalar()
	if !ok {
		if len(n.leaf.uses) > 0 {
			r.drop(collectors.Malformed)
		}
		return nil
	}
	r.set(n.leaf, v)
	return nil
}

// scalar reads a field of a TypedValue that is one value.
func (f *field) scalar() (scalar, bool) {
	switch {
	case f.num == 0: // none at all
		return scalar{}, true
	case f.num == 3 && f.typ == protowire.VarintType:
		return scalar{form: whole, u: f.value}, true
	case f.num == 2 && f.typ == protowire.VarintType:
		if i := int64(f.value); i < 0 {
			return scalar{form: minus, u: -f.value}, true
		}
		return scalar{form: whole, u: f.value}, true
	case f.num == 1 && f.typ == protowire.BytesType, f.num == 12 && f.typ == protowire.BytesType:
		return scalar{form: text, b: f.bytes}, true
	case f.num == 4 && f.typ == protowire.VarintType:
		return scalar{form: truth, u: min(f.value, 1)}, true
	case f.num == 5 && f.typ == protowire.BytesType:
		return scalar{form: binaryBytes, b: f.bytes}, true
	case f.num == 6 && f.typ == protowire.Fixed32Type:
		return scalar{form: real, f: float64(math.Float32frombits(uint32(f.value)))}, true
	case f.num == 14 && f.typ == protowire.Fixed64Type:
		return scalar{form: real, f: math.Float64frombits(f.value)}, true
	case f.num == 7 && f.typ == protowire.BytesType:
		return decimal(f.bytes)
	}
	return scalar{}, false
}

// decimal reads a Decimal64.
func decimal(b []byte) (scalar, bool) {
	var digits int64
	var precision uint64
	var f field
	for len(b) > 0 {
		var err error
		if b, err = f.cut(b); err != nil || f.typ != protowire.VarintType {
			return scalar{}, false
		}
		if f.num == 1 {
			digits = int64(f.value)
		} else if f.num == 2 {
			precision = f.value
		}
	}
	if precision > telemetry.MaxExp {
		return scalar{}, false
	}
	if precision == 0 && digits >= 0 {
		return scalar{form: whole, u: uint64(digits)}, true
	}
	c := telemetry.Column{Type: telemetry.Decimal, Exp: uint8(precision)}
	return scalar{form: real, f: c.Float(uint64(digits))}, true
}

// leafList reads a ScalarArray.
func (r *reader) leafList(n *node, b []byte) error {
	many := leafList{r: r, n: n}
	count := 0
	var one scalar
	var f, inner field
	for len(b) > 0 {
		var err error
		if b, err = f.cut(b); err != nil {
			return err
		}
		if f.num != 1 || f.typ != protowire.BytesType {
			continue
		}
		inner = field{}
		if len(f.bytes) > 0 {
			_, err = inner.cut(f.bytes)
		}
		v, ok := inner.scalar()
		if err != nil || !ok {
			r.drop(collectors.Malformed)
			continue
		}
		one = v
		count++
		many.add(v)
	}
	if count == 1 {
		r.many = r.many[:0]
		r.set(n.leaf, one)
		return nil
	}
	many.set()
	return nil
}

// deprecated reads a Value, as devices of before gNMI 0.4 send it: JSON in it is
// all that is read.
func (r *reader) deprecated(n *node, b []byte) error {
	encoding, in, err := pair(b, 2, 1)
	if err != nil {
		return err
	}
	if t := gpb.Encoding(encoding); t != gpb.Encoding_JSON && t != gpb.Encoding_JSON_IETF || r.jsonValue(n, bytes.TrimSpace(in)) != nil {
		r.drop(collectors.Malformed)
	}
	return nil
}

// pair reads a message's field that is a number and its field that is bytes, by
// the fields' numbers.
func pair(b []byte, number, text protowire.Number) (v uint64, in []byte, err error) {
	var f field
	for len(b) > 0 {
		if b, err = f.cut(b); err != nil {
			return 0, nil, err
		}
		switch {
		case f.num == number && f.typ == protowire.VarintType:
			v = f.value
		case f.num == text && f.typ == protowire.BytesType:
			in = f.bytes
		}
	}
	return v, in, nil
}
