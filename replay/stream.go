package replay

import (
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// Stream replays records as they are made, without keeping them. It is not
// safe for concurrent use.
type Stream struct {
	play     *play
	position uint64
}

// NewStream begins with an engine that has seen nothing.
func NewStream(ctx context.Context, c RunConfig) (*Stream, error) {
	p, err := newPlay(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Stream{play: p}, nil
}

// Apply gives the engine the next record, at position 1, 2, 3 … It keeps
// nothing of a frame.
func (s *Stream) Apply(r *telemetry.Record) error {
	s.position++
	if err := s.play.record(s.position, r); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}

// Result is what the records so far came to.
func (s *Stream) Result() *Result { return s.play.result() }
