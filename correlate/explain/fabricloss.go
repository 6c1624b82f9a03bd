package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// packetBytes is the length of an RDMA packet at the largest message transfer
// unit in common use; counts per packet are per so many bytes.
const packetBytes = 4096

// leastPackets per second keep a share of an idle link finite.
const leastPackets = 1000

const (
	// leastDamage and leastLeak are parts of a link's traffic below which its ends
	// are not examined for them: losses that degrade a job are a hundred times
	// larger.
	leastDamage = 1e-6
	leastLeak   = 1e-5
	// knownLeak is the standard error from which a leak is not seen.
	knownLeak = 2e-3
)

// loss is what of the job's traffic was lost on its paths, or was treated as lost.
type loss struct {
	resent, most, taken   float64
	resentSeen, takenSeen bool
	timedOut              float64 // of the packets that were retransmitted
	timedOutSeen          bool
	counted               bool // NICs count retransmissions
	damage, leak, drops   float64
	leakError             float64 // of the link that leaks most; where none does, of the one that is known worst
	damageSeen, leakSeen  bool
	dropsSeen             bool
	allDamage             float64 // of the links on the job's paths
	disordered            float64 // packets per second, at the job's nics
	again                 float64 // packets per second that they sent again
	around                float64 // the largest part of both of a nic
	ignored               float64 // congestion notices per second, by them
	ignoredSeen           bool
	heeded                float64 // handled ones now over before, of the median nic
	heedSeen              bool
}

func (f *fabricMeasures) loss() loss {
	var l loss
	f.resent(&l)
	for i, on := range f.e.Fabric.OnPath {
		p := f.m.Ends[i].Peer
		if !on || p < 0 || !f.m.Ends[i].Main {
			continue
		}
		damage, counting := f.linkDamage(i)
		if i < p || !f.e.Fabric.OnPath[p] {
			l.allDamage += damage
		}
		l.damage, l.damageSeen = max(l.damage, damage), l.damageSeen || counting > 0
		f.leaks(i, &l)
		if d, ok := f.drops(i); ok {
			l.drops, l.dropsSeen = l.drops+d, true
		}
	}
	if l.counted = l.resentSeen; !l.counted && l.damage > 0 {
		// Where no NIC counts its retransmissions, every packet that arrived
		// damaged counts as one. That none did says nothing of those that were lost.
		l.resent, l.most, l.resentSeen = l.damage, l.damage, true
	}
	return l
}

// leaks adds what the link of main end i leaks.
func (f *fabricMeasures) leaks(i int, l *loss) {
	leak, seen := f.linkLeak(i)
	l.leakSeen = l.leakSeen || seen
	switch err := f.leakError(i); {
	case leak > max(l.leak, leastLeak):
		l.leak, l.leakError = leak, err
	case l.leak == 0:
		l.leakError = max(l.leakError, err)
	}
}

// drops is what a port of a switch drops more than before, packets per second: on
// the way out of a full queue, or on the way in where no buffer is left.
func (f *fabricMeasures) drops(i int) (sum float64, ok bool) {
	if f.m.Ends[i].IsNIC() {
		return 0, false
	}
	for _, k := range []fabric.Count{fabric.Dropped, fabric.Refused} {
		if d, seen := f.beyond(i, k); seen {
			sum, ok = sum+d, true
		}
	}
	return sum, ok
}

// again adds up what the NICs of some nodes retransmitted and what they received
// out of order: packets per second. most is the largest part of a NIC's own
// packets: among those of a large job the losses of one link are next to nothing,
// and all wait for it.
type again struct {
	resent, disordered, timedOut, packets, most float64
	seen, disorderSeen, timedOutSeen            bool
}

func (f *fabricMeasures) again(nodes []telemetry.Entity) again {
	var a again
	for _, node := range nodes {
		for _, i := range f.m.Links(node) {
			v, ok := f.beyond(i, fabric.Sequence)
			if !ok {
				continue
			}
			a.seen = true
			a.resent += v
			packets := float64(f.e.Fabric.Now.Of[i].Util*f.m.Ends[i].Speed) / packetBytes
			a.packets += packets
			a.most = max(a.most, v/max(packets, leastPackets))
			if d, ok := f.beyond(i, fabric.Disordered); ok {
				a.disordered += d
				a.disorderSeen = true
			}
			if t, ok := f.beyond(i, fabric.TimedOut); ok {
				a.timedOut += t
				a.timedOutSeen = true
			}
		}
	}
	return a
}

func (a *again) share() float64 { return a.resent / max(a.packets, leastPackets) }

// resent adds up what the job's NICs retransmitted and what they received out of
// order, and how they handle congestion notifications.
func (f *fabricMeasures) resent(l *loss) {
	own := f.again(f.e.Nodes)
	l.resent, l.most, l.resentSeen, l.disordered = own.share(), own.most, own.seen, own.disordered
	l.again = own.resent
	if own.disorderSeen && own.disordered > 1 {
		l.taken, l.takenSeen = min(own.resent/own.disordered, 1), true
	}
	if own.timedOutSeen && own.resent > 1 {
		l.timedOut, l.timedOutSeen = min(own.timedOut/own.resent, 1), true
	}
	for i := range f.neighbourLoads {
		if f.rises(&f.neighbourLoads[i]) {
			a := f.again(f.neighbourLoads[i].Nodes)
			l.resent, l.most, l.resentSeen = max(l.resent, a.share()), max(l.most, a.most), l.resentSeen || a.seen
		}
	}
	var heeds []float64
	for _, node := range f.e.Nodes {
		for _, i := range f.m.Links(node) {
			if x, ok := f.beyond(i, fabric.Ignored); ok {
				l.ignored, l.ignoredSeen = l.ignored+x, true
			}
			if h, ok := f.heeds(i); ok {
				heeds = append(heeds, h)
			}
		}
	}
	if len(heeds) > 0 {
		l.heeded, l.heedSeen = stats.Median(heeds), true
	}
}

// leastNotices per second before are enough to know how many a NIC usually acts on.
const leastNotices = 1

// heeds is how many congestion notifications a NIC acts on, now over before.
func (f *fabricMeasures) heeds(i int) (float64, bool) {
	now, ok := f.e.Fabric.Now.Rate(i, fabric.Handled)
	before, okBefore := f.e.Fabric.Before.Rate(i, fabric.Handled)
	if !ok || !okBefore || before < leastNotices {
		return 0, false
	}
	return min(now/before, ratioCap), true
}

// beyond is a count per second now beyond before, not below 0.
func (f *fabricMeasures) beyond(i int, k fabric.Count) (float64, bool) {
	now, ok := f.e.Fabric.Now.Rate(i, k)
	before, _ := f.e.Fabric.Before.Rate(i, k)
	return max(0, now-before), ok
}

// damage is what came damaged at end i, per packet received.
func (f *fabricMeasures) damage(i int) (float64, bool) {
	crc, okCRC := f.beyond(i, fabric.Damaged)
	any, okAny := f.beyond(i, fabric.Erred)
	fec, okFEC := f.beyond(i, fabric.Uncorrectable)
	packets := max(float64(f.e.Fabric.Now.Of[i].RUtil*f.m.Ends[i].Speed)/packetBytes, leastPackets)
	return max(crc, any, fec) / packets, okCRC || okAny || okFEC
}

// linkDamage is the damage at the worse end of the link of main end i, and how many of its
// ends count it. Packets are damaged at the end that receives them: one end that counts none
// is no evidence for the other direction.
func (f *fabricMeasures) linkDamage(i int) (damage float64, ends int) {
	p := f.m.Ends[i].Peer
	if p < 0 || !f.m.Ends[i].Main {
		return 0, 0
	}
	for _, k := range []int{i, p} {
		if d, ok := f.damage(k); ok {
			damage, ends = max(damage, d), ends+1
		}
	}
	return damage, ends
}

// linkLeak is the larger leak of the two ways of the link of main end i.
func (f *fabricMeasures) linkLeak(i int) (float64, bool) {
	p := f.m.Ends[i].Peer
	if p < 0 || !f.m.Ends[i].Main {
		return 0, false
	}
	a, b := f.e.Fabric.Now.Leak(i), f.e.Fabric.Now.Leak(p)
	ok := a.Seen && a.Error < knownLeak || b.Seen && b.Error < knownLeak
	return max(a.Share, b.Share), ok
}

// leakError is the standard error of what the link of main end i leaks, of the way that
// is known worse.
func (f *fabricMeasures) leakError(i int) float64 {
	worst := 0.0
	for _, k := range []int{i, f.m.Ends[i].Peer} {
		if l := f.e.Fabric.Now.Leak(k); l.Seen {
			worst = max(worst, l.Error)
		}
	}
	return worst
}

// path puts what is known of the job's paths as wholes into v.
func (l *loss) path(v Values) {
	put(v, Resent, l.resent, l.resentSeen)
	put(v, ResentMost, l.most, l.resentSeen)
	put(v, LostOnPaths, l.packets(), l.resentSeen)
	put(v, TakenForLoss, l.taken, l.takenSeen)
	put(v, TimedOut, l.timedOut, l.timedOutSeen)
	put(v, WorstDamage, l.damage, l.damageSeen)
	if l.leakSeen {
		v[WorstLeak], v[WorstLeak.Err()] = l.leak, l.leakError
	}
	put(v, PathDrops, l.drops, l.dropsSeen)
	put(v, Ignored, l.ignored, l.ignoredSeen)
	put(v, LostAroundOne, l.around, l.again > 1)
}

// packets is the part of the job's packets that is lost on its paths, as far as it is
// known to be sent again.
func (l *loss) packets() float64 {
	if l.most < leastAgain {
		return l.resent
	}
	return max(l.resent, l.damage)
}

// leastAgain is the part of a NIC's packets from which it sends some again because of
// more than chance.
const leastAgain = 1e-7

func put(v Values, m Measure, x float64, seen bool) {
	if seen {
		v[m] = x
	}
}

// health adds to v what end i shows of its link apart from queues.
func (f *fabricMeasures) health(v Values, i int) {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	p := f.m.Ends[i].Peer
	f.losses.path(v)
	damage, counting := f.linkDamage(i)
	leak, leakSeen := f.linkLeak(i)
	put(v, LinkDamage, damage, counting == 2 || damage > 0)
	if leakSeen {
		v[LinkLeak], v[LinkLeak.Err()] = leak, f.leakError(i)
	}
	if n.QueuedGrids > 0 {
		v[Unmarked] = max(0, n.Unmarked-b.Unmarked)
	}
	if n.Credits {
		v[Starved] = n.PauseReceived - b.PauseReceived
	}
	if p >= 0 && f.e.Fabric.Now.Of[p].Credits {
		v[Starves] = n.PauseSent - b.PauseSent
		v[Starves.Err()] = stats.Quadrature(f.e.Fabric.Now.Of[p].WaitErr, f.e.Fabric.Before.Of[p].WaitErr)
	}
	if d, ok := f.disorder(i); ok {
		v[Disorder] = d
	}
	f.nicParts(v, i)
	if h, ok := f.heeds(i); ok && f.losses.heedSeen {
		v[HeedsNotices] = min(h/max(f.losses.heeded, 0.05), ratioCap)
	}
	if f.losses.allDamage > 0 {
		v[DamageShare] = min(damage/f.losses.allDamage, 1)
	}
	if part, unread, ok := f.ownerDown(i); ok {
		v[OwnerDown], v[OwnerDown.Err()] = part, unread
	}
	if s, ok := f.state(i); ok {
		v[LinkUp], v[DownNow], v[WentDown], v[CameBack] = s.up, boolValue(s.down), s.falls, max(0, s.falls-boolValue(s.down))
	}
	f.siblings(v, i)
}

// disorder is what of the packets that end i receives comes out of order.
func (f *fabricMeasures) disorder(i int) (float64, bool) {
	d, ok := f.beyond(i, fabric.Disordered)
	return d / max(float64(f.e.Fabric.Now.Of[i].RUtil*f.m.Ends[i].Speed)/packetBytes, leastPackets), ok
}

// nicParts adds the part that a NIC has in the job's disorder, in what it
// retransmits, and in what queues drop: to the NIC and to the port that faces it.
func (f *fabricMeasures) nicParts(v Values, i int) {
	if f.m.FacesHost(i) {
		i = f.m.Ends[i].Peer
	}
	if p := f.m.Ends[i].Peer; f.m.Ends[i].IsNIC() && p >= 0 && f.losses.drops > leastDrops {
		d, ok := f.drops(p)
		put(v, DropsThere, min(d/f.losses.drops, 1), ok)
	}
	if d, ok := f.beyond(i, fabric.Disordered); ok && f.losses.disordered > 0 {
		v[DisorderPart] = min(d/f.losses.disordered, 1)
	}
	if x, ok := f.lostAround(i); ok {
		v[LostAround] = x
	}
}

// leastDrops per second on the job's paths are more than the few of any full queue.
const leastDrops = 5

// lostAround is a NIC's part of what the job has to send again: of what it sends itself, or
// of both directions of all that it exchanges with others.
func (f *fabricMeasures) lostAround(i int) (float64, bool) {
	sent, okSent := f.beyond(i, fabric.Sequence)
	if !okSent || !f.m.Ends[i].IsNIC() || f.losses.again <= 1 {
		return 0, false
	}
	part := sent / f.losses.again
	if came, ok := f.beyond(i, fabric.Disordered); ok && f.losses.disordered > 1 {
		part = max(part, float64(2*min(part, came/f.losses.disordered)))
	}
	return min(part, 1), true
}

// mostAround is the largest lostAround of the job's NICs.
func (f *fabricMeasures) mostAround() float64 {
	most := 0.0
	for _, node := range f.e.Nodes {
		for _, i := range f.m.Links(node) {
			x, _ := f.lostAround(i)
			most = max(most, x)
		}
	}
	return most
}

// ownerDown is the part of a machine's other links that are down, for the worse of
// the two machines that a link joins, and its error: the part whose state was last
// read before this link was seen down. Of a host that died each rail's switch reports
// in its own time.
func (f *fabricMeasures) ownerDown(i int) (worst, unread float64, ok bool) {
	fell := f.fell(i)
	for _, k := range f.linkEnds(i) {
		down, before, others := 0.0, 0.0, 0.0
		for _, s := range f.m.Links(f.m.Ends[k].Owner) {
			if s == k {
				continue
			}
			others++
			switch state, seen := f.state(s); {
			case seen && state.down:
				down++
			case seen && f.sampled(s) < fell:
				before++
			}
		}
		if others > 0 {
			worst, unread, ok = max(worst, down/others), max(unread, before/others), true
		}
	}
	return worst, unread, ok
}

// linkEnds lists end i and, if there is one, its peer.
func (f *fabricMeasures) linkEnds(i int) []int {
	if p := f.m.Ends[i].Peer; p >= 0 {
		return []int{i, p}
	}
	return []int{i}
}

// fell is the beginning of the grid in which end i's link was first seen down, by either
// end; 0 where it was not.
func (f *fabricMeasures) fell(i int) (at telemetry.Time) {
	for _, k := range f.linkEnds(i) {
		if t := f.e.Fabric.Now.Fell(k); t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	return at
}

// sampled is when the state of end i's link was last sampled, at either end.
func (f *fabricMeasures) sampled(i int) (at telemetry.Time) {
	for _, k := range f.linkEnds(i) {
		at = max(at, f.e.Fabric.Now.Sampled(k))
	}
	return at
}

// siblings adds how loaded the siblings of an end between switches are.
func (f *fabricMeasures) siblings(v Values, i int) {
	if !f.m.Between(i) {
		return
	}
	explained := f.own[i] / f.lost
	var loads []float64
	gone := 0.0
	for _, s := range f.siblingsOf(i) {
		explained = max(explained, f.own[s]/f.lost)
		if s == i {
			continue
		}
		loads = append(loads, f.loadRatio(s, f.work))
		if state, ok := f.state(s); ok {
			gone = max(gone, 1-state.up)
		}
	}
	v[GroupExplained] = explained
	if len(loads) > 0 {
		v[SiblingsLoad], v[SiblingsDown] = stats.Median(loads), gone
	}
}

// siblingsOf lists the main ends that could carry what end i carries, itself
// included: the uplinks of its access switch, or the ways into the one it leads
// to.
func (f *fabricMeasures) siblingsOf(i int) []int {
	if owner := f.m.Ends[i].Owner; f.anyHost(owner) {
		return f.linksOf(owner, false)
	}
	return f.linksOf(f.m.Ends[f.m.Ends[i].Peer].Owner, true)
}

// linksOf lists the main ends at which a switch sends to others or, into it, those at which
// others send to it.
func (f *fabricMeasures) linksOf(sw telemetry.Entity, into bool) (out []int) {
	for _, s := range f.m.Links(sw) {
		switch {
		case !f.m.Between(s):
		case into:
			out = append(out, f.m.Ends[s].Peer)
		default:
			out = append(out, s)
		}
	}
	return out
}

// mostOfIt is the part of what a job has to send again from which it may be the trouble of
// one NIC.
const mostOfIt = 0.5

// ailing lists ends on the job's paths whose link shows a fault of its own, with or
// without a queue: damage, a leak, a link that was down, a NIC at which packets
// come out of order. The worst first, at most maxEnds.
func (f *fabricMeasures) ailing() []int {
	var at []int
	worse := make([]float64, len(f.m.Ends))
	for i, on := range f.e.Fabric.OnPath {
		if !on || !f.m.Ends[i].Main {
			continue
		}
		d, _ := f.disorder(i)
		if f.m.FacesHost(i) {
			d, _ = f.disorder(f.m.Ends[i].Peer)
		}
		state, ok := f.state(i)
		if h, seen := f.heeds(i); seen && f.losses.heedSeen && h < float64(0.6*f.losses.heeded) {
			worse[i] = 2
		}
		if x, _ := f.lostAround(i); x >= mostOfIt {
			worse[i] = 2
		}
		damage, _ := f.linkDamage(i)
		leak, _ := f.linkLeak(i)
		worse[i] = max(worse[i], damage/leastDamage, leak/leastLeak, d/leastDamage)
		if ok && (state.down || state.up < 0.999) {
			worse[i] += 1e6
		}
		if worse[i] > 1 {
			at = append(at, i)
		}
	}
	byBlame(at, worse)
	return slices.Clip(at[:min(len(at), maxEnds)])
}
