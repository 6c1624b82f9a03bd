package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// A snapshot on the wire:
//
//	magic, version (4 bytes), CRC-32C of both
//	chunks: stored length, length, CRC-32C of these and of what follows; stored bytes (zstd)
//	the end: a chunk of no length, whose stored bytes are the SHA-256 of all that the chunks hold
//
// Numbers are of four bytes, little endian. No number is the length of the whole.
const (
	// snapshotMagic begins every snapshot; the odd bytes catch transfers that
	// change line ends.
	snapshotMagic = "QSNAP\r\n\x1a"
	// snapshotVersion is that of the envelope, not of the engine.
	snapshotVersion = 4

	chunkSize   = 256 << 10 // bytes in a chunk before compression
	chunkHeader = 12
	headerSize  = len(snapshotMagic) + 8
	maxQueued   = 32 // chunks that wait for compression
)

// castagnoli returns the table of CRC-32C; the standard library makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// packer cuts what is written to it into chunks, and compresses them on a goroutine
// of its own, so that the engine waits for little else than writing its state.
type packer struct {
	raw    []byte      // being filled
	full   chan []byte // to the other goroutine
	spare  chan []byte // back
	packed chan []byte // the snapshot, at the end
}

// newPacker returns a packer for a snapshot of about size bytes. Call finish.
func newPacker(size int) (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(chunkSize))
	if err != nil {
		return nil, err
	}
	p := &packer{raw: make([]byte, 0, chunkSize), full: make(chan []byte, maxQueued), spare: make(chan []byte, maxQueued+2), packed: make(chan []byte, 1)}
	go p.pack(enc, slices.Grow([]byte(nil), size))
	return p, nil
}

// pack compresses chunks until there are no more.
func (p *packer) pack(enc *zstd.Encoder, out []byte) {
	out = appendHeader(out)
	sum := sha256.New()
	for raw := range p.full {
		sum.Write(raw)
		at := len(out)
		out = enc.EncodeAll(raw, append(out, make([]byte, chunkHeader)...))
		sealChunk(out[at:], len(raw))
		select {
		case p.spare <- raw[:0]:
		default:
		}
	}
	at := len(out)
	out = sum.Sum(append(out, make([]byte, chunkHeader)...))
	sealChunk(out[at:], 0)
	p.packed <- out
}

func appendHeader(out []byte) []byte {
	at := len(out)
	out = binary.LittleEndian.AppendUint32(append(out, snapshotMagic...), snapshotVersion)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[at:], castagnoli()))
}

// sealChunk writes the header of a chunk that holds length bytes.
func sealChunk(chunk []byte, length int) {
	binary.LittleEndian.PutUint32(chunk, uint32(len(chunk)-chunkHeader))
	binary.LittleEndian.PutUint32(chunk[4:], uint32(length))
	binary.LittleEndian.PutUint32(chunk[8:], chunkSum(chunk))
}

func chunkSum(chunk []byte) uint32 {
	return crc32.Update(crc32.Checksum(chunk[:8], castagnoli()), castagnoli(), chunk[chunkHeader:])
}

// write takes bytes, which stay the caller's.
func (p *packer) write(b []byte) {
	for len(b) > 0 {
		n := min(len(b), chunkSize-len(p.raw))
		p.raw = append(p.raw, b[:n]...)
		if b = b[n:]; len(p.raw) == chunkSize {
			p.pass()
		}
	}
}

// pass hands the chunk on and takes another.
func (p *packer) pass() {
	p.full <- p.raw
	select {
	case p.raw = <-p.spare:
	default:
		p.raw = make([]byte, 0, chunkSize)
	}
}

// finish returns the snapshot.
func (p *packer) finish() []byte {
	if len(p.raw) > 0 {
		p.full <- p.raw
	}
	close(p.full)
	return <-p.packed
}

// chunk is one of a snapshot, its checksum verified.
type chunk struct {
	length int
	stored []byte
}

// chunks takes a snapshot apart, and returns its digest.
func chunks(b []byte) (out []chunk, digest []byte, err error) {
	if !bytes.HasPrefix(b, []byte(snapshotMagic)) {
		return nil, nil, fmt.Errorf("%w: it does not begin as a snapshot does", ErrSnapshotDamaged)
	}
	if len(b) < headerSize || crc32.Checksum(b[:headerSize-4], castagnoli()) != binary.LittleEndian.Uint32(b[headerSize-4:]) {
		return nil, nil, unversioned(b)
	}
	if v := binary.LittleEndian.Uint32(b[len(snapshotMagic):]); v != snapshotVersion {
		return nil, nil, fmt.Errorf("%w: snapshot format %d, want %d", ErrSnapshotEngine, v, snapshotVersion)
	}
	for rest := b[headerSize:]; len(rest) >= chunkHeader; {
		stored, length := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if int64(stored) > int64(len(rest)-chunkHeader) || length > chunkSize {
			break
		}
		one := rest[:chunkHeader+int(stored)]
		if chunkSum(one) != binary.LittleEndian.Uint32(one[8:]) {
			break
		}
		rest = rest[len(one):]
		if length == 0 {
			if len(rest) > 0 || stored != sha256.Size {
				break
			}
			return out, one[chunkHeader:], nil
		}
		out = append(out, chunk{int(length), one[chunkHeader:]})
	}
	return nil, nil, fmt.Errorf("%w: chunk %d of %d bytes", ErrSnapshotDamaged, len(out), len(b))
}

// unversioned reports what is wrong with a snapshot whose header is not of this version:
// those before had one checksum, at the end.
func unversioned(b []byte) error {
	end := len(b) - crc32.Size
	if at := len(snapshotMagic) + 4; end > at && crc32.Checksum(b[:end], castagnoli()) == binary.LittleEndian.Uint32(b[end:]) {
		return fmt.Errorf("%w: snapshot format %d, want %d", ErrSnapshotEngine, binary.LittleEndian.Uint32(b[len(snapshotMagic):]), snapshotVersion)
	}
	return fmt.Errorf("%w: header", ErrSnapshotDamaged)
}

// unpack returns what the chunks of a snapshot hold.
func unpack(b []byte) ([]byte, error) {
	list, digest, err := chunks(b)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(chunkSize), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	size := 0
	for _, c := range list {
		size += c.length
	}
	out, at := make([]byte, size), 0
	for i, c := range list {
		end := at + c.length
		if got, err := dec.DecodeAll(c.stored, out[at:at:end]); err != nil || len(got) != c.length {
			return nil, fmt.Errorf("%w: chunk %d of %d bytes: %w", ErrSnapshotDamaged, i, c.length, err)
		}
		at = end
	}
	if sum := sha256.Sum256(out); !bytes.Equal(sum[:], digest) {
		return nil, fmt.Errorf("%w: its digest is another", ErrSnapshotDamaged)
	}
	return out, nil
}

// SnapshotDigest returns the digest of the state in a snapshot, in hexadecimal: equal
// for equal states. The error is ErrSnapshotDamaged, or ErrSnapshotEngine.
func SnapshotDigest(snapshot []byte) (string, error) {
	_, digest, err := chunks(snapshot)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(digest), nil
}
