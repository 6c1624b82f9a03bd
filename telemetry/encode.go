package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Encoder turns frames into bytes. It keeps scratch between calls, so it does
// not allocate in steady state; it is not safe for concurrent use. It remembers
// schemas by pointer: one must not change once it was used. The zero Encoder is
// ready.
type Encoder struct {
	plans  plans
	zeros  []uint64           // what the first instant is a difference from
	filled []uint64           // words with holes filled, where there are states
	coded  [blockWords]uint64 // the numbers of one block
}

// AppendFrame appends the bytes of f, whose series are those of s
// (docs/format-frame.md). f's Fingerprint must be the schema's or zero; the
// bytes carry the schema's. On error dst comes back as it was.
func (e *Encoder) AppendFrame(dst []byte, s *Schema, f *Frame) ([]byte, error) {
	p, err := e.plans.of(s)
	if err == nil {
		err = checkFrame(s, f, p.fingerprint)
	}
	if err != nil {
		return dst, fmt.Errorf("encode frame: %w", err)
	}
	start, n, words := len(dst), s.Len(), f.Words
	dst = appendHeader(dst, f, p.fingerprint)
	if f.States != nil && !allPresent(f.States) {
		dst[start+offFlags] |= flagStates
		dst = appendStates(dst, f.States, n)
		words = e.fill(f, n)
	}
	if len(e.zeros) < n {
		e.zeros = make([]uint64, n)
	}
	prev := e.zeros[:n]
	for k := 0; k < len(words); k += n {
		dst = e.appendRow(dst, p.runs, words[k:k+n], prev)
		prev = words[k : k+n]
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
// how far each between is from an even spread.
func appendTimes(dst []byte, f *Frame, unit int64) []byte {
	n := len(f.Instants)
	first := int64(f.Time(0)) / unit
	dst = appendVarint(dst, first)
	if n == 1 {
		return dst
	}
	span := int64(f.Time(n-1))/unit - first
	dst = binary.AppendUvarint(dst, uint64(span))
	step := span / int64(n-1)
	for k := 1; k < n-1; k++ {
		dst = appendVarint(dst, int64(f.Time(k))/unit-first-int64(k)*step)
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

// appendRow writes one instant, run by run, sixty-four words at a time.
func (e *Encoder) appendRow(dst []byte, runs []run, cur, prev []uint64) []byte {
	dst = slices.Grow(dst, rowBound(len(cur), len(runs)))
	b, pos := dst[:cap(dst)], len(dst)
	for _, r := range runs {
		for lo := r.lo; lo < r.hi; lo += blockWords {
			hi := min(lo+blockWords, r.hi)
			pos = e.putBlock(b, pos, blockOf{cur[lo:hi], prev[lo:hi], r.c})
		}
	}
	return dst[:pos]
}

// rowBound is more than a row of n series can take: nine bytes a word, a mask
// for eight, another for sixty-four and for what remains of each run, and the
// slack into which eight bytes are stored where fewer are meant.
func rowBound(n, runs int) int { return 11*n + 2*runs + 32 }

// putBlock writes the words of a block at b[pos:]: a byte that states which of
// its octets changed, for each of those a mask of the words that changed, and
// then the numbers. It returns the position after them.
func (e *Encoder) putBlock(b []byte, pos int, w blockOf) int {
	var octets byte
	count, ctrl := 0, pos
	pos++
	for o := 0; o < len(w.cur); o += 8 {
		end := min(o+8, len(w.cur))
		var mask byte
		switch {
		case end-o < 8:
			count, mask = e.differences(count, w.cur[o:end], w.prev[o:end], w.c)
		case same((*[8]uint64)(w.cur[o:]), (*[8]uint64)(w.prev[o:])):
			continue
		case w.c == codeRise:
			count, mask = e.rises(count, (*[8]uint64)(w.cur[o:]), (*[8]uint64)(w.prev[o:]))
		default:
			count, mask = e.differences(count, w.cur[o:end], w.prev[o:end], w.c)
		}
		if mask != 0 {
			octets |= 1 << (o / 8)
			b[pos] = mask
			pos++
		}
	}
	b[ctrl] = octets
	return putNumbers(b, pos, e.coded[:count])
}

func same(a, b *[8]uint64) bool {
	return (a[0]^b[0])|(a[1]^b[1])|(a[2]^b[2])|(a[3]^b[3])|(a[4]^b[4])|(a[5]^b[5])|(a[6]^b[6])|(a[7]^b[7]) == 0
}

// differences puts what up to eight words are coded as behind the count numbers
// that the block has, leaving out those that are zero, without a branch for
// each. It returns the new count and the mask of those that are not zero.
func (e *Encoder) differences(count int, cur, prev []uint64, c coding) (int, byte) {
	mask, bit, n := uint64(0), uint64(1), uint64(count)
	prev = prev[:len(cur)]
	for i, v := range cur {
		s := e.keep(n, c.number(v, prev[i]))
		n += s
		mask |= bit & -s
		bit <<= 1
	}
	return int(n), byte(mask)
}

// rises is differences of eight counters, written out because it is what most
// of the time goes to.
func (e *Encoder) rises(count int, cur, prev *[8]uint64) (int, byte) {
	n := uint64(count)
	s0 := e.keep(n, cur[0]-prev[0])
	n += s0
	s1 := e.keep(n, cur[1]-prev[1])
	n += s1
	s2 := e.keep(n, cur[2]-prev[2])
	n += s2
	s3 := e.keep(n, cur[3]-prev[3])
	n += s3
	s4 := e.keep(n, cur[4]-prev[4])
	n += s4
	s5 := e.keep(n, cur[5]-prev[5])
	n += s5
	s6 := e.keep(n, cur[6]-prev[6])
	n += s6
	s7 := e.keep(n, cur[7]-prev[7])
	n += s7
	return int(n), byte(s0 | s1<<1 | s2<<2 | s3<<3 | s4<<4 | s5<<5 | s6<<6 | s7<<7)
}

// keep puts z in place n of the block's numbers and returns 1 if it is to stay,
// being not zero.
func (e *Encoder) keep(n, z uint64) uint64 {
	e.coded[n&(blockWords-1)] = z
	return (z | -z) >> 63
}

// putNumbers writes numbers that are not zero. It stores eight bytes each time
// and advances by what the number needs.
func putNumbers(b []byte, pos int, numbers []uint64) int {
	for _, v := range numbers {
		if v>>maxShortBits != 0 {
			b[pos] = 0
			binary.LittleEndian.PutUint64(b[pos+1:], v)
			pos += 9
			continue
		}
		n := numberBytes[bitLen(v)&63]
		binary.LittleEndian.PutUint64(b[pos:], (v<<1|1)<<((n-1)&63))
		pos += int(n)
	}
	return pos
}

// bitLen is bits.Len64 for 0 < v < 2^56, or one more above 2^53: a float's
// exponent is quicker to be had than the processor's bit scan.
func bitLen(v uint64) uint64 { return math.Float64bits(float64(int64(v)))>>52 - 1022 }

// maxShortBits is how many bits a number may have that is not written in nine
// bytes.
const maxShortBits = 56

// numberBytes is how many bytes a number of that many bits takes: seven bits a
// byte. 57 is 2^56-1 rounded up.
var numberBytes = [64]uint8{
	1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5,
	5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8,
}
