package detect

import (
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// The evidence grows by two with a bad sample and falls by one with a good one;
// from confirmed on it is a finding, at zero it is over.
const (
	bad       = 2
	confirmed = 4
	most      = 8

	twice  = 2             // times the largest remembered rate that make a burst
	forget = 1 - 1.0/256   // what is left of it after a sample
	tiny   = float32(1e-9) // below it nothing is remembered
)

// burst judges a run of counters' rates against the largest of their past.
func (k *worker) burst(r *window.RunView) {
	lo, hi := r.Slot, r.Slot+len(r.Value)
	env, mark := k.d.state.env[lo:hi], k.d.state.mark[lo:hi]
	for i, x := range r.Value {
		e := env[i]
		if x == 0 && e == 0 && mark[i].doubt == 0 || !k.fit(i) {
			continue
		}
		switch {
		case mark[i].seen >= warm && x > twice*e:
			k.bursting(i, x, e)
		case mark[i].doubt > 0:
			k.calming(i, x)
		default:
			env[i] = remember(e, x)
		}
	}
}

func remember(e, x float32) float32 {
	if e = max(float32(e*forget), x); e < tiny {
		return 0
	}
	return e
}

func (k *worker) bursting(i int, x, env float32) {
	slot := k.run.Slot + i
	m := &k.d.state.mark[slot]
	e := k.suspect(int32(slot), telemetry.ShapeBurst, k.onset(i), env, x)
	e.peak = max(e.peak, x)
	if m.doubt = min(m.doubt+bad, most); m.doubt >= confirmed && !e.confirmed {
		k.confirm(e, x, x/(twice*max(env, tiny)))
	}
}

// calming takes a good sample after bad ones. When it is over the series has
// learned how large it can be.
func (k *worker) calming(i int, x float32) {
	slot := k.run.Slot + i
	m := &k.d.state.mark[slot]
	if m.doubt--; m.doubt == 0 {
		peak := k.end(int32(slot), telemetry.ShapeBurst, x)
		k.d.state.env[slot] = max(k.d.state.env[slot], peak)
	}
}
