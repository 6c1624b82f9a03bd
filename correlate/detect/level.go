package detect

import (
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	enter      = 0.1  // share of the usual level beyond which a gauge is bad
	leave      = 0.05 // within which it is good again
	adoptAfter = 60   // better samples in a row that become the usual level
)

// level judges a run of states or gauges against their usual level.
func (k *worker) level(r *window.RunView, p *plan) {
	lo, hi := r.Slot, r.Slot+len(r.Value)
	usual, mark := k.d.state.env[lo:hi], k.d.state.mark[lo:hi]
	for i, x := range r.Value {
		if x == usual[i] && mark[i].doubt == 0 && mark[i].good == 0 || !k.fit(i) {
			continue
		}
		if mark[i].seen < warm {
			usual[i] = firstLevel(usual[i], x, mark[i].seen, p.state)
			continue
		}
		switch side(x, usual[i], p) {
		case wrong:
			k.offLevel(i, x)
		case right:
			k.betterLevel(i, x)
		case within:
			k.onLevel(i, x, p)
		}
	}
}

func firstLevel(usual, x float32, seen uint8, state bool) float32 {
	if state || seen == 0 {
		return x
	}
	return usual + (x-usual)/(float32(seen)+1)
}

// where a value is, seen from the usual level.
type where uint8

const (
	within  where = iota // at the usual level
	between              // neither back nor beyond
	wrong                // beyond it in the bad direction
	right                // beyond it in the other
)

func side(x, usual float32, p *plan) where {
	away := x - usual
	if !p.state {
		switch d := abs(away); {
		case d <= float32(leave*abs(usual)):
			return within
		case d <= float32(enter*abs(usual)):
			return between
		}
	}
	switch {
	case away == 0:
		return within
	case p.rise == telemetry.Worse && away < 0, p.rise == telemetry.Better && away > 0:
		return right
	}
	return wrong
}

func (k *worker) offLevel(i int, x float32) {
	slot := k.run.Slot + i
	usual, m := k.d.state.env[slot], &k.d.state.mark[slot]
	e := k.suspect(int32(slot), telemetry.ShapeLevel, k.onset(i), usual, x)
	m.good = 0
	if m.doubt = min(m.doubt+bad, most); m.doubt >= confirmed && !e.confirmed {
		k.confirm(e, x, abs(x-usual)/max(float32(enter*abs(usual)), tiny))
	}
}

// betterLevel takes a value on the good side of the usual one. If it stays, it
// is what is usual.
func (k *worker) betterLevel(i int, x float32) {
	slot := k.run.Slot + i
	k.relax(i, x)
	if m := &k.d.state.mark[slot]; m.good < adoptAfter {
		m.good++
		return
	}
	k.d.state.env[slot], k.d.state.mark[slot].good = x, 0
}

func (k *worker) onLevel(i int, x float32, p *plan) {
	slot := k.run.Slot + i
	k.d.state.mark[slot].good = 0
	k.relax(i, x)
	if !p.state && k.d.state.mark[slot].doubt == 0 {
		u := k.d.state.env[slot]
		k.d.state.env[slot] = u + float32((x-u)*learn)
	}
}

// relax takes a sample that is not bad.
func (k *worker) relax(i int, x float32) {
	slot := k.run.Slot + i
	if m := &k.d.state.mark[slot]; m.doubt > 0 {
		if m.doubt--; m.doubt == 0 {
			k.end(int32(slot), telemetry.ShapeLevel, x)
		}
	}
}
