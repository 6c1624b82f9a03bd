package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// The fixed part of a frame; docs/format-frame.md draws it.
const (
	frameVersion = 1

	flagByReceived = 1 << 0 // Received is authoritative
	flagBothTimes  = 1 << 1 // the other time is stated too
	flagStates     = 1 << 2 // not everything is Present
	flagsKnown     = flagByReceived | flagBothTimes | flagStates
	unitShift      = 4 // the high half of the flags: times are in 10^unit ns
	maxUnit        = 9

	offFlags       = 1
	offChecksum    = 2
	offFingerprint = 6
	offVarying     = 14
)

// Limits of one frame. They bound what a decoder allocates, whatever the bytes
// claim: 8 MiB of words.
const (
	MaxFrameInstants = 4096
	MaxFrameSamples  = 1 << 20
)

// castagnoli is read only; its tables are made once by the standard library.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of a frame's bytes. Any other error of a decoder is about bytes whose
// checksum is right: they were written wrongly.
var (
	ErrFrameVersion  = errors.New("unknown frame version")
	ErrFrameChecksum = errors.New("checksum does not match")
	ErrFrameSchema   = errors.New("another schema's frame")
)

// FrameHeader is what a frame states before its samples.
type FrameHeader struct {
	Fingerprint Fingerprint
	Incarnation uint64
	Sequence    uint64
	ByReceived  bool
	Instants    int
	First, Last Time // authoritative times of the first and the last instant
}

// Header verifies the checksum and reads the header. It allocates only to report
// what is wrong.
func (b EncodedFrame) Header() (FrameHeader, error) {
	r := reader{b: b}
	h := r.header()
	if r.err != nil {
		return FrameHeader{}, fmt.Errorf("frame header: %w", r.err)
	}
	return h.FrameHeader, nil
}

// header is FrameHeader and what only the decoder needs.
type header struct {
	FrameHeader
	flags byte
	unit  int64 // nanoseconds a time step
	step  int64 // from instant to instant if they were evenly spread, in units
}

func (r *reader) header() (h header) {
	if r.fixed(); r.err != nil {
		return h
	}
	h.flags = r.b[offFlags]
	h.ByReceived = h.flags&flagByReceived != 0
	h.unit = timeUnit(h.flags >> unitShift)
	h.Fingerprint = Fingerprint(binary.LittleEndian.Uint64(r.b[offFingerprint:]))
	r.off = offVarying
	h.Incarnation = r.uvarint("incarnation")
	h.Sequence = r.uvarint("sequence")
	h.Instants = r.count("instants", MaxFrameInstants, 1)
	if r.err == nil && h.Instants == 0 {
		r.fail(errors.New("no instants"))
	}
	first := r.varint("first time")
	h.First = Time(first * h.unit)
	if r.err == nil && overflows(first, h.unit) {
		r.fail(fmt.Errorf("first time: %d × %d ns is out of range", first, h.unit))
	}
	h.Last = h.First
	if h.Instants > 1 {
		span := r.span()
		h.Last += Time(span * h.unit)
		h.step = span / int64(h.Instants-1)
		if r.err == nil && (overflows(span, h.unit) || h.Last <= h.First) {
			r.fail(fmt.Errorf("last time: %d × %d ns after the first is out of range", span, h.unit))
		}
	}
	return h
}

func (r *reader) span() int64 {
	v := r.uvarint("last time")
	if v > math.MaxInt64 {
		r.fail(errors.New("last time: out of range"))
		return 0
	}
	return int64(v)
}

// fixed checks the part of the header that has a fixed place.
func (r *reader) fixed() {
	b := r.b
	switch {
	case len(b) < offVarying:
		r.fail(fmt.Errorf("%d bytes, a header has at least %d: %w", len(b), offVarying, errCut))
	case b[0] != frameVersion:
		r.fail(fmt.Errorf("%w %d, want %d", ErrFrameVersion, b[0], frameVersion))
	case frameChecksum(b) != binary.LittleEndian.Uint32(b[offChecksum:]):
		r.fail(ErrFrameChecksum)
	case b[offFlags]&(1<<unitShift-1)&^flagsKnown != 0 || b[offFlags]>>unitShift > maxUnit:
		r.fail(fmt.Errorf("unknown flags %#x", b[offFlags]))
	}
}

// frameChecksum is CRC32C over everything but its own four bytes.
func frameChecksum(b []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, b[:offChecksum]), castagnoli, b[offFingerprint:])
}

func overflows(v, unit int64) bool { return v > math.MaxInt64/unit || v < math.MinInt64/unit }

// timeUnit returns 10^e.
func timeUnit(e byte) int64 {
	u := int64(1)
	for ; e > 0; e-- {
		u *= 10
	}
	return u
}

// commonUnit returns the largest e ≤ maxUnit with every time a multiple of
// 10^e ns.
func commonUnit(in []Instant) byte {
	e, u := byte(maxUnit), int64(1e9)
	for _, i := range in {
		for int64(i.Source)%u != 0 || int64(i.Received)%u != 0 {
			e, u = e-1, u/10
		}
		if e == 0 {
			break
		}
	}
	return e
}
