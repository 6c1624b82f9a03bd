package explain

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxGroups bounds how many switches and planes are weighed for one job.
const maxGroups = 64

// groups measures the switches and planes on the job's paths that show a fault as
// wholes.
func (f *fabricMeasures) groups() []Candidate {
	shifts := f.shifts(f.m.Switches, true)
	marks := f.markings()
	var out []Candidate
	var worse []float64
	for k := range f.m.Switches {
		if v, bad := f.sw(k, marks); max(bad, shifts.moved[k]-leastShift) > 0 && v != nil {
			shifts.put(v, k)
			v[OneWay] = f.oneWay
			f.losses.path(v)
			out = append(out, Candidate{Entity: f.m.Switches[k].Entity, Values: v})
			worse = append(worse, max(bad, shifts.moved[k]))
		}
	}
	out = worstOf(out, worse)
	shifts = f.shifts(f.m.Planes, false)
	for k := range f.m.Planes {
		if shifts.moved[k] < leastShift {
			continue
		}
		v := Values{FabricExplained: f.topExplained, Explained: f.explainedBy(f.m.Planes[k].Ends), BlameShare: f.blameOf(f.m.Planes[k].Ends)}
		shifts.put(v, k)
		v[OneWay] = f.oneWay
		f.losses.path(v)
		out = append(out, Candidate{Entity: f.m.Planes[k].Entity, Values: v})
	}
	return out
}

// worstOf keeps the worst maxGroups candidates, in the order given.
func worstOf(cs []Candidate, worse []float64) []Candidate {
	if len(cs) <= maxGroups {
		return cs
	}
	sorted := slices.Clone(worse)
	slices.Sort(sorted)
	least := sorted[len(sorted)-maxGroups]
	var out []Candidate
	for i, c := range cs {
		if worse[i] >= least && len(out) < maxGroups {
			out = append(out, c)
		}
	}
	return out
}

func (f *fabricMeasures) explainedBy(ends []int) float64 {
	var dose float64
	for _, i := range ends {
		if f.e.Fabric.OnPath[i] {
			dose = max(dose, f.own[i]/f.lost)
		}
	}
	return dose
}

func (f *fabricMeasures) blameOf(ends []int) float64 {
	var share float64
	for _, i := range ends {
		s, _ := f.e.Fabric.Blame.PortShare(f.m, i)
		share += s
	}
	return share
}

// sw measures a switch; bad is above 0 if any of its measures is worth a closer
// look.
func (f *fabricMeasures) sw(k int, marks []markings) (v Values, bad float64) {
	g := &f.m.Switches[k]
	if !slices.ContainsFunc(g.Ends, func(i int) bool { return f.e.Fabric.OnPath[i] }) {
		return nil, 0
	}
	v = Values{Explained: f.explainedBy(g.Ends), BlameShare: f.blameOf(g.Ends), FabricExplained: f.topExplained}
	f.circling(v, g)
	f.dropping(v, g)
	f.marks(v, k, marks)
	stopped, down := f.silence(g)
	v[StoppedReporting], v[PeersDown] = stopped, down
	bad = max(v[Circling], v[BlameShare]-leastBlame, stopped, down, min(v[SwitchDrops], 1), v[MarksMissing]-0.2, v[MarksRise]/20-0.1)
	return v, bad
}

// circling measures how much of the job's waiting goes round in a circle through a
// switch.
func (f *fabricMeasures) circling(v Values, g *fabric.Group) {
	blame := f.e.Fabric.Blame
	v[Circling] = 0
	if blame.Round == nil || blame.Total <= 0 {
		return
	}
	var round float64
	least := 1.0
	for _, i := range g.Ends {
		for _, lane := range f.m.Port(i) {
			if blame.Round[lane] > 0 {
				round += blame.Round[lane]
				least = min(least, f.e.Fabric.Now.Of[lane].PauseReceived)
			}
		}
	}
	if round > 0 {
		v[Circling], v[LoopPauseReceived] = round/blame.Total, least
	}
}

// leastStops is the seconds per second of pause below which a switch did not
// stop anybody: a microsecond a second.
const leastStops = 1e-6

// dropping is what a switch drops and whether it sends pause to those who send to
// it.
func (f *fabricMeasures) dropping(v Values, g *fabric.Group) {
	var all, stops, stopped float64
	seen, paused := false, false
	for _, i := range g.Ends {
		if d, ok := f.drops(i); ok {
			all, seen = all+d, true
		}
		for _, lane := range f.m.Port(i) {
			stops += f.e.Fabric.Now.Of[lane].PauseSent
			stopped += f.e.Fabric.Before.Of[lane].PauseSent
			paused = paused || f.m.Ends[lane].Pauses()
		}
	}
	put(v, PauseSentRatio, min(stops/max(stopped, leastStops), ratioCap), paused && stopped >= leastStops)
	if seen {
		v[SwitchDrops] = all
		if f.losses.drops > 0 {
			v[DropsHere] = min(all/f.losses.drops, 1)
		}
	}
}

// marking is how a switch marks: the part of the time with a queue and without a
// mark, marks per byte in the second half, and the part of them that were made
// without a queue.
type marking struct {
	unmarked, perByte, free float64
	stood, marked           bool // whether the first, and the others, can be known
}

func (f *fabricMeasures) marking(r *fabric.Readings, g *fabric.Group) marking {
	var m marking
	var stood, unmarked, marks, late, free, sent float64
	for _, i := range g.Ends {
		n := &r.Of[i]
		rate, ok := f.m.Marks(r, i)
		if !ok {
			continue
		}
		stood += float64(n.QueuedGrids)
		unmarked += float64(float64(n.QueuedGrids) * n.Unmarked)
		marks += rate
		late += n.MarkedLate
		free += n.MarkedFree
		sent += float64(n.Util * f.m.Ends[i].Speed)
	}
	if stood >= 3 {
		m.unmarked, m.stood = unmarked/stood, true
	}
	if sent >= float64(idleLoad*f.speed*float64(len(g.Ends))) && sent > 0 {
		m.perByte, m.marked = late/sent, true
		if marks > 0 {
			m.free = min(free/marks, 1)
		}
	}
	return m
}

// markings is how a switch marks now and how it did.
type markings struct{ now, before marking }

func (f *fabricMeasures) markings() []markings {
	out := make([]markings, len(f.m.Switches))
	for k := range f.m.Switches {
		g := &f.m.Switches[k]
		out[k] = markings{f.marking(f.e.Fabric.Now, g), f.marking(f.e.Fabric.Before, g)}
	}
	return out
}

// marks compares a switch's marking with its own before and its siblings'.
func (f *fabricMeasures) marks(v Values, k int, all []markings) {
	now, before := &all[k].now, &all[k].before
	var unmarked, rises []float64
	for s := range all {
		if s == k || f.m.Switches[s].Role != f.m.Switches[k].Role {
			continue
		}
		o := &all[s]
		if o.now.stood {
			unmarked = append(unmarked, o.now.unmarked)
		}
		if o.now.marked && o.before.marked {
			rises = append(rises, rise(o.now.perByte, o.before.perByte))
		}
	}
	if now.stood {
		usual := 0.0
		if before.stood {
			usual = before.unmarked
		}
		if len(unmarked) > 0 {
			usual = max(usual, stats.Median(unmarked))
		}
		v[MarksMissing] = max(0, now.unmarked-usual)
	}
	if now.marked && before.marked {
		r := rise(now.perByte, before.perByte)
		if len(rises) > 0 {
			r /= max(stats.Median(rises), 0.1)
		}
		v[MarksRise] = min(r, ratioCap)
		put(v, MarksFree, now.free, now.perByte > 0)
		if part, ok := f.marksAlike(&f.m.Switches[k], r > 1); ok {
			v[MarksAlike] = part
		}
	}
}

// marksAlike is the part of a switch's loaded ports that mark three times as many
// packets per byte as before, or a third: a threshold is the whole switch's, a
// queue one port's.
func (f *fabricMeasures) marksAlike(g *fabric.Group, more bool) (float64, bool) {
	const much = 3
	var with, of float64
	for _, i := range g.Ends {
		n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
		if _, ok := f.m.Marks(f.e.Fabric.Now, i); !ok || n.Util < idleLoad || b.Util < idleLoad {
			continue
		}
		of++
		r := rise(n.MarkedLate/float64(n.Util*f.m.Ends[i].Speed), b.Marks/float64(b.Util*f.m.Ends[i].Speed))
		if more && r >= much || !more && r <= 1.0/much {
			with++
		}
	}
	return with / max(of, 1), of > 0
}

// leastMarks per byte keep a rise of marks finite: one in a terabyte.
const leastMarks = 1e-12

func rise(now, before float64) float64 { return min((now+leastMarks)/(before+leastMarks), ratioCap) }

// silence is the part of a switch's ports that became stale, and the part of its
// links whose other end reports that the link is down.
func (f *fabricMeasures) silence(g *fabric.Group) (stopped, down float64) {
	var heard, gone, told, lost float64
	for _, i := range g.Ends {
		n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
		if b.Seen > 0 {
			heard++
			grids := float64(f.e.Fabric.Now.Span.To.Sub(f.e.Fabric.Now.Span.From)) / 1e9
			if n.Seen == 0 && grids >= 3 || float64(n.Ago) > float64(3*max(n.Cadence, 1)) {
				gone++
			}
		}
		if p := f.m.Ends[i].Peer; p >= 0 {
			if state, ok := f.stateBy(p); ok {
				told++
				lost += boolValue(state.down)
			}
		}
	}
	if heard > 0 {
		stopped = gone / heard
	}
	if told > 0 {
		down = lost / told
	}
	return stopped, down
}

// leastShift is the change of a plane's share below which it is no candidate.
const leastShift = 0.05

// shift is by how much what the job sends through groups has changed compared with
// their siblings.
type shift struct {
	groups []fabric.Group
	// moved is max(r, 1/r) − 1, where r is a group's load now over before, over
	// the same of its median sibling.
	moved []float64
	err   []float64 // the standard error of moved
	seen  []bool
	alike []float64
}

// shifts compares each group with those of its role and, where all is set, with
// every other: the smaller difference counts, so that a switch is not blamed where
// its whole plane has changed, nor where its one sibling has.
func (f *fabricMeasures) shifts(groups []fabric.Group, all bool) shift {
	s := shift{groups: groups, moved: make([]float64, len(groups)), err: make([]float64, len(groups)), seen: make([]bool, len(groups)), alike: make([]float64, len(groups))}
	ratio := make([]float64, len(groups)) // 0 where nothing is known
	roles := map[string][]float64{}
	var every []float64
	for k := range groups {
		now, before := f.carries(f.e.Fabric.Now, &groups[k]), f.carries(f.e.Fabric.Before, &groups[k])
		if now > 0 && before > 0 {
			ratio[k] = now / before
			roles[groups[k].Role] = append(roles[groups[k].Role], ratio[k])
			every = append(every, ratio[k])
		}
	}
	for k := range groups {
		if ratio[k] <= 0 {
			continue
		}
		among := [][]float64{roles[groups[k].Role]}
		if all {
			among = append(among, every)
		}
		scatter := f.scatter(&groups[k])
		for n, peers := range among {
			if len(peers) < 2 {
				continue
			}
			usual := without(peers, ratio[k])
			r := ratio[k] / usual
			if m := min(max(r, 1/r)-1, ratioCap); n == 0 || !s.seen[k] || m < s.moved[k] {
				s.moved[k], s.seen[k], s.alike[k] = m, true, f.alike(&groups[k], r, usual)
				s.err[k] = float64(max(r, 1/r) * scatter)
			}
		}
	}
	return s
}

// without is the median of xs without one x.
func without(xs []float64, x float64) float64 {
	others := slices.Clone(xs)
	at := slices.Index(others, x)
	return stats.Median(slices.Delete(others, at, at+1))
}

// carries is what the job's NICs in a plane or rail, or behind a switch, send:
// bytes per second.
func (f *fabricMeasures) carries(r *fabric.Readings, g *fabric.Group) float64 {
	var sent float64
	for _, i := range f.nicsOf(g) {
		sent += float64(r.Of[i].Util * f.m.Ends[i].Speed)
	}
	return sent
}

// nicsOf lists the job's NICs in a plane or rail, or behind a switch.
func (f *fabricMeasures) nicsOf(g *fabric.Group) []int {
	var out []int
	for _, i := range g.Ends {
		if f.m.FacesHost(i) && g.Entity.Kind == telemetry.Switch {
			i = f.m.Ends[i].Peer
		}
		if f.m.Ends[i].IsNIC() && f.e.Fabric.OnPath[i] {
			out = append(out, i)
		}
	}
	return out
}

// scatter is the relative standard error of what a group's NICs together send now
// over before: by what they differ among each other, where there are enough of
// them, for what they have in common is the job's, and that of other groups, too.
func (f *fabricMeasures) scatter(g *fabric.Group) float64 {
	var ratios []float64
	var squares, sent float64
	for _, i := range f.nicsOf(g) {
		b := f.e.Fabric.Before.Of[i].Util
		if b < idleLoad {
			continue
		}
		ratios = append(ratios, f.e.Fabric.Now.Of[i].Util/b)
		err := f.loadErr(i)
		squares += float64(err * err)
		sent += b
	}
	n := math.Sqrt(float64(len(ratios)))
	if len(ratios) < leastPlanes {
		return math.Sqrt(squares) / max(sent, idleLoad)
	}
	median, mad := stats.MAD(ratios)
	return float64(stats.Consistency*mad) / (max(median, idleLoad) * n)
}

// alike is the part of a group's NICs whose load changed as the whole group's did,
// by half as much or more. all is what the load of others changed by.
func (f *fabricMeasures) alike(g *fabric.Group, ratio, all float64) float64 {
	var with, of float64
	for _, i := range f.nicsOf(g) {
		n, b := f.e.Fabric.Now.Of[i].Util, f.e.Fabric.Before.Of[i].Util
		if b < idleLoad || all <= 0 {
			continue
		}
		of++
		own := n / b / all
		if ratio > 1 && own-1 >= (ratio-1)/2 || ratio < 1 && 1-own >= (1-ratio)/2 {
			with++
		}
	}
	if of == 0 {
		return 0
	}
	return with / of
}

func (s *shift) put(v Values, k int) {
	if !s.seen[k] {
		return
	}
	v[ShareShift], v[ShiftAlike], v[ShareShift.Err()] = s.moved[k], s.alike[k], s.err[k]
	var others []float64
	for o := range s.groups {
		if o != k && s.seen[o] && s.groups[o].Role == s.groups[k].Role {
			others = append(others, s.moved[o])
		}
	}
	if len(others) > 0 {
		v[SiblingsShift] = stats.Median(others)
	}
}
