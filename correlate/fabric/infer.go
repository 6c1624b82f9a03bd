package fabric

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

// infer finds the ports of each switch that had a queue. InfiniBand shows no
// queues, and a port that sends all the time waits for no credit. But a switch
// withholds credits because what it has received cannot go out: where none of its
// ports is itself without credits, the queue is at the one that is fullest
// meanwhile.
func (r *Readings) infer(h History, sc *scratch) {
	for _, sw := range r.Map.Switches {
		queued, total := r.withheld(sw.Ends)
		if queued == nil || total < float64(unseen*float64(len(queued))) {
			continue
		}
		ways := r.fullest(h, sc, sw.Ends, queued)
		for _, w := range ways {
			if len(ways) <= maxFull {
				r.addQueue(w, queued)
			} else {
				r.Of[w.end].PossiblyQueued = total / float64(len(queued))
			}
		}
	}
}

// way is an egress port of a switch, and which part of its link's capacity it sent,
// grid by grid.
type way struct {
	end  int
	sent []float32
}

// fullest lists the egress ports that sent most while credits were withheld.
func (r *Readings) fullest(h History, sc *scratch, ends []int, queued []float32) (out []way) {
	ways := make([]way, len(ends))
	full, most := make([]float64, len(ends)), 0.0
	for k, z := range ends {
		ways[k] = way{z, sc.filled(h, &r.Map.Ends[z])}
		for t, sent := range ways[k].sent {
			full[k] += float64(queued[t] * sent)
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

// filled returns by grid which part of its link's capacity an end sent, taking into
// account a link that runs below its nominal rate; nil where it does not report
// credits.
func (sc *scratch) filled(h History, e *End) []float32 {
	if !e.credits() || e.slots[txBytes] < 0 {
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

// withheld returns by grid how long a switch gave its neighbours no credits, beyond
// the time that one of its own egress ports was without; nil where it always gave.
func (r *Readings) withheld(ends []int) (queued []float32, total float64) {
	for _, i := range ends {
		for t, v := range r.trails[i].paused {
			if queued == nil {
				queued = make([]float32, len(r.trails[i].paused))
			}
			queued[t] = max(queued[t], v)
		}
	}
	for _, i := range ends {
		for t, v := range r.trails[i].starved {
			if queued != nil && 2*v >= queued[t] {
				queued[t] = 0
			}
		}
	}
	for _, v := range queued {
		total += float64(v)
	}
	return queued, total
}

// addQueue notes that there was a queue at an end while credits were withheld.
func (r *Readings) addQueue(w way, queued []float32) {
	n, tr := &r.Of[w.end], &r.trails[w.end]
	if tr.wait == nil {
		tr.wait = make([]float32, len(queued))
	}
	var waited float64
	var rates []float64
	for t, v := range queued {
		tr.wait[t] = max(tr.wait[t], v)
		waited += float64(v)
		if v > busy {
			rates = append(rates, float64(w.sent[t]))
		}
	}
	n.Wait = max(n.Wait, waited/float64(len(queued)))
	n.Ceiling = max(n.Ceiling, high(rates))
}
