package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Decoder turns bytes into frames. It keeps scratch between calls, so it does
// not allocate in steady state; it is not safe for concurrent use. It remembers
// schemas by pointer: one must not change once it was used. The zero Decoder is
// ready.
type Decoder struct {
	plans plans
	zeros []uint64
	coded [blockWords]uint64 // the numbers of one block
	tail  [tailBytes]byte
}

// Decode reads the bytes of a frame of s into f, reusing its slices: f is valid
// until it is decoded into again. The bytes may be anything; what is wrong with
// them comes back as an error, and f is then meaningless.
func (d *Decoder) Decode(b EncodedFrame, s *Schema, f *Frame) error {
	p, err := d.plans.of(s)
	if err == nil {
		err = d.decode(b, p, s.Len(), f)
	}
	if err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	return nil
}

func (d *Decoder) decode(b EncodedFrame, pl *plan, n int, f *Frame) error {
	r := reader{b: b}
	h := r.header()
	switch {
	case r.err != nil:
		return r.err
	case h.Fingerprint != pl.fingerprint:
		return fmt.Errorf("frame of schema %s, want %s: %w", h.Fingerprint, pl.fingerprint, ErrFrameSchema)
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
	if err := d.rows(&r, pl.runs, f.Words, n); err != nil {
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
			t += Time((int64(k)*h.step + r.varint("time")) * h.unit)
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
func (d *Decoder) rows(r *reader, runs []run, words []uint64, n int) error {
	if len(d.zeros) < n {
		d.zeros = make([]uint64, n)
	}
	p := packed{b: r.b, pos: r.off, end: len(r.b), tail: &d.tail, coded: &d.coded}
	prev := d.zeros[:n]
	for k := 0; k < len(words) && p.ok(); k += n {
		p.row(runs, words[k:k+n], prev)
		prev = words[k : k+n]
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

// The most that the masks and the numbers of a block take, and what is loaded
// beyond the last of them. The tail holds both.
const (
	maskBytes  = 1 + blockWords/8
	slackBytes = 8
	tailBytes  = 2 * (maskBytes + 9*blockWords + slackBytes)
)

// packed walks the samples of a frame. Numbers are loaded eight bytes at a
// time, so near the end the bytes move to tail, which has room behind them.
type packed struct {
	b     []byte
	pos   int
	end   int  // of the bytes in b
	moved int  // what was left behind when they moved to tail
	stray bool // a bit was set beyond the last series
	tail  *[tailBytes]byte
	coded *[blockWords]uint64
}

func (p *packed) ok() bool { return p.pos <= p.end }
func (p *packed) at() int  { return p.moved + min(p.pos, p.end) }

// need makes n bytes readable at pos. Those past the end may be anything: who
// uses one is past the end, and stays there.
func (p *packed) need(n int) {
	if len(p.b)-p.pos >= n {
		return
	}
	if p.pos <= p.end {
		left := copy(p.tail[:], p.b[p.pos:p.end])
		p.moved, p.pos, p.end = p.moved+p.pos, 0, left
	} else {
		p.moved, p.pos, p.end = p.moved+p.end, 1, 0
	}
	p.b = p.tail[:]
}

// row reads what appendRow writes.
func (p *packed) row(runs []run, cur, prev []uint64) {
	for _, r := range runs {
		for lo := r.lo; lo < r.hi && p.ok(); lo += blockWords {
			hi := min(lo+blockWords, r.hi)
			p.block(blockOf{cur[lo:hi], prev[lo:hi], r.c})
		}
	}
}

// block reads what putBlock writes.
func (p *packed) block(w blockOf) {
	p.need(maskBytes)
	octets := p.b[p.pos]
	p.pos++
	if octets == 0 {
		copy(w.cur, w.prev)
		return
	}
	var masks [8]byte
	count := 0
	for o := range masks {
		if octets>>o&1 != 0 {
			masks[o] = p.b[p.pos]
			count += bits.OnesCount8(masks[o])
			p.pos++
		}
	}
	p.need(9*count + slackBytes)
	p.numbers(count)
	p.scatter(w, &masks)
}

// numbers reads count numbers.
func (p *packed) numbers(count int) {
	b, pos, guess := p.b, p.pos, 4
	for i := range p.coded[:count] {
		x := binary.LittleEndian.Uint64(b[pos:])
		n := bits.TrailingZeros64(x|1<<8) + 1
		if n > 8 {
			p.coded[i] = binary.LittleEndian.Uint64(b[pos+1:])
		} else {
			p.coded[i] = x << (uint(64-8*n) & 63) >> (uint(64-7*n) & 63)
		}
		if n == guess { // lets the processor go on before it knows n
			pos += guess
		} else {
			pos += n
			guess = n
		}
	}
	p.pos = pos
}

// scatter puts the numbers where the masks have bits and undoes differences.
func (p *packed) scatter(w blockOf, masks *[8]byte) {
	next := 0
	for o := 0; o < len(w.cur); o += 8 {
		mask := uint64(masks[o/8])
		m := min(8, len(w.cur)-o)
		if mask == 0 {
			if m == 8 {
				*(*[8]uint64)(w.cur[o:]) = *(*[8]uint64)(w.prev[o:])
			} else {
				copy(w.cur[o:], w.prev[o:])
			}
			continue
		}
		p.stray = p.stray || mask>>m != 0
		prev := w.prev[o : o+m]
		cur := w.cur[o : o+m][:len(prev)]
		for i, v := range prev {
			take := mask & 1
			cur[i] = w.c.word(p.coded[next&(blockWords-1)]&-take, v)
			next += int(take)
			mask >>= 1
		}
		masks[o/8] = 0
	}
	p.stray = p.stray || *masks != [8]byte{}
}
