package fabric

import "github.com/quintet-dc/quintet/correlate/snapshot"

// Count names what an end counts in addition to its traffic, as a rate per second
// over the span.
type Count int

// The counts: packets that arrived damaged; packets that arrived with any error;
// codewords that could not be corrected; packets dropped on the way out; packets
// dropped on the way in, for lack of a buffer; packets that arrived out of order;
// sequence errors that the far end reported, each a retransmitted packet;
// congestion notifications that were ignored, and that were acted on.
const (
	Damaged Count = iota
	Erred
	Uncorrectable
	Dropped
	Refused
	Disordered
	Sequence
	Ignored
	Handled
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
}

// Rate returns a count per second, and false where the end does not report it.
func (c *Counts) Rate(k Count) (float64, bool) { return c.rate[k], c.seen&(1<<k) != 0 }

// Up returns the part of the time for which the link was up and whether it was at
// the end; ok is false where it is not reported.
func (c *Counts) Up() (share float64, at, ok bool) { return c.up, c.last > 0.5, c.upSeen }

func (c *Counts) snapshot(k *snapshot.Codec) {
	k.Int(&c.seen)
	k.Bool(&c.upSeen)
	k.F64(&c.up)
	k.F64(&c.last)
	for i := range c.rate {
		k.F64(&c.rate[i])
	}
}

// counts sums up what the end being read counted, over the grids in which what it
// sent is known.
func (sc *scratch) counts(seen int) (out Counts) {
	if seen == 0 {
		return out
	}
	for k := range counts {
		s := damagedPackets + signal(k)
		m := mean{n: min(seen, len(sc.held[s]))}
		if sc.moves[s] {
			m = sc.mean(s)
		}
		if m.n > 0 {
			out.rate[k] = m.value()
			out.seen |= 1 << k
		}
	}
	if up := sc.mean(linkUp); up.n > 0 {
		out.up, out.last, out.upSeen = up.value(), up.last, true
	}
	return out
}

// mean is the mean of the values added, 0 of none.
type mean struct {
	sum, last float64
	n         int
}

func (m *mean) add(x float64) { m.sum, m.last, m.n = m.sum+x, x, m.n+1 }

// mean is that of a signal, over the grids in which what the end sent is known.
func (sc *scratch) mean(s signal) (m mean) {
	for k, v := range sc.held[s] {
		if tx := sc.held[txBytes][k]; v == v && tx == tx {
			m.add(v)
		}
	}
	return m
}

func (m *mean) value() float64 { return m.sum / float64(max(1, m.n)) }

// mark notes the marks of a grid with a queue, or without.
func (r *Reading) mark(c cell, stood bool) {
	r.Marks += c.marked
	switch {
	case stood && c.told < 1-free:
		r.Standing++
		if c.marked <= 0 {
			r.Unmarked++
		}
	case !stood:
		r.MarkedFree += c.marked
	}
}

// Pauses reports whether the end reports pause: PFC is on and counted there.
func (e *End) Pauses() bool {
	return e.slots[toldSeconds] >= 0 || e.slots[tellsSeconds] >= 0 || e.slots[toldFrames] >= 0 || e.slots[tellsFrames] >= 0
}

// Marks returns the packets per second that end i marked, and false where it does
// not report them.
func (m *Map) Marks(r *Readings, i int) (float64, bool) {
	return r.Of[i].Marks, m.Ends[i].slots[markedPackets] >= 0
}
