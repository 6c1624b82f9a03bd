package store

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// never is the slot of a stream without one.
const never = math.MinInt64

// staleCadences is how many of its cadences a source may be without data before
// its series are stale.
const staleCadences = 3

// origin is who states samples: a source of a collecting process.
type origin struct {
	process string
	source  telemetry.Source
}

// stream is one schema of one origin, and its pending values: of each series the
// newest value of the open slot. A slot is one cadence of the store.
type stream struct {
	origin origin
	schema *telemetry.Schema
	// atOnce means that the source states no more than one value in a slot.
	atOnce bool
	// cells are by position in the schema; nil while the stream is stale.
	cells []cell
	slot  int64 // the open one, or never
	// from is the position of the first entry that has something in the open
	// slot; 0 if nothing waits.
	from   uint64
	last   int64 // ms: its newest instant
	stated telemetry.Time
}

type streamKey struct {
	process     string
	fingerprint telemetry.Fingerprint
}

// cell is the pending value of one series of a stream.
type cell struct {
	series *series // nil until it has a value
	at     int64   // ms; 0 if nothing waits
	word   uint64
	state  telemetry.State
	out    verdict
}

// verdict is why a cell is not kept.
type verdict uint8

const (
	undecided verdict = iota
	kept
	configured
	noRoom
)

// series is one of the database as the log feeds it.
type series struct {
	ref   uint64  // of the database's head; 0 if it has to be asked for
	owner *stream // whose values are written
	last  int64   // ms: of what was written last
	stale bool    // and that it was a marker
	cells int32   // how many report it
}

// patient is how long, in ms, a source without a nominal cadence may be without
// data: the lookback of a query.
const patient = 5 * 60_000

// silence is how long, in ms, the stream may be without data.
func (s *stream) silence(cadence telemetry.Duration, l telemetry.Lateness) int64 {
	if s.schema.Cadence == 0 {
		return patient
	}
	return int64(staleCadences*max(s.schema.Cadence, cadence)+l[s.schema.Class]) / 1e6
}

// take puts a row of a frame into the open slot.
func (s *stream) take(ms int64, words []uint64, states []telemetry.State) (thinned int) {
	for i := range s.cells {
		c := &s.cells[i]
		state := telemetry.Present
		if states != nil {
			state = states[i]
		}
		if state == telemetry.Absent || c.out > kept {
			continue
		}
		if c.at != 0 {
			thinned++
			if ms <= c.at {
				continue
			}
		}
		c.at, c.word, c.state = ms, words[i], state
	}
	return thinned
}
