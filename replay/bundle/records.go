package bundle

import (
	"fmt"
	"io"

	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// slab is how many bytes of frames share one allocation.
const slab = 64 << 10

// Records gives the log in canonical order: config, edges, schemas, then
// frames, events and ticks by time. A tick comes once per grid, behind all
// samples up to it, and so the one that closes a grid comes behind all samples
// up to that grid plus the lateness. When a sample was received orders nothing:
// it describes how far its source's clock is off. The records belong to the caller.
// It stops at the first error of yield and returns it.
func (b *Bundle) Records(yield func(*telemetry.Record) error) error {
	if err := yield(&telemetry.Record{Kind: telemetry.ConfigRecord, Config: b.Site.Record()}); err != nil {
		return err
	}
	for i := range b.Edges {
		e := b.Edges[i]
		if err := yield(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}); err != nil {
			return err
		}
	}
	p := b.player(yield)
	for _, sc := range b.schemas {
		if err := yield(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: sc}); err != nil {
			return err
		}
	}
	return p.play()
}

// WriteTrace writes the log as a trace without a snapshot.
func (b *Bundle) WriteTrace(w io.Writer, writer string) error {
	t, err := trace.NewWriter(w, trace.Header{Site: b.Site.Site, Writer: writer})
	if err != nil {
		return err
	}
	position := uint64(0)
	err = b.Records(func(r *telemetry.Record) error {
		position++
		return t.Append(position, r)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

// player walks the rows and events and puts the ticks between them.
type player struct {
	b       *Bundle
	yield   func(*telemetry.Record) error
	prints  []telemetry.Fingerprint
	numbers []uint64
	enc     telemetry.Encoder
	frame   telemetry.Frame
	slab    []byte
	row     int
	event   int
	tick    telemetry.Time // the next one
}

func (b *Bundle) player(yield func(*telemetry.Record) error) *player {
	p := &player{b: b, yield: yield, prints: make([]telemetry.Fingerprint, len(b.schemas)), numbers: make([]uint64, len(b.schemas))}
	for i, sc := range b.schemas {
		p.prints[i] = sc.Fingerprint()
	}
	lo, _ := b.span()
	p.tick = max(ceilGrid(lo, b.Site.Grid), telemetry.Time(b.Site.Grid)) // time zero means that none is stated
	return p
}

func (p *player) play() error {
	rows, events := p.b.samples.rows, p.b.Events
	for p.row < len(rows) || p.event < len(events) {
		sample := p.row < len(rows) && (p.event == len(events) || rows[p.row].at <= events[p.event].At)
		at := telemetry.Time(0)
		if sample {
			at = rows[p.row].at
		} else {
			at = events[p.event].At
		}
		if err := p.ticksBefore(at); err != nil {
			return err
		}
		if err := p.one(sample); err != nil {
			return err
		}
	}
	_, hi := p.b.span()
	end := ceilGrid(ceilGrid(hi, p.b.Site.Grid).Add(p.b.Site.Lateness[telemetry.Prompt]), p.b.Site.Grid)
	return p.ticksBefore(end + 1)
}

// ticksBefore yields the ticks of every grid that ends before an instant.
func (p *player) ticksBefore(at telemetry.Time) error {
	for ; p.tick < at; p.tick = p.tick.Add(p.b.Site.Grid) {
		if err := p.yield(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: p.tick}}); err != nil {
			return err
		}
	}
	return nil
}

// one yields the next event, or the frame that the next rows make.
func (p *player) one(sample bool) error {
	if !sample {
		e := p.b.Events[p.event]
		p.event++
		return p.yield(&telemetry.Record{Kind: telemetry.EventRecord, Event: &e})
	}
	f, err := p.nextFrame()
	if err != nil {
		return err
	}
	return p.yield(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: f})
}

// nextFrame encodes the rows of one source at one instant.
func (p *player) nextFrame() (telemetry.EncodedFrame, error) {
	s := p.b.samples
	first := s.rows[p.row]
	source := s.slots[first.series].source
	sc := p.b.schemas[source]
	f := &p.frame
	f.Fingerprint, f.Incarnation, f.Sequence = p.prints[source], 1, p.numbers[source]+1
	p.numbers[source]++
	f.Instants = append(f.Instants[:0], telemetry.Instant{Source: first.at, Received: first.received})
	p.clear(sc.Len())
	read := 0
	for ; p.row < len(s.rows); p.row++ {
		x := &s.rows[p.row]
		at := s.slots[x.series]
		if x.at != first.at || x.received != first.received || at.source != source {
			break
		}
		f.Words[at.at], f.States[at.at] = x.word, telemetry.Present
		if x.kind == gap {
			f.States[at.at] = telemetry.Gap
		} else {
			read++
		}
	}
	states := f.States
	if read == sc.Len() {
		f.States = nil
	}
	b, err := p.encode(sc)
	f.States = states
	return b, err
}

func (p *player) clear(n int) {
	f := &p.frame
	if cap(f.Words) < n {
		f.Words, f.States = make([]uint64, n), make([]telemetry.State, n)
	}
	f.Words, f.States = f.Words[:n], f.States[:n]
	clear(f.Words)
	clear(f.States)
}

// encode puts the frame's bytes behind those of the frames before it: one
// allocation serves many.
func (p *player) encode(sc *telemetry.Schema) (telemetry.EncodedFrame, error) {
	if cap(p.slab)-len(p.slab) < slab/8 {
		p.slab = make([]byte, 0, slab)
	}
	start := len(p.slab)
	b, err := p.enc.AppendFrame(p.slab, sc, &p.frame)
	if err != nil {
		return nil, fmt.Errorf("import: %s at %v: %w", sc.Source, p.frame.Instants[0].Source, err)
	}
	p.slab = b
	return telemetry.EncodedFrame(b[start:len(b):len(b)]), nil
}
