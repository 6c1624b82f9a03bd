package telemetry

import "slices"

// collectorMetrics are how collecting itself goes: each is stated of every
// collector, whatever it reads. Nothing here is judged: what a collector no
// longer says is a blind spot of its own.
func collectorMetrics() []Metric {
	health := like(Metric{Domain: Software, Kinds: kinds(Collector), Unit: "1", Origin: "the collectors' supervisor"},
		Metric{Name: "collector_up", Type: StateOf, Rise: Better, Help: "1 while the collector runs and its last reading of its source succeeded."},
		Metric{Name: "collector_sweep_seconds", Unit: "seconds", Help: "How long the last reading of the source took."},
		Metric{Name: "collector_read_total", Unit: "values", Help: "Values, events and edges that were read and sent on."},
		Metric{Name: "collector_restarts_total", Unit: "events", Rise: Worse, Help: "Unplanned restarts of the collector."},
	)
	carried := like(Metric{Domain: Software, Kinds: kinds(Collector), Unit: "values", Rise: Worse, Origin: "the process's outbox"},
		Metric{Name: "collector_thinned_samples_total", Help: "Samples that were thinned while the log was away; the series keeps later or extreme ones."},
		Metric{Name: "collector_dropped_events_total", Unit: "events", Help: "Events that never reached the log, for whatever reason."},
		Metric{Name: "collector_dropped_frames_total", Unit: "frames", Help: "Frames that never reached the log and that no other frame replaces."},
		Metric{Name: "collector_spilled_bytes", Unit: "bytes", Help: "What waits on disk for the log."},
		Metric{Name: "collector_lost_end_total", Help: "Samples, events and other records that were lost because the process ended and nothing kept them."},
		Metric{Name: "collector_lost_full_total", Help: "Samples, events and other records that were lost because there was no room for them, even thinned."},
		Metric{Name: "collector_lost_invalid_total", Help: "What was lost because it is no record."},
		Metric{Name: "collector_lost_refused_total", Help: "Samples, events and other records that the log will never take."},
		Metric{Name: "collector_lost_size_total", Help: "Samples, events and other records that were lost because a record is larger than the outbox carries."},
	)
	own := like(Metric{Domain: Software, Kinds: kinds(Collector), Unit: "lines", Origin: "the collectors themselves"},
		Metric{Name: "log_lines_total", Help: "Lines read by the collector logs."},
		Metric{Name: "log_events_total", Unit: "events", Help: "Events that came of them."},
		Metric{Name: "log_records_lost_total", Unit: "records", Rise: Worse, Help: "Kernel messages that were overwritten before they could be read."},
		Metric{Name: "topology_edges", Unit: "edges", Help: "Edges that a topology file states."},
	)
	return append(slices.Concat(health, carried, own), rows(Metric{Domain: Software, Kinds: kinds(Collector), Unit: "values", Rise: Worse, Origin: "the collectors' supervisor: "},
		row{"collector_dropped_denied_total", "denied", "What was there and not sent on, for want of permission to read it."},
		row{"collector_dropped_duplicate_total", "duplicate", "What was not sent on because the same number was, from another place."},
		row{"collector_dropped_malformed_total", "malformed", "What was not sent on because it is not what such a source can mean."},
		row{"collector_dropped_other_total", "other", "What was not sent on for a reason that has no name."},
		row{"collector_dropped_out_of_range_total", "out_of_range", "Numbers not sent on because their type cannot hold them."},
		row{"collector_dropped_over_limit_total", "over_limit", "What was not sent on because it is more than the collector keeps."},
		row{"collector_dropped_refused_total", "refused", "What was not sent on because configuration does not allow it."},
		row{"collector_dropped_saturated_total", "saturated", "Counters not sent on because they are stuck at their maximum."},
		row{"collector_dropped_skipped_total", "skipped", "What was not read on purpose, to spare a slow device."},
		row{"collector_dropped_stale_total", "stale", "What was not sent on because it is too old."},
		row{"collector_dropped_unknown_total", "unknown", "Values not sent on because no mapping names their metric or entity."},
		row{"collector_dropped_unreadable_total", "unreadable", "What was not sent on because reading it failed."},
		row{"collector_dropped_unsupported_total", "unsupported", "Values not sent on because the device reports them as unsupported."},
		row{"collector_dropped_vanished_total", "vanished", "What was not sent on because it was there and is gone."},
	)...)
}
