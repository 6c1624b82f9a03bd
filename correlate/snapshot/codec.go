package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// ErrShort reports that the bytes end inside a field.
var ErrShort = errors.New("unexpected end")

// Codec is either a writer or a reader of a snapshot. After an error every
// method does nothing; call Err once at the end.
type Codec struct {
	buf     []byte
	pos     int
	writing bool
	sink    func([]byte)
	err     error
}

// NewWriter returns a Codec that appends.
func NewWriter() *Codec { return &Codec{writing: true} }

// pieceSize is about how much a stream hands out at once, in bytes.
const pieceSize = 256 << 10

// NewStream returns a Codec that writes, and hands what is written to sink piece by
// piece; a piece is valid during the call only. Call Flush at the end.
func NewStream(sink func([]byte)) *Codec {
	return &Codec{writing: true, sink: sink, buf: make([]byte, 0, pieceSize+pieceSize/8)}
}

// Flush hands out what is left of a stream.
func (c *Codec) Flush() {
	if c.sink != nil && len(c.buf) > 0 {
		c.sink(c.buf)
		c.buf = c.buf[:0]
	}
}

// drain hands out a piece if there is one. Whatever writes much calls it now and then.
func (c *Codec) drain() {
	if len(c.buf) >= pieceSize {
		c.Flush()
	}
}

// NewReader returns a Codec that reads b. It does not change b; strings and
// byte slices that it hands out are copies.
func NewReader(b []byte) *Codec { return &Codec{buf: b} }

// Writing reports whether fields are written rather than filled in.
func (c *Codec) Writing() bool { return c.writing }

// Data returns what was written so far.
func (c *Codec) Data() []byte { return c.buf }

// Remaining returns how many bytes a reader has not read yet.
func (c *Codec) Remaining() int { return len(c.buf) - c.pos }

// Err returns the first error, nil if there is none.
func (c *Codec) Err() error { return c.err }

// Fail records an error found by the caller ("window: slot out of range"); the
// first one stays.
func (c *Codec) Fail(err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("snapshot: byte %d: %w", c.pos, err)
	}
}

// take returns the next n bytes of a reader, nil after an error.
func (c *Codec) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.buf)-c.pos {
		c.Fail(ErrShort)
		return nil
	}
	b := c.buf[c.pos : c.pos+n]
	c.pos += n
	return b
}

// U8 codes one byte.
func (c *Codec) U8(x *uint8) {
	if c.writing {
		c.buf = append(c.buf, *x)
		return
	}
	if b := c.take(1); b != nil {
		*x = b[0]
	}
}

// U32 codes four bytes.
func (c *Codec) U32(x *uint32) {
	if c.writing {
		c.buf = binary.LittleEndian.AppendUint32(c.buf, *x)
		return
	}
	if b := c.take(4); b != nil {
		*x = binary.LittleEndian.Uint32(b)
	}
}

// U64 codes eight bytes.
func (c *Codec) U64(x *uint64) {
	if c.writing {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, *x)
		return
	}
	if b := c.take(8); b != nil {
		*x = binary.LittleEndian.Uint64(b)
	}
}

// I32 codes a signed 32-bit integer.
func (c *Codec) I32(x *int32) { u := uint32(*x); c.U32(&u); *x = int32(u) }

// I64 codes a signed 64-bit integer.
func (c *Codec) I64(x *int64) { u := uint64(*x); c.U64(&u); *x = int64(u) }

// Int codes an int as 64 bits.
func (c *Codec) Int(x *int) { u := uint64(*x); c.U64(&u); *x = int(u) }

// Time codes an instant.
func (c *Codec) Time(t *telemetry.Time) { c.I64((*int64)(t)) }

// Duration codes a length of time.
func (c *Codec) Duration(d *telemetry.Duration) { c.I64((*int64)(d)) }

// Bool codes one byte, 0 or 1; any other byte is an error.
func (c *Codec) Bool(x *bool) {
	var u uint8
	if *x {
		u = 1
	}
	c.U8(&u)
	if u > 1 {
		c.Fail(fmt.Errorf("bool: byte %d", u))
		return
	}
	*x = u == 1
}

// Tag codes a fixed word. A reader that finds another one fails: it is
// before a part's fields so that a slip is found where it happens.
func (c *Codec) Tag(tag string) {
	if c.writing {
		c.buf = append(c.buf, tag...)
		return
	}
	if b := c.take(len(tag)); b != nil && string(b) != tag {
		c.Fail(fmt.Errorf("tag %q: found %q", tag, b))
	}
}

// Len codes the length of a list whose items take at least size bytes each
// (size ≥ 1). A reader refuses more items than the bytes left can hold and
// then returns 0, so a hostile length allocates nothing.
func (c *Codec) Len(n, size int) int {
	c.drain()
	u := uint64(n)
	c.U64(&u)
	if c.err != nil {
		return 0
	}
	if !c.writing && u > uint64(c.Remaining()/max(size, 1)) {
		c.Fail(fmt.Errorf("list of %d items in %d bytes", u, c.Remaining()))
		return 0
	}
	return int(u)
}
