package fabric

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
	fullLeast, fullMost = 0.9, 1.08
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

// credit finds the length of each device's ticks and hands what ends wait for
// credits to the ends that did not give them. A counter that has reached its top
// tells nothing more: the mean is over the grids in which it did.
func (r *Readings) credit() {
	m := r.Map
	for i := range m.Ends {
		if n, known := &r.Of[i], r.trails[i].tick.known; n.Credits && known > 0 && known < n.Seen {
			n.Told = min(1, float64(n.Told*float64(n.Seen))/float64(known))
			n.Wait = max(n.Wait, n.Told)
		}
	}
	for _, sw := range m.Switches {
		r.calibrate(sw.Ends)
	}
	for i := range m.Ends {
		if m.Ends[i].IsNIC() {
			r.calibrate([]int{i})
		}
	}
	for i := range m.Ends {
		if p := m.Ends[i].Peer; r.Of[i].Credits && p >= 0 {
			r.Of[p].Tells, r.trails[p].tells = r.Of[i].Told, r.trails[i].starved
			r.Of[p].Idle, r.Of[p].TellsIdle = 0, 0 // nobody counts what it gave
		}
	}
}

// calibrate lengthens the ticks of one device's ends where that alone makes
// waiting and sending fill the time.
func (r *Readings) calibrate(ends []int) {
	for n, times := range longTicks() {
		if r.ticks(ends, n) {
			r.stretch(ends, times)
			return
		}
	}
}

// ticks reports whether the n-th longer tick is that of one device.
func (r *Readings) ticks(ends []int, n int) bool {
	fits := 0
	for _, i := range ends {
		if e := &r.Map.Ends[i]; e.slots[waitSeconds] >= 0 || r.trails[i].tick.over[n] {
			return false
		}
		fits += r.trails[i].tick.fits[n]
	}
	return fits >= leastFits
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
		for k, v := range t.starved {
			t.starved[k] = min(1, float32(float32(times)*v))
			t.wait[k] = max(t.wait[k], t.starved[k])
		}
	}
}
