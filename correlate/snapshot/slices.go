package snapshot

import (
	"encoding/binary"
	"math"
	"slices"
)

// bulk is how many items are written before a stream looks whether a piece is full.
const bulk = 4096

// F64 codes a float bit by bit, so that every NaN survives.
func (c *Codec) F64(x *float64) {
	u := math.Float64bits(*x)
	c.U64(&u)
	*x = math.Float64frombits(u)
}

// F32 codes a float bit by bit.
func (c *Codec) F32(x *float32) {
	u := math.Float32bits(*x)
	c.U32(&u)
	*x = math.Float32frombits(u)
}

// String codes a string with its length.
func (c *Codec) String(s *string) {
	n := c.Len(len(*s), 1)
	if c.writing {
		c.buf = append(c.buf, *s...)
		c.drain()
		return
	}
	if b := c.take(n); b != nil {
		*s = string(b)
	}
}

// Bytes codes a byte slice with its length. An empty one is read as nil.
func (c *Codec) Bytes(s *[]byte) {
	n := c.Len(len(*s), 1)
	if c.writing {
		c.buf = append(c.buf, *s...)
		c.drain()
		return
	}
	if b := c.take(n); b != nil {
		*s = append([]byte(nil), b...)
	}
}

// List codes a list item by item. Items take at least size bytes each (≥ 1),
// which bounds what a hostile length can allocate. A reader replaces *s; an
// empty list is read as nil.
func List[T any](c *Codec, s *[]T, size int, item func(*Codec, *T)) {
	n := c.Len(len(*s), size)
	if !c.writing {
		*s = make1[T](n)
	}
	for i := 0; i < len(*s) && c.err == nil; i++ {
		item(c, &(*s)[i])
		c.drain()
	}
}

func make1[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

// U8s codes bytes of any byte-like type.
func U8s[T ~uint8](c *Codec, s *[]T) {
	n := c.Len(len(*s), 1)
	if c.writing {
		for part := range slices.Chunk(*s, bulk) {
			for _, x := range part {
				c.buf = append(c.buf, byte(x))
			}
			c.drain()
		}
		return
	}
	if b := c.take(n); b != nil {
		*s = make1[T](n)
		for i := range *s {
			(*s)[i] = T(b[i])
		}
	}
}

// U32s codes 32-bit words of any such type.
func U32s[T ~uint32 | ~int32](c *Codec, s *[]T) {
	n := c.Len(len(*s), 4)
	if c.writing {
		for part := range slices.Chunk(*s, bulk) {
			for _, x := range part {
				c.buf = binary.LittleEndian.AppendUint32(c.buf, uint32(x))
			}
			c.drain()
		}
		return
	}
	if b := c.take(4 * n); b != nil {
		*s = make1[T](n)
		for i := range *s {
			(*s)[i] = T(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// U64s codes 64-bit words of any such type, telemetry.Time included.
func U64s[T ~uint64 | ~int64](c *Codec, s *[]T) {
	n := c.Len(len(*s), 8)
	if c.writing {
		for part := range slices.Chunk(*s, bulk) {
			for _, x := range part {
				c.buf = binary.LittleEndian.AppendUint64(c.buf, uint64(x))
			}
			c.drain()
		}
		return
	}
	if b := c.take(8 * n); b != nil {
		*s = make1[T](n)
		for i := range *s {
			(*s)[i] = T(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

// F32s codes 32-bit floats bit by bit.
func (c *Codec) F32s(s *[]float32) {
	n := c.Len(len(*s), 4)
	if c.writing {
		for part := range slices.Chunk(*s, bulk) {
			for _, x := range part {
				c.buf = binary.LittleEndian.AppendUint32(c.buf, math.Float32bits(x))
			}
			c.drain()
		}
		return
	}
	if b := c.take(4 * n); b != nil {
		*s = make1[float32](n)
		for i := range *s {
			(*s)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// F64s codes 64-bit floats bit by bit.
func (c *Codec) F64s(s *[]float64) {
	n := c.Len(len(*s), 8)
	if c.writing {
		for part := range slices.Chunk(*s, bulk) {
			for _, x := range part {
				c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(x))
			}
			c.drain()
		}
		return
	}
	if b := c.take(8 * n); b != nil {
		*s = make1[float64](n)
		for i := range *s {
			(*s)[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

// U64s codes 64-bit words.
func (c *Codec) U64s(s *[]uint64) { U64s(c, s) }

// U32s codes 32-bit words.
func (c *Codec) U32s(s *[]uint32) { U32s(c, s) }

// I64s codes signed 64-bit words.
func (c *Codec) I64s(s *[]int64) { U64s(c, s) }
