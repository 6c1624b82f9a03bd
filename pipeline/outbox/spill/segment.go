package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// A segment is a file of the spill: eight bytes of magic, then entries, one after
// the other:
//
//	┌────────┬──────────┬────────────────┐
//	│ length │ checksum │ record         │   length: bit 31 means thinned
//	│ u32    │ u32      │ length bytes   │   checksum: CRC32C of length and record
//	└────────┴──────────┴────────────────┘
//
// all little endian. The first invalid entry ends the segment: a kill may have cut
// it, and after a damaged length no entry can be found.
//
// A segment states the schema of every frame in it before the frame, so that it
// can be thinned and sent by a process that never received it from the collector.
const (
	thinnedBit   = 1 << 31
	segmentMagic = "qspill\x00\x01"
	headerBytes  = int64(len(segmentMagic))
	prefixBytes  = 8
	// MaxRecord is the largest record that a spill accepts, in bytes; more than any
	// that the bus carries.
	MaxRecord = 16 << 20
	// segmentEntries is the number of entries at which a segment is full; it bounds
	// the memory for one.
	segmentEntries = 1 << 14
)

var errDamaged = errors.New("not what was written")

// castagnoli is read only.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendEntry appends an entry as a segment holds it.
func appendEntry(dst []byte, e thin.Entry) []byte {
	n := uint32(len(e.Record))
	if e.Thinned {
		n |= thinnedBit
	}
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, n)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = append(dst, e.Record...)
	binary.LittleEndian.PutUint32(dst[at+4:], entrySum(dst[at:]))
	return dst
}

// entrySum is the checksum of an entry, its own four bytes left out.
func entrySum(b []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, b[:4]), castagnoli, b[prefixBytes:])
}

// parseEntry reads the entry at the beginning of b, of which there are left bytes
// in all; more of them are needed if n is larger than len(b). An error means that
// there is no entry.
func parseEntry(b []byte, left int64) (e thin.Entry, n int64, err error) {
	if left < prefixBytes {
		return thin.Entry{}, 0, fmt.Errorf("%d bytes: %w", left, errDamaged)
	}
	if len(b) < prefixBytes {
		return thin.Entry{}, prefixBytes, nil
	}
	length := binary.LittleEndian.Uint32(b)
	n = prefixBytes + int64(length&^thinnedBit)
	switch {
	case n > left || n > prefixBytes+MaxRecord || n == prefixBytes:
		return thin.Entry{}, 0, fmt.Errorf("%d bytes claimed, %d are there: %w", n, left, errDamaged)
	case int64(len(b)) < n:
		return thin.Entry{}, n, nil
	case entrySum(b[:n]) != binary.LittleEndian.Uint32(b[4:]):
		return thin.Entry{}, 0, fmt.Errorf("checksum: %w", errDamaged)
	}
	return thin.Entry{Record: b[prefixBytes:n:n], Thinned: length&thinnedBit != 0}, n, nil
}

// walk reads the entries of a segment of size bytes from an offset on (0 is the
// beginning) and hands each to fn with its own offset and that of the next, until
// fn ends it. The entry is valid during the call. It returns where it stopped, and
// an error that wraps errDamaged if that is not an entry.
func walk(f io.ReaderAt, from, size int64, fn func(e thin.Entry, at, next int64) bool) (int64, error) {
	if from < headerBytes {
		if err := checkMagic(f, size); err != nil {
			return 0, err
		}
		from = headerBytes
	}
	buf := make([]byte, 0, 64<<10)
	for base := from; from < size; { // buf holds what begins at base
		e, n, err := parseEntry(buf[from-base:], size-from)
		if err != nil {
			return from, err
		}
		if need := n; e.Record == nil {
			buf, base = moreRoom(buf, need), from
			if buf, err = fillFrom(f, buf, base, size); err != nil {
				return from, err
			}
			continue
		}
		if !fn(e, from, from+n) {
			return from, nil
		}
		from += n
	}
	return from, nil
}

func checkMagic(f io.ReaderAt, size int64) error {
	var magic [headerBytes]byte
	if size < headerBytes {
		return fmt.Errorf("%d bytes: %w", size, errDamaged)
	}
	if _, err := f.ReadAt(magic[:], 0); err != nil {
		return err
	}
	if string(magic[:]) != segmentMagic {
		return fmt.Errorf("begins with %q: %w", magic[:], errDamaged)
	}
	return nil
}

func moreRoom(buf []byte, need int64) []byte {
	if int64(cap(buf)) < need {
		return make([]byte, 0, need)
	}
	return buf[:0]
}

// fillFrom reads as much as buf holds.
func fillFrom(f io.ReaderAt, buf []byte, at, size int64) ([]byte, error) {
	buf = buf[:min(int64(cap(buf)), size-at)]
	n, err := f.ReadAt(buf, at)
	if n == len(buf) {
		return buf, nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("shorter than it was: %w", errDamaged)
	}
	return buf[:n], err
}

// segmentWriter writes one segment.
type segmentWriter struct {
	file    File
	size    int64
	entries int
	stated  map[telemetry.Fingerprint]bool
	buf     []byte
}

// createSegment makes an empty segment; a file of that name is replaced.
func createSegment(files Files, path string) (*segmentWriter, error) {
	f, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	w := &segmentWriter{file: f, stated: map[telemetry.Fingerprint]bool{}}
	if err := w.write([]byte(segmentMagic), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// write appends bytes that hold so many entries. On error the file is as it
// was, if the disk lets us.
func (w *segmentWriter) write(b []byte, entries int) error {
	if _, err := w.file.WriteAt(b, w.size); err != nil {
		return errors.Join(err, w.file.Truncate(w.size))
	}
	w.size += int64(len(b))
	w.entries += entries
	return nil
}

// append writes entries in one piece, with the schemas that the segment lacks
// and find knows, and calls placed with the end of each entry.
func (w *segmentWriter) append(entries func(func(thin.Entry) bool), find func(telemetry.Fingerprint) []byte, placed func(end int64)) error {
	w.buf = w.buf[:0]
	count := 0
	var fresh []telemetry.Fingerprint
	for e := range entries {
		switch thin.KindOf(e.Record) {
		case telemetry.SchemaRecord:
			fresh = w.state(fresh, thin.SchemaPrint(e.Record))
		case telemetry.FrameRecord:
			if fp := thin.FramePrint(e.Record); !w.stated[fp] {
				if s := find(fp); s != nil {
					w.buf = appendEntry(w.buf, thin.Entry{Record: s})
					count++
				}
				fresh = w.state(fresh, fp)
			}
		}
		w.buf = appendEntry(w.buf, e)
		count++
		if placed != nil {
			placed(w.size + int64(len(w.buf)))
		}
	}
	err := w.write(w.buf, count)
	if err != nil {
		for _, fp := range fresh {
			delete(w.stated, fp)
		}
	}
	return err
}

func (w *segmentWriter) state(fresh []telemetry.Fingerprint, fp telemetry.Fingerprint) []telemetry.Fingerprint {
	if w.stated[fp] {
		return fresh
	}
	w.stated[fp] = true
	return append(fresh, fp)
}

// full reports whether the next entries belong into another segment.
func (w *segmentWriter) full(limit int64) bool {
	return w.size >= limit || w.entries >= segmentEntries
}

// close makes the segment safe against a power cut.
func (w *segmentWriter) close() error { return errors.Join(w.file.Sync(), w.file.Close()) }
