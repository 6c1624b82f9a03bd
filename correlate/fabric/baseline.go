package fabric

import (
	"errors"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Baseline is what every end did before a degradation, kept by identity while it
// lasts: the map may be redrawn meanwhile.
type Baseline struct {
	span     Span
	entities []telemetry.Entity
	lanes    []string
	of       []Reading
	on       *Map  // the map to which it was last applied; not state
	at       []int // and where its ends are there, -1 for one that is not
}

// Keep makes a baseline of readings.
func Keep(r *Readings) *Baseline {
	b := &Baseline{span: r.Span}
	for i := range r.Of {
		for k := Count(0); k <= counts; k++ {
			r.read(i, k)
		}
		if r.Of[i].Seen > 0 {
			b.entities = append(b.entities, r.Map.Ends[i].Port)
			b.lanes = append(b.lanes, r.Map.Ends[i].Lane)
			b.of = append(b.of, r.Of[i])
		}
	}
	return b
}

// On applies the baseline to a map. Ends that it does not contain read as never
// seen.
func (b *Baseline) On(m *Map) *Readings {
	r := &Readings{Map: m, Span: b.span, Of: make([]Reading, len(m.Ends)), trails: make([]trail, len(m.Ends))}
	if b.on != m {
		b.on, b.at = m, make([]int, len(b.of))
		for k, e := range b.entities {
			b.at[k] = -1
			if i, ok := m.index[place{e, b.lanes[k]}]; ok {
				b.at[k] = i
			}
		}
	}
	for k, i := range b.at {
		if i >= 0 {
			r.Of[i] = b.of[k]
		}
	}
	return r
}

// Snapshot writes or restores the baseline.
func (b *Baseline) Snapshot(c *snapshot.Codec) {
	c.Time(&b.span.From)
	c.Time(&b.span.To)
	snapshot.List(c, &b.entities, 16, (*snapshot.Codec).Entity)
	snapshot.List(c, &b.lanes, 8, (*snapshot.Codec).String)
	snapshot.List(c, &b.of, 96, func(c *snapshot.Codec, r *Reading) { r.snapshot(c) })
	if len(b.of) != len(b.entities) || len(b.lanes) != len(b.entities) {
		c.Fail(errLengths)
	}
}

var errLengths = errors.New("baseline: as many readings as entities wanted")

func (r *Reading) snapshot(c *snapshot.Codec) {
	c.Int(&r.Seen)
	c.Int(&r.Idle)
	c.Int(&r.QueuedGrids)
	c.Int(&r.Met)
	c.Int(&r.Counted)
	c.Int(&r.Ago)
	c.Bool(&r.Credits)
	c.Bool(&r.Stops)
	r.Counts.snapshot(c)
	for _, f := range []*float64{&r.Util, &r.RUtil, &r.PauseReceived, &r.PauseSent, &r.Wait, &r.Ceiling, &r.Peak, &r.RPeak, &r.PauseSentIdle, &r.Cadence, &r.Unmarked, &r.Marks, &r.MarkedFree, &r.MarkedLate, &r.Room, &r.WaitErr} {
		c.F64(f)
	}
	for k := range r.Swing {
		c.F64(&r.Swing[k])
	}
}
