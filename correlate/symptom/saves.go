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
