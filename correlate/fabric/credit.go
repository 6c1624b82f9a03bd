package fabric

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// InfiniBand has no pause frames: a port may send as long as the other end has
// given it credits, and counts the time in which it had data and no credit
// (PortXmitWait). Time without a credit is to the port what being told to stop
// is on Ethernet, and to its peer what telling is; the walk is the same.

// tick is what a span shows of the length of a device's tick. Ticks are counted
// as 8 byte times; older devices count one for 32, of the link (four lanes of 8)
// or of each of its four lanes. By longer tick:
type tick struct {
	over  [longer]bool // it would make a grid longer than it is
	fits  [longer]int  // grids that it would fill exactly, the sending included
	known int          // grids in which the counter told; at its top it tells nothing
}

const (
	shortTick = 8.0 // bytes
	longer    = 2
	// full is the part of a grid that waiting and sending fill where data stood
	// all the time, less and more than one by what clocks differ.
	fullLeast, fullMost = 0.95, 1.08
	// busy is the waiting from which a grid says something about the tick.
	busy = 0.3
	// leastFits grids make a tick a long one.
	leastFits = 3
)

// longTicks are the longer ticks, in short ones.
func longTicks() [longer]float64 { return [longer]float64{4, 16} }

// credits reports whether the end tells of missing credits and not of pause.
func (e *End) credits() bool {
	return e.slots[toldSeconds] < 0 && (e.slots[waitSeconds] >= 0 || e.slots[waitTicks] >= 0 && e.Speed > 0)
}

// starved is the share of a grid in which the end had data and no credit, and
// false where it does not tell.
func (e *End) starved(at func(signal) (float64, bool)) (float64, bool) {
	if !e.credits() {
		return 0, false
	}
	if v, ok := at(waitSeconds); ok {
		return v, true
	}
	v, ok := at(waitTicks)
	return float64(v*shortTick) / max(e.Speed, 1), ok
}

// starve notes a grid without credits.
func (t *trail) starve(n, k int, c cell) {
	t.tick.known++
	if c.told <= 0 {
		return
	}
	if t.starved == nil {
		t.starved = make([]float32, n)
	}
	t.starved[k] = float32(c.told)
	for n, times := range longTicks() {
		long := float64(times * c.told)
		switch {
		case long+c.tx > fullMost:
			t.tick.over[n] = true
		case long > busy && long+c.tx >= fullLeast:
			t.tick.fits[n]++
		}
	}
}

const (
	// rise is how many times as much as before, and leastRise the part of the time
	// by short ticks, for which a host's port waits for credits of its nic when the
	// ticks are taken for the longest.
	rise, leastRise = 30, 0.004
	// leastBefore is what counts as no waiting before.
	leastBefore = 1e-5
)

// credit finds the length of each device's ticks, where it is known what its ends
// did before, and hands what ends wait for credits to the ends that did not give
// them. A counter that has reached its top tells nothing more: the mean is over the
// grids in which it did.
func (r *Readings) credit(before *Readings) {
	m := r.Map
	for i := range m.Ends {
		if n, known := &r.Of[i], r.trails[i].tick.known; n.Credits && known > 0 && known < n.Seen {
			n.Told = min(1, float64(n.Told*float64(n.Seen))/float64(known))
			n.Wait = max(n.Wait, n.Told)
		}
	}
	var switches, nics [][]int
	for _, sw := range m.Switches {
		switches = append(switches, sw.Ends)
	}
	for i := range m.Ends {
		if m.Ends[i].IsNIC() {
			nics = append(nics, []int{i})
		}
	}
	if before != nil {
		r.settle(before, switches)
		r.settle(before, nics)
	}
	for i := range m.Ends {
		if p := m.Ends[i].Peer; r.Of[i].Credits && p >= 0 {
			r.Of[p].Tells, r.trails[p].tells = r.Of[i].Told, r.trails[i].starved
			r.Of[p].Idle, r.Of[p].TellsIdle = 0, 0 // nobody counts what it gave
		}
	}
}

// settle lengthens the ticks of devices of a kind, each given by its ends, to what
// they are found to be, now and before alike: they are the device's, and do not
// change. One that waited as much before as those whose ticks are known to be
// short has short ones, too: where bursts meet, all wait a little.
func (r *Readings) settle(before *Readings, devices [][]int) {
	levels, short := make([]float64, len(devices)), [longer][]float64{}
	for d, ends := range devices {
		levels[d] = before.waits(ends)
		for n := range short {
			if r.over(ends, n) {
				short[n] = append(short[n], levels[d])
			}
		}
	}
	for d, ends := range devices {
		for n, times := range longTicks() {
			if !likeShort(float64(levels[d]*math.Sqrt(times)), short[n]) && (r.ticks(ends, n) || n == longer-1 && r.rose(before, ends)) {
				r.stretch(ends, times)
				before.stretch(ends, times)
				break
			}
		}
	}
}

// likeShort reports whether a device waits as long as the median of those whose ticks
// are short, where those wait at all.
func likeShort(waits float64, short []float64) bool {
	if len(short) == 0 {
		return false
	}
	usual := stats.Median(short)
	return usual > 0 && waits >= usual
}

// waits is how long the median end of a device that sends waits for credits, by
// the shortest ticks.
func (r *Readings) waits(ends []int) float64 {
	var all []float64
	for _, i := range ends {
		if n := &r.Of[i]; n.Credits && n.Util >= idle {
			all = append(all, n.Told)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return stats.Median(all)
}

// over reports whether the n-th longer tick would make a grid of a device's ends
// longer than it is.
func (r *Readings) over(ends []int, n int) bool {
	for _, i := range ends {
		if r.trails[i].tick.over[n] {
			return true
		}
	}
	return false
}

// rose reports whether a switch's ticks may be the longest and a port of it that
// faces a host waits many times as long as before. Where traffic comes in bursts
// shorter than a grid, waiting and sending never fill one, and nothing else shows
// how long a tick is; but a nic takes what it is sent, and a wait for its credits
// that comes from nowhere is no small one.
func (r *Readings) rose(before *Readings, ends []int) bool {
	rose := false
	for _, i := range ends {
		if r.Map.Ends[i].slots[waitSeconds] >= 0 {
			return false
		}
		rose = rose || r.Map.FacesHost(i) && before.Of[i].Seen > 0 && r.Of[i].Told >= max(leastRise, float64(rise*max(leastBefore, before.Of[i].Told)))
	}
	return rose && !r.over(ends, longer-1)
}

// ticks reports whether the n-th longer tick is that of one device.
func (r *Readings) ticks(ends []int, n int) bool {
	fits := 0
	for _, i := range ends {
		if r.Map.Ends[i].slots[waitSeconds] >= 0 {
			return false
		}
		fits += r.trails[i].tick.fits[n]
	}
	return fits >= leastFits && !r.over(ends, n)
}

// stretch makes the waiting of one device's ends so many times as long.
func (r *Readings) stretch(ends []int, times float64) {
	for _, i := range ends {
		n, t := &r.Of[i], &r.trails[i]
		if !n.Credits {
			continue
		}
		n.Told = min(1, float64(times*n.Told))
		n.Wait = max(n.Wait, n.Told)
		if p := r.Map.Ends[i].Peer; p >= 0 {
			r.Of[p].Tells = n.Told
		}
		for k, v := range t.starved {
			t.starved[k] = min(1, float32(float32(times)*v))
			t.wait[k] = max(t.wait[k], t.starved[k])
		}
	}
}
