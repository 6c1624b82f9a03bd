package symptom

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// saveGrown times as long as usual a checkpoint may be what hurts, and what GPUs
// do meanwhile counts.
const saveGrown = 1.15

// usualSaves counts the checkpoints that the job, by its own account, wrote
// during a hurt and that took no longer than they do: then all its GPUs stand
// still, and there may be more of it in one minute than in another.
func usualSaves(src Source, job telemetry.Entity, during Span) int {
	series := telemetry.Series{Entity: job, Metric: metricSaves}
	none := func(v float64) bool { return v <= 0 }
	told := slices.DeleteFunc(src.Steps.Last(series, during.From.Add(src.Grid), usualSteps), none)
	if len(told) == 0 {
		return 0
	}
	most, n := float64(saveGrown*stats.Median(told)), 0
	for _, v := range src.Steps.Values(series, during.From.Add(src.Grid), during.To.Add(src.Grid)) {
		if v > 0 && v <= most {
			n++
		}
	}
	return n
}
