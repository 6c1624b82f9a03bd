package explain

import (
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// idleLoad is the share of its speed below which an end was idle, and a
	// ratio to it says nothing.
	idleLoad = 0.005
	// ratioCap bounds ratios to a small past.
	ratioCap = 20.0
)

// fabricMeasures derives the measures of ends and neighbours.
type fabricMeasures struct {
	e       *Evidence
	m       *fabric.Map
	lost    float64 // share of its time that the job loses
	work    float64 // what the job's nics send per second, now over before
	steady  float64 // the same of the other job that kept its pace best, at most 1; 0 without one
	own     []float64
	topDose float64
	speed   float64 // of the job's links, bytes per second
	// others is what all hosts that do not run the job send more than before, in
	// bytes per second.
	others float64
	// foreign is what one other job sends more than before, all its nics
	// together, in bytes per second: of the job that does so most.
	foreign float64
	oneWay  float64 // the most that one of the job's nics gets beyond what it sends, or the other way, over its speed
	shifted float64 // the most that the job's nics in a plane or behind a switch send beside the others, more or less
	down    float64 // the part of the time that a link between switches on the job's paths was down, the worst of them
	losses  loss
}

func newFabricMeasures(e *Evidence) *fabricMeasures {
	f := &fabricMeasures{e: e, m: e.Fabric.Now.Map, lost: e.LostShare()}
	f.work = 1
	if w, ok := work(e); ok && w > 0 {
		f.work = w
	}
	f.own = make([]float64, len(f.m.Ends))
	for i := range f.m.Ends {
		f.own[i] = e.Fabric.Now.Own(e.Fabric.Before, i)
		if e.Fabric.Blame.Share(i) >= leastBlame {
			f.topDose = max(f.topDose, f.own[i]/f.lost)
		}
	}
	for _, node := range e.Nodes {
		for _, i := range f.m.Links(node) {
			f.speed = max(f.speed, f.m.Ends[i].Speed)
		}
	}
	f.others = f.strangersRise()
	f.losses = f.loss()
	f.surroundings()
	return f
}

// surroundings measures what else on the job's paths would explain that one link
// carries more than another: other jobs, traffic that goes one way, nics that
// are used otherwise, links that are gone.
func (f *fabricMeasures) surroundings() {
	for _, o := range f.e.Others {
		if w, ok := workOf(f.e.Fabric, o.Nodes); ok {
			f.steady = max(f.steady, min(w, 1))
		}
		links, _ := f.net(o.Nodes)
		f.foreign = max(f.foreign, float64(links*f.speed))
	}
	for i, on := range f.e.Fabric.OnPath {
		if !on || !f.m.Ends[i].Main {
			continue
		}
		if f.m.FacesHost(i) {
			f.oneWay = max(f.oneWay, f.lopsided(i), -f.lopsided(i))
		}
		if up, _, ok := f.up(i); ok && f.m.Between(i) {
			f.down = max(f.down, 1-up)
		}
	}
	for _, s := range []shift{f.shifts(f.m.Planes, false), f.shifts(f.m.Switches, true)} {
		for k, seen := range s.seen {
			if seen {
				f.shifted = max(f.shifted, s.moved[k])
			}
		}
	}
}

// ends measures the ends to which the job's waiting leads, and those on its
// paths whose link shows trouble of its own.
func (f *fabricMeasures) ends() []Candidate {
	var at []int
	for i := range f.m.Ends {
		if share, worst := f.e.Fabric.Blame.PortShare(f.m, i); worst && share >= leastBlame {
			at = append(at, i)
		}
	}
	byBlame(at, f.e.Fabric.Blame.At)
	at = at[:min(len(at), maxEnds)]
	for _, i := range f.ailing() {
		if !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	var out []Candidate
	for _, i := range at {
		c := Candidate{Entity: f.m.Ends[i].Entity, Values: f.end(i)}
		if p := f.m.Ends[i].Peer; p >= 0 {
			c.Peer = f.m.Ends[p].Entity
		}
		out = append(out, c)
	}
	return out
}

func (f *fabricMeasures) end(i int) Values {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	share, _ := f.e.Fabric.Blame.PortShare(f.m, i)
	early := f.seenFor()
	early = float64(early * early) // bursts of different nics in few grids differ much
	v := Values{
		BlameShare: share,
		Dose:       f.own[i] / f.lost,
		Waiting:    f.own[i],
		FacesHost:  boolValue(f.m.FacesHost(i)),
		Between:    boolValue(f.m.Between(i)),
		LoadRatio:  f.loadRatio(i, f.work+float64(max(0, f.steady-f.work)*early)),
		OneWay:     float64(f.oneWay * early),
		OwnShift:   float64(f.shifted * early),
		PathDown:   f.down,
		Lopsided:   f.lopsided(i),
		Grown:      n.Util - b.Util,
	}
	if at, ok := f.e.began(endFact(f.e.Fabric, i)); ok {
		v[TooLate] = tooLate(f.e, at)
	}
	f.stops(v, i)
	f.health(v, i)
	f.ceilings(v, n, b)
	if f.m.Between(i) {
		v[HotAlone] = f.hotAlone(i)
	}
	if rise, seen := f.othersRise(f.m.Ends[i].Speed); seen {
		v[NeighbourUp] = rise
	}
	if more := float64(v[Grown] * f.m.Ends[i].Speed); more > 0 {
		v[ForeignPart] = min(float64(f.foreign*f.seenFor())/max(more, f.others), ratioCap)
	}
	return v
}

// lopsided is what end i sends less what it receives, beyond before.
func (f *fabricMeasures) lopsided(i int) float64 {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	return (n.Util - n.RUtil) - (b.Util - b.RUtil)
}

// stops measures who told whom to stop by pause; credits are told of apart.
func (f *fabricMeasures) stops(v Values, i int) {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	if !n.Credits {
		v[Told] = n.Told - b.Told
	}
	if p := f.m.Ends[i].Peer; p >= 0 && f.e.Fabric.Now.Of[p].Credits {
		return
	}
	v[Tells] = n.Tells - b.Tells
	if n.Idle > 0 {
		v[TellsIdle] = n.TellsIdle
	}
}

// ceilings measures the most an end sent and received. A sample that averages
// over a step shows no ceiling, only the mean: then they are not seen.
func (f *fabricMeasures) ceilings(v Values, n, b *fabric.Reading) {
	if !f.fine(n) || !f.fine(b) {
		return
	}
	if n.Ceiling > 0 {
		v[Ceiling] = n.Ceiling
	}
	if b.Peak > idleLoad {
		v[CeilingRatio] = n.Peak / b.Peak
	}
	if b.RPeak > max(idleLoad, n.Ceiling) { // what a slow link would have passed tells nothing
		v[ReverseRatio] = n.RPeak / b.RPeak
	}
}

// fine says that an end is sampled at least about once a step.
func (f *fabricMeasures) fine(r *fabric.Reading) bool {
	return r.Cadence <= float64(1.2*f.e.Hurt.Usual)
}

// loadRatio is what end i carries now over before, per unit of work.
func (f *fabricMeasures) loadRatio(i int, work float64) float64 {
	n, b := f.e.Fabric.Now.Of[i].Util, f.e.Fabric.Before.Of[i].Util
	if b < idleLoad {
		if n < float64(4*idleLoad) {
			return 1
		}
		return ratioCap
	}
	return min(n/b/work, ratioCap)
}

// hotAlone is the end's part of the waiting of its siblings: the other uplinks
// of its access switch, or the other ways into the switch it leads to.
func (f *fabricMeasures) hotAlone(i int) float64 {
	peer := f.m.Ends[i].Peer
	up := f.anyHost(f.m.Ends[i].Owner)
	owner := f.m.Ends[i].Owner
	if !up {
		owner = f.m.Ends[peer].Owner
	}
	var all float64
	for _, s := range f.m.Of(owner) {
		if !f.m.Between(s) {
			continue
		}
		if !up {
			s = f.m.Ends[s].Peer
		}
		all += f.own[s]
	}
	if all <= 0 {
		return 0
	}
	return f.own[i] / all
}

func (f *fabricMeasures) anyHost(sw telemetry.Entity) bool {
	for _, i := range f.m.Of(sw) {
		if f.m.FacesHost(i) {
			return true
		}
	}
	return false
}

// othersRise is what all hosts that do not run the job send more than before,
// in links of speed.
func (f *fabricMeasures) othersRise(speed float64) (float64, bool) {
	if speed <= 0 {
		return 0, false
	}
	return f.others / speed, true
}

// strangers are the hosts that do not run the job, in identity order of their
// nics.
func (f *fabricMeasures) strangers() []telemetry.Entity {
	var nodes []telemetry.Entity
	for i := range f.m.Ends {
		end := &f.m.Ends[i]
		if !end.IsNIC() || coupled(f.e.Nodes, end.Owner) {
			continue
		}
		if len(nodes) == 0 || nodes[len(nodes)-1] != end.Owner {
			nodes = append(nodes, end.Owner)
		}
	}
	return nodes
}

// strangersRise is what the hosts that do not run the job send more than before,
// in bytes per second: each other job as a whole, and who runs none.
func (f *fabricMeasures) strangersRise() float64 {
	var sum float64
	jobs := map[telemetry.Entity]bool{}
	for _, o := range f.e.Others {
		sum += f.rise(o.Nodes)
		for _, n := range o.Nodes {
			jobs[n] = true
		}
	}
	idle := slices.DeleteFunc(f.strangers(), func(n telemetry.Entity) bool { return jobs[n] })
	return sum + fabric.Sent(f.e.Fabric.Now, f.e.Fabric.Before, idle, 1)
}

// rise is what some nodes send more than before, in bytes per second. Where all
// of their nics send a little more alike, only what some send beyond that is.
func (f *fabricMeasures) rise(nodes []telemetry.Entity) float64 {
	if beyond, alike := f.singled(nodes); alike {
		return beyond
	}
	return fabric.Sent(f.e.Fabric.Now, f.e.Fabric.Before, nodes, 1)
}

// neighbours measures the other jobs that send more than they did.
func (f *fabricMeasures) neighbours() []Candidate {
	total, _ := f.othersRise(f.speed)
	shared := f.shared()
	if planes := f.shifts(f.m.Planes, false); slices.Contains(planes.seen, true) {
		shared[OwnShift] = slices.Max(planes.moved)
	}
	var out []Candidate
	for _, o := range f.e.Others {
		if fabric.Sent(f.e.Fabric.Now, f.e.Fabric.Before, o.Nodes, f.speed) < leastRise {
			continue
		}
		rise := f.rise(o.Nodes) / max(f.speed, 1)
		v := Values{Rise: rise, RiseShare: rise / max(total, rise, 1e-9), BeganWith: boolValue(f.beganWith(o))}
		a := f.again(o.Nodes)
		put(v, SendsAgain, a.share(), a.seen)
		v[NetRise], v[RiseRatio] = f.net(o.Nodes)
		put(v, ExcessPart, min(v[NetRise]/max(shared[SharedGrown], 1e-3), ratioCap), shared[SharedGrown] > 0)
		maps.Copy(v, shared)
		out = append(out, Candidate{Entity: o.Job, Values: v})
	}
	return out
}

// leastRise, in links, is the rise from which a neighbour is looked at.
const leastRise = 0.05

// settled is the hurt's usual steps after which what others send has been seen
// for long enough: a neighbour's traffic comes in bursts as well.
const settled = 4

// uniform is the rise over before from which a neighbour as a whole sends more.
// Below it, what all of its nics send more alike is how its steps and its pauses
// for checkpoints fell, and only what some send beyond that is a rise.
const uniform = 0.35

// net is what some nodes send more than before, in links and over what they sent;
// what they send less counts against it. It counts in part while little of it
// has been seen.
func (f *fabricMeasures) net(nodes []telemetry.Entity) (links, ratio float64) {
	more, before, _ := f.change(nodes)
	ratio = more / max(before, float64(idleLoad*f.speed), 1)
	if beyond, alike := f.singled(nodes); alike {
		more = beyond
	}
	seen := f.seenFor()
	return float64(more*seen) / max(f.speed, 1), min(float64(ratio*seen), ratioCap)
}

// change is what some nodes send more or less than before, and what they sent,
// in bytes per second, and the change of each of their nics.
func (f *fabricMeasures) change(nodes []telemetry.Entity) (more, before float64, rises []float64) {
	for _, node := range nodes {
		for _, i := range f.m.Links(node) {
			b := f.e.Fabric.Before.Of[i].Util
			rise := float64((f.e.Fabric.Now.Of[i].Util - b) * f.m.Ends[i].Speed)
			rises = append(rises, rise)
			more += rise
			before += float64(b * f.m.Ends[i].Speed)
		}
	}
	return more, before, rises
}

// singled is what some of the nics of some nodes send beyond what all of them do
// more; false where they send so much more that all of it is a rise, or are too
// few to tell.
func (f *fabricMeasures) singled(nodes []telemetry.Entity) (sum float64, alike bool) {
	more, before, rises := f.change(nodes)
	if more/max(before, float64(idleLoad*f.speed), 1) >= uniform || len(rises) < 4 {
		return 0, false
	}
	usual := stats.Median(slices.Clone(rises))
	for _, r := range rises {
		if beyond := r - usual; beyond > float64(leastGrown*f.speed) {
			sum += beyond
		}
	}
	return sum, true
}

// leastGrown, in links, is what a nic sends beyond its peers from which it counts
// as a rise.
const leastGrown = 0.02

// seenFor is how much of the time has been seen in which others' bursts even
// out: 0 to 1.
func (f *fabricMeasures) seenFor() float64 {
	span := float64(f.e.Fabric.Now.Span.To.Sub(f.e.Fabric.Now.Span.From)) / 1e9
	if f.e.Hurt.Usual <= 0 || span <= 0 {
		return 1
	}
	return min(1, span/float64(settled*f.e.Hurt.Usual))
}

// beganWith says that a job came when the trouble did: within two usual steps
// of its onset.
func (f *fabricMeasures) beganWith(o Other) bool {
	h := f.e.Hurt
	near := telemetry.Duration(2 * h.Usual * 1e9)
	return o.Since >= h.Onset.Earliest.Add(-near) && o.Since <= h.Onset.Latest.Add(near)
}

// shared measures the ends on the job's paths that others can load: the worst
// waiting, and how loaded and how fast those that wait are.
func (f *fabricMeasures) shared() Values {
	var worst, between, weight, load, ceiling, grown float64
	fine := true
	for i, on := range f.e.Fabric.OnPath {
		if !on || f.m.Ends[i].IsNIC() || f.own[i] <= 0 {
			continue
		}
		fine = fine && f.fine(&f.e.Fabric.Now.Of[i])
		worst = max(worst, f.own[i])
		grown = max(grown, f.e.Fabric.Now.Of[i].Util-f.e.Fabric.Before.Of[i].Util)
		if f.m.Between(i) {
			between = max(between, f.own[i])
		}
		weight += f.own[i]
		load += float64(f.own[i] * min(f.loadRatio(i, f.work), 4))
		if b := f.e.Fabric.Before.Of[i].Peak; b > idleLoad {
			ceiling += float64(f.own[i] * min(f.e.Fabric.Now.Of[i].Peak/b, 4))
		} else {
			ceiling += f.own[i]
		}
	}
	v := Values{SharedDose: worst / f.lost, SharedGrown: float64(grown * f.seenFor())}
	if weight > 0 {
		v[UplinkPart] = between / worst
		v[SharedLoad] = load / weight
	}
	if weight > 0 && fine {
		v[SharedCap] = ceiling / weight
	}
	return v
}

// tooLate is by how much of a usual step something certainly began after the
// job's trouble did: its earliest onset behind the trouble's latest.
func tooLate(e *Evidence, at telemetry.Interval) float64 {
	if !at.CannotPrecede(e.Hurt.Onset) || e.Hurt.Usual <= 0 {
		return 0
	}
	return float64(at.Earliest-e.Hurt.Onset.Latest) / 1e9 / e.Hurt.Usual
}
