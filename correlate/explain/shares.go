package explain

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// leastMoved keeps a part of no distance finite.
const leastMoved = 1e-9

// leastShift is the change of a plane's share below which it is no candidate.
const leastShift = 0.05

// leastFuller is the least part of a slowdown that the fullest of the links must be fuller:
// a step takes longer by at most what the fullest of them does.
const leastFuller = 0.5

// leastPart is how much of what its median sibling carried before a part must have: what
// goes to storage by a NIC of its own is not shared out among those that the steps use.
const leastPart = 0.25

// shift is by how much the part of the job's traffic that takes a plane, rail or
// switch has changed. A host shares out what it sends among the planes of its NICs, a
// leaf among its spines: wherever traffic is shared out, each part is compared with
// its siblings there, so that neither what the job sends nor who sends it counts.
type shift struct {
	seen  bool
	links bool // it is measured by links between switches
	// fuller is the part of the places at which the fullest link is fuller by enough to
	// explain the loss.
	fuller float64
	more   bool    // it carries more than it did, against its siblings
	moved  float64 // max(r, 1/r) − 1, where r is a part now over before, over the same of its median sibling
	err    float64 // the standard error of moved
	alike  float64 // the part of the places at which it changed the same way, by half as much or more
	// alikeErr is by how much that may be off: by one of the places, and by how little
	// the shift is beyond its own error.
	alikeErr float64
	// waiting is that in it or, where it carries less, in those of its siblings that carry
	// more.
	waiting waiting
	// siblings is how far the furthest of its siblings is from their median, over how far it
	// is itself.
	siblings    float64
	hasSiblings bool // two or more
}

// sharing is a place at which traffic is shared out: a host or a switch.
type sharing struct {
	at    telemetry.Entity
	parts []part
}

// part is what goes from there to one group.
type part struct {
	group       int
	now, before float64 // bytes per second
	speed       float64 // that its links have together
	squares     float64 // of the standard error of now − before
}

// change is what a group's part at one place has changed by.
type change struct {
	r, err   float64 // over its median sibling, and the relative standard error
	siblings float64
	of       int  // how many siblings it has
	links    bool // a switch shares it out over its uplinks
	fuller   bool // the fullest of them is fuller by enough to explain the loss
}

// shifts compares the groups with each other. One into which the job sends all that it
// sends into one of some wholes has changed as that has, and shows nothing of its own.
func (f *fabricMeasures) shifts(groups []fabric.Group, wholes [][]int) []shift {
	into := f.intoEach(groups)
	changes := f.changes(groups, into)
	common, roles := make([]float64, len(groups)), map[string][]float64{}
	for k, cs := range changes {
		if len(cs) > 0 {
			common[k] = inCommon(cs)
			roles[groups[k].Role] = append(roles[groups[k].Role], common[k])
		}
	}
	out := make([]shift, len(groups))
	for k, cs := range changes {
		if len(cs) > 0 && !slices.ContainsFunc(wholes, func(w []int) bool { return slices.Equal(into[k], w) }) {
			out[k] = shiftOf(cs, beyond(common[k], roles[groups[k].Role]))
		}
	}
	f.wait(groups, out)
	return out
}

// changes lists, by group, what its parts have changed by wherever traffic is shared out.
// One switch shows nothing: a hash does as much.
func (f *fabricMeasures) changes(groups []fabric.Group, into [][]int) [][]change {
	out := make([][]change, len(groups))
	for _, s := range f.sharings(into) {
		fuller := float64(s.fuller()*(1-f.lost)) >= float64(leastFuller*f.lost)
		for _, p := range s.parts {
			if c, ok := s.change(&p); ok {
				c.fuller = fuller
				out[p.group] = append(out[p.group], c)
			}
		}
	}
	for k, cs := range out {
		if len(cs) == 1 && cs[0].links {
			out[k] = nil
		}
	}
	return out
}

// wait finds what the waiting explains where a share has shifted.
func (f *fabricMeasures) wait(groups []fabric.Group, shifts []shift) {
	fuller := map[string]waiting{} // in those of a role that carry more
	for k := range shifts {
		if role := groups[k].Role; shifts[k].more {
			shifts[k].waiting = f.waitingAt(groups[k].Ends)
			fuller[role] = fuller[role].or(shifts[k].waiting)
		}
	}
	for k := range shifts {
		if !shifts[k].more {
			shifts[k].waiting = fuller[groups[k].Role]
		}
	}
}

// waiting is what waiting explains of the loss, where it can be seen.
type waiting struct {
	explained float64
	seen      bool
}

func (w waiting) or(o waiting) waiting {
	return waiting{max(w.explained, o.explained), w.seen || o.seen}
}

// waitingAt is the longest waiting at one of some ends or at the other end of its link.
func (f *fabricMeasures) waitingAt(ends []int) (w waiting) {
	for _, i := range ends {
		for _, end := range []int{i, f.m.Ends[i].Peer} {
			if end >= 0 && f.e.Fabric.OnPath[end] {
				w = w.or(waiting{f.own[end] / f.lost, f.m.Ends[end].Shows()})
			}
		}
	}
	return w
}

// beyond is what a group's share changed by beyond those of its role where that is
// less: a switch is no outlier where its whole plane has changed.
func beyond(r float64, role []float64) float64 {
	others := slices.Clone(role)
	at := slices.Index(others, r)
	if others = slices.Delete(others, at, at+1); len(others) == 0 {
		return r
	}
	return nearer(r, r/stats.Median(others))
}

// nearer is which of two ratios is nearer to 1.
func nearer(a, b float64) float64 {
	if max(a, 1/a) < max(b, 1/b) {
		return a
	}
	return b
}

// sharings lists where what goes to groups is shared out, in the order of the ends that
// send into each.
func (f *fabricMeasures) sharings(into [][]int) []sharing {
	var out []sharing
	at := map[telemetry.Entity]int{}
	for k := range into {
		for _, i := range into[k] {
			end := &f.m.Ends[i]
			if _, ok := at[end.Owner]; !ok {
				at[end.Owner] = len(out)
				out = append(out, sharing{at: end.Owner})
			}
			out[at[end.Owner]].add(k, f, i)
		}
	}
	return out
}

func (s *sharing) add(group int, f *fabricMeasures, i int) {
	if n := len(s.parts); n == 0 || s.parts[n-1].group != group {
		s.parts = append(s.parts, part{group: group})
	}
	p, speed, err := &s.parts[len(s.parts)-1], f.m.Ends[i].Speed, f.loadErr(i)
	p.speed += speed
	p.now += float64(f.e.Fabric.Now.Of[i].Util * speed)
	p.before += float64(f.e.Fabric.Before.Of[i].Util * speed)
	p.squares += float64(float64(err*speed) * float64(err*speed))
}

// intoEach lists the ends on the job's paths that send into each of some groups.
func (f *fabricMeasures) intoEach(groups []fabric.Group) [][]int {
	out := make([][]int, len(groups))
	for k := range groups {
		out[k] = f.into(&groups[k])
	}
	return out
}

// into lists the ends on the job's paths that send into a group: its NICs in it or
// behind it; of spines, which have none, the other ends of their links.
func (f *fabricMeasures) into(g *fabric.Group) []int {
	var nics, links []int
	for _, i := range g.Ends {
		switch peer := f.m.Ends[i].Peer; {
		case f.m.Ends[i].IsNIC():
			nics = append(nics, i)
		case f.m.FacesHost(i):
			nics = append(nics, peer)
		case f.m.Between(i) && f.m.Ends[peer].Main:
			links = append(links, peer)
		}
	}
	if len(nics) == 0 {
		nics = links
	}
	slices.Sort(nics)
	return slices.DeleteFunc(slices.Compact(nics), func(i int) bool { return !f.e.Fabric.OnPath[i] })
}

// fuller is by what part the fullest of the links among which traffic is shared out is fuller
// than the same traffic made the fullest before.
func (s *sharing) fuller() float64 {
	var now, before, fullest, was float64
	for k := range s.parts {
		p := &s.parts[k]
		if _, ok := p.ratio(); ok {
			now, before = now+p.now, before+p.before
			fullest, was = max(fullest, p.now/p.speed), max(was, p.before/p.speed)
		}
	}
	if before == 0 {
		return 0
	}
	return fullest/was*before/now - 1
}

// change compares what goes to one group with what goes to the others.
func (s *sharing) change(p *part) (change, bool) {
	own, ok := p.ratio()
	if !ok {
		return change{}, false
	}
	var others, before []float64
	for k := range s.parts {
		if o := &s.parts[k]; o.group != p.group {
			if r, ok := o.ratio(); ok {
				others, before = append(others, r), append(before, o.before)
			}
		}
	}
	if len(others) == 0 || p.before < float64(leastPart*stats.Median(before)) {
		return change{}, false
	}
	usual := stats.Median(others)
	furthest := max(slices.Max(others)-usual, usual-slices.Min(others))
	return change{
		r: own / usual, err: math.Sqrt(p.squares) / p.now, of: len(others), links: s.at.Kind == telemetry.Switch,
		siblings: min(furthest/max(math.Abs(own-usual), leastMoved), 1),
	}, true
}

// ratio is what goes there now over before, where both are known.
func (p *part) ratio() (float64, bool) {
	return p.now / p.before, p.now > 0 && p.before > 0
}

// shiftOf is the shift by r that half of the places show.
func shiftOf(cs []change, r float64) (s shift) {
	var rs, errs, siblings []float64
	for _, c := range cs {
		rs, errs = append(rs, c.r), append(errs, c.err)
		if c.of > 1 {
			siblings = append(siblings, c.siblings)
		}
		if c.fuller {
			s.fuller += 1 / float64(len(cs))
		}
		if r > 1 && c.r-1 >= (r-1)/2 || r < 1 && 1-c.r >= (1-r)/2 {
			s.alike += 1 / float64(len(cs))
		}
	}
	if len(siblings) == 0 && r < 1 {
		return shift{} // of two, the one that gets more is waited for
	}
	s.seen, s.links, s.more, s.moved = true, cs[0].links, r > 1, min(max(r, 1/r)-1, ratioCap)
	if s.hasSiblings = len(siblings) > 0; s.hasSiblings {
		s.siblings = stats.Median(siblings)
	}
	n := math.Sqrt(float64(len(cs)))
	err := stats.Median(errs) / n
	if len(cs) >= leastPlanes {
		_, off := stats.MAD(rs)
		err = float64(stats.Consistency*off) / (r * n)
	}
	s.err = float64((s.moved + 1) * err)
	s.alikeErr = stats.Quadrature(1/float64(len(cs)), s.err/max(s.moved, leastShift))
	return s
}

// inCommon is the median change, of two in the middle the one nearer to 1.
func inCommon(cs []change) float64 {
	var rs []float64
	for _, c := range cs {
		rs = append(rs, c.r)
	}
	slices.Sort(rs)
	return nearer(rs[(len(rs)-1)/2], rs[len(rs)/2])
}

// put notes the shift of a candidate, where it can be what the job waits for.
func (s shift) put(v Values) {
	if !s.seen || s.fuller < mostOfIt {
		return
	}
	v[ShareShift], v[ShareShift.Err()] = s.moved, s.err
	v[ShiftAlike], v[ShiftAlike.Err()] = s.alike, s.alikeErr
	put(v, ShareExplained, s.waiting.explained, s.waiting.seen)
	put(v, SiblingsShift, s.siblings, s.hasSiblings)
}

// putOwn notes the largest shift of the job's traffic.
func (s shift) putOwn(v Values) { v[OwnShift], v[OwnShift.Err()] = s.moved, s.err }

// largestOwn is the largest shift of what the job's NICs send.
func largestOwn(of ...[]shift) (largest shift) {
	for _, shifts := range of {
		for _, s := range shifts {
			if s.seen && !s.links && (!largest.seen || s.moved > largest.moved) {
				largest = s
			}
		}
	}
	return largest
}

// parallelRise measures how much of the rise of end i's load_ratio its parallel links share. A
// hash piles up flows on one of them, a weight on all.
func (f *fabricMeasures) parallelRise(v Values, i int) {
	more := v[LoadRatio] - 1
	if more < leastShift {
		return
	}
	var others []float64
	for _, s := range f.parallel(i) {
		if f.e.Fabric.OnPath[s] {
			others = append(others, f.loadRatio(s, max(f.work, f.steady))-1)
		}
	}
	if len(others) > 0 {
		v[ParallelRise] = min(max(stats.Median(others)/more, 0), 1)
		v[ParallelRise.Err()] = v[LoadRatio.Err()] / more
	}
}

// parallel lists the parallel links of end i: of an uplink of an access switch those of the
// others into the same switch, else the other links between switches of its own.
func (f *fabricMeasures) parallel(i int) []int {
	owner := f.m.Ends[i].Owner
	links := f.linksOf(owner, false)
	if f.anyHost(owner) {
		links = f.linksOf(f.m.Ends[f.m.Ends[i].Peer].Owner, true)
	}
	return slices.DeleteFunc(links, func(s int) bool { return s == i })
}

// isSwitch reports whether a plane is one switch and has no other name for it.
func (f *fabricMeasures) isSwitch(g *fabric.Group) bool {
	return !slices.ContainsFunc(g.Ends, func(i int) bool { return f.m.Ends[i].Owner != f.m.Ends[g.Ends[0]].Owner })
}
