package fabric

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// InfiniBand has no pause frames: a port may send as long as the other end has
// given it credits, and counts the time in which it had data and no credit
// (PortXmitWait). A port's credit wait corresponds to pause received on Ethernet,
// and to its peer's pause sent; the walk is the same.

// The length of a tick of that counter is known to the vendor only: 8 byte times,
// 32, 22 ns and others are in use. Two facts hold for every device. Waiting and
// sending fill at most the whole of a grid, so that each grid bounds the length of
// a tick. And they fill it where data is always queued, so that a blocked port
// shows the length. Until a port was blocked, ticks are taken to be the longest
// that the bound allows, of nics and of switches alike; no device counts in longer ones
// than longTick.
const (
	shortTick = 8.0  // bytes
	longTick  = 1e-6 // seconds
	// leastRoom is the part of a grid that is assumed to be left over from what was
	// sent, at least: with less, the difference of clocks is too large a part.
	leastRoom = 0.1
	// blocked is the part of a grid that waiting and sending fill where data was
	// queued all the time, at least; and blockedSamples how many in a row fill it
	// at a port that is blocked.
	blocked, blockedSamples = 0.87, 3
	// busy is the least waiting of a grid that counts as waiting.
	busy = 0.3
)

// credits reports whether the end reports missing credits and not pause.
func (e *End) credits() bool {
	return e.slots[receivedSeconds] < 0 && (e.slots[waitSeconds] >= 0 || e.slots[waitTicks] >= 0 && e.Speed > 0)
}

// starved returns the share of a grid in which the end had data and no credit, and
// false where it does not report it.
func (sc *scratch) starved(e *End, k int) (float64, bool) {
	if !e.credits() {
		return 0, false
	}
	if v, ok := sc.at(waitSeconds, k); ok {
		return v, true
	}
	v, ok := sc.at(waitTicks, k)
	return float64(v*shortTick) / max(e.Speed, 1), ok
}

// starve notes a grid without credits.
func (t *trail) starve(n, k int, c *cell) {
	t.known++
	if c.pauseReceived <= 0 {
		return
	}
	if t.starved == nil {
		t.starved, t.room = make([]float32, n), make([]float32, n)
	}
	t.starved[k] = float32(c.pauseReceived)
	t.room[k] = float32(max(1-c.tx, leastRoom) / c.pauseReceived)
}

// longest returns the factor by which the waiting of an end may exceed its value
// with the shortest ticks, by the grids of a span; 0 where it did not wait.
func (t *trail) longest() (room float64) {
	for _, v := range t.room {
		if v > 0 && (room == 0 || float64(v) < room) {
			room = float64(v)
		}
	}
	return room
}

// credit estimates the length of ticks, where it is known what ends did before, and
// attributes the credit wait of ends to the ends that did not give the credits. A
// counter that has reached its maximum adds no information: the mean is over the
// grids in which it still counted.
func (r *Readings) credit(before *Readings, grid telemetry.Duration) {
	m := r.Map
	for i := range m.Ends {
		if n, known := &r.Of[i], r.trails[i].known; n.Credits && known > 0 && known < n.Seen {
			n.PauseReceived = min(1, float64(n.PauseReceived*float64(n.Seen))/float64(known))
			n.Wait = max(n.Wait, n.PauseReceived)
		}
	}
	if before != nil {
		nics, switches := r.ticks(before, grid, (*End).IsNIC), r.ticks(before, grid, func(e *End) bool { return !e.IsNIC() })
		r.lengthenTicks(before, nics, switches)
		r.lengthenTicks(before, switches, nics)
	}
	for i := range m.Ends {
		if p := m.Ends[i].Peer; r.Of[i].Credits && p >= 0 {
			r.Of[p].PauseSent, r.trails[p].paused = r.Of[i].PauseReceived, r.trails[i].starved
			r.Of[p].Idle, r.Of[p].PauseSentIdle = 0, 0 // no counter has what it gave
		}
	}
}

// tick is what is known of the length of a tick of the ends of one kind of device.
type tick struct {
	ends    []int
	longest float64 // times the shortest that it can be; 0 where none of them waited
	sure    bool    // a port was blocked, which shows it
}

// ticks finds how long the ticks of one kind of device are, now and before alike: they are
// the device's, and do not change.
func (r *Readings) ticks(before *Readings, grid telemetry.Duration, kind func(*End) bool) (t tick) {
	for i := range r.Map.Ends {
		e := &r.Map.Ends[i]
		if !kind(e) || !e.credits() || e.slots[waitSeconds] >= 0 {
			continue
		}
		t.ends = append(t.ends, i)
		for _, room := range []float64{r.Of[i].Room, before.Of[i].Room} {
			if room = min(room, float64(longTick*e.Speed)/shortTick); room > 0 && (t.longest == 0 || room < t.longest) {
				t.longest = room
			}
		}
	}
	t.sure = t.longest > 1 && slices.ContainsFunc(t.ends, func(i int) bool { return r.blocked(i, t.longest, grid) })
	return t
}

// lengthenTicks lengthens the ticks of the ends of one kind of device. Where nothing shows
// how long they are, those of the other kind are as long, if they may be.
func (r *Readings) lengthenTicks(before *Readings, own, other tick) {
	times := own.longest
	if !own.sure && other.longest > 0 {
		times = min(times, max(other.longest, 1))
	}
	if times <= 1 {
		return
	}
	slack := times
	if own.sure {
		slack = 1
	}
	for _, i := range own.ends {
		r.scaleWaiting(i, times)
		before.scaleWaiting(i, times)
		r.Of[i].Slack = slack
	}
}

// blocked reports whether data was queued at an end all the time for several
// samples in a row, if its ticks are so long.
func (r *Readings) blocked(i int, times float64, grid telemetry.Duration) bool {
	run, wanted := 0, blockedSamples*max(1, int(r.Of[i].Cadence*1e9)/int(grid))
	for _, room := range r.trails[i].room {
		if room == 0 || float64(room)*blocked > times {
			run = 0
			continue
		}
		if run++; run >= wanted {
			return true
		}
	}
	return false
}

// scaleWaiting multiplies the waiting of an end.
func (r *Readings) scaleWaiting(i int, times float64) {
	n, t := &r.Of[i], &r.trails[i]
	n.PauseReceived, n.WaitErr = min(1, float64(times*n.PauseReceived)), float64(times*n.WaitErr)
	n.Wait = max(n.Wait, n.PauseReceived)
	if p := r.Map.Ends[i].Peer; p >= 0 {
		r.Of[p].PauseSent = n.PauseReceived
	}
	for k, v := range t.starved {
		t.starved[k] = min(1, float32(float32(times)*v))
		t.wait[k] = max(t.wait[k], t.starved[k])
	}
}
