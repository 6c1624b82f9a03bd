package outbox

import (
	"encoding/binary"
	"iter"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
)

// An entry in a chunk is a length and the record; the length's highest bit means
// thinned.
const (
	lengthBytes = 4
	thinnedBit  = 1 << 31
)

// chunk is a block of memory with entries one after the other. It is written by one
// goroutine and read by one, never at the same time.
type chunk struct {
	buf  []byte
	read int // up to here they were taken out
}

func (c *chunk) empty() bool { return c.read == len(c.buf) }

func (c *chunk) push(e thin.Entry) {
	n := uint32(len(e.Record))
	if e.Thinned {
		n |= thinnedBit
	}
	c.buf = append(binary.LittleEndian.AppendUint32(c.buf, n), e.Record...)
}

// peek returns the oldest entry and the place behind it. It is valid until the
// chunk is used again.
func (c *chunk) peek() (e thin.Entry, next int) {
	n := binary.LittleEndian.Uint32(c.buf[c.read:])
	from := c.read + lengthBytes
	next = from + int(n&^thinnedBit)
	return thin.Entry{Record: c.buf[from:next:next], Thinned: n&thinnedBit != 0}, next
}

// entries yields the rest of the chunk and leaves it there.
func (c *chunk) entries() iter.Seq[thin.Entry] {
	return func(yield func(thin.Entry) bool) {
		for at := *c; !at.empty(); {
			e, next := at.peek()
			if !yield(e) {
				return
			}
			at.read = next
		}
	}
}

// queue holds entries in memory, oldest first. Chunks of one size are used
// again and again, so a queue in steady state does not allocate.
type queue struct {
	chunkBytes int
	chunks     []*chunk // oldest first; none is empty but perhaps the last
	spare      *chunk
	memory     int // bytes of memory in chunks, spare not counted
}

func (q *queue) empty() bool {
	return len(q.chunks) == 0 || len(q.chunks) == 1 && q.chunks[0].empty()
}

// growth returns by how much push would make memory larger.
func (q *queue) growth(record int) int {
	need := record + lengthBytes
	if n := len(q.chunks); n > 0 && need <= cap(q.chunks[n-1].buf)-len(q.chunks[n-1].buf) {
		return 0
	}
	return max(need, q.chunkBytes)
}

// push copies an entry behind the newest.
func (q *queue) push(e thin.Entry) {
	if q.growth(len(e.Record)) > 0 {
		c := q.room(len(e.Record) + lengthBytes)
		q.memory += cap(c.buf)
		q.chunks = append(q.chunks, c)
	}
	q.chunks[len(q.chunks)-1].push(e)
}

func (q *queue) room(need int) *chunk {
	if c := q.spare; c != nil && need <= q.chunkBytes {
		q.spare = nil
		return c
	}
	return &chunk{buf: make([]byte, 0, max(need, q.chunkBytes))}
}

// take hands over the oldest entries, as many as fn accepts, and removes them.
func (q *queue) take(fn func(thin.Entry) bool) {
	for len(q.chunks) > 0 {
		c := q.chunks[0]
		if c.empty() {
			if len(q.chunks) == 1 { // the next entry may have room in it
				c.buf, c.read = c.buf[:0], 0
				return
			}
			q.drop()
			continue
		}
		e, next := c.peek()
		if !fn(e) {
			return
		}
		c.read = next
	}
}

// drop removes the oldest chunk and keeps its memory for the next.
func (q *queue) drop() {
	c := q.chunks[0]
	q.memory -= cap(c.buf)
	n := copy(q.chunks, q.chunks[1:])
	q.chunks[n] = nil
	q.chunks = q.chunks[:n]
	if cap(c.buf) == q.chunkBytes {
		c.buf, c.read = c.buf[:0], 0
		q.spare = c
	}
}

// detach takes the oldest chunks out, at least so many bytes of them if there
// are.
func (q *queue) detach(bytes int) (chunks []*chunk, used int) {
	n := 0
	for n < len(q.chunks) && used < bytes {
		used += cap(q.chunks[n].buf)
		n++
	}
	chunks = append(chunks, q.chunks[:n]...)
	left := copy(q.chunks, q.chunks[n:])
	clear(q.chunks[left:])
	q.chunks = q.chunks[:left]
	q.memory -= used
	return chunks, used
}

// attach puts chunks before the oldest.
func (q *queue) attach(chunks []*chunk) {
	for _, c := range chunks {
		q.memory += cap(c.buf)
	}
	q.chunks = append(chunks, q.chunks...)
}
