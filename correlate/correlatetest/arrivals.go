package correlatetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Shuffle lets every frame arrive at a random moment between the one at which
// it was measured and the tick that closes its grid, and shuffles everything
// between two ticks. Frames that were late stay so; edges, events and config
// records stay between their ticks, because they apply from the first grid not
// yet closed; config records and then schemas stay ahead of what else came with
// them.
func (k Kit) Shuffle(log []telemetry.Record) ([]telemetry.Record, error) {
	random, known := k.random(1), schemasOf(log)
	segments := split(log)
	moved := make([][]telemetry.Record, len(segments))
	for i, s := range segments {
		for _, r := range s.records {
			to := i
			if r.Kind == telemetry.FrameRecord {
				h, schema, err := known.header(r.Frame)
				if err != nil {
					return nil, fmt.Errorf("shuffle: %w", err)
				}
				if first, last := window(segments, h, k.Lateness[schema.Class]); i <= last {
					// A clock that runs ahead states instants that the ticks
					// have not reached: such a frame stays where it was.
					first = min(first, i)
					to = first + random.IntN(last-first+1)
				}
			}
			moved[to] = append(moved[to], r)
		}
	}
	for i := range segments {
		segments[i].records = mix(random, moved[i])
	}
	return join(segments), nil
}

// mix shuffles records, config first, then schemas.
func mix(random *rand.Rand, records []telemetry.Record) []telemetry.Record {
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	slices.SortStableFunc(records, func(a, b telemetry.Record) int { return rank(a) - rank(b) })
	return records
}

func rank(r telemetry.Record) int {
	switch r.Kind {
	case telemetry.ConfigRecord:
		return 0
	case telemetry.SchemaRecord:
		return 1
	}
	return 2
}

// Repeat states about one record in five once more: half of those at once, the
// others up to forty ticks later, when their grid may be long closed. A config
// record is repeated at once, because the newest of a key counts. Ticks are
// repeated too.
func (k Kit) Repeat(log []telemetry.Record) ([]telemetry.Record, error) {
	random := k.random(2)
	segments := split(log)
	again := make([][]telemetry.Record, len(segments))
	for i, s := range segments {
		for _, r := range s.records {
			if random.IntN(5) == 0 {
				to := min(i+random.IntN(2)*random.IntN(40), len(segments)-1)
				if r.Kind == telemetry.ConfigRecord {
					to = i
				}
				again[to] = append(again[to], r)
			}
		}
	}
	var out []telemetry.Record
	for i, s := range segments {
		out = append(append(out, s.records...), again[i]...)
		if !s.open {
			out = append(out, s.tick)
			if random.IntN(5) == 0 {
				out = append(out, s.tick)
			}
		}
	}
	return out, nil
}

// maxPassed is how many ticks RetimeTicks leaves out in a row at most.
const maxPassed = 5

// RetimeTicks changes when time is said to move: some ticks are left out, so
// that the next passes several grids, and others are added between two. The
// last tick stays. A tick stays too where leaving it out would let in a frame
// that came too late, or move an edge, event or config record to an earlier
// grid.
func (k Kit) RetimeTicks(log []telemetry.Record) ([]telemetry.Record, error) {
	random, known := k.random(3), schemasOf(log)
	segments := split(log)
	var out []telemetry.Record
	passed, before := 0, telemetry.Time(0)
	for i, s := range segments {
		out = append(out, s.records...)
		if s.open {
			break
		}
		needed, err := k.needed(segments, i, known)
		if err != nil {
			return nil, fmt.Errorf("retime ticks: %w", err)
		}
		if !needed && passed < maxPassed && random.IntN(2) == 0 {
			passed++
			continue
		}
		if gap := s.tick.Tick.At.Sub(before); before > 0 && gap > 1 && random.IntN(3) == 0 {
			between := before.Add(1 + telemetry.Duration(random.Int64N(int64(gap-1))))
			out = append(out, telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: between}})
		}
		out = append(out, s.tick)
		passed, before = 0, s.tick.Tick.At
	}
	return out, nil
}

// needed reports whether the tick that ends segment i must stay.
func (k Kit) needed(segments []segment, i int, known schemas) (bool, error) {
	if i+1 >= len(segments)-1 {
		return true, nil
	}
	for _, r := range segments[i+1].records {
		switch r.Kind {
		case telemetry.EdgeRecord, telemetry.EventRecord, telemetry.ConfigRecord:
			return true, nil
		case telemetry.FrameRecord:
			h, schema, err := known.header(r.Frame)
			if err != nil {
				return false, err
			}
			if _, last := window(segments, h, k.Lateness[schema.Class]); last < i+1 {
				return true, nil
			}
		}
	}
	return false, nil
}
