package trace

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// Version is the format's version. A reader refuses any other.
const Version = 1

// The magics. Both end in CR LF, so that a transfer in text mode breaks them.
const (
	fileMagic    = "QTRACE\r\n"
	trailerMagic = "QTREND\r\n"
	blockMagic   = "QBLK"
)

// The limits. A reader allocates at most MaxBlock for a block, whatever the
// file claims.
const (
	// MaxRecord is the longest encoded record: a config of 64 MiB fits.
	MaxRecord = 65 << 20
	// MaxBlock is the longest block, before compression.
	MaxBlock = 66 << 20
	// MaxSnapshot is the longest snapshot.
	MaxSnapshot = 1 << 30

	maxHeader     = 1 << 16
	blockTarget   = 256 << 10 // a block is closed when its records reach this
	contextEvery  = 16 << 20  // bytes of records between two context blocks, at least
	contextShare  = 16        // context takes at most a sixteenth of the file
	snapshotPiece = 1 << 20
	prefixLen     = 20
	blockLen      = 64
	trailerLen    = 32
	indexEntryLen = blockLen + 8
)

// blockKind states what a block holds.
type blockKind uint8

const (
	recordsBlock  blockKind = iota + 1 // records, in the order of the log
	contextBlock                       // schemas, config and edges stated before, again
	snapshotBlock                      // a piece of the snapshot
	indexBlock                         // every other block's header and offset
)

// The codecs of a block's payload.
const (
	codecRaw uint8 = iota
	codecZstd
)

// flagNewContext marks a records block that holds a schema, config or edge
// which no earlier block states: a reader that begins behind it needs it.
const flagNewContext uint16 = 1

// The times of a block none of whose records has one.
const (
	noTimeMin = telemetry.Time(math.MaxInt64)
	noTimeMax = telemetry.Time(math.MinInt64)
)

// blockHeader is the 64 bytes before every block's payload.
type blockHeader struct {
	kind        blockKind
	codec       uint8
	flags       uint16
	stored      uint32 // bytes of payload in the file
	raw         uint32 // bytes of payload once decompressed
	entries     uint32
	number      uint32 // counts the blocks of the file from 0
	first, last uint64 // positions
	min, max    telemetry.Time
	payload     uint32 // CRC-32C of the stored payload
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func (h *blockHeader) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, blockMagic...)
	dst = append(dst, byte(h.kind), h.codec)
	le := binary.LittleEndian
	dst = le.AppendUint16(dst, h.flags)
	for _, v := range []uint32{h.stored, h.raw, h.entries, h.number} {
		dst = le.AppendUint32(dst, v)
	}
	for _, v := range []uint64{h.first, h.last, uint64(h.min), uint64(h.max)} {
		dst = le.AppendUint64(dst, v)
	}
	dst = le.AppendUint32(dst, h.payload)
	return le.AppendUint32(dst, checksum(dst[start:]))
}

// parseBlockHeader reads the header at the start of b, which has at least
// blockLen bytes.
func parseBlockHeader(b []byte) (blockHeader, error) {
	le := binary.LittleEndian
	if string(b[:4]) != blockMagic {
		return blockHeader{}, fmt.Errorf("no block here: bytes % x", b[:4])
	}
	if got, want := checksum(b[:60]), le.Uint32(b[60:]); got != want {
		return blockHeader{}, fmt.Errorf("block header: checksum %08x, want %08x", got, want)
	}
	h := blockHeader{
		kind: blockKind(b[4]), codec: b[5], flags: le.Uint16(b[6:]),
		stored: le.Uint32(b[8:]), raw: le.Uint32(b[12:]), entries: le.Uint32(b[16:]), number: le.Uint32(b[20:]),
		first: le.Uint64(b[24:]), last: le.Uint64(b[32:]),
		min: telemetry.Time(le.Uint64(b[40:])), max: telemetry.Time(le.Uint64(b[48:])),
		payload: le.Uint32(b[56:]),
	}
	return h, h.validate()
}

func (h *blockHeader) validate() error {
	switch {
	case h.kind < recordsBlock || h.kind > indexBlock:
		return fmt.Errorf("block header: unknown kind %d", h.kind)
	case h.codec > codecZstd:
		return fmt.Errorf("block header: unknown codec %d", h.codec)
	case h.raw > MaxBlock || h.stored > MaxBlock:
		return fmt.Errorf("block header: claims %d bytes in %d stored: at most %d", h.raw, h.stored, MaxBlock)
	case h.codec == codecRaw && h.raw != h.stored:
		return fmt.Errorf("block header: claims %d bytes in %d stored, uncompressed", h.raw, h.stored)
	case h.entries > h.raw:
		return fmt.Errorf("block header: claims %d records in %d bytes", h.entries, h.raw)
	case h.last < h.first:
		return fmt.Errorf("block header: positions %d to %d run backwards", h.first, h.last)
	}
	return nil
}

// An entry of a records or context block is
//
//	uvarint position - previous position (the first: - the block's first)
//	uvarint length<<1 | digest
//	body
//
// appendEntry writes one.
func appendEntry(dst []byte, delta uint64, digest bool, body []byte) []byte {
	dst = binary.AppendUvarint(dst, delta)
	n := uint64(len(body)) << 1
	if digest {
		n |= 1
	}
	dst = binary.AppendUvarint(dst, n)
	return append(dst, body...)
}

// cutEntry splits the entry at the start of b off.
func cutEntry(b []byte) (delta uint64, digest bool, body, rest []byte, err error) {
	delta, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, false, nil, nil, fmt.Errorf("entry: bad position")
	}
	b = b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, false, nil, nil, fmt.Errorf("entry: bad length")
	}
	b = b[n:]
	if size>>1 > uint64(len(b)) {
		return 0, false, nil, nil, fmt.Errorf("entry: claims %d bytes of %d left", size>>1, len(b))
	}
	body = b[: size>>1 : size>>1]
	return delta, size&1 == 1, body, b[size>>1:], nil
}
