package fabric

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Count names what an end counts in addition to its traffic, as a rate per second
// over the span.
type Count int

// The counts: packets that arrived damaged; packets that arrived with any error;
// codewords that could not be corrected; packets dropped on the way out; packets
// dropped on the way in, for lack of a buffer; packets that arrived out of order;
// sequence errors that the far end reported, each a retransmitted packet; acknowledgements
// that did not come in time; congestion notifications that were ignored, and that were acted on; times that its
// link went down.
const (
	Damaged Count = iota
	Erred
	Uncorrectable
	Dropped
	Refused
	Disordered
	Sequence
	TimedOut
	Ignored
	Handled
	Falls
	counts
)

// Counts is what an end counted, and which of it was seen.
type Counts struct {
	rate [counts]float64
	seen int
	// up is the part of the time for which the link was up, last its last reported
	// state; 1 where it reports none.
	up, last float64
	upSeen   bool
	// down is for how many seconds the link was seen down.
	down float64
	// fell is the beginning of the grid in which the link was first seen down, and sampled
	// when its state was last sampled; 0 where neither was.
	fell, sampled telemetry.Time
	unread        int // bits of the counts that are not read yet; bit counts is the state of the link
}

// unreadCounts is none of an end's counts.
const unreadCounts = 1<<(counts+1) - 1

// Rate returns what end i counts per second, and false where it does not report it.
// It is read on first use: of few ends more than traffic is needed.
func (r *Readings) Rate(i int, k Count) (float64, bool) {
	c := &r.Of[i].Counts
	r.read(i, k)
	return c.rate[k], c.seen&(1<<k) != 0
}

// Fell returns the beginning of the grid in which the link of end i was first seen down; 0
// where it was not.
func (r *Readings) Fell(i int) telemetry.Time {
	r.read(i, counts)
	return r.Of[i].Counts.fell
}

// Sampled returns when the state of the link of end i was last sampled; 0 where it is
// not reported.
func (r *Readings) Sampled(i int) telemetry.Time {
	r.read(i, counts)
	return r.Of[i].Counts.sampled
}

// Down returns for how many seconds the link of end i was seen down.
func (r *Readings) Down(i int) float64 {
	r.read(i, counts)
	return r.Of[i].Counts.down
}

// Up returns the part of the time for which the link of end i was up and whether it
// was at the end; ok is false where it is not reported.
func (r *Readings) Up(i int) (share float64, at, ok bool) {
	c := &r.Of[i].Counts
	r.read(i, counts)
	return c.up, c.last > 0.5, c.upSeen
}

func (r *Readings) read(i int, k Count) {
	if n := &r.Of[i]; n.Counts.unread&(1<<k) != 0 {
		r.asks.count(r.history, &r.Map.Ends[i], k, n)
	}
}

func (c *Counts) snapshot(k *snapshot.Codec) {
	k.Int(&c.seen)
	k.Bool(&c.upSeen)
	k.F64(&c.up)
	k.F64(&c.last)
	k.F64(&c.down)
	for i := range c.rate {
		k.F64(&c.rate[i])
	}
}

// count sums up one thing that an end counted, over the grids in which what it sent
// is known.
func (sc *scratch) count(h History, e *End, k Count, r *Reading) {
	r.Counts.unread &^= 1 << k
	s := damagedPackets + signal(k)
	if k == counts {
		s = linkUp
	}
	if e.slots[s] < 0 || r.Seen == 0 {
		return
	}
	if k != counts && h.Unmoved(e.slots[s]) {
		if sc.both(h, e.slots[s], e.slots[txBytes]) {
			r.Counts.seen |= 1 << k
		}
		return
	}
	sc.values[s] = h.Held(sc.values[s][:0], e.slots[s], sc.first, sc.n)
	if r.Seen < sc.n {
		sc.values[txBytes] = h.Held(sc.values[txBytes][:0], e.slots[txBytes], sc.first, sc.n)
	}
	var m mean
	for g, v := range sc.values[s] {
		if v == v && (r.Seen == sc.n || sc.values[txBytes][g] == sc.values[txBytes][g]) {
			m.add(v)
			if k == counts && v < 0.5 && r.Counts.fell == 0 {
				r.Counts.fell = sc.first.Add(telemetry.Duration(g-1) * sc.grid)
			}
		}
	}
	switch {
	case m.n == 0:
	case k == counts:
		r.Counts.up, r.Counts.last, r.Counts.upSeen = m.value(), m.last, true
		r.Counts.sampled, _ = h.Last(e.slots[s])
		r.Counts.down = float64((float64(m.n) - m.sum) * float64(sc.grid) / 1e9)
	default:
		r.Counts.rate[k] = m.value()
		r.Counts.seen |= 1 << k
	}
}

// both reports whether two slots are known in the same grid.
func (sc *scratch) both(h History, a, b int) bool {
	for k := range sc.n {
		g := sc.first.Add(telemetry.Duration(k) * sc.grid)
		if _, ok := h.At(a, g); !ok {
			continue
		}
		if _, ok := h.At(b, g); ok {
			return true
		}
	}
	return false
}

// mean is the mean of the values added, 0 of none.
type mean struct {
	sum, last float64
	n         int
}

func (m *mean) add(x float64) {
	if x != 0 { // most are: the next need not wait for the sum
		m.sum += x
	}
	m.last, m.n = x, m.n+1
}

func (m *mean) value() float64 { return m.sum / float64(max(1, m.n)) }

// mark notes the marks of a grid with a queue, or without.
func (r *Reading) mark(c *cell, queued bool) {
	r.Marks += c.marked
	switch {
	case queued && c.pauseReceived < 1-free:
		r.QueuedGrids++
		if c.marked <= 0 {
			r.Unmarked++
		}
	case !queued:
		r.MarkedFree += c.marked
	}
}

// Pauses reports whether the end reports pause: PFC is on and counted there.
func (e *End) Pauses() bool {
	return e.slots[receivedSeconds] >= 0 || e.slots[sentSeconds] >= 0 || e.slots[receivedFrames] >= 0 || e.slots[sentFrames] >= 0
}

// Marks returns the packets per second that end i marked, and false where it does
// not report them.
func (m *Map) Marks(r *Readings, i int) (float64, bool) {
	return r.Of[i].Marks, m.Ends[i].slots[markedPackets] >= 0
}
