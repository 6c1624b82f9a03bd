package trace

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/quintet-dc/quintet/telemetry"
)

// Writer appends a log to a trace. It is not safe for concurrent use. After an
// error it stays in that error.
type Writer struct {
	w       io.Writer
	zstd    *zstd.Encoder
	err     error
	offset  int64
	blocks  uint32
	records uint64
	index   []byte

	cur     building // the records block being filled
	current contextAt
	since   int    // bytes of records since the last context block
	last    uint64 // position of the last record
	any     bool   // a record was appended
	scratch []byte
	out     []byte
}

// building is a block being filled.
type building struct {
	head blockHeader
	raw  []byte
	prev uint64 // position of the last entry
}

func (b *building) reset() {
	b.head = blockHeader{kind: recordsBlock, min: noTimeMin, max: noTimeMax}
	b.raw = b.raw[:0]
}

func (b *building) add(position uint64, digest bool, body []byte) {
	if b.head.entries == 0 {
		b.head.first, b.prev = position, position
	}
	b.raw = appendEntry(b.raw, position-b.prev, digest, body)
	b.prev, b.head.last = position, position
	b.head.entries++
}

// NewWriter begins a trace on w with the header and, where h carries one, the
// snapshot. It writes at once and does not close w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if len(h.Snapshot) > MaxSnapshot {
		return nil, fmt.Errorf("write trace: snapshot of %d bytes, at most %d", len(h.Snapshot), MaxSnapshot)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("write trace: %w", err)
	}
	t := &Writer{w: w, zstd: enc}
	t.cur.reset()
	b, err := (&headerBody{Header: h, snapshotLen: uint64(len(h.Snapshot))}).append(nil)
	if err != nil {
		return nil, err
	}
	t.write(b)
	for rest := h.Snapshot; len(rest) > 0; {
		n := min(len(rest), snapshotPiece)
		t.block(&blockHeader{kind: snapshotBlock, first: h.SnapshotAt, last: h.SnapshotAt, min: noTimeMin, max: noTimeMax}, rest[:n])
		rest = rest[n:]
	}
	return t, t.err
}

// Append adds a record of the log. Positions rise strictly.
func (t *Writer) Append(position uint64, r *telemetry.Record) error {
	if t.err != nil {
		return t.err
	}
	if t.any && position <= t.last {
		return t.fail(fmt.Errorf("position %d after %d: positions rise", position, t.last))
	}
	first, last, timed, err := times(r)
	if err != nil {
		return t.fail(fmt.Errorf("position %d: %w", position, err))
	}
	if t.scratch, err = telemetry.AppendRecord(t.scratch[:0], r); err != nil {
		return t.fail(fmt.Errorf("position %d: %w", position, err))
	}
	if len(t.scratch) > MaxRecord {
		return t.fail(fmt.Errorf("position %d: record of %d bytes, at most %d", position, len(t.scratch), MaxRecord))
	}
	if key := contextKey(r); key != "" && t.current.state(key, position, t.scratch) {
		t.cur.head.flags |= flagNewContext
	}
	t.cur.add(position, false, t.scratch)
	if timed {
		t.cur.head.min, t.cur.head.max = min(t.cur.head.min, first), max(t.cur.head.max, last)
	}
	t.last, t.any = position, true
	t.records++
	return t.roll()
}

// AppendDigest adds a digest of the answers as they were at a position, to be
// compared on replay. The position is that of the record appended last, or
// later.
func (t *Writer) AppendDigest(position uint64, digest []byte) error {
	if t.err != nil {
		return t.err
	}
	if t.any && position < t.last {
		return t.fail(fmt.Errorf("digest at position %d after %d", position, t.last))
	}
	if len(digest) > MaxRecord {
		return t.fail(fmt.Errorf("digest of %d bytes", len(digest)))
	}
	t.cur.add(position, true, digest)
	return t.roll()
}

// roll closes the block once it is full.
func (t *Writer) roll() error {
	if len(t.cur.raw) < blockTarget {
		return nil
	}
	return t.Flush()
}

// Flush writes what has been appended as a block of its own, however small: a
// reader of the growing file then sees it.
func (t *Writer) Flush() error {
	if t.err != nil || t.cur.head.entries == 0 {
		return t.err
	}
	t.since += len(t.cur.raw)
	t.block(&t.cur.head, t.cur.raw)
	t.cur.reset()
	if t.since >= max(contextEvery, contextShare*t.current.bytes) {
		t.context()
	}
	return t.err
}

// context states again everything that is valid, in blocks of their own.
func (t *Writer) context() {
	t.since = 0
	var b building
	b.reset()
	flush := func() {
		if b.head.entries > 0 {
			b.head.kind = contextBlock
			t.block(&b.head, b.raw)
			b.reset()
		}
	}
	for _, s := range t.current.ordered() {
		b.add(s.position, false, s.body)
		if len(b.raw) >= blockTarget {
			flush()
		}
	}
	flush()
}

// block writes one block and notes it in the index.
func (t *Writer) block(h *blockHeader, raw []byte) {
	if t.err != nil {
		return
	}
	t.out = append(t.out[:0], make([]byte, blockLen)...)
	t.out = t.zstd.EncodeAll(raw, t.out)
	h.codec = codecZstd
	if len(t.out)-blockLen >= len(raw) {
		h.codec = codecRaw
		t.out = append(t.out[:blockLen], raw...)
	}
	h.raw, h.stored, h.number = uint32(len(raw)), uint32(len(t.out)-blockLen), t.blocks
	h.payload = checksum(t.out[blockLen:])
	copy(t.out, h.append(nil))
	if h.kind != indexBlock {
		t.index = appendIndex(t.index, t.offset, t.out[:blockLen])
		t.blocks++
	}
	t.write(t.out)
}

// Close writes the last block, the index and the trailer. It does not close
// the underlying writer. A trace that is not closed is read all the same, and
// the reader reports it.
func (t *Writer) Close() error {
	if err := t.Flush(); err != nil {
		return err
	}
	at := t.offset
	if len(t.index) <= MaxBlock {
		t.block(&blockHeader{kind: indexBlock, min: noTimeMin, max: noTimeMax, entries: t.blocks}, t.index)
	}
	t.write(appendTrailer(nil, trailer{index: uint64(at), records: t.records, blocks: t.blocks}))
	if t.err != nil {
		return t.err
	}
	t.err = fmt.Errorf("write trace: closed")
	return nil
}

func (t *Writer) write(b []byte) {
	if t.err != nil {
		return
	}
	n, err := t.w.Write(b)
	t.offset += int64(n)
	if err != nil {
		t.fail(err)
	}
}

func (t *Writer) fail(err error) error {
	t.err = fmt.Errorf("write trace: %w", err)
	return t.err
}
