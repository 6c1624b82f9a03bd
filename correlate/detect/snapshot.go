package detect

import (
	"errors"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

var errShape = errors.New("detect: lists of different lengths")

// Snapshot writes the whole state or restores it into a new Detector. Slots are the
// window's: restore it with the window's snapshot of the same moment, which carries
// the series of the slots.
func (d *Detector) Snapshot(c *snapshot.Codec) {
	c.Tag("detect3")
	s := &d.state
	c.I64(&d.base)
	for _, a := range []*[]float32{&s.mean, &s.dev, &s.up, &s.down, &s.env, &s.last} {
		c.F32s(a)
		if len(*a) != len(s.mean) {
			c.Fail(errShape)
		}
	}
	snapshot.List(c, &s.rose, 8, snapshotMoment)
	snapshot.List(c, &s.fell, 8, snapshotMoment)
	snapshot.List(c, &s.mark, 8, func(c *snapshot.Codec, m *marks) {
		for _, b := range []*uint8{&m.seen, &m.shift, &m.doubt, &m.good, &m.peer, &m.run, &m.usual, &m.on} {
			c.U8(b)
		}
	})
	if len(s.rose) != len(s.mean) || len(s.fell) != len(s.mean) || len(s.mark) != len(s.mean) {
		c.Fail(errShape)
	}
	snapshot.List(c, &d.plans, 9, func(c *snapshot.Codec, p *plan) {
		c.Bool(&p.warm)
		codeTrails(c, p)
	})
	snapshot.List(c, &d.sources, 9, func(c *snapshot.Codec, s *source) {
		c.Bool(&s.stale)
		snapshot.List(c, &s.episodes, 30, d.snapshotEpisode)
		if !slices.IsSortedFunc(s.episodes, compareEpisodes) {
			c.Fail(errors.New("detect: episodes out of order"))
		}
	})
	if c.Err() != nil && !c.Writing() {
		d.state, d.plans, d.sources, d.base = state{}, nil, nil, 0
	}
}

func snapshotMoment(c *snapshot.Codec, m *moment) {
	c.U32(&m.cell)
	c.U32(&m.step)
}

func (d *Detector) snapshotEpisode(c *snapshot.Codec, e *episode) {
	c.I32(&e.slot)
	c.U8((*uint8)(&e.shape))
	c.Bool(&e.confirmed)
	c.Time(&e.onset.Earliest)
	c.Time(&e.onset.Latest)
	c.F32(&e.before)
	c.F32(&e.peak)
	c.F32(&e.score)
	if e.shape > telemetry.ShapeStuck || e.slot < -1 || int(e.slot) >= len(d.state.mean) {
		c.Fail(errors.New("detect: an episode of no slot or shape"))
	}
}
