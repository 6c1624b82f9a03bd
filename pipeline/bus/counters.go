package bus

import "github.com/VictoriaMetrics/metrics"

// counters are the bus's own metrics.
type counters struct {
	sent, sentBytes, duplicates, retried *metrics.Counter
	followed, followedBytes, malformed   *metrics.Counter
	consumers, holes, asyncErrors        *metrics.Counter
	deaf                                 *metrics.Counter // connections on which nothing arrived any more
	usurped                              *metrics.Counter // names of ticks that another message bore
	set                                  *metrics.Set
}

// gauge shows a condition as 0 or 1.
func gauge(set *metrics.Set, name string, is func() bool) {
	set.GetOrCreateGauge(name, func() float64 {
		if is() {
			return 1
		}
		return 0
	})
}

func newCounters(set *metrics.Set) counters {
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
		deaf:          set.GetOrCreateCounter(`quintet_bus_dead_connections_total`),
		usurped:       set.GetOrCreateCounter(`quintet_bus_usurped_ticks_total`),
		set:           set,
	}
}

// refused counts messages that can never be stored, by reason.
func (c counters) refused(reason string) {
	c.set.GetOrCreateCounter(`quintet_bus_refused_messages_total{reason="` + reason + `"}`).Inc()
}

// damaged counts revisions whose content does not match their digest, each time one is
// read.
func (c counters) damaged(stream string) *metrics.Counter {
	return c.set.GetOrCreateCounter(`quintet_bus_damaged_revisions_total{stream="` + stream + `"}`)
}

// foreign counts entries of a stream of revisions that no engine wrote, each time one
// is read.
func (c counters) foreign(stream string) *metrics.Counter {
	return c.set.GetOrCreateCounter(`quintet_bus_foreign_revisions_total{stream="` + stream + `"}`)
}
