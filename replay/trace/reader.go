package trace

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/quintet-dc/quintet/telemetry"
)

// Reader reads a trace. It is not safe for concurrent use.
type Reader struct {
	r    io.ReaderAt
	size int64
	zstd *zstd.Decoder
	head headerBody

	segs     []segment
	complete bool  // the writer closed the file
	indexed  bool  // the blocks were found by the index
	cutAt    int64 // where a file that is not complete ends

	skip    bool
	skipped []*BlockError
	err     error // sticky

	seg       int            // next segment to open
	lost      bool           // a block was skipped: the next context blocks are given
	restating bool           // they are being given
	pending   []Entry        // context to be given before anything else
	rest      []byte         // entries of the open block not yet given
	open      *segment       // the open block
	left      uint32         // entries it still claims
	prev      uint64         // position of its last entry
	from      telemetry.Time // entries are withheld until one reaches it
	seeking   bool
}

// Entry is what a trace holds at a position: a record or a digest.
type Entry struct {
	Position uint64
	Record   *telemetry.Record
	Digest   []byte // set where Record is nil: a digest of the answers
}

// Open reads the header and finds the blocks: by the index, or by scanning
// their headers where the index is missing or damaged. An error means that the
// file is not a trace or that its header is damaged.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	t := &Reader{r: r, size: size, zstd: dec}
	begin, err := t.readHeader()
	if err != nil {
		return nil, err
	}
	if t.readIndex(begin) != nil {
		t.segs, t.complete, t.indexed = nil, false, false
		if err := t.scan(begin); err != nil {
			return nil, &BlockError{Block: len(t.segs), Offset: lastEnd(t.segs, begin), Err: err}
		}
	}
	return t, nil
}

func (t *Reader) readHeader() (int64, error) {
	fail := func(err error) (int64, error) { return 0, &BlockError{Block: -1, Err: err} }
	prefix := make([]byte, prefixLen)
	if err := readFull(t.r, prefix[:min(prefixLen, max(t.size, 0))], 0); err != nil {
		return fail(err)
	}
	if t.size < prefixLen {
		return fail(fmt.Errorf("not a trace: %d bytes: %w", t.size, io.ErrUnexpectedEOF))
	}
	n, err := parsePrefix(prefix)
	if err != nil {
		return fail(err)
	}
	if t.size < int64(prefixLen+n) {
		return fail(fmt.Errorf("header: %w", io.ErrUnexpectedEOF))
	}
	b := make([]byte, prefixLen+n)
	if err := readFull(t.r, b, 0); err != nil {
		return fail(err)
	}
	h, err := parseHeader(b)
	if err != nil {
		return fail(err)
	}
	t.head = *h
	return int64(len(b)), nil
}

// Header returns the header, without the snapshot's bytes.
func (t *Reader) Header() Header { return t.head.Header }

// SkipDamaged makes the reader go on behind a damaged block instead of
// stopping at it. What was skipped is listed in Info.
func (t *Reader) SkipDamaged(on bool) { t.skip = on }

// Snapshot returns the snapshot that the trace begins with, nil if it has none.
func (t *Reader) Snapshot() ([]byte, error) {
	var b []byte
	for i := range t.segs {
		s := &t.segs[i]
		if s.bad != nil && uint64(len(b)) < t.head.snapshotLen {
			return nil, t.blockError(i, s.bad)
		}
		if s.bad != nil || s.head.kind != snapshotBlock {
			break
		}
		p, err := t.payload(s)
		if err != nil {
			return nil, t.blockError(i, err)
		}
		if b = append(b, p...); uint64(len(b)) > t.head.snapshotLen {
			break
		}
	}
	if uint64(len(b)) != t.head.snapshotLen {
		return nil, fmt.Errorf("read trace: snapshot of %d bytes, %d announced: %w", len(b), t.head.snapshotLen, io.ErrUnexpectedEOF)
	}
	return b, nil
}

// Next returns the next record. It returns io.EOF at the end, a *CutError
// behind the last whole block of a file that its writer did not close, and a
// *BlockError at damage. The record and its bytes belong to the caller.
func (t *Reader) Next() (uint64, *telemetry.Record, error) {
	for {
		e, err := t.NextEntry()
		if err != nil {
			return 0, nil, err
		}
		if e.Record != nil {
			return e.Position, e.Record, nil
		}
	}
}

// NextEntry is Next, with digests.
func (t *Reader) NextEntry() (Entry, error) {
	for t.err == nil {
		if len(t.pending) > 0 {
			e := t.pending[0]
			t.pending = t.pending[1:]
			return e, nil
		}
		e, ok, err := t.entry()
		switch {
		case err != nil:
			t.damaged(t.seg-1, err)
		case ok:
			return e, nil
		case t.open == nil:
			t.advance()
		}
	}
	return Entry{}, t.err
}

// entry gives the next entry of the open block; ok is false where there is
// none, or where it is withheld by a seek.
func (t *Reader) entry() (Entry, bool, error) {
	if t.open == nil {
		return Entry{}, false, nil
	}
	if len(t.rest) == 0 {
		err := error(nil)
		if t.left != 0 || t.prev != t.open.head.last {
			err = fmt.Errorf("%d entries missing", t.left)
		}
		t.open = nil
		return Entry{}, false, err
	}
	e, err := t.cut()
	if err != nil || e.Record == nil {
		return e, err == nil && !t.seeking, err
	}
	if t.seeking {
		_, last, timed, err := times(e.Record)
		if err != nil {
			return Entry{}, false, err
		}
		t.seeking = !timed || last < t.from
		return e, !t.seeking || contextKey(e.Record) != "", nil
	}
	return e, true, nil
}

// cut splits the next entry off the open block.
func (t *Reader) cut() (Entry, error) {
	delta, digest, body, rest, err := cutEntry(t.rest)
	if err != nil {
		return Entry{}, err
	}
	if t.left == 0 || t.prev+delta < t.prev || t.prev+delta > t.open.head.last {
		return Entry{}, fmt.Errorf("position %d+%d: more than the block claims", t.prev, delta)
	}
	t.left--
	t.prev += delta
	t.rest = rest
	if digest {
		return Entry{Position: t.prev, Digest: body}, nil
	}
	r, err := telemetry.ParseRecord(body)
	if err != nil {
		return Entry{}, fmt.Errorf("position %d: %w", t.prev, err)
	}
	return Entry{Position: t.prev, Record: &r}, nil
}

// advance opens the next block that holds records.
func (t *Reader) advance() {
	for t.seg < len(t.segs) {
		s := &t.segs[t.seg]
		t.seg++
		if s.bad != nil {
			t.damaged(t.seg-1, s.bad)
			return
		}
		if s.head.kind == recordsBlock && t.restating {
			t.lost, t.restating = false, false
		}
		t.restating = t.lost && s.head.kind == contextBlock
		if s.head.kind == recordsBlock || t.restating {
			if err := t.openBlock(s); err != nil {
				t.damaged(t.seg-1, err)
			}
			return
		}
	}
	t.err = io.EOF
	if !t.complete {
		t.err = &CutError{Block: len(t.segs), Offset: t.cutAt, Lost: t.size - t.cutAt}
	}
}

// openBlock makes a block's entries the next ones to be given.
func (t *Reader) openBlock(s *segment) error {
	if want := t.segNumber(); !t.skip && s.head.number != want {
		return fmt.Errorf("this is block %d: blocks are missing or out of order", s.head.number)
	}
	p, err := t.payload(s)
	if err != nil {
		return err
	}
	t.open, t.rest, t.left, t.prev = s, p, s.head.entries, s.head.first
	return nil
}

func (t *Reader) segNumber() uint32 { return uint32(t.seg - 1) }

// damaged notes damage at a segment: the reader stops there, or goes on.
func (t *Reader) damaged(i int, err error) {
	e := t.blockError(i, err)
	t.open, t.rest = nil, nil
	if !t.skip {
		t.err = e
		return
	}
	t.lost = true
	t.skipped = append(t.skipped, e)
}

func (t *Reader) blockError(i int, err error) *BlockError {
	return &BlockError{Block: i, Offset: t.segs[i].offset, Err: err}
}

// payload reads, checks and decompresses a block.
func (t *Reader) payload(s *segment) ([]byte, error) {
	b := make([]byte, blockLen+int(s.head.stored))
	if err := readFull(t.r, b, s.offset); err != nil {
		return nil, err
	}
	h, err := parseBlockHeader(b) // the index may be sound and the block not
	if err != nil {
		return nil, err
	}
	if h != s.head {
		return nil, errors.New("block header: not that of the index")
	}
	b = b[blockLen:]
	if got := checksum(b); got != s.head.payload {
		return nil, fmt.Errorf("payload: checksum %08x, want %08x", got, s.head.payload)
	}
	if s.head.codec == codecRaw {
		return b, nil
	}
	p, err := t.zstd.DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if len(p) != int(s.head.raw) {
		return nil, fmt.Errorf("payload: %d bytes, %d announced", len(p), s.head.raw)
	}
	return p, nil
}

// ReadAll gives every entry to fn until it returns an error or the end is
// reached; a *CutError is returned as it is.
func (t *Reader) ReadAll(fn func(Entry) error) error {
	for {
		e, err := t.NextEntry()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}
