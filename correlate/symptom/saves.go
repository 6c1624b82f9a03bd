package symptom

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// saveGrown is the factor over the usual duration from which a checkpoint may be
// what degrades the job, so that what GPUs do meanwhile counts.
const saveGrown = 1.15

// saved is how many checkpoints of no more than usual duration a job wrote during a
// degradation, and how many grids such a checkpoint takes at most.
type saved struct{ n, grids int }

// usualSaves counts them from the job's own reports: meanwhile all its GPUs are
// idle, and one minute may contain more of it than another.
func usualSaves(src Source, job telemetry.Entity, during Span) (out saved) {
	series := telemetry.Series{Entity: job, Metric: metricSaves}
	none := func(v float64) bool { return v <= 0 }
	reported := slices.DeleteFunc(src.Steps.Last(series, during.From.Add(src.Grid), usualSteps), none)
	if len(reported) == 0 {
		return out
	}
	most := float64(saveGrown * stats.Median(reported))
	out.grids = int(most*1e9)/int(src.Grid) + 1
	for _, v := range src.Steps.Values(series, during.From.Add(src.Grid), during.To.Add(src.Grid)) {
		if v > 0 && v <= most {
			out.n++
		}
	}
	return out
}
