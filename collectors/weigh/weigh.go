// Package weigh counts what a document from elsewhere would become in memory before
// it is decoded: its messages, objects and elements, and how deeply they are
// nested. It allocates nothing that grows with the document.
//
// A few bytes can become a structure of hundreds: an empty message of protobuf is
// two bytes, an empty object of JSON three. Limit bounds the memory of what is
// decoded to a multiple of the bytes that were sent.
package weigh

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// What is decoded may take Growth times the bytes of its document, and Free bytes in
// any case, but Most bytes at most; and be nested MaxDepth deep.
const (
	Growth   = 24
	Free     = 256 << 10
	Most     = 192 << 20
	MaxDepth = 64
)

// What decoded things take, roughly, in bytes.
const (
	objectBytes  = 96 // of JSON
	elementBytes = 16
	copies       = 2  // of a message: lists grow by copying
	textBytes    = 16 // the header of a string or of a list
)

// Why a document is refused.
var (
	ErrHeavy = fmt.Errorf("decoded it would take more than %d times its size, or more than %d MiB", Growth, Most>>20)
	ErrDeep  = fmt.Errorf("nested more than %d deep", MaxDepth)
	errWire  = errors.New("not protobuf")
)

// limit is how much the document of n bytes may weigh.
func limit(n int) int { return min(Free+Growth*n, Most) }

// Message describes the messages of a protobuf: what one takes in memory, and which of
// its fields are messages, or packed lists of numbers.
type Message struct {
	Bytes  int
	Fields map[int]*Message // by field number
	Packed map[int]int      // bytes of one number of a packed list of varints, by field number
}

// Proto returns why a document that has the form of m must not be decoded: ErrHeavy,
// ErrDeep, or that it is no protobuf.
func Proto(b []byte, m *Message) error {
	w := scale{left: limit(len(b))}
	return w.message(b, m, 1)
}

// scale is one weighing.
type scale struct{ left int }

func (w *scale) add(n int) error {
	if w.left -= n; w.left < 0 {
		return ErrHeavy
	}
	return nil
}

// message weighs the fields of one message.
func (w *scale) message(b []byte, m *Message, depth int) error {
	if depth > MaxDepth {
		return ErrDeep
	}
	if err := w.add(copies * m.Bytes); err != nil {
		return err
	}
	for len(b) > 0 {
		number, kind, head := protowire.ConsumeTag(b)
		if head < 0 || kind == protowire.StartGroupType { // groups are of another age
			return errWire
		}
		size := protowire.ConsumeFieldValue(number, kind, b[head:])
		if size < 0 {
			return errWire
		}
		var err error
		if in, n := protowire.ConsumeBytes(b[head:]); kind == protowire.BytesType && n == size {
			err = w.field(in, m, int(number), depth)
		} else {
			err = w.add(elementBytes)
		}
		if err != nil {
			return err
		}
		b = b[head+size:]
	}
	return nil
}

// field weighs a field that has a length.
func (w *scale) field(b []byte, m *Message, number, depth int) error {
	if sub := m.Fields[number]; sub != nil {
		return w.message(b, sub, depth+1)
	}
	if each := m.Packed[number]; each > 0 {
		count := 0
		for _, c := range b {
			if c < 0x80 { // the last byte of a varint
				count++
			}
		}
		return w.add(textBytes + count*each)
	}
	return w.add(textBytes + len(b))
}

// JSON returns why a document must not be decoded: ErrHeavy or ErrDeep. It does not
// check that the document is JSON.
func JSON(b []byte) error { return JSONOf(b, objectBytes) }

// JSONOf is JSON where an object, or a null in its place, is decoded into a struct of
// so many bytes.
func JSONOf(b []byte, object int) error {
	w, depth, text := scale{left: limit(len(b))}, 0, false
	for i := 0; i < len(b); i++ {
		var err error
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			if text = !text; text {
				err = w.add(textBytes)
			}
		case text:
		case c == '{', c == '[':
			if depth++; depth > MaxDepth {
				return ErrDeep
			}
			err = w.add(max(objectBytes, object))
		case c == 'n': // of null; the other words have none
			err = w.add(object)
		case c == '}', c == ']':
			depth--
		case c == ',':
			err = w.add(elementBytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
