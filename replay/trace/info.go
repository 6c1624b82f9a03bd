package trace

import "github.com/quintet-dc/quintet/telemetry"

// Info is what a trace holds, read from its block headers alone.
type Info struct {
	Version     int
	Cold        bool // begins without a snapshot
	Complete    bool // its writer closed it
	Indexed     bool // its index was found and is sound
	Blocks      int
	Entries     uint64         // records and digests
	FirstRecord uint64         // position
	LastRecord  uint64         // position
	First, Last telemetry.Time // the span of time the records refer to; zero if none does
	Stored      int64          // bytes of the file
	Raw         int64          // bytes of the blocks, decompressed
	Snapshot    int64          // bytes of the snapshot
	Lost        int64          // bytes behind the last whole block of a file that was cut off
	Damaged     []*BlockError  // what has been skipped so far
}

// Info returns what the trace holds.
func (t *Reader) Info() Info {
	in := Info{Version: Version, Cold: t.head.Cold, Complete: t.complete, Indexed: t.indexed, Blocks: len(t.segs),
		Stored: t.size, Snapshot: int64(t.head.snapshotLen), Damaged: t.skipped}
	if !t.complete {
		in.Lost = t.size - t.cutAt
	}
	lo, hi := noTimeMin, noTimeMax
	for i := range t.segs {
		s := &t.segs[i]
		if s.bad != nil {
			continue
		}
		in.Raw += int64(s.head.raw)
		if s.head.kind != recordsBlock {
			continue
		}
		if in.Entries == 0 {
			in.FirstRecord = s.head.first
		}
		in.Entries += uint64(s.head.entries)
		in.LastRecord = s.head.last
		lo, hi = min(lo, s.head.min), max(hi, s.head.max)
	}
	if lo <= hi {
		in.First, in.Last = lo, hi
	}
	return in
}
