package symptom

// A GPU that launches nothing for some seconds, once in a hundred steps, is in a
// checkpoint or at a job's start. Its activity then is neither usual nor evidence
// that idling is usual.

// pause is how many grids in a row a GPU must be idle for it not to be part of a
// usual step; lonely is how many grids a degradation must have for a single pause
// in them not to count, either.
const (
	pause  = 4
	lonely = 30
)

// still is a pause: from the first grid in which nothing is done to the one after
// the last.
type still struct{ from, to int }

// pausesOf finds a GPU's pauses in its engine's grids.
func pausesOf(cells []float32) (out []still) {
	const least = 0.1
	begin := 0
	for i := 0; i <= len(cells); i++ {
		if i < len(cells) && cells[i] < least {
			continue
		}
		if i-begin >= pause {
			out = append(out, still{begin, i})
		}
		begin = i + 1
	}
	return out
}

// dropPauses removes from an engine's grids those in which it was idle for long,
// and the grids in which that began and ended. During a degradation it does so only
// where usual checkpoints explain it.
func dropPauses(cells []float32, during bool, saves saved) {
	pauses := pausesOf(cells)
	if during && !saves.explain(pauses, len(cells)) {
		return
	}
	for _, p := range pauses {
		for i := max(p.from-1, 0); i < min(p.to+1, len(cells)); i++ {
			cells[i] = nan()
		}
	}
}

// explain reports whether a GPU's pauses in so many grids are no more than the
// checkpoints that the job reports, or a single event. The pause that is still in
// progress may be the next checkpoint until it takes longer than they do.
func (s saved) explain(pauses []still, cells int) bool {
	n := len(pauses)
	alone := n == 1 && cells >= lonely
	if n == 0 || pauses[n-1].to < cells {
		return n <= s.n || alone
	}
	most := s.grids
	if most == 0 && alone {
		most = lonely / 2 // the job does not report how long they are
	}
	return n <= s.n+1 && pauses[n-1].to-pauses[n-1].from <= most
}
