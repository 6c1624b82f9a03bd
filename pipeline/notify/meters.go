package notify

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/exposition"
)

// meters are one receiver's metrics.
type meters struct {
	set      *metrics.Set
	receiver string

	skipped, repeats, lost, storeErrors *metrics.Counter
	seconds                             *exposition.Histogram
	pending, gone                       *metrics.Gauge
}

func newMeters(set *metrics.Set, receiver string) meters {
	label := fmt.Sprintf(`{receiver=%q}`, receiver)
	m := meters{set: set, receiver: receiver,
		skipped:     set.GetOrCreateCounter(`quintet_notify_skipped_revisions_total` + label),
		repeats:     set.GetOrCreateCounter(`quintet_notify_repeats_total` + label),
		lost:        set.GetOrCreateCounter(`quintet_notify_lost_claims_total` + label),
		storeErrors: set.GetOrCreateCounter(`quintet_notify_store_errors_total` + label),
		seconds:     exposition.NewHistogram(set, "quintet_notify_attempt_seconds", fmt.Sprintf(`receiver=%q`, receiver)),
		pending:     set.GetOrCreateGauge(`quintet_notify_owed_incidents`+label, nil),
		gone:        set.GetOrCreateGauge(`quintet_notify_receiver_gone`+label, nil),
	}
	m.pending.Set(0)
	m.gone.Set(0)
	for _, o := range []string{OutcomeDelivered, OutcomeDead, OutcomeGone, OutcomeForgotten, OutcomeUnrouted, OutcomeSilenced, OutcomeInhibited, OutcomeFlapping, OutcomeUnchanged} {
		m.count("quintet_notify_deliveries_total", "outcome", o).Add(0)
	}
	return m
}

// pendingAlerts is the pending gauge of a desk of alerts.
func pendingAlerts(set *metrics.Set, receiver string) *metrics.Gauge {
	return set.GetOrCreateGauge(fmt.Sprintf(`quintet_notify_owed_alerts{receiver=%q}`, receiver), nil)
}

func (m meters) count(name, label, value string) *metrics.Counter {
	return m.set.GetOrCreateCounter(fmt.Sprintf(`%s{receiver=%q,%s=%q}`, name, m.receiver, label, value))
}

// attempt counts a request by its outcome.
func (m meters) attempt(v Verdict) {
	m.count("quintet_notify_attempts_total", "verdict", v.String()).Inc()
}

// withheld counts a revision that is withheld.
func (m meters) withheld(why string) {
	m.count("quintet_notify_held_revisions_total", "outcome", why).Inc()
}

// reminded counts a reminder by its outcome.
func (m meters) reminded(v Verdict) {
	m.count("quintet_notify_reminders_total", "verdict", v.String()).Inc()
}

// outcome counts a settled delivery.
func (m meters) outcome(o string) { m.count("quintet_notify_deliveries_total", "outcome", o).Inc() }
