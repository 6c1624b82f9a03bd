package correlatetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Kit transforms logs. Its methods return a new log and leave the records of
// the old one untouched; both may share what no method changes.
type Kit struct {
	Lateness telemetry.Lateness // the classes in force in the log
	Seed     uint64
}

// random returns the generator of one transformation; each has its own stream.
func (k Kit) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(k.Seed, stream)) }

// schemas are the schemas of a log by fingerprint.
type schemas map[telemetry.Fingerprint]*telemetry.Schema

func schemasOf(log []telemetry.Record) schemas {
	out := schemas{}
	for i := range log {
		if log[i].Kind == telemetry.SchemaRecord {
			out[log[i].Schema.Fingerprint()] = log[i].Schema
		}
	}
	return out
}

// header reads a frame's header and finds its schema.
func (s schemas) header(b telemetry.EncodedFrame) (telemetry.FrameHeader, *telemetry.Schema, error) {
	h, err := b.Header()
	if err != nil {
		return h, nil, err
	}
	schema := s[h.Fingerprint]
	if schema == nil {
		return h, nil, fmt.Errorf("frame: schema %v is not in the log", h.Fingerprint)
	}
	return h, schema, nil
}

// segment is what lies between two ticks, and the tick that ends it.
type segment struct {
	records []telemetry.Record
	tick    telemetry.Record
	open    bool // the last segment, which no tick ends
}

func split(log []telemetry.Record) []segment {
	var out []segment
	start := 0
	for i := range log {
		if log[i].Kind == telemetry.TickRecord {
			out = append(out, segment{records: slices.Clone(log[start:i]), tick: log[i]})
			start = i + 1
		}
	}
	return append(out, segment{records: slices.Clone(log[start:]), open: true})
}

func join(segments []segment) []telemetry.Record {
	var out []telemetry.Record
	for _, s := range segments {
		out = append(out, s.records...)
		if !s.open {
			out = append(out, s.tick)
		}
	}
	return out
}

// window returns the segments in which a frame may be and be judged alike:
// from the first whose tick has reached its newest instant to the last before
// the tick that closes the grid of its oldest. last < first where there is
// none. A frame after last was late.
func window(segments []segment, h telemetry.FrameHeader, lateness telemetry.Duration) (first, last int) {
	ended := func(t telemetry.Time) int {
		i, _ := slices.BinarySearchFunc(segments, t, func(s segment, t telemetry.Time) int {
			if s.open || s.tick.Tick.At >= t {
				return 1
			}
			return -1
		})
		return i
	}
	return ended(h.Last), ended(h.First.Add(lateness))
}
