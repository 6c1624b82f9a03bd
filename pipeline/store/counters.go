package store

import "github.com/VictoriaMetrics/metrics"

// counters are the store's own metrics.
type counters struct {
	written, stale *metrics.Counter
	// Samples that are not in the history, by reason.
	thinned   *metrics.Counter // a newer one of the same cadence is
	rival     *metrics.Counter // another source's is
	dropped   *metrics.Counter // as configured
	budget    *metrics.Counter // there are as many series as may be
	future    *metrics.Counter // ahead of the log's time
	late      *metrics.Counter // behind what may still be written
	repeated  *metrics.Counter // written before
	ungranted *metrics.Counter // records that their process may not state
	undecoded *metrics.Counter // frames without a schema, or damaged
	refused   *metrics.Counter // by the database, for another reason
	lost      *metrics.Counter // in a commit that failed

	edges     *metrics.Counter // edges for which there was no room
	incidents *metrics.Counter // incidents for which there was none
	entries   *metrics.Counter
	begun     *metrics.Counter // how often the log was read anew
	failures  *metrics.Counter // of writing down the position
}

func newCounters(s *metrics.Set) *counters {
	samples := func(outcome string) *metrics.Counter {
		return s.GetOrCreateCounter(`quintet_store_samples_total{outcome="` + outcome + `"}`)
	}
	drops := func(reason string) *metrics.Counter {
		return s.GetOrCreateCounter(`quintet_store_samples_dropped_total{reason="` + reason + `"}`)
	}
	return &counters{
		written: samples("written"), stale: samples("stale"), thinned: samples("thinned"), rival: samples("rival"), repeated: samples("repeated"),
		dropped: drops("configured"), budget: drops("budget"), future: drops("future"), late: drops("late"),
		undecoded: drops("undecoded"), ungranted: drops("ungranted"), refused: drops("refused"), lost: drops("commit"),
		edges:     s.GetOrCreateCounter(`quintet_store_edges_dropped_total`),
		incidents: s.GetOrCreateCounter(`quintet_store_incidents_dropped_total`),
		entries:   s.GetOrCreateCounter(`quintet_store_entries_read_total`),
		begun:     s.GetOrCreateCounter(`quintet_store_begun_anew_total`),
		failures:  s.GetOrCreateCounter(`quintet_store_position_failures_total`),
	}
}
