package telemetry

import (
	"errors"
	"fmt"
	"iter"
)

// ErrUnstated means that a frame came before its schema.
var ErrUnstated = errors.New("a frame of a schema that was not stated before it")

// Sample is what a frame carries for one series at one instant: a value, or a gap.
type Sample struct {
	Series Series
	Source Source
	Column Column
	At     Time // the authoritative one
	State  State
	Word   uint64 // of Column; zero in a gap
}

// Float returns the value as a number.
func (s Sample) Float() float64 { return s.Column.Float(s.Word) }

// SampleReader reads the samples of a log, record by record. It keeps the schemas
// that were stated. The zero SampleReader is ready; it is not safe for concurrent
// use.
type SampleReader struct {
	schemas map[Fingerprint]*Schema
	decoder Decoder
	frame   Frame
}

// Learn keeps a schema, which must not change any more: its frames can be read now.
func (r *SampleReader) Learn(s *Schema) {
	if r.schemas == nil {
		r.schemas = map[Fingerprint]*Schema{}
	}
	r.schemas[s.Fingerprint()] = s
}

// Read decodes a frame and returns what it carries, instant by instant, each in
// the order of its schema, but for what is absent; to be ranged over before the
// next Read. A frame whose schema was not stated is ErrUnstated.
func (r *SampleReader) Read(b EncodedFrame) (iter.Seq[Sample], error) {
	h, err := b.Header()
	if err != nil {
		return nil, err
	}
	s := r.schemas[h.Fingerprint]
	if s == nil {
		return nil, fmt.Errorf("schema %s: %w", h.Fingerprint, ErrUnstated)
	}
	if err := r.decoder.Decode(b, s, &r.frame); err != nil {
		return nil, err
	}
	return func(yield func(Sample) bool) { r.frame.each(s, yield) }, nil
}

func (f *Frame) each(s *Schema, yield func(Sample) bool) {
	n := s.Len()
	for i, word := range f.Words {
		state := f.State(i)
		if state == Absent {
			continue
		}
		x := Sample{s.Series(i % n), s.Source, s.Columns[i%n/len(s.Entities)], f.Time(i / n), state, word}
		if !yield(x) {
			return
		}
	}
}
