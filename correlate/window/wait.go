package window

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A class's lateness bounds how long its grids stay open; how long one source needs
// is measured on its samples. A grid of a source waits as long as the slowest of
// its recent samples needed, no less than the prompt class's and no longer than its
// own class's lateness. A new source waits as long as the prompt class: its samples
// that are too late for that show how long it needs, and are kept as every late
// sample is.

// waitPeriod is how long a wait that was needed is remembered at least, and twice
// that at most: as long as many samples of the slowest meters.
const waitPeriod = telemetry.Duration(300e9)

// wait is how long the samples of a source needed until they could be taken.
type wait struct {
	period int64                 // number of the period of time at hand
	most   [2]telemetry.Duration // in it, and in the one before
}

// note takes what a sample needed that was taken as of an instant.
func (x *wait) note(needed telemetry.Duration, at telemetry.Time) {
	if n := int64(at) / int64(waitPeriod); n != x.period {
		x.most = [2]telemetry.Duration{0, x.longest(at)}
		if n > x.period+1 {
			x.most[1] = 0
		}
		x.period = n
	}
	x.most[0] = max(x.most[0], needed)
}

// longest is the longest that a sample needed lately, as of an instant.
func (x *wait) longest(at telemetry.Time) telemetry.Duration {
	switch n := int64(at) / int64(waitPeriod); {
	case n <= x.period:
		return max(x.most[0], x.most[1])
	case n == x.period+1:
		return x.most[0]
	}
	return 0
}

func (x *wait) snapshot(c *snapshot.Codec) {
	c.I64(&x.period)
	c.Duration(&x.most[0])
	c.Duration(&x.most[1])
}

// waits is for how long a grid of the source stays open beyond its end, as of the
// instant as of which its class is closed: whole grids.
func (w *Window) waits(s *source, at telemetry.Time) telemetry.Duration {
	return min(max(w.cfg.Lateness[telemetry.Prompt], s.wait.longest(at)), w.cfg.Lateness[s.class])
}

// patient reports whether a source may wait for longer than the prompt class.
func (w *Window) patient(s *source) bool {
	return w.cfg.Lateness[s.class] > w.cfg.Lateness[telemetry.Prompt]
}

// received records what the newest instant of a source needed by its own account:
// how much later than its time it was received, and what the prompt class waits
// beyond a grid, for the way through the log.
func (k *worker) received(s *source) {
	if k.stated && k.most > 0 && k.w.patient(s) {
		s.wait.note(upward(k.most, k.pass.grid)+k.w.cfg.Lateness[telemetry.Prompt]-k.pass.grid, k.pass.at)
	}
}

// came records the delay of a frame that comes after its grid was closed and is no
// repeat. What a source reported before it was first received is old for another
// reason.
func (w *Window) came(s *source, h telemetry.FrameHeader) {
	if s.closed == never || h.Last <= s.latest || !w.patient(s) {
		return
	}
	at, grid := w.asOf(s.class), w.cfg.Grid
	s.wait.note(at.Add(grid).Sub(h.First)/grid*grid, at)
}

// upward rounds up to whole grids.
func upward(d, grid telemetry.Duration) telemetry.Duration { return (d + grid - 1) / grid * grid }

// next returns the grid that the source closes next, by no more beyond its last one,
// and false where that one still waits.
func (w *Window) next(s *source, at telemetry.Time, by telemetry.Duration) (telemetry.Time, bool) {
	last := at.Add(-w.waits(s, at))
	if s.closed == never {
		return last, true
	}
	g := min(last, s.closed.Add(by))
	return g, g > s.closed
}

// Wait returns for how long a grid of a slot's source stays open beyond its end.
func (w *Window) Wait(slot int) telemetry.Duration {
	s := w.blocks[w.blockOf[slot]].source
	return w.waits(s, w.asOf(s.class))
}

// asOf returns the instant as of which a class is closed; zero before.
func (w *Window) asOf(class telemetry.LatenessClass) telemetry.Time {
	if w.closed[class] == never {
		return 0
	}
	return w.closed[class].Add(w.cfg.Lateness[class])
}

// ClosedOf returns the end of the last closed grid of a slot's source, and false if
// none was closed yet.
func (w *Window) ClosedOf(slot int) (telemetry.Time, bool) {
	s := w.blocks[w.blockOf[slot]].source
	return s.closed, s.closed != never
}

// Advance closes one grid of a class, and one more of the sources that wait less than
// they did. take gets what was closed, each time before more is closed.
func (w *Window) Advance(class telemetry.LatenessClass, g telemetry.Time, each ForEach, take func(*Closed)) {
	if w.Close(class, g, each); w.out.Sources > 0 {
		take(&w.out)
	}
	if w.CatchUp(class, each); w.out.Sources > 0 {
		take(&w.out)
	}
}

// CatchUp closes one more grid of the sources of a class that wait less than they
// did. Advance does it after every Close.
func (w *Window) CatchUp(class telemetry.LatenessClass, each ForEach) Closed {
	g, at := w.closed[class], w.asOf(class)
	if !slices.ContainsFunc(w.byClass[class], func(s *source) bool { _, due := w.next(s, at, w.cfg.Grid); return due }) {
		w.emptied(class, g)
		return w.out
	}
	return w.close(class, g, w.cfg.Grid, each)
}
