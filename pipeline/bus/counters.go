package bus

import "github.com/VictoriaMetrics/metrics"

// counters are the bus's own metrics.
type counters struct {
	sent, sentBytes, duplicates, retried      *metrics.Counter
	followed, followedBytes, malformed        *metrics.Counter
	consumers, holes, asyncErrors, reconnects *metrics.Counter
	set                                       *metrics.Set
}

func newCounters(set *metrics.Set, b *Bus) counters {
	set.GetOrCreateGauge(`quintet_bus_connected`, func() float64 {
		if b.Connected() {
			return 1
		}
		return 0
	})
	return counters{
		sent:          set.GetOrCreateCounter(`quintet_bus_stored_messages_total`),
		sentBytes:     set.GetOrCreateCounter(`quintet_bus_stored_bytes_total`),
		duplicates:    set.GetOrCreateCounter(`quintet_bus_duplicate_messages_total`),
		retried:       set.GetOrCreateCounter(`quintet_bus_publish_retries_total`),
		followed:      set.GetOrCreateCounter(`quintet_bus_read_entries_total`),
		followedBytes: set.GetOrCreateCounter(`quintet_bus_read_bytes_total`),
		malformed:     set.GetOrCreateCounter(`quintet_bus_malformed_entries_total`),
		consumers:     set.GetOrCreateCounter(`quintet_bus_read_restarts_total`),
		holes:         set.GetOrCreateCounter(`quintet_bus_log_holes_total`),
		asyncErrors:   set.GetOrCreateCounter(`quintet_bus_connection_errors_total`),
		set:           set,
	}
}

// refused counts messages that can never be stored, by reason.
func (c counters) refused(reason string) {
	c.set.GetOrCreateCounter(`quintet_bus_refused_messages_total{reason="` + reason + `"}`).Inc()
}
