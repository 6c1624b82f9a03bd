package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// segment is a stretch of the file: a block, or damage where one should be.
type segment struct {
	offset int64
	head   blockHeader
	bad    error // set: the header is damaged and head means nothing
	length int64 // of the damage
}

func (s *segment) end() int64 {
	if s.bad != nil {
		return s.offset + s.length
	}
	return s.offset + blockLen + int64(s.head.stored)
}

// appendIndex adds a block's offset and header to the index.
func appendIndex(dst []byte, offset int64, header []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(offset))
	return append(dst, header...)
}

// parseIndex reads the index's payload. Every offset must follow from the
// block before it, so that a forged index cannot point anywhere else.
func parseIndex(b []byte, begin, end int64) ([]segment, error) {
	if len(b)%indexEntryLen != 0 {
		return nil, fmt.Errorf("index of %d bytes", len(b))
	}
	segs := make([]segment, 0, len(b)/indexEntryLen)
	for at := begin; len(b) > 0; b = b[indexEntryLen:] {
		h, err := parseBlockHeader(b[8:indexEntryLen])
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		s := segment{offset: int64(binary.LittleEndian.Uint64(b)), head: h}
		if s.offset != at || s.end() > end || int(h.number) != len(segs) {
			return nil, fmt.Errorf("index: block %d does not follow the one before it", len(segs))
		}
		at = s.end()
		segs = append(segs, s)
	}
	return segs, nil
}

// trailer is the last 32 bytes of a closed trace.
type trailer struct {
	index   uint64 // offset of the index block
	records uint64
	blocks  uint32
}

func appendTrailer(dst []byte, t trailer) []byte {
	le := binary.LittleEndian
	start := len(dst)
	dst = le.AppendUint64(dst, t.index)
	dst = le.AppendUint64(dst, t.records)
	dst = le.AppendUint32(dst, t.blocks)
	dst = le.AppendUint32(dst, checksum(dst[start:]))
	return append(dst, trailerMagic...)
}

func parseTrailer(b []byte) (t trailer, ok bool) {
	le := binary.LittleEndian
	if len(b) != trailerLen || string(b[24:]) != trailerMagic || checksum(b[:20]) != le.Uint32(b[20:]) {
		return t, false
	}
	return trailer{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:])}, true
}

// readIndex finds the blocks by trailer and index; an error means that they
// must be found by scanning.
func (r *Reader) readIndex(begin int64) error {
	if r.size < begin+trailerLen {
		return errors.New("no trailer")
	}
	b := make([]byte, trailerLen)
	if err := readFull(r.r, b, r.size-trailerLen); err != nil {
		return err
	}
	t, ok := parseTrailer(b)
	end := r.size - trailerLen
	if !ok || t.index > math.MaxInt64 || int64(t.index) < begin || int64(t.index) > end-blockLen {
		return errors.New("no trailer")
	}
	s, err := r.header(int64(t.index), end)
	if err != nil {
		return err
	}
	if s.head.kind != indexBlock || s.end() != end {
		return errors.New("no index")
	}
	payload, err := r.payload(&s)
	if err != nil {
		return err
	}
	segs, err := parseIndex(payload, begin, int64(t.index))
	if err != nil {
		return err
	}
	if len(segs) != int(t.blocks) || s.head.number != t.blocks || lastEnd(segs, begin) != int64(t.index) {
		return errors.New("index and trailer differ")
	}
	r.segs, r.complete, r.indexed = segs, true, true
	return nil
}

func lastEnd(segs []segment, begin int64) int64 {
	if len(segs) == 0 {
		return begin
	}
	return segs[len(segs)-1].end()
}

// header reads the block header at an offset. io.ErrUnexpectedEOF means that
// the block is not whole before end.
func (r *Reader) header(at, end int64) (segment, error) {
	var b [blockLen]byte
	if end-at < blockLen {
		return segment{}, io.ErrUnexpectedEOF
	}
	if err := readFull(r.r, b[:], at); err != nil {
		return segment{}, err
	}
	h, err := parseBlockHeader(b[:])
	if err != nil {
		return segment{}, err
	}
	s := segment{offset: at, head: h}
	if s.end() > end {
		return segment{}, io.ErrUnexpectedEOF
	}
	return s, nil
}

// scan finds the blocks one behind the other and stops at the index, at the
// cut, or at the end. Where a header is damaged it looks for the next one.
func (r *Reader) scan(begin int64) error {
	for at := begin; ; {
		if r.atTrailer(at) {
			r.complete = true
			return nil
		}
		s, err := r.header(at, r.size)
		switch {
		case err == nil && s.head.kind == indexBlock:
			r.damagedTail(&s)
			return nil
		case err == nil:
			r.segs = append(r.segs, s)
			at = s.end()
			continue
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.cutAt = at
			return nil
		}
		next, ferr := r.findBlock(at + 1)
		if ferr != nil {
			return ferr
		}
		if next == r.size && r.zeros(at) {
			r.cutAt = at
			return nil
		}
		r.segs = append(r.segs, segment{offset: at, bad: err, length: next - at})
		at = next
		if at == r.size {
			r.cutAt = at
			return nil
		}
	}
}

// atTrailer reports whether the file ends at this offset with a good trailer
// and no index (one that would have been too long).
func (r *Reader) atTrailer(at int64) bool {
	if r.size-at != trailerLen {
		return false
	}
	b := make([]byte, trailerLen)
	if readFull(r.r, b, at) != nil {
		return false
	}
	_, ok := parseTrailer(b)
	return ok
}

// damagedTail is called when a scan meets the index: the blocks before it are
// all there, but index or trailer are cut off or did not agree with them.
func (r *Reader) damagedTail(index *segment) {
	if r.size-index.end() < trailerLen {
		r.cutAt = index.offset
		return
	}
	r.complete = true
	r.segs = append(r.segs, segment{offset: index.offset, length: r.size - index.offset,
		bad: errors.New("the index or the trailer is damaged; the blocks before it were found by scanning")})
}

// findBlock returns the offset of the next sound block header at or after an
// offset, or the file's size.
func (r *Reader) findBlock(at int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at < r.size {
		n := min(int64(len(buf)), r.size-at)
		if err := readFull(r.r, buf[:n], at); err != nil {
			return 0, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], []byte(blockMagic))
			if j < 0 {
				break
			}
			i += j
			if _, err := r.header(at+int64(i), r.size); err == nil {
				return at + int64(i), nil
			}
		}
		if n < int64(len(buf)) {
			break
		}
		at += n - int64(len(blockMagic)) + 1
	}
	return r.size, nil
}

// zeros reports whether the file holds nothing but zeros from an offset on: space
// that a file system allocated and that was never written.
func (r *Reader) zeros(at int64) bool {
	buf := make([]byte, 64<<10)
	for at < r.size {
		n := min(int64(len(buf)), r.size-at)
		if readFull(r.r, buf[:n], at) != nil || len(bytes.Trim(buf[:n], "\x00")) != 0 {
			return false
		}
		at += n
	}
	return true
}

func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
