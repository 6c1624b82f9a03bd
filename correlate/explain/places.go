package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// RankEvidence is one rank of the job: its place in the job's parallelism, -1
// where it is not reported, the host and rack it runs in and which of that host's ranks it is,
// and its compute time in seconds, with the standard error of its change.
type RankEvidence struct {
	Rank        telemetry.Entity
	PP, EP      int
	Host, Rack  telemetry.Entity
	Local       int
	Before, Now float64
	Err         float64 // 0 where the rank reports it
}

// shift is by how many seconds the rank computes longer than before.
func (r *RankEvidence) shift() float64 { return r.Now - r.Before }

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
		{StageExcess, "1", "by how much the median rank of the latest pipeline stage computes longer than before, beyond the median of the others and what the latest of so many is late by chance, over the step's excess"},
		{StagePrecision, "1", "part of that stage's ranks that are late, by at least half of what its median is"},
		{ExpertExcess, "1", "by how much the median rank at the latest place of the expert groups computes longer than before, beyond the other places on its host, the median of the others and what the latest of so many is late by chance, over the step's excess"},
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
	stage, expert := placesOf(ranks)
	for _, m := range []struct {
		place         func(*RankEvidence) int
		shifts        []float64
		excess, fills Measure
	}{
		{stage, shiftsOf(ranks), StageExcess, StagePrecision},
		{expert, shiftsFromHost(ranks, expert), ExpertExcess, ExpertPrecision},
	} {
		if l, ok := latestPlace(ranks, m.shifts, m.place); ok {
			v[m.excess], v[m.fills] = l.more/excess, l.fills
			v[m.excess.Err()] = l.err / excess
		}
	}
}

// placesOf returns a rank's pipeline stage and its place in its expert group, -1 where that
// is not known. Where neither is reported of any rank, the hosts that are late together count
// as one stage, and a rank's place on its host as that in its expert group: tensor- and
// expert-parallel groups are laid out alike on every host (Megatron-LM's order of ranks).
func placesOf(ranks []RankEvidence) (stage, expert func(*RankEvidence) int) {
	if slices.ContainsFunc(ranks, func(r RankEvidence) bool { return r.PP >= 0 || r.EP >= 0 }) {
		return func(r *RankEvidence) int { return r.PP }, func(r *RankEvidence) int { return r.EP }
	}
	expert = func(r *RankEvidence) int { return r.Local }
	late := lateTogether(ranks)
	if late == nil {
		return func(*RankEvidence) int { return -1 }, expert
	}
	return func(r *RankEvidence) int {
		if slices.Contains(late, r.Host) {
			return 1
		}
		return 0
	}, expert
}

// lateTogether lists the hosts, from two to half of all, whose median ranks compute longer
// than before by more than all others', where these two groups differ by leastApart times
// what the hosts of either do. Hosts that are all that the job has in a rack are late for the rack.
func lateTogether(ranks []RankEvidence) []telemetry.Entity {
	hosts := hostShifts(ranks)
	if len(hosts) < leastHosts {
		return nil
	}
	many, widest := 0, 0.0
	for k := 1; k < len(hosts); k++ {
		if gap := hosts[k-1].shift - hosts[k].shift; gap > widest {
			many, widest = k, gap
		}
	}
	if many < 2 || 2*many > len(hosts) {
		return nil
	}
	late, others := hosts[:many], hosts[many:]
	if widest < leastApart*max(late[0].shift-late[many-1].shift, others[0].shift-others[len(others)-1].shift) {
		return nil
	}
	var out []telemetry.Entity
	oneRack := !late[0].in.IsZero()
	for k, h := range hosts {
		if k < many {
			out = append(out, h.name)
		}
		oneRack = oneRack && (h.in == late[0].in) == (k < many)
	}
	if oneRack {
		return nil
	}
	return out
}

// Six hosts that differ by chance are that far apart once in a hundred times, four once in
// fifteen.
const leastApart, leastHosts = 3, 6

// hostShift is by how many seconds the median rank of a host computes longer than before.
type hostShift struct {
	name, in telemetry.Entity // the host, and its rack
	shift    float64
}

// hostShifts lists the hosts of ranks, the latest first.
func hostShifts(ranks []RankEvidence) []hostShift {
	by := map[telemetry.Entity][]*RankEvidence{}
	for i := range ranks {
		by[ranks[i].Host] = append(by[ranks[i].Host], &ranks[i])
	}
	var out []hostShift
	for name, of := range by { // order-independent: sorted below
		var shifts []float64
		for _, r := range of {
			shifts = append(shifts, r.shift())
		}
		out = append(out, hostShift{name, of[0].Rack, stats.Median(shifts)})
	}
	slices.SortFunc(out, func(a, b hostShift) int { return cmp.Or(cmp.Compare(b.shift, a.shift), a.name.Compare(b.name)) })
	return out
}

// lateness is by how many seconds more than the median of the others the latest place has
// fallen back, less what the latest of so many that differ by chance has, its standard error,
// and which part of its ranks has.
type lateness struct{ more, err, fills float64 }

// shiftsOf lists by how many seconds each rank computes longer than before.
func shiftsOf(ranks []RankEvidence) []float64 {
	out := make([]float64, len(ranks))
	for i := range ranks {
		out[i] = ranks[i].shift()
	}
	return out
}

// shiftsFromHost lists the same less the median of the other places' ranks on the same host, where
// there are any: what makes a whole host late is no matter of one place, and the ranks of
// a host are read at the same moments.
func shiftsFromHost(ranks []RankEvidence, place func(*RankEvidence) int) []float64 {
	on := map[telemetry.Entity][]*RankEvidence{}
	for i := range ranks {
		on[ranks[i].Host] = append(on[ranks[i].Host], &ranks[i])
	}
	out := shiftsOf(ranks)
	for i := range ranks {
		var others []float64
		for _, r := range on[ranks[i].Host] {
			if place(r) != place(&ranks[i]) {
				others = append(others, r.shift())
			}
		}
		if len(others) > 0 {
			out[i] -= stats.Median(others)
		}
	}
	return out
}

// latestPlace finds the place whose median rank has fallen back most, by the ranks' shifts in
// seconds. False where fewer than two places are reported.
func latestPlace(ranks []RankEvidence, shifts []float64, place func(*RankEvidence) int) (l lateness, ok bool) {
	by := map[int][]float64{}
	for i := range ranks {
		if p := place(&ranks[i]); p >= 0 {
			by[p] = append(by[p], shifts[i])
		}
	}
	if len(by) < 2 {
		return lateness{}, false
	}
	at := slices.Sorted(maps.Keys(by))
	latest, worst := -1, 0.0
	for _, p := range at {
		if m := stats.Median(by[p]); latest < 0 || m > worst {
			latest, worst = p, m
		}
	}
	var others, places []float64
	for _, p := range at {
		if p != latest {
			others, places = append(others, by[p]...), append(places, stats.Median(by[p]))
		}
	}
	late := 0
	for _, s := range by[latest] {
		if worst > 0 && s >= worst/2 {
			late++
		}
	}
	_, mad := stats.MAD(places)
	scatter := float64(stats.Consistency * mad)
	l = lateness{worst - stats.Median(others) - float64(scatter*latestByChance(len(at))), typicalError(ranks), float64(late) / float64(len(by[latest]))}
	if len(places) >= leastPlaces {
		l.err = scatter
	}
	return l, true
}

// leastPlaces show by how much places differ by chance.
const leastPlaces = 4

// latestByChance is at most how many standard deviations later than the middle the latest of
// n places is in the mean (Boucheron, Lugosi and Massart, Concentration Inequalities, 2.5).
func latestByChance(n int) float64 { return math.Sqrt(float64(2 * stats.Log(float64(n)))) }

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
