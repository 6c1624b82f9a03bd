package detect

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	stuckTimes = 8  // times the usual interval between changes
	stuckLeast = 30 // samples
	stuckMoves = 26 // of 256: what moves more rarely cannot be told to be stuck
)

// stuck judges whether a run still tells anything.
func (k *worker) stuck(r *window.RunView, p *plan) {
	if p.counter {
		k.saturated(r)
		return
	}
	lo, hi := r.Slot, r.Slot+len(r.Value)
	last, mark := k.d.state.last[lo:hi], k.d.state.mark[lo:hi]
	for i, x := range r.Value {
		if !fit(r, p, i) {
			continue
		}
		m := &mark[i]
		if x == last[i] {
			if m.run < 255 {
				m.run++
			}
			if m.on&onStuck == 0 && m.rate >= stuckMoves && m.run >= stuckLeast && int(m.run)*int(m.rate) >= stuckTimes*256 {
				m.on |= onStuck
				k.confirm(k.suspect(int32(lo+i), telemetry.ShapeStuck, k.still(r, i, m.run), x, x), x, float32(int(m.run)*int(m.rate))/(stuckTimes*256))
			}
			continue
		}
		m.rate = moved(m.rate, m.run)
		last[i], m.run = x, 0
		k.released(lo+i, m, x)
	}
}

// moved learns from a change after run samples without one.
func moved(rate, run uint8) uint8 {
	target := 255 / (int(run) + 1)
	return uint8(int(rate) + (target-int(rate)+8)/16)
}

// still is the interval in which a gauge that has not changed for so many
// samples ceased to move: after its last change.
func (k *worker) still(r *window.RunView, i int, run uint8) telemetry.Interval {
	step := telemetry.Duration(r.Step[i]) * 1000
	last := r.At[i].Add(-step * telemetry.Duration(run))
	return telemetry.Interval{Earliest: last, Latest: last.Add(step)}
}

// saturated finds counters at the maximum at which they stop.
func (k *worker) saturated(r *window.RunView) {
	for i, f := range r.Flag {
		m := &k.d.state.mark[r.Slot+i]
		if f != window.Stuck && m.on&onStuck == 0 || r.At[i] <= r.Begin || r.Shadow[i] {
			continue
		}
		switch {
		case f != window.Stuck:
			k.released(r.Slot+i, m, r.Value[i])
		case m.on&onStuck == 0:
			m.on |= onStuck
			k.confirm(k.suspect(int32(r.Slot+i), telemetry.ShapeStuck, k.onset(i), 0, 0), 0, 1)
		}
	}
}

func (k *worker) released(slot int, m *marks, x float32) {
	if m.on&onStuck != 0 {
		m.on &^= onStuck
		k.end(int32(slot), telemetry.ShapeStuck, x)
	}
}

// silence judges the slots of a source that still speaks.
func (k *worker) silence(r *window.RunView) {
	for i, at := range r.At {
		m := &k.d.state.mark[r.Slot+i]
		switch {
		case r.Shadow[i] || m.seen == 0:
		case at > r.Begin:
			if m.on&onSilent != 0 {
				m.on &^= onSilent
				k.end(int32(r.Slot+i), telemetry.ShapeSilence, r.Value[i])
			}
		case m.on&onSilent == 0 && k.g.Sub(at) > r.Silent:
			m.on |= onSilent
			last := telemetry.Interval{Earliest: at, Latest: at.Add(r.Silent)}
			k.confirm(k.suspect(int32(r.Slot+i), telemetry.ShapeSilence, last, r.Value[i], 0), 0, 1)
		}
	}
}

const (
	peersLeast = 5    // entities that make a median worth something
	peerFar    = 5    // robust deviations
	peerFloor  = 0.02 // share of the median that a deviation is at least
	peerSure   = 5    // suspicion that makes a finding
)

// peer judges the entities of a run against each other.
func (k *worker) peer(r *window.RunView, p *plan) {
	k.peers = k.peers[:0]
	for i, x := range r.Value {
		if fit(r, p, i) {
			k.peers = append(k.peers, float64(x))
		}
	}
	if len(k.peers) < peersLeast {
		return
	}
	med, mad := stats.MAD(k.peers)
	sd := max(float64(stats.Consistency*mad), float64(peerFloor*math.Abs(med)))
	limit := max(float64(peerFar*sd), float64(least*math.Abs(med)))
	for i, x := range r.Value {
		d := math.Abs(float64(x) - med)
		m := &k.d.state.mark[r.Slot+i]
		if d <= limit && m.peer == 0 || !fit(r, p, i) {
			continue
		}
		if d <= limit {
			if m.peer--; m.peer == 0 {
				k.end(int32(r.Slot+i), telemetry.ShapePeer, x)
			}
			continue
		}
		e := k.suspect(int32(r.Slot+i), telemetry.ShapePeer, k.onset(i), float32(med), x)
		if m.peer = min(m.peer+1, most); m.peer >= peerSure && !e.confirmed && m.seen >= warm {
			k.confirm(e, x, float32(d/max(limit, float64(tiny))))
		}
	}
}
