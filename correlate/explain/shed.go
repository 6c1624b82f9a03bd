package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
)

const (
	// leastShed is the least part of its traffic that a link certainly loses to others
	// for it to be looked at.
	leastShed = 0.15
	// leastSpread is the scatter of what parallel links carry, now over before, that is
	// assumed at least.
	leastSpread = 0.03
	// leastAround is how many other links must share what one link lost for their
	// scatter to be known, and for it to be seen that none of them got it all.
	leastAround = 2
)

// shed measures which part of its traffic the link of end i lost to the other links of
// its switch: with adaptive routing a switch sends less over a link whose queue does
// not drain. It loses it in both directions, the others get it alike, and the same
// switch behind it is not avoided by others as well. A hash that puts flows together
// shows one direction, and one other link that gets them.
func (f *fabricMeasures) shed(i int) (part, err float64, ok bool) {
	near, far := f.lostToOthers(i), f.lostToOthers(f.m.Ends[i].Peer)
	up, down := f.anyHost(f.m.Ends[i].Owner), f.anyHost(f.m.Ends[f.m.Ends[i].Peer].Owner)
	switch {
	case up && down || !up && !down: // what comes to a spine from each leaf is that leaf's own
		near.part, near.ok = min(near.part, far.part), near.ok && far.ok
	case down:
		near = far
	}
	return near.part, near.err, near.ok
}

// diverted is which part of its traffic a link lost to others.
type diverted struct {
	part, err float64
	ok        bool
}

// lostToOthers compares what the link of end i carries with the other links of its
// switch; not ok where too few of them were used.
func (f *fabricMeasures) lostToOthers(i int) diverted {
	tx := f.lostOneWay(i, func(k int) (float64, bool) { return f.now(k, false) })
	rx := f.lostOneWay(i, func(k int) (float64, bool) { return f.now(k, true) })
	return diverted{min(tx.part, rx.part), max(tx.err, rx.err), tx.ok && rx.ok}
}

// lostOneWay does so for one direction, by what a link carries now over before.
func (f *fabricMeasures) lostOneWay(i int, carries func(int) (float64, bool)) diverted {
	own, used := carries(i)
	var others []float64
	for _, s := range f.linksOf(f.m.Ends[i].Owner, false) {
		if r, used := carries(s); used && s != i {
			others = append(others, r)
		}
	}
	if !used || len(others) < leastAround {
		return diverted{}
	}
	most := slices.Max(others)
	usual, off := stats.MAD(others)
	if usual <= 0 {
		return diverted{}
	}
	away := max(0, usual-own)
	alike := max(0, away-(most-usual)) // what one of them got is not shared
	spread := max(leastSpread, float64(stats.Consistency*off)/usual)
	return diverted{alike / usual, spread, true}
}

// now is what the link of end i carries one way, now over before; false where it was not used.
func (f *fabricMeasures) now(i int, received bool) (ratio float64, used bool) {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	now, before := n.Util, b.Util
	if received {
		now, before = n.RUtil, b.RUtil
	}
	if before < idleLoad || n.Seen == 0 {
		return 0, false
	}
	return now / before, true
}

// avoided notes what the link of end i lost to others, unless the others that lead to
// the same switch lost as much.
func (f *fabricMeasures) avoided(v Values, i int) {
	part, err, ok := f.shed(i)
	if !ok {
		return
	}
	var along []float64
	for _, s := range f.parallel(i) {
		if x, _, ok := f.shed(s); ok {
			along = append(along, x)
		}
	}
	if len(along) > 0 {
		part = max(0, part-stats.Median(along))
	}
	v[Shed], v[Shed.Err()] = part, err
}

// certainlyAvoided is what the link of end i certainly lost to others.
func (f *fabricMeasures) certainlyAvoided(i int) float64 {
	v := Values{}
	if f.m.Between(i) {
		f.avoided(v, i)
	}
	return v[Shed] - float64(2*v[Shed.Err()])
}
