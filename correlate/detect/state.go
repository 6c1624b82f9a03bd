package detect

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// state is what each slot is compared with: 52 bytes a slot (StateBytes).
type state struct {
	mean []float32 // shift: robust mean
	dev  []float32 // shift: mean distance from it
	up   []float32 // shift: cumulative sum of rises, in deviations
	down []float32 // and of falls
	rose []moment  // when up left zero
	fell []moment
	env  []float32 // burst: the largest rate remembered; level: the usual value
	last []float32 // stuck: the value before
	mark []marks
}

// StateBytes is the state of one slot, whatever judges it. The room for its
// source's episodes comes to two and a half bytes more (roomShare), a trail for
// what may drift to half a kilobyte where it does.
const StateBytes = 6*4 + 2*8 + 8 + 4

// marks are the small counters of a slot.
type marks struct {
	seen  uint8 // judged samples, to 255
	shift uint8 // while a shift lasts: one more than the samples in a row near the old level
	doubt uint8 // burst, level: evidence, confirmed from confirmed on
	good  uint8 // level: better samples in a row
	peer  uint8 // suspicion
	run   uint8 // stuck: samples in a row without a change
	usual uint8 // stuck: how long such runs used to be, in sixteenths of a sample; 0 before the first
	on    uint8 // findings that need no confirmation: onStuck, onStale
}

const (
	onStuck = 1 << 0
	onStale = 1 << 1
)

// moment is the grid in which something began, and how long before its begin
// the last good sample may have been.
type moment struct {
	cell uint32 // grids since the detector's first
	step uint32 // microseconds
}

func (s *state) grow(n int) {
	if d := n - len(s.mean); d > 0 {
		for _, a := range []*[]float32{&s.mean, &s.dev, &s.up, &s.down, &s.env, &s.last} {
			*a = append(*a, make([]float32, d)...)
		}
		s.rose = append(s.rose, make([]moment, d)...)
		s.fell = append(s.fell, make([]moment, d)...)
		s.mark = append(s.mark, make([]marks, d)...)
	}
}

// clear makes a slot new.
func (s *state) clear(i int) {
	s.mean[i], s.dev[i], s.up[i], s.down[i], s.env[i], s.last[i] = 0, 0, 0, 0, 0, 0
	s.mark[i] = marks{}
}

// plan is which detectors judge a run.
type plan struct {
	made                                             bool
	shift, burst, level, peer, stuck, silence, drift bool
	state                                            bool // the metric is a state, not a gauge
	counter                                          bool
	rise                                             telemetry.Rise
	warm                                             bool     // every slot has been seen often enough
	saturated                                        bool     // some slot may be stuck at its maximum
	floor, cliff                                     float32  // of a drift
	trails                                           []*trail // by slot of the run, nil for what is not near its cliff
}

// idle reports whether nothing judges the run.
func (p *plan) idle() bool {
	return !(p.shift || p.burst || p.level || p.peer || p.stuck || p.silence || p.drift)
}

func makePlan(m *telemetry.Metric) plan {
	if m == nil || m.PerStep {
		return plan{made: true}
	}
	has := func(s telemetry.Shape) bool { return slices.Contains(m.Detectors, s) }
	counter := m.Type == telemetry.Counter
	floor, cliff, drifts := edge(m.Name)
	return plan{
		drift: drifts && has(telemetry.ShapeDrift) && !counter, floor: floor, cliff: cliff,
		made: true, counter: counter, state: m.Type == telemetry.StateOf, rise: m.Rise,
		shift: has(telemetry.ShapeShift), burst: has(telemetry.ShapeBurst) && counter, level: has(telemetry.ShapeLevel) && !counter,
		peer: has(telemetry.ShapePeer), stuck: has(telemetry.ShapeStuck), silence: has(telemetry.ShapeSilence),
	}
}

// judge looks at one run.
func (k *worker) judge(r *window.RunView) {
	p := &k.d.plans[r.ID]
	if !p.made {
		known, trails := p.warm, p.trails // from a snapshot
		*p = makePlan(r.Metric)
		p.trails = trails
		p.warm, p.saturated = known, true // until looked at
	}
	if p.idle() {
		return
	}
	if r.Rivals {
		k.dropShadows(r, p)
	}
	if p.silence && !(r.Full && p.warm) {
		k.silence(r, p)
	}
	if !r.Some || !k.prepare(r, p) {
		return
	}
	if p.stuck {
		k.stuck(r, p)
	}
	if p.shift {
		k.shift(r)
	}
	if p.burst {
		k.burst(r)
	}
	if p.level {
		k.level(r, p)
	}
	if p.peer {
		k.peer(r)
	}
	if p.drift {
		k.drift(r, p)
	}
	if !p.warm {
		k.count(r, p)
	}
}

// prepare finds out once for the run what fit would find out slot by slot. It
// returns false where no slot can have anything to judge.
func (k *worker) prepare(r *window.RunView, p *plan) bool {
	k.counter, k.all = p.counter, false
	if !r.Even {
		return true
	}
	if r.EvenAt <= r.Begin || !k.worth(r.EvenFlag) {
		return p.stuck && p.counter
	}
	k.all = !r.Rivals
	return true
}

// worth reports whether a value with this flag is to be judged: a counter's
// must not be a mean over a gap.
func (k *worker) worth(f window.Flag) bool {
	return f == window.Fresh || f == window.Gapped && !k.counter
}

// fit reports whether slot i of the run has a value to judge in this grid.
func (k *worker) fit(i int) bool { return k.all || k.fitAlone(i) }

func (k *worker) fitAlone(i int) bool {
	r := &k.run
	at, f, _ := r.Last(i)
	return k.worth(f) && at > r.Begin && !r.Shadow[i]
}

// count counts the judged samples of a run until all slots have enough. A run
// with silence is warm only when no slot of it is stale.
func (k *worker) count(r *window.RunView, p *plan) {
	marks := k.d.state.mark[r.Slot : r.Slot+len(r.Value)]
	p.warm = true
	for i := range marks {
		m := &marks[i]
		if m.seen < 255 && k.fit(i) {
			m.seen++
		}
		p.warm = p.warm && m.seen >= warm && m.on&onStale == 0
	}
}

// dropOnly looks at a run of a stale source: nothing can be judged, but what
// is judged from elsewhere now is over.
func (k *worker) dropOnly(r *window.RunView) {
	if r.Rivals {
		k.dropShadows(r, &k.d.plans[r.ID])
	}
}

// dropShadows ends what is known of slots that are not judged any more.
func (k *worker) dropShadows(r *window.RunView, p *plan) {
	for i, shadow := range r.Shadow {
		if slot := r.Slot + i; shadow && k.d.state.mark[slot] != (marks{}) {
			k.forget(int32(slot), r.Value[i])
			k.d.state.clear(slot)
			if p.trails != nil {
				p.trails[i] = nil
			}
			p.warm = false
		}
	}
}
