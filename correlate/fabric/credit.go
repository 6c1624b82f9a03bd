package fabric

// InfiniBand has no pause frames: a port may send as long as the other end has
// given it credits, and counts the time in which it had data and no credit
// (PortXmitWait). Time without a credit is to the port what being told to stop
// is on Ethernet, and to its peer what telling is; the walk is the same.

// tick is what a span shows of the length of a device's tick. Ticks are counted
// as 8 byte times; older devices count one for 32 (four lanes of 8).
type tick struct {
	over bool // a tick of 32 would make a grid longer than it is
	fits int  // grids that a tick of 32 would fill exactly, the sending included
}

const (
	shortTick = 8.0 // bytes
	longTick  = 4   // times as long
	// full is the part of a grid that waiting and sending fill where data stood
	// all the time, less and more than one by what clocks differ.
	fullLeast, fullMost = 0.9, 1.08
	// busy is the waiting from which a grid says something about the tick.
	busy = 0.3
	// leastFits grids make a tick a long one.
	leastFits = 3
)

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
	if c.told <= 0 {
		return
	}
	if t.starved == nil {
		t.starved = make([]float32, n)
	}
	t.starved[k] = float32(c.told)
	long := float64(longTick * c.told)
	switch {
	case long+c.tx > fullMost:
		t.tick.over = true
	case long > busy && long+c.tx >= fullLeast:
		t.tick.fits++
	}
}

// credit finds the length of each device's ticks and hands what ends wait for
// credits to the ends that did not give them.
func (r *Readings) credit() {
	m := r.Map
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
	fits := 0
	for _, i := range ends {
		if e := &r.Map.Ends[i]; e.slots[waitSeconds] >= 0 || r.trails[i].tick.over {
			return
		}
		fits += r.trails[i].tick.fits
	}
	if fits < leastFits {
		return
	}
	for _, i := range ends {
		n, t := &r.Of[i], &r.trails[i]
		if !n.Credits {
			continue
		}
		n.Told = min(1, float64(longTick*n.Told))
		n.Wait = max(n.Wait, n.Told)
		for k, v := range t.starved {
			t.starved[k] = min(1, float32(longTick*v))
			t.wait[k] = max(t.wait[k], t.starved[k])
		}
	}
}
