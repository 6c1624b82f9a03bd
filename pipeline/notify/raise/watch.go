package raise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// RulesNotEvaluated is the alert that no rule is evaluated any more.
	RulesNotEvaluated = "QuintetRulesNotEvaluated"
	// forsaken is how long the lease may go unrenewed before that is reported: four
	// times Prometheus' own resend interval of alerts, after which it ends an alert
	// that is not sent again.
	forsaken = 4 * time.Minute
	// fewNamed is how many of the open groups it names.
	fewNamed = 8
)

// ruleAlert returns the alert QuintetRulesNotEvaluated of a site, without its text.
func ruleAlert(site string) *Alert {
	a := &Alert{Entity: telemetry.Entity{Kind: telemetry.Collector, Name: "quintet"}, RuleAlert: notify.RuleAlert{
		Labels: map[string]string{"alertname": RulesNotEvaluated, "severity": explain.SeverityCritical, "domain": telemetry.Software.String(), "site": site}}}
	a.print, a.group = a.fingerprint(), a.key()
	return a
}

// Watch is for a notifying process that evaluates no rules itself. It raises one
// alert when the evaluating processes stop while alerts are open: no process would
// end those. Open alerts stay open, because their state is unknown. The process
// that evaluates rules again ends the alert.
type Watch struct {
	r     *Raiser
	seen  uint64    // the lease, as it was seen last; 0 while no process holds it
	since time.Time // when it was seen first
}

// NewWatch returns a Watch.
func NewWatch(c Config) (*Watch, error) {
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Watch{r: r}, nil
}

// Run watches until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	return w.r.run(ctx, func(ctx context.Context) (bool, error) { return false, w.look(ctx) })
}

func (w *Watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := w.r.c.Now()
	w.r.mu.Lock()
	w.r.forget(now)
	w.r.mu.Unlock()
	var revision uint64
	switch e, err := w.r.lease.kv.Get(ctx, leaseKey); {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		w.since = time.Time{} // whose answers are not received may not receive either
		return err
	default:
		revision = e.Revision()
	}
	if revision != w.seen || w.since.IsZero() {
		w.seen, w.since = revision, now
	}
	if now.Sub(w.since) < forsaken {
		return nil
	}
	if b := w.r.silence(w.since, now); b != nil {
		return w.r.publish(ctx, b)
	}
	return nil
}

// silence returns what is to be published about rules that are not evaluated since
// a time; nil if it was published, or if no open alert would go stale.
func (r *Raiser) silence(since, now time.Time) *body {
	r.mu.Lock()
	defer r.mu.Unlock()
	var open []string
	for k, g := range r.groups {
		switch {
		case g.last == nil:
		case k == r.notEvaluated:
			return nil
		default:
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		return nil
	}
	slices.Sort(open)
	a := ruleAlert(r.c.Site)
	a.StartsAt = telemetry.Time(since.UnixNano())
	named, more := open, ""
	if len(open) > fewNamed {
		named, more = open[:fewNamed], fmt.Sprintf(" and %d more", len(open)-fewNamed)
	}
	a.Annotations = map[string]string{"summary": "no rule is evaluated: alerts neither begin nor end",
		"description": fmt.Sprintf("No process has evaluated rules since %s. Whether these still hold is not known: %s%s.", since.UTC().Format(time.RFC3339), strings.Join(named, "; "), more)}
	g := r.episode(a.group, a.StartsAt, now)
	return r.open(g, []*Alert{a}, telemetry.Time(now.UnixNano()))
}
