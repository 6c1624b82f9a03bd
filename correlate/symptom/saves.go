package symptom

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// saveGrown times as long as usual a checkpoint may be what hurts, and what GPUs
// do meanwhile counts.
const saveGrown = 1.15

// saved is how many checkpoints a job wrote during a hurt that took no longer than
// they do, and how many grids that is at most.
type saved struct{ n, grids int }

// usualSaves counts them by the job's own account: meanwhile all its GPUs stand
// still, and there may be more of it in one minute than in another.
func usualSaves(src Source, job telemetry.Entity, during Span) (out saved) {
	series := telemetry.Series{Entity: job, Metric: metricSaves}
	none := func(v float64) bool { return v <= 0 }
	told := slices.DeleteFunc(src.Steps.Last(series, during.From.Add(src.Grid), usualSteps), none)
	if len(told) == 0 {
		return out
	}
	most := float64(saveGrown * stats.Median(told))
	out.grids = int(most*1e9)/int(src.Grid) + 1
	for _, v := range src.Steps.Values(series, during.From.Add(src.Grid), during.To.Add(src.Grid)) {
		if v > 0 && v <= most {
			out.n++
		}
	}
	return out
}

// explain reports whether a GPU's pauses in so many grids are the checkpoints, or
// one thing that comes once. The pause that it is in may be the next checkpoint
// until it takes longer than they do.
func (s saved) explain(pauses []still, cells int) bool {
	n := len(pauses)
	alone := n == 1 && cells >= lonely
	if n == 0 || pauses[n-1].to < cells {
		return n <= s.n || alone
	}
	most := s.grids
	if most == 0 && alone {
		most = lonely / 2
	}
	return n <= s.n+1 && pauses[n-1].to-pauses[n-1].from <= most
}
