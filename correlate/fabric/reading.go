package fabric

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Span is the grids that end in (From, To].
type Span struct {
	From, To telemetry.Time
}

// Reading is what one end did over a span. Shares are of the grids seen.
type Reading struct {
	Seen int // grids in which the end was seen
	Ago  int // grids since it was last seen, at the end of the span
	// Counted is the grids in which it was known for how long it received pause.
	Counted int
	// Cadence is the seconds between its samples: anything shorter is averaged
	// away.
	Cadence       float64
	Util          float64 // mean bytes sent over the link's speed
	RUtil         float64 // mean bytes received over the link's speed
	PauseReceived float64 // pause seconds per second it received pause
	PauseSent     float64 // pause seconds per second it sent pause to its peer, where Stops
	// Stops reports that it is counted for how long it sends pause, be it never.
	Stops bool
	Wait  float64 // share of grids in which traffic waited, received pause included
	// Met is the grids at which its queue was read: Wait is a share of them, met
	// by chance. 0 where Wait is counted.
	Met int
	// Ceiling is the 95th percentile of what it sent over its speed, in grids with
	// a queue, per second it was free to send. 0 if there was none.
	Ceiling float64
	// PossiblyQueued is for which share of the time a queue was at this end of a switch or at
	// others of it that send as much.
	PossiblyQueued float64
	// Swing is how its mean load varied; of a baseline only.
	Swing Swing
	// Peak is the 95th percentile of what it sent over its speed in any grid,
	// and RPeak of what it received.
	Peak, RPeak float64
	// PauseSentIdle is the mean of PauseSent over the Idle grids in which the end received
	// almost nothing.
	PauseSentIdle float64
	Idle          int
	// Credits reports that PauseReceived is time without a credit (InfiniBand), not pause;
	// at the other end it is PauseSent.
	Credits bool
	// Room is the factor by which PauseReceived can at most exceed its value with the
	// shortest ticks, and Slack the factor by which the estimate used may be too
	// long: 0 or 1 where the length of a tick is known.
	Room, Slack float64
	// WaitErr is the standard error of Wait, by what its samples differ.
	WaitErr float64
	// QueuedGrids is the grids in which a queue was present and it was free to send,
	// Unmarked the part of them in which no packet was marked.
	QueuedGrids int
	Unmarked    float64
	// Marks is the packets per second marked, MarkedFree those of them without a
	// queue, MarkedLate those of the span's second half.
	Marks, MarkedFree, MarkedLate float64
	Counts                        Counts
}

// trail is an end's waiting grid by grid; nil slices are all zero.
type trail struct {
	paused, wait []float32
	starved      []float32 // time without a credit
	room         []float32 // how many times as long that can be at most; 0 where there was none
	known        int       // grids in which the counter of it was read below its top, where it means nothing
}

// buildUpSeconds of line rate in a queue make it a queue build-up: a couple of
// microseconds is more than the packets of one instant, less than any pause or
// marking threshold in use (25 kB at 100 Gb/s).
const buildUpSeconds = 2e-6

// BuildUpBytes returns the bytes in its queue from which an end has a queue build-up.
func (e *End) BuildUpBytes() float64 { return float64(buildUpSeconds * e.Speed) }

// pauseQuanta of quantumBits are the longest time that one PFC frame can request
// (IEEE 802.1Qbb), and typicalPause the part of it that a frame represents on
// average: most are followed by another before they run out, or by an XON.
const (
	pauseQuanta  = 65535
	quantumBits  = 512
	typicalPause = 0.5
)

// pause returns the seconds that one pause frame represents at an end, 0 where the
// speed of its link is not known.
func (e *End) pause() float64 {
	if e.Speed <= 0 {
		return 0
	}
	return float64(float64(typicalPause*pauseQuanta)*quantumBits) / float64(8*e.Speed)
}

// fullMarks is the share of marked packets from which there was a queue all the
// time: a mark now and then is no queue build-up.
const fullMarks = 0.02

// fullPeak is the seconds of line rate in a queue's peak that count as a queue for
// half the time: a peak shows that there was a queue, not for how long.
const fullPeak = 1e-4

// pauseFloor is a pause share below which an end counts as free to send.
const pauseFloor = 0.01

// free is the least share of a grid that must be left to send in for its rate to be
// evidence about the link.
const free = 0.2

// idle is the share of its speed below which an end receives almost nothing.
const idle = 0.02

// Read reads every end over the span. grid is the length of a grid.
func (m *Map) Read(h History, grid telemetry.Duration, s Span) *Readings {
	return m.ReadEach(Recording{History: h, Grid: grid}, s, alone)
}

// alone runs the whole work in one slice.
func alone(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) }

// Recording is the data to read.
type Recording struct {
	History History
	Grid    telemetry.Duration
	// Before, if any, is what the ends did before the recording. It is changed too
	// where ticks are found to be long; without it all ticks are taken as short.
	Before *Readings
	// Counts reads at once what ends count, all of which is kept, not on first use.
	Counts bool
}

// ReadEach is Read with the work divided into slices by each, which may run them
// concurrently: the ends do not depend on each other (I8).
func (m *Map) ReadEach(of Recording, s Span, each func(n int, fn func(slice, lo, hi int))) *Readings {
	h, grid := of.History, of.Grid
	r := &Readings{Map: m, Span: s, Of: make([]Reading, len(m.Ends)), trails: make([]trail, len(m.Ends)), leaks: map[int]Leak{}, history: h}
	n := int(s.To.Sub(s.From) / grid)
	r.asks = scratch{first: s.To.Add(-telemetry.Duration(n-1) * grid), grid: grid, n: n, swings: of.Before == nil}
	each(len(m.Ends), func(_, lo, hi int) {
		sc := scratch{first: r.asks.first, grid: grid, n: n, swings: r.asks.swings}
		for i := lo; i < hi; i++ {
			r.Of[i], r.trails[i] = sc.read(h, &m.Ends[i])
			for k := Count(0); of.Counts && k <= counts; k++ {
				sc.count(h, &m.Ends[i], k, &r.Of[i])
			}
		}
	})
	r.credit(of.Before, grid)
	r.infer(h, &r.asks)
	r.lossy = n >= leastLeakGrids && r.resent()
	return r
}

// Readings are what every end of a map did over a span.
type Readings struct {
	Map    *Map
	Span   Span
	Of     []Reading
	trails []trail
	// history and asks read what is needed later.
	history History
	asks    scratch
	lossy   bool // packets had to be sent again
	leaks   map[int]Leak
	// longer is how much longer traffic is on than before: see lengthen.
	longer float64
}

// scratch holds the buffers of one Read.
type scratch struct {
	first               telemetry.Time
	grid                telemetry.Duration
	n                   int
	util, rutil, queued []float64
	values              [signals][]float64 // of the end being read, grid by grid; empty where it reports none
	quiet               bool               // no signal of waiting moves
	swings              bool               // how the load varies is needed
}

// hold fetches an end's signals of traffic and of waiting in every grid of the span.
func (sc *scratch) hold(h History, e *End) {
	sc.quiet = true
	for s := range linkSpeed {
		sc.values[s] = sc.values[s][:0]
		if e.slots[s] < 0 || s.zeroIsNone() && h.Unmoved(e.slots[s]) {
			continue
		}
		sc.values[s] = h.Held(sc.values[s], e.slots[s], sc.first, sc.n)
		sc.quiet = sc.quiet && !(s.waits() && slices.ContainsFunc(sc.values[s], func(v float64) bool { return v != 0 }))
	}
}

// at returns a signal in grid k, false where it is not known.
func (sc *scratch) at(s signal, k int) (float64, bool) {
	if k >= len(sc.values[s]) {
		return 0, false
	}
	v := sc.values[s][k]
	if v != v {
		return 0, false
	}
	return v, true
}

// cell is one end in one grid.
type cell struct {
	tx, rx, pauseReceived, pauseSent float64
	queue                            float64
	queueSeen                        bool
	marked                           float64
	markShare                        float64 // of the packets sent
	peak                             float64 // share of time for which a queue was possible by its peak
	counted                          bool    // pauseReceived is known
	starved                          bool    // pauseReceived is time without a credit
}

func (sc *scratch) read(h History, e *End) (Reading, trail) {
	var tr trail
	r := Reading{Cadence: cadence(h, e), Credits: e.credits(), Stops: e.first(sentSeconds, sentFrames) >= 0, Counts: Counts{unread: unreadCounts}}
	var c cell
	var late mean
	waited, squares, waitSeen := 0.0, 0.0, 0
	sc.util, sc.rutil, sc.queued = sc.util[:0], sc.rutil[:0], sc.queued[:0]
	sc.hold(h, e)
	for k := range sc.n {
		if !sc.carried(e, k, &c) {
			r.Ago++
			continue
		}
		if r.Seen == 0 || !sc.quiet {
			sc.waited(e, k, &c)
		}
		r.Seen++
		r.Ago = 0
		r.PauseReceived += c.pauseReceived
		r.PauseSent += c.pauseSent
		if c.counted {
			r.Counted++
		}
		sc.util = append(sc.util, c.tx)
		sc.rutil = append(sc.rutil, c.rx)
		if c.rx < idle {
			r.Idle++
			r.PauseSentIdle += c.pauseSent
		}
		wait, known := waiting(e, &c)
		if known {
			waitSeen++
			waited += wait
			squares += float64(max(wait, c.pauseReceived) * max(wait, c.pauseReceived))
			if wait > 0.5 && c.pauseReceived < 1-free {
				sc.queued = append(sc.queued, c.tx/(1-c.pauseReceived))
			}
		}
		if c.queueSeen {
			r.Met++
		}
		r.mark(&c, known && wait > 0.5)
		if 2*k >= sc.n {
			late.add(c.marked)
		}
		tr.set(sc.n, k, c.pauseSent, max(wait, c.pauseReceived))
		if c.starved {
			tr.starve(sc.n, k, &c)
		}
	}
	sc.finish(&r)
	r.MarkedLate = late.value()
	if waitSeen > 0 {
		n := float64(waitSeen)
		r.Wait = max(waited/n, r.PauseReceived)
		variance := max(0, squares/n-float64(r.Wait*r.Wait))
		r.WaitErr = math.Sqrt(variance / max(1, n/interval(r.Cadence, sc.grid)-1))
	}
	r.Room = tr.longest()
	return r, tr
}

func cadence(h History, e *End) float64 {
	if e.slots[txBytes] < 0 {
		return 0
	}
	return seconds(h, e.slots[txBytes])
}

// seconds is the cadence of a slot.
func seconds(h History, slot int) float64 { return float64(h.Cadence(slot)) / 1e9 }

// interval is how many grids pass between two samples of such a cadence in seconds.
func interval(cadence float64, grid telemetry.Duration) float64 {
	return max(1, cadence*1e9/float64(grid))
}

// waiting reports whether there was a queue at the end in a grid: from its queue
// where that is measured, else from marks, else from the pause received.
func waiting(e *End, c *cell) (float64, bool) {
	switch {
	case c.queueSeen && e.Speed > 0:
		if c.queue > e.BuildUpBytes() {
			return 1, true
		}
		return 0, true
	case e.IsNIC():
		return c.pauseReceived, true
	case e.slots[queueBytes] >= 0:
		return 0, false // between two readings of the queue
	}
	if c.tx > 0.95 {
		return 1, true
	}
	return max(c.pauseReceived, min(1, c.markShare/fullMarks), c.peak), true
}

func (sc *scratch) finish(r *Reading) {
	if r.Seen == 0 {
		return
	}
	n := float64(r.Seen)
	if sc.swings {
		r.Swing = swing(sc.util)
	}
	r.PauseReceived /= n
	r.PauseSent /= n
	r.Util, r.Peak = sum(sc.util)/n, high(sc.util)
	r.RUtil, r.RPeak = sum(sc.rutil)/n, high(sc.rutil)
	r.Ceiling = high(sc.queued)
	if r.Idle > 0 {
		r.PauseSentIdle /= float64(r.Idle)
	}
	if r.QueuedGrids > 0 {
		r.Unmarked /= float64(r.QueuedGrids)
	}
	r.Marks /= n
	r.MarkedFree /= n
}

// carried notes what an end carried in grid k, false where that is not known.
func (sc *scratch) carried(e *End, k int, c *cell) (ok bool) {
	if c.tx, ok = sc.at(txBytes, k); !ok {
		return false
	}
	c.rx, _ = sc.at(rxBytes, k)
	if e.Speed > 0 {
		c.tx /= e.Speed
		c.rx /= e.Speed
	}
	return true
}

// waited notes what in grid k shows traffic waiting at an end.
func (sc *scratch) waited(e *End, k int, c *cell) {
	var ok bool
	if c.pauseReceived, c.starved = sc.starved(e, k); !c.starved {
		c.pauseReceived, c.counted = sc.paused(e, k, receivedSeconds, receivedFrames)
	}
	c.counted = c.counted || c.starved
	c.pauseSent, _ = sc.paused(e, k, sentSeconds, sentFrames)
	c.pauseReceived, c.pauseSent = min(c.pauseReceived, 1), min(c.pauseSent, 1)
	c.queue, c.queueSeen = sc.at(queueBytes, k)
	c.markShare, c.peak = 0, 0
	if c.marked, ok = sc.at(markedPackets, k); ok && c.marked != 0 {
		c.markShare = min(1, c.marked/max(sc.sent(e, k, c.tx), 1))
	}
	if peak, ok := sc.at(queuePeak, k); ok && e.Speed > 0 {
		c.peak = peak / (peak + float64(fullPeak*e.Speed))
	}
}

// paused is the time in pause, counted in seconds or else in frames.
func (sc *scratch) paused(e *End, k int, seconds, frames signal) (float64, bool) {
	if v, ok := sc.at(seconds, k); ok {
		return v, true
	}
	v, ok := sc.at(frames, k)
	if per := e.pause(); ok && per > 0 {
		return float64(v * per), true
	}
	return 0, false
}

// packetBytes is the length of an RDMA packet at the largest message transfer unit
// of InfiniBand and RoCE.
const packetBytes = 4096

// sent is the packets that an end sends per second; full ones where it reports
// only bytes, which are tx times its speed.
func (sc *scratch) sent(e *End, k int, tx float64) float64 {
	if v, ok := sc.at(sentPackets, k); ok {
		return v
	}
	return float64(tx*max(e.Speed, 1)) / packetBytes
}

func (t *trail) set(n, k int, paused, wait float64) {
	if paused > 0 {
		if t.paused == nil {
			t.paused = make([]float32, n)
		}
		t.paused[k] = float32(paused)
	}
	if wait > 0 {
		if t.wait == nil {
			t.wait = make([]float32, n)
		}
		t.wait[k] = float32(wait)
	}
}

func sum(xs []float64) float64 {
	var s float64
	for _, x := range xs {
		s += x
	}
	return s
}

// high is the 95th percentile, 0 of nothing. It reorders xs.
func high(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return stats.Quantile(xs, 0.95)
}
