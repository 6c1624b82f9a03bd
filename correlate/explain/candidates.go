package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxEnds bounds how many ends of links are weighed for one job.
const maxEnds = 48

// leastBlame is the part of the job's waiting below which an end is no
// candidate.
const leastBlame = 0.01

// Candidates lists every entity that could be the root of the job's degradation,
// measured. Only entities coupled to the job are examined: the ends its waiting
// leads to, the jobs that share the network with it, the hosts it runs on, and
// itself.
func Candidates(e *Evidence) []Candidate {
	var out []Candidate
	var fabricDose float64
	var f *fabricMeasures
	named := e.named()
	if e.Fabric != nil {
		f = newFabricMeasures(e)
		out = append(out, f.ends()...)
		out = append(out, f.groups()...)
		out = append(out, f.neighbours()...)
		fabricDose = f.topExplained
	}
	own := itself(e, fabricDose)
	out = append(out, hosts(e, fabricDose, named)...)
	out = append(out, Candidate{Entity: e.Job, Values: own})
	computed, reported := own[ComputeUniform]
	out = suspected(e, out, named, f)
	for i := range out {
		put(out[i].Values, Computed, computed, reported)
	}
	if f != nil {
		f.doubts(out)
	}
	for i := range out {
		out[i].Values.dropNaN()
	}
	return out
}

// dropNaN removes the values that are no numbers, or whose error is none: a share of
// nothing was not seen, and would make every confidence no number.
func (v Values) dropNaN() {
	var unknown []Measure
	for m, x := range v { // order-independent: they are only deleted
		if x != x || v[m.Err()] != v[m.Err()] {
			unknown = append(unknown, m)
		}
	}
	for _, m := range unknown {
		delete(v, m)
		delete(v, m.Err())
	}
}

// hosts measures how late each node is against its own past and its peers: those
// that are, and those that telemetry points to.
func hosts(e *Evidence, fabricDose float64, named []telemetry.Entity) []Candidate {
	excess := e.Loss().Excess()
	if excess <= 0 || len(e.Hosts) == 0 {
		return nil
	}
	if len(e.Hosts) == 1 {
		return alone(e, fabricDose, named)
	}
	computes, lates, lags, wanders := ordered(e.Hosts, longer), ordered(e.Hosts, late), ordered(e.Hosts, behind), ordered(e.Hosts, wandering)
	var out []Candidate
	for i := range e.Hosts {
		h := &e.Hosts[i]
		v := Values{}
		if e.Fabric != nil {
			v[FabricExplained] = fabricDose
		}
		if x, ok := longer(h); ok {
			peers := computes.most(x)
			v[ComputeExcess], v[PeersLate] = (x-peers)/excess, peers/excess
		}
		if x, ok := late(h); ok {
			v[ComputeExcess] = max(v[ComputeExcess], (x-lates.most(x))/excess)
		}
		if x, ok := behind(h); ok {
			v[LateStart] = (x - lags.most(x)) / excess
		}
		if x, ok := wandering(h); ok {
			v[WanderExcess] = (x - wanders.most(x)) / excess
		}
		if v[ComputeExcess] > 0.1 || v[LateStart] > 0.1 || v[WanderExcess] > 0.1 || coupled(named, h.Node) {
			out = append(out, Candidate{Entity: h.Node, Values: v})
		}
	}
	return out
}

// alone is the only host of a job, where telemetry points to it: no other shows whether it
// is late or its job works longer.
func alone(e *Evidence, fabricDose float64, named []telemetry.Entity) []Candidate {
	if !coupled(named, e.Hosts[0].Node) {
		return nil
	}
	v := Values{}
	if e.Fabric != nil {
		v[FabricExplained] = fabricDose
	}
	return []Candidate{{Entity: e.Hosts[0].Node, Values: v}}
}

// longer is by how many seconds a host's ranks compute longer than before.
func longer(h *HostEvidence) (float64, bool) { return h.ComputeNow - h.ComputeBefore, h.HasCompute }

// late is by how many seconds a host's ranks let the others wait longer than before.
func late(h *HostEvidence) (float64, bool) { return h.Late, h.HasLate }

// behind is by how many seconds a host sends later than before.
func behind(h *HostEvidence) (float64, bool) { return h.Lag.Surely(), h.HasLag }

// wandering is by how many seconds a host's latest rank varies.
func wandering(h *HostEvidence) (float64, bool) { return h.Wander, h.HasWander }

// hostValues are the values of a quantity on a job's hosts, the least first, to
// compare one host with the others.
type hostValues []float64

// ordered returns the values of a quantity on the hosts of which it is known.
func ordered(hs []HostEvidence, of func(*HostEvidence) (float64, bool)) (out hostValues) {
	for i := range hs {
		if x, ok := of(&hs[i]); ok {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// at returns the k-th of the other hosts than the one whose value is v.
func (s hostValues) at(k int, v float64) float64 {
	if i, _ := slices.BinarySearch(s, v); k >= i {
		k++
	}
	return s[k]
}

// mostHosts is the part of a job's other hosts that a host must exceed to be late
// alone: where a quarter of them send later than they did and the rest earlier, the
// job's phases have moved, and no host is late.
const mostHosts = 0.9

// most returns the value that mostHosts of the other hosts than the one whose value is v do
// not exceed.
func (s hostValues) most(v float64) float64 {
	n := len(s) - 1
	if n < 1 {
		return 0
	}
	return s.at(int(math.Ceil(float64(mostHosts*float64(n-1)))), v)
}

// half returns what at least half of them reach: of two the lesser.
func (s hostValues) half() float64 { return s[(len(s)-1)/2] }

// itself measures whether the job simply does more work than before.
func itself(e *Evidence, fabricDose float64) Values {
	v := Values{}
	excess := e.Loss().Excess()
	if excess <= 0 {
		return v
	}
	if e.Degradation.Metric() != jobs.MeasureStep {
		// More requests to a serving job are its load, not its work.
		if e.Fabric != nil {
			v[FabricExplained] = fabricDose
		}
		return v
	}
	if e.Fabric != nil {
		v[FabricExplained] = fabricDose
		if w, ok := work(e); ok && e.Degradation.Expected > 0 {
			steps := e.Loss().Step / e.Degradation.Expected
			v[WorkExcess] = (float64(w.median*steps) - 1) / (excess / e.Degradation.Expected)
			v[WorkExcess.Err()] = float64(w.median*steps) * w.error(e) / (excess / e.Degradation.Expected)
		}
	}
	if s := ordered(e.Hosts, longer); len(s) > 1 { // one host computes as long as itself
		v[ComputeUniform] = s.half() / excess
	}
	byPlace(v, e.Ranks, excess)
	if e.ReportedWork > 0 && e.Degradation.Before > 0 {
		v[ReportedExcess] = (e.ReportedWork - 1) / (excess / e.Degradation.Before)
		v[ReportedExcess.Err()] = e.ReportedErr / (excess / e.Degradation.Before)
	}
	if e.Saves != nil {
		v[SaveExcess] = *e.Saves / excess
	}
	return v
}

// sending is what NICs send per second now over before: the median of them, and its
// scatter among them, as part of it.
type sending struct{ median, scatter float64 }

// edge is what part of a step's bytes, as a standard deviation, is beyond the ends
// of a span that was not cut to steps.
const edge = 0.3

// error is the standard error of what a job's NICs send, as part of it: a span is
// not cut to steps, and a checkpoint may be contained in one and not in the other.
func (s sending) error(e *Evidence) float64 {
	begun := e.Degradation.Onset.Earliest
	now, before := float64(e.To.Sub(begun))/1e9, float64(begun.Sub(e.From))/1e9
	if now <= 0 || before <= 0 {
		return 1
	}
	return stats.Quadrature(s.scatter, stats.Quadrature(
		stats.Quadrature(float64(edge*e.Loss().Step)/now, float64(edge*e.Degradation.Expected)/before),
		stats.Quadrature(e.Saving/now, e.Saving/before)/2))
}

// work is what the job's NICs send.
func work(e *Evidence) (sending, bool) { return workOf(e.Fabric, e.Nodes) }

// workOf is the same of the NICs of some nodes.
func workOf(f *FabricEvidence, nodes []telemetry.Entity) (sending, bool) {
	var ratios []float64
	for _, node := range nodes {
		for _, i := range f.Now.Map.Links(node) {
			if b := f.Before.Of[i].Util; b > idleLoad && f.Now.Of[i].Seen > 0 {
				ratios = append(ratios, f.Now.Of[i].Util/b)
			}
		}
	}
	if len(ratios) == 0 {
		return sending{}, false
	}
	n := math.Sqrt(float64(len(ratios)))
	median, mad := stats.MAD(ratios)
	if median <= 0 {
		return sending{}, true
	}
	return sending{median, float64(stats.Consistency*mad) / float64(median*n)}, true
}

// byBlame orders end indices by blame, most first, then by identity.
func byBlame(ends []int, blame []float64) {
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(blame[b], blame[a]) })
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// coupled reports whether e is one of the entities, which are in identity
// order.
func coupled(in []telemetry.Entity, e telemetry.Entity) bool {
	_, ok := slices.BinarySearchFunc(in, e, telemetry.Entity.Compare)
	return ok
}
