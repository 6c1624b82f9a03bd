package detect

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	stuckTimes = 20 // times the usual interval between changes
	stuckLeast = 60 // samples
	stuckMost  = 11 // samples: what moves more rarely cannot be recognised as stuck
)

// stuck judges whether a run still carries information.
func (k *worker) stuck(r *window.RunView, p *plan) {
	if p.counter {
		k.saturated(r, p)
		return
	}
	lo, hi := r.Slot, r.Slot+len(r.Value)
	last, mark := k.d.state.last[lo:hi], k.d.state.mark[lo:hi]
	for i, x := range r.Value {
		if !k.fit(i) {
			continue
		}
		m := &mark[i]
		if x == last[i] {
			if m.run < 255 {
				m.run++
			}
			if m.on&onStuck == 0 && m.stopped() {
				m.on |= onStuck
				k.confirm(k.suspect(int32(lo+i), telemetry.ShapeStuck, k.still(r, i, m.run), x, x), x, 1)
			}
			continue
		}
		m.usual = moved(m.usual, m.run)
		last[i], m.run = x, 0
		k.released(lo+i, m, x)
	}
}

// usualUnit is one sample in marks.usual.
const usualUnit = 16

// moved learns from a change after run samples without one: the mean of such runs,
// an eighth of it new. The first gives no mean: it begins at the end of what can be
// judged.
func moved(usual, run uint8) uint8 {
	if usual == 0 {
		return 255
	}
	u := (7*int(usual) + usualUnit*min(int(run), 16) + 4) / 8
	return uint8(min(max(u, 1), 255))
}

// stopped reports whether a gauge that used to move has ceased to.
func (m *marks) stopped() bool {
	if m.run < stuckLeast || m.usual == 0 || m.usual > stuckMost*usualUnit {
		return false
	}
	return int(m.run)*usualUnit >= stuckTimes*(int(m.usual)+usualUnit)
}

// still is the interval in which a gauge that has not changed for so many
// samples ceased to move: after its last change.
func (k *worker) still(r *window.RunView, i int, run uint8) telemetry.Interval {
	at, _, micros := r.Last(i)
	step := telemetry.Duration(micros) * 1000
	last := at.Add(-step * telemetry.Duration(run))
	return telemetry.Interval{Earliest: last, Latest: last.Add(step)}
}

// saturated finds counters at the maximum at which they stop.
func (k *worker) saturated(r *window.RunView, p *plan) {
	if r.Even && r.EvenFlag != window.Stuck && !p.saturated {
		return
	}
	p.saturated = false
	for i := range r.Value {
		m := &k.d.state.mark[r.Slot+i]
		p.saturated = p.saturated || m.on&onStuck != 0
		at, f, _ := r.Last(i)
		if f != window.Stuck && m.on&onStuck == 0 || at <= r.Begin || r.Shadow[i] {
			continue
		}
		switch {
		case f != window.Stuck:
			k.released(r.Slot+i, m, r.Value[i])
		case m.on&onStuck == 0:
			m.on |= onStuck
			p.saturated = true
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

// silence looks for stale slots of a source that still reports.
func (k *worker) silence(r *window.RunView, p *plan) {
	if r.StaleAfter == 0 {
		return
	}
	for i := range r.Value {
		m := &k.d.state.mark[r.Slot+i]
		at, _, _ := r.Last(i)
		switch {
		case r.Shadow[i] || m.seen == 0:
		case at > r.Begin:
			if m.on&onStale != 0 {
				m.on &^= onStale
				k.end(int32(r.Slot+i), telemetry.ShapeSilence, r.Value[i])
			}
		case m.on&onStale == 0 && k.g.Sub(at) > r.StaleAfter:
			m.on |= onStale
			p.warm = false // so that its return is looked for
			last := telemetry.Interval{Earliest: at, Latest: at.Add(r.StaleAfter)}
			k.confirm(k.suspect(int32(r.Slot+i), telemetry.ShapeSilence, last, r.Value[i], 0), 0, 1)
		}
	}
}

const (
	peersLeast = 5    // entities that make a median worth something
	peerFar    = 5    // robust deviations
	peerFloor  = 0.02 // share of the median that a deviation is at least
	peerSure   = 5    // evidence that makes a finding
	peerCrowd  = 4    // where more than one in so many is far away, none is the outlier
)

// peer judges the entities of a run against each other. Where many are far from the
// median it reports nothing: they have moved together, or the others have, and the
// comparison cannot distinguish the two.
func (k *worker) peer(r *window.RunView) {
	k.peers = k.peers[:0]
	for i, x := range r.Value {
		if k.fit(i) {
			k.peers = append(k.peers, float64(x))
		}
	}
	n := len(k.peers)
	if n < peersLeast {
		return
	}
	med, mad := stats.MAD(k.peers)
	sd := max(float64(stats.Consistency*mad), float64(peerFloor*math.Abs(med)))
	limit := max(float64(peerFar*sd), float64(least*math.Abs(med)))
	away := 0
	for _, d := range k.peers { // MAD leaves the distances there
		if d > limit {
			away++
		}
	}
	if away*peerCrowd > n {
		return
	}
	for i, x := range r.Value {
		d := math.Abs(float64(x) - med)
		if m := &k.d.state.mark[r.Slot+i]; d <= limit && m.peer == 0 || !k.fit(i) {
			continue
		}
		if d <= limit {
			k.amongPeers(i, x)
			continue
		}
		k.farFromPeers(i, x, float32(med), float32(d/max(limit, float64(tiny))))
	}
}

func (k *worker) amongPeers(i int, x float32) {
	slot := k.run.Slot + i
	m := &k.d.state.mark[slot]
	if m.peer--; m.peer == 0 {
		k.end(int32(slot), telemetry.ShapePeer, x)
	}
}

func (k *worker) farFromPeers(i int, x, median, score float32) {
	slot := k.run.Slot + i
	m := &k.d.state.mark[slot]
	e := k.suspect(int32(slot), telemetry.ShapePeer, k.onset(i), median, x)
	if m.peer = min(m.peer+1, most); m.peer >= peerSure && !e.confirmed && m.seen >= warm {
		k.confirm(e, x, score)
	}
}
