package bus_test

import (
	"testing"

	"github.com/quintet-dc/quintet/lab/load"
	"github.com/quintet-dc/quintet/telemetry"
)

// frames are those of one source, numbered from 0.
type frames struct {
	t       testing.TB
	schema  *telemetry.Schema
	encoder telemetry.Encoder
	words   []uint64
}

// newFrames has a source of a switch with 22 ports and 25 series each: 2.7 kB a
// frame.
func newFrames(t testing.TB) *frames {
	site, err := load.New(load.Config{Seed: 1, Switches: 1, Ports: 22, PortSeries: 25})
	if err != nil {
		t.Fatal(err)
	}
	s := site.Schema(0)
	f := &frames{t: t, schema: s, words: make([]uint64, s.Len())}
	for i := range f.words {
		f.words[i] = uint64(i) * 1_000_003
	}
	return f
}

// record is frame n.
func (f *frames) record(n int) *telemetry.Record {
	for i := n % 4; i < len(f.words); i += 4 {
		f.words[i] += uint64(n*i) % 1000
	}
	enc, err := f.encoder.AppendFrame(nil, f.schema, &telemetry.Frame{
		Incarnation: 7, Sequence: uint64(n), Instants: []telemetry.Instant{{Source: at(n), Received: at(n)}}, Words: f.words,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: enc}
}
