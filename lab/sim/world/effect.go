package world

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
)

// linkEffect is what a traffic does to a link: amounts in a share of it, stops
// as shares of the time that it is on.
type linkEffect struct {
	link                                   int32
	sent, taken, marked, dropped, damaged  float64
	burst                                  float64 // codewords that nothing mends
	stopped, frames, wait, length, highest float64
	queued                                 float64 // share of the time in which length does
	part                                   float64 // of a share, its first, that the link is on for
}

// nicEffect is the same for a NIC. Timeouts are per second.
type nicEffect struct {
	nic                                           int32
	marked, sent, handled, ignored, disorder, seq float64
	timeouts, stalled                             float64
}

// frozen is the share of time stopped from which a link of a traffic that stands
// still is one of those that hold it; ours.
const frozen = 0.5

// effects fills a traffic's lists from the links' queues and the flows' rates.
func (s *solver) effects(t *traffic) {
	t.links, t.nics = t.links[:0], t.nics[:0]
	still := math.IsInf(t.seconds, 1)
	for _, l := range s.touched {
		q := s.state[l]
		if still && q.stop < frozen {
			q.stop, q.length, q.highest = 0, 0, 0 // what could leave has left
		}
		speed := s.fabric.speed[l]
		if s.fabric.hold[l] {
			q.stop = 0 // counted all the time, by background
		}
		e := linkEffect{link: l, stopped: q.stop, wait: q.stop, length: q.length, queued: q.queued, highest: q.highest}
		if s.infinite {
			e.wait = max(q.stop, float64(100*burstStop*s.fabric.bursts[l]))
			e.stopped = 0
		} else {
			// Devices renew before a pause ends and end it by a frame of zero: half
			// as many again as the least.
			e.frames = s.quanta.Of(float64(1.5 * network.LeastPauseFrames(q.stop, speed)))
		}
		s.slot[l] = int32(len(t.links))
		t.links = append(t.links, e)
	}
	for i := range t.flows {
		s.flowEffects(t, &t.flows[i])
		s.on(t, &t.flows[i], still)
	}
	for _, l := range s.touched {
		if nic := s.fabric.nic[l]; s.fabric.receiver[l] < 0 && s.condition.NICs[nic].PCIe < 1 { // else the NIC itself is slow
			s.nicOf(t, nic).stalled = 1 - s.fabric.drain[l]
		}
		s.slot[l] = -1
	}
	for i := range t.nics {
		s.nicSlot[t.nics[i].nic] = -1
	}
}

// on notes for which part of a share a flow's links are on: flows that wait for
// each other are done together, and those that are done before the slowest leave
// their links idle.
func (s *solver) on(t *traffic, f *flow, still bool) {
	part := 1.0
	if !t.always && !still && t.seconds > 0 {
		part = max(t.group[f.group]/t.seconds, leastPart)
	}
	for _, l := range f.path {
		e := &t.links[s.slot[l]]
		e.part = max(e.part, part)
	}
}

// message is the packets of one message: where the last is lost, no later packet shows it
// and its acknowledgement times out; half a megabyte, ours.
const message = 128

// leastPart keeps a part of a share one that can be divided by; ours.
const leastPart = 1e-6

func (s *solver) nicOf(t *traffic, nic int32) *nicEffect {
	if s.nicSlot[nic] < 0 {
		s.nicSlot[nic] = int32(len(t.nics))
		t.nics = append(t.nics, nicEffect{nic: nic})
	}
	return &t.nics[s.nicSlot[nic]]
}

func (s *solver) flowEffects(t *traffic, f *flow) {
	if f.rate <= 0 {
		if f.path == nil || f.lost > 0.999 {
			s.nicOf(t, f.from).timeouts += 0.25 // of a queue pair each 4 s: 4.096 µs · 2^20; ours
		}
		return
	}
	packets := float64(f.bytes*f.wire) / packet
	going, unmarked, disorder := packets, 1.0, 0.0
	for k, l := range f.path {
		e, q := &t.links[s.slot[l]], &s.state[l]
		drop := q.drop
		if k == 1 {
			drop = min(1, drop+s.losslessDrops(f))
		}
		e.dropped += float64(going * drop)
		going = float64(going * (1 - drop))
		e.sent += float64(going * packet)
		e.marked += float64(going * q.mark)
		e.damaged += float64(going * s.fabric.damaged[l])
		e.burst += float64(going * s.condition.Links[l].Corrupt)
		going = float64(going * (1 - s.fabric.lost[l]))
		e.taken += float64(going * packet)
		unmarked = float64(unmarked * (1 - q.mark))
		disorder += s.fabric.reorder[l]
	}
	to := s.nicOf(t, f.to)
	to.disorder += float64(packets * min(1, s.disorder(f, disorder)+f.lost))
	from := s.nicOf(t, f.from)
	from.seq += float64(packets * f.lost)
	from.timeouts += (packets - going) / message
	s.notify(t, f, 1-unmarked)
}

// notify is what a flow's marks bring forth: CNPs from its receiver, which its
// sender handles, or ignores in the wrong class.
func (s *solver) notify(t *traffic, f *flow, mark float64) {
	if s.infinite {
		return
	}
	if s.condition.NICs[f.from].Class {
		mark = 0 // what is not in the class is not marked; what comes to it is not received
	}
	packets := float64(f.bytes*f.wire) / packet
	pps := f.rate / 8 / packet
	marked := float64(packets * mark)
	cnps := min(marked, float64(s.reaction.CNPRate(max(pps, 1), mark)*packets)/max(pps, 1))
	to := s.nicOf(t, f.to)
	to.marked += marked
	if s.condition.NICs[f.to].Class {
		s.nicOf(t, f.from).ignored += cnps
		to.sent += cnps
		return
	}
	to.sent += cnps
	s.nicOf(t, f.from).handled += cnps
}

// apply adds what a traffic did in the second to the counters. moment draws what
// gauges meet at its end.
func (t *traffic) apply(st *state.State, moment random.Source) {
	t.recent = t.share
	if t.active <= 0 {
		return
	}
	end := t.went + t.share
	for i := range t.links {
		e, l := &t.links[i], &st.Links[t.links[i].link]
		share, active, on := t.share, t.active, t.on
		if e.part < 1 {
			share = passed(end, e.part) - passed(t.went, e.part)
			active = float64(share * e.part * t.seconds)
			on = on && end-math.Floor(end) < e.part
		}
		l.SentTotal += float64(e.sent * share)
		l.TakenTotal += float64(e.taken * share)
		l.StoppedTotal += float64(e.stopped * active)
		l.FramesTotal += float64(e.frames * active)
		l.WaitTotal += float64(e.wait * active)
		l.MarkedTotal += float64(e.marked * share)
		l.DroppedTotal += float64(e.dropped * share)
		l.DamagedTotal += float64(e.damaged * share)
		l.UncorrectableTotal += float64(e.burst * share)
		if active > 0 {
			l.QueueMost = max(l.QueueMost, e.highest)
		}
		if on && e.met(moment) {
			l.Queue = max(l.Queue, e.length)
		}
	}
	for i := range t.nics {
		e, n := &t.nics[i], &st.NICs[t.nics[i].nic]
		n.MarkedTotal += float64(e.marked * t.share)
		n.CNPSentTotal += float64(e.sent * t.share)
		n.CNPHandledTotal += float64(e.handled * t.share)
		n.CNPIgnoredTotal += float64(e.ignored * t.share)
		n.OutOfOrderTotal += float64(e.disorder * t.share)
		n.SequenceTotal += float64(e.seq * t.share)
		n.TimeoutTotal += float64(e.timeouts * t.active)
		n.Stalled = max(n.Stalled, float64(e.stalled*t.active))
	}
	t.went, t.share, t.active, t.on = end-math.Floor(end), 0, 0, false
}

// met reports whether a gauge that is read at this moment meets the queue: each
// link's draw is its own.
func (e *linkEffect) met(moment random.Source) bool {
	if e.queued >= 1 {
		return true
	}
	draw := moment.At(uint64(e.link))
	return draw.Chance(e.queued)
}

// offered is what jobs offer each link in the mean: bits per second, flows,
// and the share of time in which they make it stand still.
type offered struct {
	load, flows, stop []float64
	empty             bool
}

func newOffered(links int) *offered {
	return &offered{load: make([]float64, links), flows: make([]float64, links), stop: make([]float64, links), empty: true}
}

func (o *offered) clear() {
	if o.empty {
		return
	}
	o.empty = true
	clear(o.load)
	clear(o.flows)
	clear(o.stop)
}

// add adds a traffic that sends so many shares a second.
func (o *offered) add(t *traffic, perSecond float64) {
	duty := 1.0
	o.empty = false
	if !t.always {
		duty = float64(t.seconds * perSecond)
		if math.IsInf(t.seconds, 1) || math.IsNaN(duty) {
			duty = 1
		}
		duty = min(1, duty)
	}
	for i := range t.flows {
		f := &t.flows[i]
		bits := float64(f.bytes * 8 * f.wire * perSecond)
		if t.always {
			bits = f.demand
		}
		if math.IsInf(t.seconds, 1) {
			bits = 0
		}
		for _, l := range f.path {
			o.load[l] += bits
			o.flows[l] += duty
		}
	}
	for i := range t.links {
		e := &t.links[i]
		if stop := max(e.stopped, e.wait); stop > 0.01 {
			o.stop[e.link] += float64(stop * duty * e.part)
		}
	}
}

// background is what all links do whether anybody sends or not.
func (f *fabric) background(st *state.State, infinite bool) {
	for l := range st.Links {
		s := &st.Links[l]
		s.Queue, s.QueueMost = 0, 0
		s.CorrectedTotal += f.corrected[l]
		s.UncorrectableTotal += f.uncorrectable[l]
		if f.hold[l] {
			s.WaitTotal++
			if !infinite {
				s.StoppedTotal++
				s.FramesTotal += float64(1.5 * network.LeastPauseFrames(1, f.speed[l]))
			}
		}
	}
}

// show writes what only the condition changes, and which cables have gone down
// or come up since it last did.
func (f *fabric) show(st *state.State, c *condition.Set, changed func(cable int, up bool)) {
	for l := range st.Links {
		s := &st.Links[l]
		if s.Up != f.up[l] {
			if l%2 == 0 && st.Second > 0 {
				changed(l/2, f.up[l])
			}
			if s.Up && st.Second > 0 {
				s.DownsTotal++
			}
		}
		s.Up, s.Speed, s.BER = f.up[l], 0, f.ber[l]
		if s.Up {
			s.Speed = float64(f.site.Speed * c.Links[l].Speed)
		}
		s.Celsius = f.celsius[l] + c.Links[l].Heat
	}
}
