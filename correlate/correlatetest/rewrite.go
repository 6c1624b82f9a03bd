package correlatetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// instants are decoded instants of one frame, with what they need to be
// encoded again.
type instants struct {
	schema *telemetry.Schema
	frame  telemetry.Frame
	header telemetry.FrameHeader
}

func (s schemas) decode(b telemetry.EncodedFrame) (*instants, error) {
	h, schema, err := s.header(b)
	if err != nil {
		return nil, err
	}
	in := &instants{schema: schema, header: h}
	var d telemetry.Decoder
	if err := d.Decode(b, schema, &in.frame); err != nil {
		return nil, err
	}
	return in, nil
}

func (in *instants) encode() (telemetry.Record, error) {
	var e telemetry.Encoder
	b, err := e.AppendFrame(nil, in.schema, &in.frame)
	return telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}, err
}

// ReceiveAfter states of every instant that it was received so long after its
// source's time, or before it.
func (k Kit) ReceiveAfter(log []telemetry.Record, late telemetry.Duration) ([]telemetry.Record, error) {
	known, out := schemasOf(log), slices.Clone(log)
	for i := range out {
		if out[i].Kind != telemetry.FrameRecord {
			continue
		}
		in, err := known.decode(out[i].Frame)
		if err != nil {
			return nil, err
		}
		for j := range in.frame.Instants {
			in.frame.Instants[j].Received = in.frame.Instants[j].Source.Add(late)
		}
		if out[i], err = in.encode(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cut returns the instants [from, to) as a frame of their own.
func (in *instants) cut(from, to int) *instants {
	n, f := in.schema.Len(), in.frame
	f.Instants, f.Words = f.Instants[from:to], f.Words[from*n:to*n]
	if f.States != nil {
		f.States = f.States[from*n : to*n]
	}
	return &instants{schema: in.schema, frame: f, header: in.header}
}

// add appends o's instants, and reports whether it could: same source and
// incarnation, later instants.
func (in *instants) add(o *instants) bool {
	f, g := &in.frame, &o.frame
	if f.Fingerprint != g.Fingerprint || f.Incarnation != g.Incarnation || f.ByReceived != g.ByReceived ||
		f.Time(len(f.Instants)-1) >= g.Time(0) {
		return false
	}
	if f.States != nil || g.States != nil {
		f.States = slices.Concat(present(f), present(g))
	}
	f.Instants, f.Words = slices.Concat(f.Instants, g.Instants), slices.Concat(f.Words, g.Words)
	return true
}

// present returns f's states, spelt out.
func present(f *telemetry.Frame) []telemetry.State {
	if f.States != nil {
		return f.States
	}
	return slices.Repeat([]telemetry.State{telemetry.Present}, len(f.Words))
}

// pendingFrame is a frame that waits for its source's next, to travel with it.
type pendingFrame struct {
	in   *instants
	last int // the last segment in which its oldest instant is not late
}

// rebatcher walks a log's segments once.
type rebatcher struct {
	kit      Kit
	random   *rand.Rand
	known    schemas
	segments []segment
	waiting  map[telemetry.Source]pendingFrame
	sequence map[telemetry.Source]uint64
	out      []telemetry.Record // of the segment at hand
}

// Rebatch puts the same instants into other frames: it cuts some between two
// instants and lets others wait for their source's next frame, as long as that
// makes none late. Frames get new sequence numbers.
func (k Kit) Rebatch(log []telemetry.Record) ([]telemetry.Record, error) {
	b := rebatcher{kit: k, random: k.random(4), known: schemasOf(log), segments: split(log),
		waiting: map[telemetry.Source]pendingFrame{}, sequence: map[telemetry.Source]uint64{}}
	for i := range b.segments {
		if err := b.segment(i); err != nil {
			return nil, fmt.Errorf("rebatch: %w", err)
		}
	}
	return join(b.segments), nil
}

func (b *rebatcher) segment(i int) error {
	b.out = nil
	for _, r := range b.segments[i].records {
		if r.Kind != telemetry.FrameRecord {
			b.out = append(b.out, r)
			continue
		}
		if err := b.frame(i, r.Frame); err != nil {
			return err
		}
	}
	for _, source := range slices.SortedFunc(maps.Keys(b.waiting), telemetry.Source.Compare) {
		if h := b.waiting[source]; h.last <= i {
			delete(b.waiting, source)
			if err := b.emit(h.in); err != nil {
				return err
			}
		}
	}
	b.segments[i].records = b.out
	return nil
}

// frame joins a frame with the one that waits for it, and lets the result wait,
// cuts it or passes it on.
func (b *rebatcher) frame(i int, encoded telemetry.EncodedFrame) error {
	in, err := b.known.decode(encoded)
	if err != nil {
		return err
	}
	source := in.schema.Source
	_, last := window(b.segments, in.header, b.kit.Lateness[in.schema.Class])
	if h, ok := b.waiting[source]; ok {
		delete(b.waiting, source)
		if h.in.add(in) {
			in, last = h.in, min(last, h.last)
		} else if err := b.emit(h.in); err != nil {
			return err
		}
	}
	if last > i && i+1 < len(b.segments) && b.random.IntN(2) == 0 {
		b.waiting[source] = pendingFrame{in, last}
		return nil
	}
	if n := len(in.frame.Instants); n > 1 && b.random.IntN(2) == 0 {
		at := 1 + b.random.IntN(n-1)
		if err := b.emit(in.cut(0, at)); err != nil {
			return err
		}
		in = in.cut(at, n)
	}
	return b.emit(in)
}

func (b *rebatcher) emit(in *instants) error {
	b.sequence[in.schema.Source]++
	in.frame.Sequence = b.sequence[in.schema.Source]
	r, err := in.encode()
	b.out = append(b.out, r)
	return err
}

// permuted is a schema in another order.
type permuted struct {
	schema      *telemetry.Schema
	fingerprint telemetry.Fingerprint
	from        []int // its series i is series from[i] of the old schema
}

func permute(random *rand.Rand, s *telemetry.Schema) permuted {
	entities := random.Perm(len(s.Entities))
	p := permuted{schema: &telemetry.Schema{Source: s.Source, Class: s.Class, Cadence: s.Cadence}}
	for _, e := range entities {
		p.schema.Entities = append(p.schema.Entities, s.Entities[e])
	}
	for _, c := range random.Perm(len(s.Columns)) {
		p.schema.Columns = append(p.schema.Columns, s.Columns[c])
		for _, e := range entities {
			p.from = append(p.from, c*len(s.Entities)+e)
		}
	}
	p.fingerprint = p.schema.Fingerprint()
	return p
}

// PermuteSchemas writes every schema with its entities and metrics in another
// order, every frame to match, and lets the schemas that are together come
// in another order.
func (k Kit) PermuteSchemas(log []telemetry.Record) ([]telemetry.Record, error) {
	random, known := k.random(5), schemasOf(log)
	other := map[telemetry.Fingerprint]permuted{}
	for _, f := range slices.Sorted(maps.Keys(known)) {
		other[f] = permute(random, known[f])
	}
	out := slices.Clone(log)
	for i := range out {
		switch r := &out[i]; r.Kind {
		case telemetry.SchemaRecord:
			r.Schema = other[r.Schema.Fingerprint()].schema
		case telemetry.FrameRecord:
			in, err := known.decode(r.Frame)
			if err != nil {
				return nil, fmt.Errorf("permute schemas: %w", err)
			}
			in.permute(other[in.frame.Fingerprint])
			if *r, err = in.encode(); err != nil {
				return nil, fmt.Errorf("permute schemas: %w", err)
			}
		}
	}
	for start := 0; start < len(out); start++ {
		end := start
		for end < len(out) && out[end].Kind == telemetry.SchemaRecord {
			end++
		}
		mix(random, out[start:end])
		start = max(start, end)
	}
	return out, nil
}

// permute reorders the series of every instant.
func (in *instants) permute(to permuted) {
	n := len(to.from)
	words, old := make([]uint64, len(in.frame.Words)), in.frame.Words
	var states []telemetry.State
	if in.frame.States != nil {
		states = make([]telemetry.State, len(in.frame.States))
	}
	for i := range words {
		j := i - i%n + to.from[i%n]
		words[i] = old[j]
		if states != nil {
			states[i] = in.frame.States[j]
		}
	}
	in.schema, in.frame.Fingerprint, in.frame.Words, in.frame.States = to.schema, to.fingerprint, words, states
}
