package explain

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// leastContribution is the part of what others send more below which a job is
// not named as a contributor.
const leastContribution = 0.1

// contributors are the other jobs that send more than before, where the fault is
// about that, the largest first.
func contributors(e *Evidence, best *Answer) []Contributor {
	out := []Contributor{}
	if e.Fabric == nil || best.Signature == nil || best.Values[NeighbourUp] < 0.1 && best.Values[Rise] == 0 {
		return out
	}
	f := newFabricMeasures(e)
	rises := make([]float64, len(e.Others))
	var total float64
	for _, node := range f.strangers {
		rise := fabric.Sent(e.Fabric.Now, e.Fabric.Before, []telemetry.Entity{node}, f.speed)
		total += rise
		f.credit(rises, node, rise)
	}
	for k, o := range e.Others {
		if share := rises[k] / max(total, 1e-9); share >= leastContribution && o.Job != best.Entity {
			out = append(out, Contributor{Entity: o.Job, Share: round(share, 3)})
		}
	}
	slices.SortStableFunc(out, func(a, b Contributor) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// credit attributes what a node sends more to the jobs that run on it: to those
// that started with the degradation if there are any, else to all alike.
func (f *fabricMeasures) credit(rises []float64, node telemetry.Entity, rise float64) {
	var on, came []int
	for k, o := range f.e.Others {
		if coupled(o.Nodes, node) {
			on = append(on, k)
			if f.beganWith(o) {
				came = append(came, k)
			}
		}
	}
	if len(came) > 0 {
		on = came
	}
	for _, k := range on {
		rises[k] += rise / float64(len(on))
	}
}

// beganWith reports whether a job started with the degradation: within two usual
// steps of its onset.
func (f *fabricMeasures) beganWith(o Other) bool {
	h := f.e.Degradation
	near := telemetry.Duration(2 * h.Usual * 1e9)
	return o.Since >= h.Onset.Earliest.Add(-near) && o.Since <= h.Onset.Latest.Add(near)
}
