package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// errCut is the cause of every error about bytes that end too early.
var errCut = errors.New("cut off")

// reader walks untrusted bytes and keeps the first error; after it every read
// answers zero. It refuses what the writer would not have written (a uvarint
// longer than needed), so that equal values have equal bytes.
type reader struct {
	b   []byte
	off int
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) left() int { return len(r.b) - r.off }

func (r *reader) u8(what string) uint8 {
	if r.err == nil && r.left() < 1 {
		r.fail(fmt.Errorf("%s at byte %d: %w", what, r.off, errCut))
	}
	if r.err != nil {
		return 0
	}
	r.off++
	return r.b[r.off-1]
}

func (r *reader) uvarint(what string) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.off:])
	switch {
	case n == 0:
		r.fail(fmt.Errorf("%s at byte %d: %w", what, r.off, errCut))
		return 0
	case n < 0 || n != uvarintLen(v):
		r.fail(fmt.Errorf("%s at byte %d: number is too long", what, r.off))
		return 0
	}
	r.off += n
	return v
}

func (r *reader) varint(what string) int64 { return unzigzag(r.uvarint(what)) }

// count reads a number of things that take at least each bytes, so that a
// claim can never exceed what is there.
func (r *reader) count(what string, limit, each int) int {
	at := r.off
	v := r.uvarint(what)
	if r.err != nil {
		return 0
	}
	if v > uint64(limit) {
		r.fail(fmt.Errorf("%s at byte %d: %d, at most %d", what, at, v, limit))
		return 0
	}
	if v*uint64(each) > uint64(r.left()) {
		r.fail(fmt.Errorf("%s at byte %d: %d claimed: %w", what, at, v, errCut))
		return 0
	}
	return int(v)
}

// bytes reads exactly n bytes without copying them.
func (r *reader) bytes(what string, n int) []byte {
	if r.err == nil && r.left() < n {
		r.fail(fmt.Errorf("%s at byte %d: want %d bytes, have %d: %w", what, r.off, n, r.left(), errCut))
	}
	if r.err != nil {
		return nil
	}
	r.off += n
	return r.b[r.off-n : r.off]
}

// text reads a length and that many bytes of UTF-8.
func (r *reader) text(what string, limit int) string {
	at := r.off
	b := r.bytes(what, r.count(what, limit, 1))
	if r.err == nil && !utf8.Valid(b) {
		r.fail(fmt.Errorf("%s at byte %d: not UTF-8", what, at))
		return ""
	}
	return string(b)
}

// end fails where bytes are left over.
func (r *reader) end() error {
	if r.err == nil && r.left() > 0 {
		r.fail(fmt.Errorf("%d bytes too many at byte %d", r.left(), r.off))
	}
	return r.err
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendUvarint(dst, zigzag(v)) }

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// zigzag maps small numbers of either sign to small unsigned ones.
func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }

// checkText reports what is wrong with a free text: too long, not UTF-8, or, where
// plain is asked, a control character.
func checkText(s string, limit int, plain bool) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%.40q…: %d bytes, at most %d", s, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%.40q: not UTF-8", s)
	case !plain:
		return nil
	}
	for _, c := range s {
		if unicode.IsControl(c) {
			return fmt.Errorf("%.40q: control character %q", s, c)
		}
	}
	return nil
}
