package collectors

import (
	"bytes"
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// Feed numbers and encodes the frames of one source with one schema. A feed is
// used by one goroutine. Its schema must not change once it was made.
type Feed struct {
	schema  *telemetry.Schema
	frame   telemetry.Frame
	encoder telemetry.Encoder
	scratch []byte // a frame is written here and kept at its length, a third of what writing takes
}

// NewFeed returns the feed of a schema, which it validates. Incarnation must rise
// whenever a source restarts the numbering of its frames: the time of its start in
// nanoseconds does.
func NewFeed(s *telemetry.Schema, incarnation uint64) (*Feed, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("new feed: %w", err)
	}
	return &Feed{schema: s, frame: telemetry.Frame{Fingerprint: s.Fingerprint(), Incarnation: incarnation}}, nil
}

// Schema returns the record that states the schema. Emit it before the first
// frame.
func (f *Feed) Schema() *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: f.schema}
}

// Frame returns the record of one instant: words and states in schema order; a
// nil states means that everything is present. Both stay the caller's. It takes
// the next number only if it succeeds, and fails only if words or states are
// not what the schema has.
func (f *Feed) Frame(at telemetry.Instant, words []uint64, states []telemetry.State) (*telemetry.Record, error) {
	f.frame.Instants = append(f.frame.Instants[:0], at)
	f.frame.Words, f.frame.States = words, states
	b, err := f.encoder.AppendFrame(f.scratch[:0], f.schema, &f.frame)
	f.frame.Words, f.frame.States = nil, nil
	if err != nil {
		return nil, fmt.Errorf("feed of %s: %w", f.schema.Source, err)
	}
	f.frame.Sequence++
	f.scratch = b
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: bytes.Clone(b)}, nil
}
