package replica

import (
	"fmt"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// counters are a replica's own metrics.
type counters struct {
	set *metrics.Set

	records, malformed, refused *metrics.Counter
	suppressed, dropped         *metrics.Counter // revisions that were not this replica's to publish; waiting for too long
	retries                     *metrics.Counter
	snapshots, snapshotFailures *metrics.Counter
	snapshotsSkipped            *metrics.Counter
	snapshotsUnusable           *metrics.Counter
	questions, unanswered       *metrics.Counter
	claims, joins, starts       *metrics.Counter
	beatFailures, waitingLost   *metrics.Counter
	panics                      *metrics.Counter
	holes                       *metrics.Counter // entries that the log lost
	foreign                     *metrics.Counter // entries of the stream of incidents that no engine wrote

	position, tick, unpublished, snapshotBytes atomic.Int64
	publishing, diverged, caughtUp             atomic.Bool
	engine                                     atomic.Pointer[correlate.Counts]
	named                                      map[string]bool // processes counted by name; the owner's
}

func newCounters(set *metrics.Set) *counters {
	c := &counters{set: set, named: map[string]bool{}}
	for _, x := range []struct {
		to   **metrics.Counter
		name string
	}{
		{&c.records, "quintet_replica_records_total"},
		{&c.malformed, "quintet_replica_records_malformed_total"},
		{&c.refused, "quintet_replica_records_refused_total"},
		{&c.suppressed, "quintet_replica_revisions_silent_total"},
		{&c.dropped, "quintet_replica_revisions_dropped_total"},
		{&c.retries, "quintet_replica_publish_retries_total"},
		{&c.snapshots, "quintet_replica_snapshots_total"},
		{&c.snapshotFailures, "quintet_replica_snapshot_failures_total"},
		{&c.snapshotsSkipped, "quintet_replica_snapshots_skipped_total"},
		{&c.snapshotsUnusable, "quintet_replica_snapshots_unusable_total"},
		{&c.questions, "quintet_replica_questions_total"},
		{&c.unanswered, "quintet_replica_questions_unanswered_total"},
		{&c.claims, "quintet_replica_claims_total"},
		{&c.joins, "quintet_replica_joins_total"},
		{&c.starts, "quintet_replica_starts_total"},
		{&c.beatFailures, "quintet_replica_beat_failures_total"},
		{&c.waitingLost, "quintet_replica_held_incidents_dropped_total"},
		{&c.panics, "quintet_replica_panics_total"},
		{&c.holes, "quintet_replica_log_entries_lost_total"},
		{&c.foreign, "quintet_replica_foreign_revisions_total"},
	} {
		*x.to = set.GetOrCreateCounter(x.name)
	}
	c.gauges()
	return c
}

func (c *counters) gauges() {
	number := func(name string, v *atomic.Int64, scale float64) {
		c.set.GetOrCreateGauge(name, func() float64 { return float64(v.Load()) * scale })
	}
	flag := func(name string, v *atomic.Bool) {
		c.set.GetOrCreateGauge(name, func() float64 {
			if v.Load() {
				return 1
			}
			return 0
		})
	}
	number("quintet_replica_position", &c.position, 1)
	number("quintet_replica_tick_seconds", &c.tick, 1e-9)
	number("quintet_replica_revisions_unpublished", &c.unpublished, 1)
	number("quintet_replica_snapshot_bytes", &c.snapshotBytes, 1)
	flag("quintet_replica_publishing", &c.publishing)
	flag("quintet_replica_diverged", &c.diverged)
	flag("quintet_replica_caught_up", &c.caughtUp)
	c.engineCounts()
}

// engineCounts shows what became of the records inside the engine. They begin
// with the engine's state, not with this process.
func (c *counters) engineCounts() {
	count := func(name string, of func(*correlate.Counts) uint64) {
		c.set.GetOrCreateGauge(name, func() float64 {
			if n := c.engine.Load(); n != nil {
				return float64(of(n))
			}
			return 0
		})
	}
	for o := window.Accepted; o <= window.TooMany; o++ {
		count(fmt.Sprintf("quintet_engine_frames_total{outcome=%q}", o), func(n *correlate.Counts) uint64 { return n.Window.Frames[o] })
		count(fmt.Sprintf("quintet_engine_schemas_total{outcome=%q}", o), func(n *correlate.Counts) uint64 { return n.Window.Schemas[o] })
	}
	count("quintet_engine_samples_total", func(n *correlate.Counts) uint64 { return n.Window.Samples })
	count("quintet_engine_samples_late_total", func(n *correlate.Counts) uint64 { return n.Window.LateSamples })
	count("quintet_engine_frames_expired_total", func(n *correlate.Counts) uint64 { return n.Window.Expired })
	count("quintet_engine_frames_corrupt_late_total", func(n *correlate.Counts) uint64 { return n.Window.CorruptLate })
	count("quintet_engine_grids_total", func(n *correlate.Counts) uint64 { return n.Grids })
	count("quintet_engine_ticks_refused_total", func(n *correlate.Counts) uint64 { return n.TicksPast + n.TicksFuture })
	count("quintet_engine_events_refused_total", func(n *correlate.Counts) uint64 { return n.EventsRefused })
	count("quintet_engine_risks_refused_total", func(n *correlate.Counts) uint64 { return n.RisksRefused })
	count("quintet_engine_models_refused_total", func(n *correlate.Counts) uint64 { return n.ModelsRefused })
	count("quintet_engine_configs_refused_total", func(n *correlate.Counts) uint64 { return n.ConfigRefused })
	count("quintet_engine_steps_refused_total", func(n *correlate.Counts) uint64 { return n.StepsRefused })
	count("quintet_engine_forgotten_total", func(n *correlate.Counts) uint64 { return n.Forgotten })
}

// published counts a revision by what became of it.
func (c *counters) published(o bus.Outcome) {
	c.set.GetOrCreateCounter(fmt.Sprintf("quintet_replica_revisions_total{outcome=%q}", o)).Inc()
}

// maxProcesses bounds the processes that are counted by name.
const maxProcesses = 256

// over counts records beyond the budget of their process, by process.
func (c *counters) over(process string, why grants.Reason) {
	if !c.named[process] {
		if len(c.named) >= maxProcesses {
			process = "others"
		}
		c.named[process] = true
	}
	c.set.GetOrCreateCounter(fmt.Sprintf("quintet_replica_records_over_budget_total{process=%q,reason=%q}", process, why)).Inc()
}

// ungranted counts records that their process may not state.
func (c *counters) ungranted(why grants.Reason) *metrics.Counter {
	return c.set.GetOrCreateCounter(fmt.Sprintf("quintet_replica_records_ungranted_total{reason=%q}", why))
}
