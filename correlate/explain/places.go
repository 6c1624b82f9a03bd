package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// RankEvidence is one rank of the job: its place in the job's parallelism, -1
// where it is not stated, and its compute time in seconds, with the standard error of
// its change.
type RankEvidence struct {
	Rank        telemetry.Entity
	PP, EP      int
	Before, Now float64
	Err         float64 // 0 where the rank reports it
}

// The measures of a job's ranks by their place.
const (
	StageExcess     Measure = "stage_excess"
	StagePrecision  Measure = "stage_precision"
	ExpertExcess    Measure = "expert_excess"
	ExpertPrecision Measure = "expert_precision"
	WanderExcess    Measure = "wander_excess"
	SaveExcess      Measure = "checkpoint_excess"
	ReportedExcess  Measure = "reported_work_excess"
)

func placeMeasures() []MeasureDoc {
	return []MeasureDoc{
		{StageExcess, "1", "by how much the median rank of the latest pipeline stage computes longer than before, beyond the median of the others, over the step's excess"},
		{StagePrecision, "1", "part of that stage's ranks that are late, by at least half of what its median is"},
		{ExpertExcess, "1", "by how much the median rank at the latest place of the expert groups computes longer than before, beyond the median of the others, over the step's excess"},
		{ExpertPrecision, "1", "part of the ranks at that place that are late, by at least half of what their median is"},
		{WanderExcess, "1", "what the latest of a host's ranks, now one and now another, takes longer than before, beyond the one that is late by most in the mean and beyond its peers, in the mean over steps, over the step's excess"},
		{SaveExcess, "1", "what the job's checkpoints take beyond what they usually take, over all that its steps take longer; not seen where none was seen before"},
		{ReportedExcess, "1", "what the job reports that it does more in a step, tokens or else model FLOPs, over what the step takes longer: 1 is a change of the work, 0 the same work"},
	}
}

// byPlace measures whether the ranks of one place, in all replicas alike, are what
// the job waits for. It adds nothing where there is only one place.
func byPlace(v Values, ranks []RankEvidence, excess float64) {
	if excess <= 0 {
		return
	}
	for _, m := range []struct {
		place         func(*RankEvidence) int
		excess, fills Measure
	}{
		{func(r *RankEvidence) int { return r.PP }, StageExcess, StagePrecision},
		{func(r *RankEvidence) int { return r.EP }, ExpertExcess, ExpertPrecision},
	} {
		if more, fills, ok := latestPlace(ranks, m.place); ok {
			v[m.excess], v[m.fills] = more/excess, fills
			v[m.excess.Err()] = typicalError(ranks) / excess
		}
	}
}

// latestPlace finds the place whose median rank has fallen back most: by how many
// seconds more than the median of the others, and which part of its ranks has.
// False where fewer than two places are reported.
func latestPlace(ranks []RankEvidence, place func(*RankEvidence) int) (more, fills float64, ok bool) {
	var at []int
	for i := range ranks {
		if p := place(&ranks[i]); p >= 0 {
			at = append(at, p)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) < 2 {
		return 0, 0, false
	}
	latest, worst := -1, 0.0
	for _, p := range at {
		if m := stats.Median(shifts(ranks, place, func(q int) bool { return q == p })); latest < 0 || m > worst {
			latest, worst = p, m
		}
	}
	others := stats.Median(shifts(ranks, place, func(q int) bool { return q >= 0 && q != latest }))
	there := shifts(ranks, place, func(q int) bool { return q == latest })
	late := 0
	for _, s := range there {
		if worst > 0 && s >= worst/2 {
			late++
		}
	}
	return worst - others, float64(late) / float64(len(there)), true
}

// typicalError is the standard error of a difference between two places, in seconds. The
// ranks of a host are read at the same moments: the median of many errs as one does.
func typicalError(ranks []RankEvidence) float64 {
	var all []float64
	for i := range ranks {
		all = append(all, ranks[i].Err)
	}
	err := stats.Median(all)
	return stats.Quadrature(err, err)
}

// shifts lists by how much the ranks of some places compute longer than before.
func shifts(ranks []RankEvidence, place func(*RankEvidence) int, in func(int) bool) []float64 {
	var out []float64
	for i := range ranks {
		if in(place(&ranks[i])) {
			out = append(out, ranks[i].Now-ranks[i].Before)
		}
	}
	return out
}
