package explain

import (
	"maps"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// LeastRise, in links, is the rise from which a neighbour is examined.
const LeastRise = 0.05

// uniform is the rise over before from which a neighbour as a whole sends more.
// Below it, a rise that is alike on all of its NICs comes from the timing of its
// steps and of its pauses for checkpoints, and only what some send beyond that is a
// rise.
const uniform = 0.35

// leastGrown, in links, is what a NIC sends beyond its peers from which it counts
// as a rise.
const leastGrown = 0.02

// leastPlanes a job must use before one of them can be an outlier, which it is from
// clearly times the others' median distance from their median.
const (
	leastPlanes = 4
	clearly     = 6
)

// neighbour is another job, and what its NICs send now against before, bytes per
// second.
type neighbour struct {
	Other
	more   float64 // what some send less counts against it
	gross  float64 // what some send less does not
	before float64
	// alike reports that all of its NICs send a little more; what counts is beyond,
	// what some send more than that.
	alike  bool
	beyond float64
	// err is the standard error of what it sends more, bytes per second. A job's NICs
	// send at the same time, so that the errors of all together add; what some send
	// beyond the others has the errors of those alone.
	err float64
}

// neighbour reads what a job sends. All of it is a rise where it sends so much
// more, or has too few NICs for a comparison.
func (f *fabricMeasures) neighbour(o Other) neighbour {
	usual := f.e.Fabric.Before
	if o.Usual != nil {
		usual = o.Usual // it recovers, which is no rise
	}
	n := neighbour{Other: o, gross: fabric.Sent(f.e.Fabric.Now, usual, o.Nodes, 1)}
	var rises, errs []float64
	for _, node := range o.Nodes {
		for _, i := range f.m.Links(node) {
			b := usual.Of[i].Util
			rise := float64((f.e.Fabric.Now.Of[i].Util - b) * f.m.Ends[i].Speed)
			rises = append(rises, rise)
			n.more += rise
			n.before += float64(b * f.m.Ends[i].Speed)
			errs = append(errs, float64(f.loadErr(i)*f.m.Ends[i].Speed))
			n.err += errs[len(errs)-1]
		}
	}
	if n.alike = f.ratio(&n) < uniform && len(rises) >= 4; !n.alike {
		return n
	}
	middle, off := stats.MAD(slices.Clone(rises))
	squares, scatter := 0.0, float64(stats.Consistency*off)
	for k, r := range rises {
		if beyond := r - middle; beyond > float64(leastGrown*f.speed) {
			n.beyond += beyond
			squares += float64(errs[k]*errs[k]) + float64(scatter*scatter)
		}
	}
	n.err = math.Sqrt(squares)
	n.beyond = max(n.beyond, f.beyondPlanes(o.Nodes))
	n.gross = max(n.gross, n.beyond)
	return n
}

// beyondPlanes is what a job's NICs in a plane or rail send more than before,
// beyond those in the others: bytes per second, over the planes in which they
// clearly do. The timing of its steps moves all planes alike, so that many NICs
// which send a little more each to one host are seen here where none of them is an
// outlier.
func (f *fabricMeasures) beyondPlanes(nodes []telemetry.Entity) float64 {
	var rises []float64
	for k := range f.m.Planes {
		rise, uses := 0.0, false
		for _, i := range f.m.Planes[k].Ends {
			if end := &f.m.Ends[i]; end.IsNIC() && coupled(nodes, end.Owner) {
				rise += float64((f.e.Fabric.Now.Of[i].Util - f.e.Fabric.Before.Of[i].Util) * end.Speed)
				uses = true
			}
		}
		if uses {
			rises = append(rises, rise)
		}
	}
	if len(rises) < leastPlanes {
		return 0
	}
	usual, off := stats.MAD(slices.Clone(rises))
	least := max(float64(LeastRise*f.speed), float64(clearly*off))
	var beyond float64
	for _, r := range rises {
		if r-usual > least {
			beyond += r - usual
		}
	}
	return beyond
}

// ratio is what a neighbour sends more over what it sent.
func (f *fabricMeasures) ratio(n *neighbour) float64 {
	return n.more / max(n.before, float64(idleLoad*f.speed), 1)
}

// rise is what a neighbour sends more, what some of its NICs send less left out.
func (n *neighbour) rise() float64 {
	if n.alike {
		return n.beyond
	}
	return n.gross
}

// rises reports whether a neighbour is examined.
func (f *fabricMeasures) rises(n *neighbour) bool {
	return f.speed > 0 && n.gross/f.speed >= LeastRise
}

// net is what a neighbour sends more than before, in links and over what it sent;
// what some of its NICs send less counts against it.
func (f *fabricMeasures) net(n *neighbour) (links, ratio float64) {
	more := n.more
	if n.alike {
		more = n.beyond
	}
	return more / max(f.speed, 1), min(f.ratio(n), ratioCap)
}

// neighbours measures the other jobs that send more than they did.
func (f *fabricMeasures) neighbours() []Candidate {
	total, _ := f.othersRise(f.speed)
	shared := f.shared()
	if s := largestOwn(f.planes); s.seen {
		s.putOwn(shared)
	}
	var out []Candidate
	for i := range f.neighbourLoads {
		n := &f.neighbourLoads[i]
		if !f.rises(n) {
			continue
		}
		rise := n.rise() / max(f.speed, 1)
		err := n.err / max(f.speed, 1)
		v := Values{Rise: rise, RiseShare: rise / max(total, rise, 1e-9)}
		f.roseApart(v, n)
		a := f.again(n.Nodes)
		put(v, SendsAgain, a.share(), a.seen)
		v[NetRise], v[RiseRatio] = f.net(n)
		put(v, ExcessPart, min(v[NetRise]/max(shared[SharedGrown], 1e-3), ratioCap), shared[SharedGrown] > 0)
		maps.Copy(v, shared)
		v[Rise.Err()], v[NetRise.Err()] = err, err
		v[RiseShare.Err()] = float64(v[RiseShare]*err) / max(rise, 1e-9)
		v[RiseRatio.Err()] = n.err / max(n.before, float64(idleLoad*f.speed), 1)
		v[ExcessPart.Err()] = float64(v[ExcessPart] * stats.Quadrature(err/max(v[NetRise], 1e-3), shared[SharedGrown.Err()]/max(shared[SharedGrown], 1e-3)))
		out = append(out, Candidate{Entity: n.Job, Values: v})
	}
	return out
}

// othersRise is what all hosts that do not run the job send more than before,
// in links of speed.
func (f *fabricMeasures) othersRise(speed float64) (float64, bool) {
	if speed <= 0 {
		return 0, false
	}
	return f.others / speed, true
}

// strangers are the hosts on a map that do not run a job on these, in identity order of
// their NICs.
func strangers(m *fabric.Map, own []telemetry.Entity) []telemetry.Entity {
	var nodes []telemetry.Entity
	for i := range m.Ends {
		end := &m.Ends[i]
		if !end.IsNIC() || coupled(own, end.Owner) {
			continue
		}
		if len(nodes) == 0 || nodes[len(nodes)-1] != end.Owner {
			nodes = append(nodes, end.Owner)
		}
	}
	return nodes
}

// unreadPart is the part of the NICs outside the job of which it is not known what they
// send: what sends more may be among them.
func (f *fabricMeasures) unreadPart() float64 {
	var unread, all float64
	for _, node := range f.strangers {
		for _, i := range f.m.Links(node) {
			all++
			if f.e.Fabric.Now.Of[i].Seen == 0 || f.e.Fabric.Before.Of[i].Seen == 0 {
				unread++
			}
		}
	}
	return unread / max(all, 1)
}

// strangersRise is what the hosts that do not run the job send more than before, in
// bytes per second: each other job as a whole, and the hosts that run none.
func (f *fabricMeasures) strangersRise() float64 {
	var sum float64
	jobs := map[telemetry.Entity]bool{}
	for i := range f.neighbourLoads {
		sum += f.neighbourLoads[i].rise()
		for _, n := range f.neighbourLoads[i].Nodes {
			jobs[n] = true
		}
	}
	idle := slices.DeleteFunc(slices.Clone(f.strangers), func(n telemetry.Entity) bool { return jobs[n] })
	return sum + fabric.Sent(f.e.Fabric.Now, f.e.Fabric.Before, idle, 1)
}

// roseApart measures how far from the beginning of the degradation what a neighbour
// sends rose: nothing within two usual steps, in which a job notices it.
func (f *fabricMeasures) roseApart(v Values, n *neighbour) {
	v[TooLate] = f.roseTooLate(n)
	at, onset := n.Rose, f.e.Degradation.Onset
	if at.Latest == 0 {
		return
	}
	apart := math.Abs(float64(middle(at)-middle(onset)) / 1e9)
	v[RoseApart] = max(0, apart-float64(2*f.e.Degradation.Usual))
	v[RoseApart.Err()] = stats.Quadrature(float64(at.Latest-at.Earliest)/4e9, float64(onset.Latest-onset.Earliest)/4e9)
}

// roseTooLate is by how much of a usual step what a neighbour sends certainly rose after
// the degradation began. The window has forgotten when, where it did so after minutes:
// what it sent until then is known.
func (f *fabricMeasures) roseTooLate(n *neighbour) float64 {
	if n.Rose.Latest == 0 {
		return tooLate(f.e, telemetry.Interval{Earliest: n.Flat, Latest: n.Flat})
	}
	return tooLate(f.e, n.Rose)
}

// shared measures the ends on the job's paths that others can load: the worst
// waiting, and how loaded and how fast those are that wait, or that may be.
func (f *fabricMeasures) shared() Values {
	var worst, between, weight, load, ceiling, grown, grownErr, full, loadErr float64
	fine, shows := true, false
	for i, on := range f.e.Fabric.OnPath {
		if !on || f.m.Ends[i].IsNIC() {
			continue
		}
		n, seen := &f.e.Fabric.Now.Of[i], f.m.Ends[i].Shows()
		shows = shows || seen
		waits := max(f.own[i], n.PossiblyQueued)
		if seen && max(waits, n.Wait-n.PauseReceived) <= 0 {
			continue // it has room
		}
		more := n.Util - f.e.Fabric.Before.Of[i].Util
		if more > grown {
			grown, grownErr = more, f.loadErr(i)
		}
		if more > leastGrown {
			full = max(full, n.Peak)
		}
		if waits <= 0 {
			continue // as long a queue as before
		}
		fine = fine && f.fine(n)
		worst = max(worst, waits)
		if f.m.Between(i) {
			between = max(between, waits)
		}
		weight += waits
		load += float64(waits * min(f.loadRatio(i, f.work), 4))
		loadErr += float64(waits * min(f.loadRatioErr(i, f.work), 4))
		if b := f.e.Fabric.Before.Of[i].Peak; b > idleLoad {
			ceiling += float64(waits * min(n.Peak/b, 4))
		} else {
			ceiling += waits
		}
	}
	v := Values{SharedGrown: grown, SharedGrown.Err(): grownErr}
	put(v, SharedPeak, full, full > 0)
	put(v, SharedExplained, worst/f.lost, shows || worst > 0)
	if weight > 0 {
		v[UplinkPart] = between / worst
		v[SharedLoad], v[SharedLoad.Err()] = load/weight, loadErr/weight
	}
	if weight > 0 && fine {
		v[SharedCap] = ceiling / weight
	}
	return v
}
