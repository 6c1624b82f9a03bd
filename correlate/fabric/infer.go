package fabric

import "slices"

const (
	// unseen is the least part of the time for which a switch gave no credits
	// without a reason that its ports report.
	unseen = 0.01
	// alike is how near to the fullest egress port another must come to be one of
	// those with a queue, and maxFull how many there may be: where more are alike,
	// none is singled out, and each may be one.
	alike   = 0.95
	maxFull = 4
)

// infer finds the ports of each switch that had a queue where no instrument shows one:
// InfiniBand shows no queues, and a port that sends all the time waits for no credit; some
// Ethernet switches count pause alone. But a switch holds back what its neighbours send
// because what it has received cannot go out: where none of its ports is held back
// itself, the queue is at the one that is fullest meanwhile. One whose queue nothing shows
// leads to a neighbour that is not held back: nothing goes back to where it came from.
func (r *Readings) infer(h History, sc *scratch) {
	for _, sw := range r.Map.Switches {
		held := r.holds(sw.Ends)
		if held.most == nil || held.total < float64(unseen*float64(len(held.most))) {
			continue
		}
		ways := r.fullest(h, sc, sw.Ends, held.most)
		for _, w := range ways {
			if len(ways) <= maxFull {
				r.addQueue(w)
			} else {
				r.Of[w.end].PossiblyQueued = held.total / float64(len(held.most))
			}
		}
	}
}

// holding is by grid how long a switch held back the neighbour that it held back longest,
// beyond the time that one of its own egress ports was held back.
type holding struct {
	most  []float32 // nil where it never held back anything
	total float64
}

// way is an egress port of a switch, for how long it may have been in the way, and which
// part of its link's capacity it sent, grid by grid.
type way struct {
	end          int
	queued, sent []float32
}

// fullest lists the egress ports that sent most while others than those to which they
// lead were held back.
func (r *Readings) fullest(h History, sc *scratch, ends []int, held []float32) (out []way) {
	ways := make([]way, len(ends))
	full, most := make([]float64, len(ends)), 0.0
	for k, z := range ends {
		end := &r.Map.Ends[z]
		ways[k] = way{z, held, sc.filled(h, end)}
		if !end.showsQueue() {
			ways[k].queued = r.beyond(held, ends, r.Map.leadsTo(z))
		}
		for t, sent := range ways[k].sent {
			full[k] += float64(ways[k].queued[t] * sent)
		}
		most = max(most, full[k])
	}
	for k := range ways {
		if most > 0 && full[k] >= float64(alike*most) {
			out = append(out, ways[k])
		}
	}
	return out
}

// leadsTo is the number of the owner that is across end i, -1 where it is not known.
func (m *Map) leadsTo(i int) int {
	if p := m.Ends[i].Peer; p >= 0 {
		return m.Ends[p].owner
	}
	return -1
}

// beyond is by grid how much longer than the neighbour of the number given the one that a
// switch of these ends held back longest was.
func (r *Readings) beyond(held []float32, ends []int, neighbour int) []float32 {
	out := slices.Clone(held)
	for _, i := range ends {
		if r.Map.leadsTo(i) != neighbour {
			continue
		}
		for t, v := range r.trails[i].paused {
			out[t] = max(0, min(out[t], held[t]-v))
		}
	}
	return out
}

// filled returns by grid which part of its link's capacity an end sent, taking into
// account a link that runs below its nominal rate; nil where an Ethernet port has an
// instrument of its queue.
func (sc *scratch) filled(h History, e *End) []float32 {
	if e.showsQueue() && !e.credits() || e.slots[txBytes] < 0 {
		return nil
	}
	out := make([]float32, sc.n)
	tx := h.Held(sc.values[txBytes][:0], e.slots[txBytes], sc.first, sc.n)
	rate := sc.values[linkSpeed][:0]
	if e.slots[linkSpeed] >= 0 {
		rate = h.Held(rate, e.slots[linkSpeed], sc.first, sc.n)
	}
	sc.values[txBytes], sc.values[linkSpeed] = tx, rate
	for k := range out {
		sent, ok := sc.at(txBytes, k)
		if !ok {
			continue
		}
		part := 1.0
		if bits, ok := sc.at(linkSpeed, k); ok && bits > 0 && e.Speed > 0 {
			part = min(1, bits/8/e.Speed)
		}
		out[k] = float32(min(1, sent/max(e.Speed, 1)/part))
	}
	return out
}

// holds measures what a switch held back.
func (r *Readings) holds(ends []int) (h holding) {
	for _, i := range ends {
		for t, v := range r.trails[i].paused {
			if h.most == nil {
				h.most = make([]float32, len(r.trails[i].paused))
			}
			h.most[t] = max(h.most[t], v)
		}
	}
	for _, i := range ends {
		for t, v := range r.pauseReceived(i) {
			if h.most != nil && 2*v >= h.most[t] {
				h.most[t] = 0
			}
		}
	}
	for _, v := range h.most {
		h.total += float64(v)
	}
	return h
}

// addQueue notes that there was a queue at an end while others were held back.
func (r *Readings) addQueue(w way) {
	n, tr := &r.Of[w.end], &r.trails[w.end]
	if tr.wait == nil {
		tr.wait = make([]float32, len(w.queued))
	}
	var waited float64
	var rates []float64
	for t, v := range w.queued {
		tr.wait[t] = max(tr.wait[t], v)
		waited += float64(v)
		if v > busy {
			rates = append(rates, float64(w.sent[t]))
		}
	}
	n.Wait = max(n.Wait, waited/float64(len(w.queued)))
	n.Ceiling = max(n.Ceiling, high(rates))
}
