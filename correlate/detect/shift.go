package detect

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	warm = 30 // samples before a series is judged

	toSigma    = 1.2533      // normal data: standard deviation over mean distance
	floorShare = 0.02        // a deviation is at least this share of the mean
	clipMean   = 3           // deviations that the mean learns from at most
	clipSum    = 4           // deviations that one sample adds at most
	slack      = 1.5         // deviations that each sample is forgiven
	alarm      = 9           // deviations of the sum that make a shift
	calm       = 6.5         // of the sum at most, where a sample is not far enough: alarm less what one adds
	hair       = 1e-30       // no deviation is smaller
	least      = 0.1         // share of the mean that a shift must be
	near       = 1.5         // deviations that count as the old level
	nearEnough = 5           // samples in a row there that end a shift
	learn      = 1.0 / 87    // weight of a sample: half the past after 60
	learnLast  = learn / 16. // while a shift lasts
)

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func clip(x, limit float32) float32 { return min(max(x, -limit), limit) }

// shift judges a run against its own past.
func (k *worker) shift(r *window.RunView) {
	st := &k.d.state
	lo, hi := r.Slot, r.Slot+len(r.Value)
	mean, dev, up, down, mark := st.mean[lo:hi], st.dev[lo:hi], st.up[lo:hi], st.down[lo:hi], st.mark[lo:hi]
	for i, x := range r.Value {
		if !k.fit(i) {
			continue
		}
		m, d := mean[i], dev[i]
		if x == m && d == 0 && up[i] == 0 && down[i] == 0 && mark[i].shift == 0 && mark[i].seen > 0 {
			continue // constant so far
		}
		if mark[i].seen < warm {
			mean[i], dev[i] = begin(m, d, x, mark[i].seen)
			continue
		}
		away := x - m
		sd := max(float32(d*toSigma), float32(abs(m)*floorShare))
		if sd < hair {
			sd = max(abs(away)/clipSum, hair) // it has never moved
		}
		if mark[i].shift > 0 {
			k.lasting(i, away, sd)
			mean[i] = m + float32(clip(away, float32(clipMean*sd))*learnLast)
			continue
		}
		mean[i] = m + float32(clip(away, float32(clipMean*sd))*learn)
		z := clip(away/sd, clipSum)
		dev[i] = d + float32((float32(abs(z)*sd)-d)*learn)
		u, w := max(0, up[i]+z-slack), max(0, down[i]-z-slack)
		far := abs(away) > float32(least*abs(m))
		if !far {
			u, w = min(u, calm), min(w, calm)
		}
		if u > 0 && up[i] == 0 {
			k.d.state.rose[lo+i] = k.moment(i)
		}
		if w > 0 && down[i] == 0 {
			k.d.state.fell[lo+i] = k.moment(i)
		}
		up[i], down[i] = u, w
		if far && (u > alarm && away > 0 || w > alarm && away < 0) {
			k.shifted(i, x, m, sd, away > 0)
		}
	}
}

// begin learns from a sample of a new series: the plain mean so far.
func begin(m, d, x float32, seen uint8) (mean, dev float32) {
	n := float32(seen) + 1
	away := x - m
	if seen == 0 {
		return x, 0
	}
	return m + away/n, d + (abs(away)-d)/n
}

// moment is now, as state keeps it.
func (k *worker) moment(i int) moment {
	_, _, step := k.run.Last(i)
	return moment{cell: k.cell, step: step}
}

// interval is an onset from its moment: the grid, and before it the time since
// the last good sample.
func (k *worker) interval(m moment) telemetry.Interval {
	begin := k.from.Add(-telemetry.Duration(k.cell-m.cell) * k.g.Sub(k.from))
	return telemetry.Interval{Earliest: begin.Add(-telemetry.Duration(m.step) * 1000), Latest: begin.Add(k.g.Sub(k.from))}
}

// shifted begins a finding.
func (k *worker) shifted(i int, x, m, sd float32, rise bool) {
	slot := k.run.Slot + i
	at := k.d.state.fell[slot]
	if rise {
		at = k.d.state.rose[slot]
	}
	e := k.suspect(int32(slot), telemetry.ShapeShift, k.interval(at), m, x)
	k.confirm(e, x, abs(x-m)/float32(near*sd))
	k.d.state.up[slot], k.d.state.down[slot] = 0, 0
	k.d.state.mark[slot].shift = 1
}

// lasting counts how long a shifted series is back.
func (k *worker) lasting(i int, away, sd float32) {
	mark := &k.d.state.mark[k.run.Slot+i]
	if abs(away) >= float32(near*sd) {
		mark.shift = 1
		return
	}
	if mark.shift++; mark.shift > nearEnough {
		mark.shift = 0
		k.end(int32(k.run.Slot+i), telemetry.ShapeShift, k.run.Value[i])
	}
}
