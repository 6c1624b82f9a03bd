package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Encoder turns frames into bytes. It keeps scratch between calls, so it does
// not allocate in steady state; it is not safe for concurrent use. The zero
// Encoder is ready.
type Encoder struct {
	prints fingerprints
	zeros  []uint64 // what the first instant is a difference from
	filled []uint64 // words with holes filled, where there are states
}

// AppendFrame appends the bytes of f, whose series are those of s
// (docs/format-frame.md). f's Fingerprint must be the schema's or zero; the
// bytes carry the schema's. On error dst comes back as it was.
func (e *Encoder) AppendFrame(dst []byte, s *Schema, f *Frame) ([]byte, error) {
	fp, err := e.prints.of(s)
	if err == nil {
		err = checkFrame(s, f, fp)
	}
	if err != nil {
		return dst, fmt.Errorf("encode frame: %w", err)
	}
	start, n, words := len(dst), s.Len(), f.Words
	dst = appendHeader(dst, f, fp)
	if f.States != nil && !allPresent(f.States) {
		dst[start+offFlags] |= flagStates
		dst = appendStates(dst, f.States, n)
		words = e.fill(f, n)
	}
	if len(e.zeros) < n {
		e.zeros = make([]uint64, n)
	}
	dst = appendRow(dst, s, words[:n], e.zeros[:n], true)
	for k := n; k < len(words); k += n {
		dst = appendRow(dst, s, words[k:k+n], words[k-n:k], false)
	}
	binary.LittleEndian.PutUint32(dst[start+offChecksum:], frameChecksum(dst[start:]))
	return dst, nil
}

func checkFrame(s *Schema, f *Frame, fp Fingerprint) error {
	n, k := s.Len(), len(f.Instants)
	switch {
	case f.Fingerprint != 0 && f.Fingerprint != fp:
		return fmt.Errorf("frame of schema %s, want %s: %w", f.Fingerprint, fp, ErrFrameSchema)
	case k == 0:
		return errors.New("no instants")
	case k > MaxFrameInstants || k*n > MaxFrameSamples:
		return fmt.Errorf("%d instants of %d series, at most %d instants and %d samples", k, n, MaxFrameInstants, MaxFrameSamples)
	case len(f.Words) != k*n:
		return fmt.Errorf("%d words, want %d instants times %d series", len(f.Words), k, n)
	case f.States != nil && len(f.States) != k*n:
		return fmt.Errorf("%d states, want none or %d instants times %d series", len(f.States), k, n)
	}
	for i, v := range f.States {
		if v > Present {
			return fmt.Errorf("state %d of word %d is none", v, i)
		}
	}
	for i := 1; i < k; i++ {
		if f.Time(i) <= f.Time(i-1) {
			return fmt.Errorf("instant %d at %s does not follow %s", i, f.Time(i), f.Time(i-1))
		}
	}
	if f.Time(k-1).Sub(f.Time(0)) <= 0 && k > 1 {
		return errors.New("instants span more than 292 years")
	}
	return nil
}

func appendHeader(dst []byte, f *Frame, fp Fingerprint) []byte {
	e := commonUnit(f.Instants)
	flags := e << unitShift
	if f.ByReceived {
		flags |= flagByReceived
	}
	both := bothTimes(f)
	if both {
		flags |= flagBothTimes
	}
	dst = append(dst, frameVersion, flags, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(fp))
	dst = binary.AppendUvarint(dst, f.Incarnation)
	dst = binary.AppendUvarint(dst, f.Sequence)
	dst = binary.AppendUvarint(dst, uint64(len(f.Instants)))
	dst = appendTimes(dst, f, timeUnit(e))
	if both {
		dst = appendOthers(dst, f, timeUnit(e))
	}
	return dst
}

// bothTimes reports whether the time that is not authoritative is stated.
func bothTimes(f *Frame) bool {
	for _, i := range f.Instants {
		if f.other(i) != 0 {
			return true
		}
	}
	return false
}

func (f *Frame) other(i Instant) Time {
	if f.ByReceived {
		return i.Source
	}
	return i.Received
}

// appendTimes writes the first authoritative time, the last less the first, and
// how far each between lies from an even spread.
func appendTimes(dst []byte, f *Frame, unit int64) []byte {
	n := len(f.Instants)
	first := int64(f.Time(0)) / unit
	dst = appendVarint(dst, first)
	if n == 1 {
		return dst
	}
	span := int64(f.Time(n-1))/unit - first
	dst = binary.AppendUvarint(dst, uint64(span))
	for k := 1; k < n-1; k++ {
		dst = appendVarint(dst, int64(f.Time(k))/unit-first-evenly(span, k, n))
	}
	return dst
}

// appendOthers writes the other time less the authoritative one, as a change
// from the instant before.
func appendOthers(dst []byte, f *Frame, unit int64) []byte {
	last := int64(0)
	for k, i := range f.Instants {
		d := int64(f.other(i))/unit - int64(f.Time(k))/unit
		dst = appendVarint(dst, d-last)
		last = d
	}
	return dst
}

func allPresent(states []State) bool {
	for _, s := range states {
		if s != Present {
			return false
		}
	}
	return true
}

// fill copies the words and carries each series' last present word over its
// holes, so that a hole costs nothing and breaks no difference.
func (e *Encoder) fill(f *Frame, n int) []uint64 {
	e.filled = append(e.filled[:0], f.Words...)
	for i, s := range f.States {
		switch {
		case s == Present:
		case i < n:
			e.filled[i] = 0
		default:
			e.filled[i] = e.filled[i-n]
		}
	}
	return e.filled
}

// appendRow writes one instant: runs of columns that are coded alike.
func appendRow(dst []byte, s *Schema, cur, prev []uint64, first bool) []byte {
	dst = slices.Grow(dst, rowBound(len(cur)))
	b, pos := dst[:cap(dst)], len(dst)
	for lo := 0; lo < len(s.Columns); {
		hi, c := s.run(lo, first)
		i, j := lo*len(s.Entities), hi*len(s.Entities)
		pos = appendRun(b, pos, cur[i:j], prev[i:j], c)
		lo = hi
	}
	return dst[:pos]
}

// rowBound is more than a row of n series can take: nine bytes a word, a mask
// for eight, another for sixty-four in each of n runs at most, and the slack
// into which eight bytes are stored where fewer are meant.
func rowBound(n int) int { return 11*n + 32 }

// appendRun writes the words of a run at b[pos:], sixty-four by sixty-four: a
// byte that says which octets changed, then for each its mask and numbers.
func appendRun(b []byte, pos int, cur, prev []uint64, c coding) int {
	for len(cur) > 0 {
		ctrl := pos
		pos++
		b[ctrl] = 0
		for o := 0; o < 8 && len(cur) > 0; o++ {
			var z [8]uint64
			if len(cur) < 8 {
				var cc, pp [8]uint64
				copy(cc[:], cur)
				copy(pp[:], prev)
				if differences(&z, &cc, &pp, c) {
					b[ctrl] |= 1 << o
					pos = putOctet(b, pos, &z)
				}
				return pos
			}
			if differences(&z, (*[8]uint64)(cur), (*[8]uint64)(prev), c) {
				b[ctrl] |= 1 << o
				pos = putOctet(b, pos, &z)
			}
			cur, prev = cur[8:], prev[8:]
		}
	}
	return pos
}

// differences sets z to what eight words are coded as, and reports whether
// anything changed.
func differences(z, cur, prev *[8]uint64, c coding) bool {
	if (cur[0]^prev[0])|(cur[1]^prev[1])|(cur[2]^prev[2])|(cur[3]^prev[3])|
		(cur[4]^prev[4])|(cur[5]^prev[5])|(cur[6]^prev[6])|(cur[7]^prev[7]) == 0 {
		return false
	}
	switch c {
	case codePlain:
		*z = *cur
	case codeDelta:
		for i := range z {
			z[i] = zigzag(int64(cur[i] - prev[i]))
		}
	case codeFloat:
		for i := range z {
			z[i] = bits.Reverse64(cur[i] ^ prev[i])
		}
	}
	return true
}

// putOctet writes a mask of those that are not zero and then their numbers. It
// stores eight bytes each time and advances by what the number needs, which is
// nothing for a zero: no branch but for the rare number above 56 bits.
func putOctet(b []byte, pos int, z *[8]uint64) int {
	at := pos
	pos++
	var mask byte
	for i, v := range z {
		n := int(numberBytes[bits.Len64(v)&127])
		if n > 8 {
			b[pos] = 0
			binary.LittleEndian.PutUint64(b[pos+1:], v)
		} else {
			binary.LittleEndian.PutUint64(b[pos:], (v<<1|1)<<(uint(n-1)&63))
		}
		mask |= byte((n+15)>>4) << i
		pos += n
	}
	b[at] = mask
	return pos
}

// numberBytes is how many bytes a number of that many bits takes: seven bits a
// byte to 56, then nine bytes; nothing for zero.
var numberBytes = [128]uint8{
	0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5,
	5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9,
}
