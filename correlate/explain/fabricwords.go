package explain

// Measures of a network apart from queues and pause: credits, loss, marks, links
// that are down, and switches and planes as wholes.
const (
	// Of any end of a link.
	Starves        Measure = "starves"
	Starved        Measure = "starved"
	LinkDamage     Measure = "link_damage"
	LinkLeak       Measure = "link_leak"
	LinkUp         Measure = "link_up"
	DownNow        Measure = "down_now"
	WentDown       Measure = "went_down"
	CameBack       Measure = "came_back"
	SiblingsLoad   Measure = "siblings_load"
	ParallelRise   Measure = "parallel_rise"
	SiblingsDown   Measure = "siblings_down"
	GroupExplained Measure = "group_explained"
	OwnerDown      Measure = "owner_down"
	DamageShare    Measure = "damage_share"
	Disorder       Measure = "disorder"
	DisorderPart   Measure = "disorder_share"
	LostAround     Measure = "lost_around"
	DropsThere     Measure = "drops_there"
	HeedsNotices   Measure = "heeds_notices"
	Unmarked       Measure = "unmarked"

	// Of the job's paths, for any end, switch or plane.
	Resent        Measure = "resent"
	ResentMost    Measure = "resent_most"
	LostOnPaths   Measure = "lost_on_paths"
	LostAroundOne Measure = "lost_around_one"
	TakenForLoss  Measure = "taken_for_loss"
	TimedOut      Measure = "timed_out"
	WorstDamage   Measure = "worst_damage"
	WorstLeak     Measure = "worst_leak"
	PathDrops     Measure = "path_drops"
	Ignored       Measure = "notices_ignored"

	// Of another job.
	SendsAgain  Measure = "sends_again"
	NetRise     Measure = "net_rise"
	RiseRatio   Measure = "rise_ratio"
	ExcessPart  Measure = "excess_part"
	SharedGrown Measure = "shared_grown"

	// Of any end of a link.
	Grown Measure = "grown"

	// Of a switch.
	Circling          Measure = "circling"
	LoopPauseReceived Measure = "loop_pause_received"
	SwitchDrops       Measure = "switch_drops"
	DropsHere         Measure = "drops_here"
	PauseSentRatio    Measure = "pause_sent_ratio"
	MarksMissing      Measure = "marks_missing"
	MarksRise         Measure = "marks_rise"
	MarksFree         Measure = "marks_free"
	MarksAlike        Measure = "marks_alike"
	StoppedReporting  Measure = "stopped_reporting"
	PeersDown         Measure = "peers_down"

	// Of a switch or plane compared with its siblings.
	ShareShift     Measure = "share_shift"
	SiblingsShift  Measure = "siblings_shift"
	ShareExplained Measure = "share_explained"
	ShiftAlike     Measure = "shift_alike"
	OneWay         Measure = "one_way"
	OwnShift       Measure = "own_shift"
	PathDown       Measure = "path_down"
	ForeignPart    Measure = "foreign_part"
	SentByOthers   Measure = "sent_by_others"
)

func lossMeasures() []MeasureDoc {
	return []MeasureDoc{
		{Starves, "s/s", "InfiniBand: time for which its peer had data for it and no credit from it, beyond before"},
		{Starved, "s/s", "InfiniBand: time for which this end had data and no credit, beyond before: a victim"},
		{LinkDamage, "1", "packets received damaged over its link, or uncorrectable codewords, per packet of 4 KiB received, the worse way, beyond before"},
		{LinkLeak, "1", "part of the bytes sent into its link that never came out of it, the worse way: what is certain of the slope of the two ends' counters"},
		{LinkUp, "1", "part of the time for which its link was up, as reported by the end that saw it down longer, less what it was down before: by its events, or by its state and how often it went down"},
		{DownNow, "1", "1 if the last report of an end of its link is that it is down, and it was up before"},
		{WentDown, "times", "how often its link went down, as reported by the end that saw it more often: by its events or its counter, beyond before"},
		{CameBack, "times", "how often it came back"},
		{OwnerDown, "1", "part of their other links that are down of the two machines it joins, the worse one"},
		{ParallelRise, "1", "the part of its rise of load_ratio that the median of its parallel links shares: those of other access switches into the same switch, or that switch's other links. About 0 where flows meet by a hash, 1 where all are given more"},
		{SiblingsLoad, "1", "load_ratio of its median sibling: the other uplinks of its access switch, or the other ways into the same one"},
		{SiblingsDown, "1", "part of the time for which a sibling of it was down that had been up: then it carries more for that"},
		{GroupExplained, "1", "the largest value of explained of its siblings and itself"},
		{Disorder, "1", "of a nic: packets that came out of order per packet of 4 KiB received, beyond before"},
		{DisorderPart, "1", "of a nic, or of the port that faces it: its part of the packets that came out of order at the job's nics"},
		{LostAround, "1", "of a nic, or of the port that faces it: its part of what the job's nics had to send again, or twice the lesser of that and of its part of what came to them out of order: 1 where all that was lost came from it, or came from it and went to it"},
		{DropsThere, "1", "of a nic, or of the port that faces it: that port's part of all packets dropped on the job's paths"},
		{DamageShare, "1", "its link_damage over the sum of those of the links on the job's paths"},
		{HeedsNotices, "1", "of a nic: congestion notices it acts on, now over before, over the same of the job's median nic: near 0 where it receives none"},
		{Unmarked, "1", "part of the time in which a queue was present, free to go, without one mark, beyond before"},
		{Resent, "1", "packets that the job's nics, or those of a concurrent job that now sends more, had to send again, as the far end reported, per packet of 4 KiB sent, beyond before"},
		{ResentMost, "1", "the same of the one nic of them for which it is most: of a large job's packets what one nic loses is next to nothing, and all wait for it"},
		{LostOnPaths, "1", "resent, or worst_damage where that is more and one nic sends again: a nic asks once for a window of packets, and what it finds by a timeout it does not count"},
		{LostAroundOne, "1", "the largest lost_around of the job's nics"},
		{TakenForLoss, "1", "what they had to send again over the packets that came out of order at the job's nics: near 0 where disorder is harmless"},
		{TimedOut, "1", "acknowledgements that timed out, over the packets that the job's nics retransmitted: where the last packet of a message is lost no later packet shows it, while packets out of order all arrive"},
		{WorstDamage, "1", "the largest link_damage on the job's paths"},
		{WorstLeak, "1", "the largest link_leak on the job's paths"},
		{Ignored, "1/s", "congestion notices per second that the job's nics ignored, beyond before"},
		{SendsAgain, "1", "packets that this other job's nics had to send again, per packet of 4 KiB sent, beyond before: it sends more because it loses more"},
		{ExcessPart, "1", "its net_rise over shared_grown: half or more where the excess is its own"},
		{RiseRatio, "1", "what this other job's hosts send altogether more, over what they used to send"},
		{SharedGrown, "links", "what the end that has grown most carries more than before, of those shared with others that have a queue, or of which no instrument would show one; in part while little has been seen"},
		{SharedPeak, "1", "what an end sends in its fullest grids, of its speed: the most of those shared ends that carry more than before"},
		{Grown, "1", "what it sends more than before, of its speed: however little the job itself sends"},
		{NetRise, "links", "what this other job's hosts send more than they used to, what some send less included; less than a third more counts only as far as some of its nics send more than its median one; in part while less than four usual steps have been seen"},
		{PathDrops, "1/s", "packets per second that queues on the job's paths dropped, beyond before"},
	}
}

func groupMeasures() []MeasureDoc {
	return []MeasureDoc{
		{Circling, "1", "part of the job's waiting that goes round in a loop through this switch"},
		{LoopPauseReceived, "s/s", "time for which the ends of that loop receive pause, the least of them"},
		{SwitchDrops, "1/s", "packets per second that its queues dropped, beyond before"},
		{DropsHere, "1", "its part of all packets dropped on the job's paths"},
		{PauseSentRatio, "1", "time for which its ports send pause to their peers, now over before: near 0 where traffic left the class that can be stopped"},
		{MarksMissing, "1", "unmarked of its ports together, beyond its own before and beyond its median sibling: it does not mark where others would"},
		{MarksRise, "1", "packets it marks per byte sent, in the second half of the degradation over before, over the same of its median sibling"},
		{MarksFree, "1", "part of its marks that fell in time in which the port had no queue"},
		{MarksAlike, "1", "part of its loaded ports that mark three times as many packets per byte as before, or a third, as the switch does"},
		{StoppedReporting, "1", "part of its ports that reported before and do not any more"},
		{PeersDown, "1", "part of its links whose other end reports that the link is down, or was for more than half of the degradation"},
		{ShareShift, "1", "by how much the part of the job's traffic that takes it has changed in relation to its median sibling's, wherever a host's NICs or a switch's uplinks share it out, at half of these places or more: 1 is twice or half of what it would be"},
		{ShareExplained, "1", "explained of the end with the most waiting among its own and their peers; where it carries less than before, among those of its siblings that carry more"},
		{SiblingsShift, "1", "how far the furthest of its siblings is from their median, over how far it is itself: about 1 where none is an outlier"},
		{OneWay, "1", "the largest lopsided of the ports that face the job's nics, either way: high where more is sent to one of them than it sends, or by it"},
		{OwnShift, "1", "the largest share_shift of a plane of the degraded job; of an end of a link, of a switch too"},
		{PathDown, "1", "the part of the time that a link on the job's paths was down, the worst of them: what it carried goes over the others"},
		{ForeignPart, "1", "what one other job sends more than before, of the job that does so most, over what this end carries more or, where that is more, over what all hosts outside the job send more"},
		{SentByOthers, "1", "what all hosts outside the job send more than before, over lopsided, what this end sends more than before beyond what it receives; below 1 it is known only where the job sends packets again: about 0 where that is why this end sends more"},
		{ShiftAlike, "1", "part of those places at which its share changed the same way by half as much or more: low where one nic or link alone is meant"},
	}
}
