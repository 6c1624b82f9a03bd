package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
)

// maxGroups bounds how many switches and planes are weighed for one job.
const maxGroups = 64

// groups measures the switches and planes on the job's paths that show a fault as
// wholes.
func (f *fabricMeasures) groups() []Candidate {
	var out []Candidate
	var worse []float64
	for k := range f.m.Switches {
		v := Values{}
		moved := f.switches[k].moved
		if bad, on := f.whole(k, v); on && max(bad, moved-leastShift) > 0 {
			out = append(out, Candidate{Entity: f.m.Switches[k].Entity, Values: v})
			worse = append(worse, max(bad, moved))
		}
	}
	out = worstOf(out, worse)
	for k := range f.m.Planes {
		if f.planes[k].moved < leastShift || f.isSwitch(&f.m.Planes[k]) {
			continue
		}
		v := Values{FabricExplained: f.topExplained, Explained: f.explainedBy(f.m.Planes[k].Ends), BlameShare: f.blameOf(f.m.Planes[k].Ends)}
		f.planes[k].put(v)
		v[OneWay], v[PathDown] = f.oneWay, f.down
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

// whole measures a switch into v if it is on the job's paths; bad is above 0 if any of its
// measures is worth a closer look.
func (f *fabricMeasures) whole(k int, v Values) (bad float64, on bool) {
	g := &f.m.Switches[k]
	if !slices.ContainsFunc(g.Ends, func(i int) bool { return f.e.Fabric.OnPath[i] }) {
		return 0, false
	}
	v[Explained], v[BlameShare], v[FabricExplained] = f.explainedBy(g.Ends), f.blameOf(g.Ends), f.topExplained
	f.circling(v, g)
	f.dropping(v, g)
	f.marks(v, k, f.marked)
	stopped, down := f.silence(g)
	v[StoppedReporting], v[PeersDown] = stopped, down
	f.switches[k].put(v)
	v[OneWay], v[PathDown] = f.oneWay, f.down
	f.losses.path(v)
	return max(v[Circling], v[BlameShare]-leastBlame, stopped, down, min(v[SwitchDrops], 1), v[MarksMissing]-0.2, v[MarksRise]/20-0.1), true
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
	queued, marked          bool // whether the first, and the others, can be known
}

func (f *fabricMeasures) marking(r *fabric.Readings, g *fabric.Group) marking {
	var m marking
	var queued, unmarked, marks, late, free, sent float64
	for _, i := range g.Ends {
		n := &r.Of[i]
		rate, ok := f.m.Marks(r, i)
		if !ok {
			continue
		}
		queued += float64(n.QueuedGrids)
		unmarked += float64(float64(n.QueuedGrids) * n.Unmarked)
		marks += rate
		late += n.MarkedLate
		free += n.MarkedFree
		sent += float64(n.Util * f.m.Ends[i].Speed)
	}
	if queued >= 3 {
		m.unmarked, m.queued = unmarked/queued, true
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
		if o.now.queued {
			unmarked = append(unmarked, o.now.unmarked)
		}
		if o.now.marked && o.before.marked {
			rises = append(rises, rise(o.now.perByte, o.before.perByte))
		}
	}
	if now.queued {
		usual := 0.0
		if before.queued {
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

// mostlyDown is the part of a degradation up to which a link was up for it to be counted as
// down, though it is back: the end of a fault is no evidence against it.
const mostlyDown = 0.5

// silence is the part of a switch's ports that became stale, and the part of its
// links whose other end reports that the link is down, or was for most of the
// degradation.
func (f *fabricMeasures) silence(g *fabric.Group) (stopped, down float64) {
	var reporting, gone, states, lost float64
	for _, i := range g.Ends {
		n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
		if b.Seen > 0 {
			reporting++
			grids := float64(f.e.Fabric.Now.Span.To.Sub(f.e.Fabric.Now.Span.From)) / 1e9
			if n.Seen == 0 && grids >= 3 || float64(n.Ago) > float64(3*max(n.Cadence, 1)) {
				gone++
			}
		}
		if p := f.m.Ends[i].Peer; p >= 0 {
			if state, ok := f.stateBy(p); ok {
				states++
				lost += boolValue(state.down || state.up < mostlyDown)
			}
		}
	}
	if reporting > 0 {
		stopped = gone / reporting
	}
	if states > 0 {
		down = lost / states
	}
	return stopped, down
}
