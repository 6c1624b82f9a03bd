package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Hole is the content of a config record with key ConfigHole: entries that the log
// lost. What they stated is not known.
type Hole struct {
	First uint64 `json:"first"` // position of the first entry that is missing
	Last  uint64 `json:"last"`  // and of the last one
	// From and To are the ticks before and after the missing entries. Both are zero in
	// a record that is at their place in the log.
	From Time `json:"from,omitzero"`
	To   Time `json:"to,omitzero"`
}

// Validate returns an error for positions or times that are not in order.
func (h Hole) Validate() error {
	switch {
	case h.First == 0 || h.Last < h.First:
		return fmt.Errorf("hole: positions %d to %d: out of order", h.First, h.Last)
	case (h.From == 0) != (h.To == 0) || h.To < h.From || h.From < 0:
		return errors.New("hole: from, to: out of order")
	}
	return nil
}

// Record returns h as a config record.
func (h Hole) Record(received Time) (*Config, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("hole: %w", err)
	}
	return NewConfig(ConfigHole, received, b), nil
}

// ParseHole reads what Record writes.
func ParseHole(content []byte) (h Hole, err error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return Hole{}, fmt.Errorf("hole: %w", err)
	}
	return h, h.Validate()
}
