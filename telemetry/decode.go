package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Decoder turns bytes into frames. It keeps scratch between calls, so it does
// not allocate in steady state; it is not safe for concurrent use. The zero
// Decoder is ready.
type Decoder struct {
	prints fingerprints
	zeros  []uint64
	tail   [tailBytes]byte
}

// Decode reads the bytes of a frame of s into f, reusing its slices: f is valid
// until it is decoded into again. The bytes may be anything; what is wrong with
// them comes back as an error, and f is then meaningless.
func (d *Decoder) Decode(b EncodedFrame, s *Schema, f *Frame) error {
	fp, err := d.prints.of(s)
	if err == nil {
		err = d.decode(b, s, fp, f)
	}
	if err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	return nil
}

func (d *Decoder) decode(b EncodedFrame, s *Schema, fp Fingerprint, f *Frame) error {
	r := reader{b: b}
	h := r.header()
	n := s.Len()
	switch {
	case r.err != nil:
		return r.err
	case h.Fingerprint != fp:
		return fmt.Errorf("frame of schema %s, want %s: %w", h.Fingerprint, fp, ErrFrameSchema)
	case h.Instants*n > MaxFrameSamples:
		return fmt.Errorf("%d instants of %d series, at most %d samples", h.Instants, n, MaxFrameSamples)
	case h.Instants*((n+63)/64) > r.left():
		return fmt.Errorf("%d instants of %d series in %d bytes: %w", h.Instants, n, r.left(), errCut)
	}
	f.Fingerprint, f.Incarnation, f.Sequence, f.ByReceived = h.Fingerprint, h.Incarnation, h.Sequence, h.ByReceived
	f.Instants = slices.Grow(f.Instants[:0], h.Instants)[:h.Instants]
	if r.times(&h, f); r.err != nil {
		return r.err
	}
	f.Words = slices.Grow(f.Words[:0], h.Instants*n)[:h.Instants*n]
	if h.flags&flagStates == 0 {
		f.States = nil
	} else if r.states(f, n); r.err != nil {
		return r.err
	}
	if err := d.rows(&r, s, f.Words); err != nil {
		return err
	}
	f.clearHoles()
	return nil
}

// times reads what appendTimes and appendOthers write.
func (r *reader) times(h *header, f *Frame) {
	n := h.Instants
	last := h.First
	for k := range n {
		t := h.First
		switch {
		case k == n-1:
			t = h.Last
		case k > 0:
			t += Time((evenly(h.step, k, n) + r.varint("time")) * h.unit)
		}
		if k > 0 && t <= last && r.err == nil {
			r.fail(fmt.Errorf("instant %d at %s does not follow %s", k, t, last))
		}
		last = t
		f.Instants[k] = Instant{Source: t}
		if h.ByReceived {
			f.Instants[k] = Instant{Received: t}
		}
	}
	if h.flags&flagBothTimes != 0 {
		r.others(h, f)
	}
}

func (r *reader) others(h *header, f *Frame) {
	d := int64(0)
	for k := range f.Instants {
		d += r.varint("other time")
		t := f.Time(k) + Time(d*h.unit)
		if h.ByReceived {
			f.Instants[k].Source = t
		} else {
			f.Instants[k].Received = t
		}
	}
}

// clearHoles makes the words that are not Present zero.
func (f *Frame) clearHoles() {
	for i, s := range f.States {
		if s != Present {
			f.Words[i] = 0
		}
	}
}

// rows reads the words of every instant.
func (d *Decoder) rows(r *reader, s *Schema, words []uint64) error {
	n := s.Len()
	if len(d.zeros) < n {
		d.zeros = make([]uint64, n)
	}
	p := packed{b: r.b, pos: r.off, end: len(r.b), tail: &d.tail}
	p.row(s, words[:n], d.zeros[:n], true)
	for k := n; k < len(words) && p.ok(); k += n {
		p.row(s, words[k:k+n], words[k-n:k], false)
	}
	switch {
	case !p.ok():
		return fmt.Errorf("samples at byte %d: %w", p.at(), errCut)
	case p.stray:
		return errors.New("samples: a change of a series that the schema does not have")
	case p.pos != p.end:
		return fmt.Errorf("%d bytes too many at byte %d", p.end-p.pos, p.at())
	}
	return nil
}

// octetBytes is the most that one octet takes, with the control byte before
// it; tailBytes holds it twice.
const (
	octetBytes = 2 + 8*9
	tailBytes  = 256
)

// packed walks the samples of a frame. Numbers are loaded eight bytes at a
// time, so near the end the bytes move to tail, which has zeros behind them.
type packed struct {
	b     []byte
	pos   int
	end   int // of the bytes in b
	moved int // what was left behind when they moved to tail
	tail  *[tailBytes]byte
	stray bool // a bit was set beyond the last series
}

func (p *packed) ok() bool { return p.pos <= p.end }
func (p *packed) at() int  { return p.moved + min(p.pos, p.end) }

// pad makes at least octetBytes and eight more bytes readable at pos. Past the
// end it offers zeros, and pos stays past the end.
func (p *packed) pad() {
	if len(p.b)-p.pos >= octetBytes+8 {
		return
	}
	left := 0
	if p.pos <= p.end {
		left = copy(p.tail[:], p.b[p.pos:p.end])
		p.moved, p.pos, p.end = p.moved+p.pos, 0, left
	} else {
		p.moved, p.pos, p.end = p.moved+p.end, 1, 0
	}
	clear(p.tail[left:])
	p.b = p.tail[:]
}

func (p *packed) row(s *Schema, cur, prev []uint64, first bool) {
	for lo := 0; lo < len(s.Columns) && p.ok(); {
		hi, c := s.run(lo, first)
		i, j := lo*len(s.Entities), hi*len(s.Entities)
		p.run(cur[i:j], prev[i:j], c)
		lo = hi
	}
}

// run reads what appendRun writes.
func (p *packed) run(cur, prev []uint64, c coding) {
	for len(cur) > 0 {
		p.pad()
		ctrl := p.b[p.pos]
		p.pos++
		m := min(len(cur), 64)
		if ctrl == 0 {
			copy(cur[:m], prev[:m])
		} else if p.block(cur[:m], prev[:m], ctrl, c); !p.ok() {
			return
		}
		cur, prev = cur[m:], prev[m:]
	}
}

// block reads up to sixty-four words.
func (p *packed) block(cur, prev []uint64, ctrl byte, c coding) {
	for o := 0; len(cur) > 0; o++ {
		m := min(len(cur), 8)
		switch {
		case ctrl>>o&1 == 0:
			copy(cur[:m], prev[:m])
		case m == 8:
			p.octet((*[8]uint64)(cur), (*[8]uint64)(prev), c)
		default:
			var cc, pp [8]uint64
			copy(pp[:], prev)
			p.stray = p.stray || p.octet(&cc, &pp, c)>>m != 0
			copy(cur, cc[:])
		}
		ctrl &^= 1 << o
		cur, prev = cur[m:], prev[m:]
	}
	p.stray = p.stray || ctrl != 0
}

// octet reads a mask and its numbers and undoes differences. It returns the
// mask.
func (p *packed) octet(cur, prev *[8]uint64, c coding) byte {
	p.pad()
	var z [8]uint64
	mask := p.b[p.pos]
	p.pos = p.numbers(p.b, p.pos+1, mask, &z)
	switch c {
	case codePlain:
		*cur = z
	case codeDelta:
		for i, v := range z {
			cur[i] = prev[i] + uint64(unzigzag(v))
		}
	case codeFloat:
		for i, v := range z {
			cur[i] = prev[i] ^ bits.Reverse64(v)
		}
	}
	return mask
}

// numbers reads one number for each bit of mask.
func (p *packed) numbers(b []byte, pos int, mask byte, z *[8]uint64) int {
	for m := uint(mask); m != 0; m &= m - 1 {
		x := binary.LittleEndian.Uint64(b[pos:])
		n := bits.TrailingZeros64(x|1<<8) + 1
		i := bits.TrailingZeros(m) & 7
		if n > 8 {
			z[i] = binary.LittleEndian.Uint64(b[pos+1:])
		} else {
			z[i] = x << (uint(64-8*n) & 63) >> (uint(64-7*n) & 63)
		}
		pos += n
	}
	return pos
}
