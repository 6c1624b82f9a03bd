package trace

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Header states where a trace comes from and how it begins.
type Header struct {
	Site   string // the site's name; may be empty
	Writer string // the program and version that wrote the file
	// Engine and Rules are the version of the engine and the digest of the
	// rules that made Snapshot and the digests; empty in a cold trace.
	Engine string
	Rules  string
	// SnapshotAt is the position of Snapshot: the records that
	// follow come behind it.
	SnapshotAt uint64
	// Snapshot is an engine's state, opaque. Nil means that the trace has none. A
	// Reader leaves it nil; see Reader.Snapshot.
	Snapshot []byte
	// Cold states that the trace begins without a snapshot. A writer derives it.
	Cold bool
}

// headerBody is what the file stores of a Header.
type headerBody struct {
	Header
	snapshotLen uint64
}

const flagCold uint16 = 1

func (h *headerBody) append(dst []byte) ([]byte, error) {
	var body []byte
	for _, s := range []string{h.Site, h.Writer, h.Engine, h.Rules} {
		body = binary.AppendUvarint(body, uint64(len(s)))
		body = append(body, s...)
	}
	body = binary.AppendUvarint(body, h.SnapshotAt)
	body = binary.AppendUvarint(body, h.snapshotLen)
	if len(body) > maxHeader {
		return nil, fmt.Errorf("write trace: header of %d bytes, at most %d", len(body), maxHeader)
	}
	flags := uint16(0)
	if h.snapshotLen == 0 {
		flags |= flagCold
	}
	le := binary.LittleEndian
	start := len(dst)
	dst = append(dst, fileMagic...)
	dst = le.AppendUint16(dst, Version)
	dst = le.AppendUint16(dst, flags)
	dst = le.AppendUint32(dst, uint32(len(body)))
	crc := checksum(append(append([]byte(nil), dst[start:]...), body...))
	dst = le.AppendUint32(dst, crc)
	return append(dst, body...), nil
}

// parsePrefix reads the fixed part and describes how long the body is.
func parsePrefix(b []byte) (body int, err error) {
	if string(b[:8]) != fileMagic {
		return 0, fmt.Errorf("not a trace: begins with % x, want %q", b[:8], fileMagic)
	}
	le := binary.LittleEndian
	if v := le.Uint16(b[8:]); v != Version {
		return 0, fmt.Errorf("trace version %d: this program reads version %d", v, Version)
	}
	n := le.Uint32(b[12:])
	if n > maxHeader {
		return 0, fmt.Errorf("header claims %d bytes, at most %d", n, maxHeader)
	}
	return int(n), nil
}

// parseHeader reads the whole header: prefix and body.
func parseHeader(b []byte) (*headerBody, error) {
	le := binary.LittleEndian
	sum := checksum(append(append([]byte(nil), b[:16]...), b[prefixLen:]...))
	if want := le.Uint32(b[16:]); sum != want {
		return nil, fmt.Errorf("header: checksum %08x, want %08x", sum, want)
	}
	h := &headerBody{}
	rest := b[prefixLen:]
	for _, s := range []*string{&h.Site, &h.Writer, &h.Engine, &h.Rules} {
		n, k := binary.Uvarint(rest)
		if k <= 0 || n > uint64(len(rest)-k) {
			return nil, fmt.Errorf("header: bad string length")
		}
		*s = string(rest[k : k+int(n)])
		rest = rest[k+int(n):]
		if !utf8.ValidString(*s) {
			return nil, fmt.Errorf("header: %q is not UTF-8", *s)
		}
	}
	for _, v := range []*uint64{&h.SnapshotAt, &h.snapshotLen} {
		n, k := binary.Uvarint(rest)
		if k <= 0 {
			return nil, fmt.Errorf("header: bad number")
		}
		*v, rest = n, rest[k:]
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("header: %d bytes too many", len(rest))
	}
	if h.snapshotLen > MaxSnapshot {
		return nil, fmt.Errorf("header: claims a snapshot of %d bytes, at most %d", h.snapshotLen, MaxSnapshot)
	}
	h.Cold = le.Uint16(b[10:])&flagCold != 0
	if h.Cold != (h.snapshotLen == 0) {
		return nil, fmt.Errorf("header: cold is %v with a snapshot of %d bytes", h.Cold, h.snapshotLen)
	}
	return h, nil
}
