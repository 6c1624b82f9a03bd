package explain

import "slices"

// The measures a feature may use. Each is a number about one candidate root over
// the job's degradation (now) against the time before it (before).
const (
	// Of any end of a link.
	BlameShare          Measure = "blame_share"
	Explained           Measure = "explained"
	ExplainedLowerBound Measure = "explained_lower_bound"
	TooLate             Measure = "too_late"
	Waiting             Measure = "waiting"
	PauseSent           Measure = "pause_sent"
	PauseSentIdle       Measure = "pause_sent_idle"
	PauseReceived       Measure = "pause_received"
	FacesHost           Measure = "faces_host"
	Between             Measure = "between_switches"
	Ceiling             Measure = "ceiling"
	CeilingRatio        Measure = "ceiling_ratio"
	ReverseRatio        Measure = "reverse_ceiling_ratio"
	LoadRatio           Measure = "load_ratio"
	Lopsided            Measure = "lopsided"
	HotAlone            Measure = "hot_alone"
	Brought             Measure = "brought"
	NeighbourUp         Measure = "neighbour_rise"

	// Of another job.
	Rise            Measure = "rise"
	RiseShare       Measure = "rise_share"
	RoseApart       Measure = "rose_apart"
	UplinkPart      Measure = "uplink_part"
	SharedExplained Measure = "shared_explained"
	SharedLoad      Measure = "shared_load_ratio"
	SharedCap       Measure = "shared_ceiling_ratio"
	SharedPeak      Measure = "shared_peak"

	// Of a node that runs the job.
	ComputeExcess   Measure = "compute_excess"
	LateStart       Measure = "late_start"
	PeersLate       Measure = "peers_late"
	FabricExplained Measure = "fabric_explained"

	// Of the degraded job itself.
	WorkExcess     Measure = "work_excess"
	ComputeUniform Measure = "compute_uniform"
	Computed       Measure = "computed"

	// Of whatever contains, feeds or cools the job's GPUs and ranks, or what they
	// belong to.
	Recall         Measure = "recall"
	Precision      Measure = "precision"
	ClockExplained Measure = "clock_explained"
	LateRecall     Measure = "late_recall"
	LatePrecision  Measure = "late_precision"
	IdleRecall     Measure = "idle_recall"
	IdlePrecision  Measure = "idle_precision"
	IdleExplained  Measure = "idle_explained"
	IdleOnOneHost  Measure = "idle_on_one_host"
	StaleRecall    Measure = "stale_recall"

	// Of the degradation, for any candidate.
	Stalled  Measure = "stalled"
	Slowdown Measure = "slowdown"
)

// Measures lists every measure with its unit and meaning, by name.
func Measures() []MeasureDoc {
	ms := slices.Concat(endMeasures(), lossMeasures(), groupMeasures(), jobMeasures(), placementMeasures(), degradationMeasures(), placeMeasures())
	slices.SortFunc(ms, func(a, b MeasureDoc) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return ms
}

func endMeasures() []MeasureDoc {
	return []MeasureDoc{
		{BlameShare, "1", "part of the job's waiting that ends at this end of a link, by the walk along received pause"},
		{TooLate, "1", "by how much of a usual step it certainly began after the degradation it would have caused; it counts against an answer of every signature"},
		{Explained, "1", "waiting this end causes of its own, per second, over the share of its time that the job loses: 1 explains the loss"},
		{ExplainedLowerBound, "1", "the lower bound of explained, without what may be chance: a sampled queue is met more often than before now and then"},
		{Waiting, "s/s", "share of time in which a queue was present, beyond before"},
		{PauseSent, "s/s", "time this end sent pause to its peer, beyond before"},
		{PauseSentIdle, "s/s", "time it sent pause to its peer in grids in which it received almost nothing: a receiver that is only slow pauses only while it receives"},
		{PauseReceived, "s/s", "time this end itself received pause, beyond before: a victim"},
		{FacesHost, "1", "1 if this end is a switch port whose peer is a nic"},
		{Between, "1", "1 if this end joins two switches"},
		{Ceiling, "1", "the most it sent over its nominal speed while it had a queue (95th percentile of free seconds)"},
		{CeilingRatio, "1", "the most it sends now over the most it sent before: clearly below 1 with a queue is a link that lost rate"},
		{ReverseRatio, "1", "the same of what it receives: a degraded link is degraded both ways"},
		{LoadRatio, "1", "what it carries now over before, per unit of the job's work: 1 is its usual share, above it somebody added load"},
		{Lopsided, "1", "what it sends less what it receives, over its speed, beyond before"},
		{HotAlone, "1", "its own waiting over that of itself and its sibling uplinks together"},
		{Brought, "1", "of what an end between switches sends more, the part that came into its switch through one other link: about 1 where flows met before they came there"},
		{NeighbourUp, "links", "what other jobs' hosts send more than before, in links of this speed"},
	}
}

func jobMeasures() []MeasureDoc {
	return []MeasureDoc{
		{Rise, "links", "what this other job's hosts send more than they used to, in links of the fabric's speed"},
		{RiseShare, "1", "its part of what all other jobs send more"},
		{RoseApart, "s", "by how much before or after the degradation began what this other job sends rose, beyond two usual steps"},
		{UplinkPart, "1", "the worst waiting between switches over the worst anywhere on the job's paths: low where one host's port is the cause"},
		{SharedExplained, "1", "waiting at ends the degraded job shares with others, over the share of its time that the job loses"},
		{SharedLoad, "1", "load_ratio of the shared ends, weighted by blame"},
		{SharedCap, "1", "ceiling_ratio of the shared ends, weighted by blame"},
		{ComputeExcess, "1", "by how many seconds the host's latest rank computes, or lets the others wait, longer than before, beyond nine in ten of the job's other hosts, over the step's excess: 1 explains the loss"},
		{LateStart, "1", "how much later in the step its nic sends than it did, beyond nine in ten of the job's other hosts, over the step's excess"},
		{PeersLate, "1", "by how many seconds nine in ten of the job's other hosts compute longer than before at most, over the step's excess"},
		{FabricExplained, "1", "the largest value of explained of any end of a link on the job's paths"},
		{WorkExcess, "1", "bytes sent per step beyond before, over the step's excess: the job does more work"},
		{ComputeUniform, "1", "by how many seconds at least half of the hosts compute longer than before, over the step's excess: all ranks do; where no rank reports them by the activity of the median GPU, over that of a usual step; of a job on several hosts"},
		{Computed, "1", "compute_uniform of the degraded job as its ranks report it, the same for every candidate: 1 leaves nothing to wait for"},
	}
}

// placementMeasures are about what is under a machine or a part of the plant. A GPU
// of the job is affected where its clock during the degradation is clearly below
// its own before: by 3 % and by more than its usual variation or with heat as the
// reason that it reports, beyond what the median of the job's GPUs did unless most of
// them fell.
func placementMeasures() []MeasureDoc {
	return []MeasureDoc{
		{Recall, "1", "part of the job's affected GPUs that are under the root: 1 where it accounts for all of them"},
		{Precision, "1", "part of the job's GPUs under the root that are affected: low where most of what it feeds or cools is healthy"},
		{ClockExplained, "1", "what the slowest clock under the root explains of the job's loss, (before over now less 1) over (slowdown less 1): 1 explains it"},
		{LateRecall, "1", "part of the job's late ranks that are under the root; a rank is late where it computes longer than before and than its peers"},
		{LatePrecision, "1", "part of the job's ranks under the root that are late"},
		{IdleRecall, "1", "part of the job's idle GPUs that are under the root; a GPU is idle where its engine is active for clearly less of the time than before: nothing is launched, while in a collective's wait it is busy"},
		{IdlePrecision, "1", "part of the job's GPUs under the root that are idle"},
		{IdleOnOneHost, "1", "of a job on several hosts: the largest part of its idle GPUs that one host contains"},
		{IdleExplained, "1", "by how much of the time the most idle GPU under the root is idle beyond before, over the share of its time that the job loses: 1 explains it"},
		{StaleRecall, "1", "part of the job's GPUs without data that are under the root: of two machines that stopped reporting together, the recall of one is a half"},
	}
}

func degradationMeasures() []MeasureDoc {
	return []MeasureDoc{
		{Stalled, "1", "1 if the job has stalled or failed, 0 if it is slow"},
		{Slowdown, "1", "the job's step now over the expected one"},
	}
}

// Values are the measures known of one candidate. A measure that is not there
// could not be seen.
type Values map[Measure]float64
