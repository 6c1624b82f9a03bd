package pipeline

import (
	"context"
	"math"
	"net/http"

	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/raise"
	"github.com/quintet-dc/quintet/pipeline/store"
	"github.com/quintet-dc/quintet/pipeline/store/forward"
	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	"github.com/quintet-dc/quintet/telemetry"
)

// startHistory starts what keeps the log's series for long, where this process
// holds data.
func (s *service) startHistory() error {
	f := s.c.File
	if !s.c.Roles[Store] {
		return nil
	}
	raiser, err := raise.New(s.raising())
	if err != nil {
		return err
	}
	evaluates := f.Data != "" && !f.Store.Off
	if !evaluates || f.Store.Unraised {
		s.crew.Start(notifying, "retired alerts", raiser.Retire)
	}
	if !evaluates {
		return nil
	}
	c := f.Store
	var alerts func(context.Context, []query.Alert)
	if !c.Unraised {
		s.crew.Start(notifying, "alerts", raiser.Run)
		alerts = func(_ context.Context, fired []query.Alert) { raiser.Take(raised(fired)) }
	}
	history, err := store.New(store.Config{Log: s.bus, Dir: store.Dir(f.Data), Cadence: c.Interval, Retain: c.Retention, RetainBytes: int64(c.RetentionBytes),
		Drop: c.Metrics.Drop, MaxSeries: c.Metrics.MaxSeries, Lateness: f.Site.Config().Lateness, Rules: c.RuleFiles, Forward: forwarded(c), ForwardLabels: c.Labels,
		Dial: f.Egress.Guard().DialContext, Alerts: alerts, URL: s.url(), Process: s.c.Process, Version: s.c.Version,
		Catalogue: s.c.Engine.Correlate.Catalogue, Metrics: s.metrics, Logger: s.part("store")})
	if err != nil {
		return err
	}
	s.history = history
	s.crew.Start(notifying, "history", history.Run)
	return nil
}

// forwarded lists where the history is forwarded.
func forwarded(c config.Store) (out []forward.Target) {
	for _, w := range c.RemoteWrite {
		out = append(out, forward.Target{Name: w.Name, URL: w.URL, BasicAuth: w.BasicAuth, Authorization: w.Authorization, TLS: w.TLS, Headers: w.Headers, Version: w.Version})
	}
	return out
}

// raising returns the configuration for raising alerts.
func (s *service) raising() raise.Config {
	return raise.Config{Stream: s.bus.Alerts(), Buckets: s.bus, Site: s.c.File.Site.Name, Name: s.c.Process, Version: s.c.Version,
		Page: s.c.File.Notify.ExternalURL, Alone: s.alone(), Metrics: s.metrics, Logger: s.part("alerts")}
}

// raised converts the alerts of the rules to the form in which they are published.
func raised(fired []query.Alert) (out []raise.Alert) {
	for _, a := range fired {
		out = append(out, raise.Alert{Entity: label.About(a.Labels), Over: a.Resolved, Until: a.EndsAt,
			RuleAlert: notify.RuleAlert{Labels: a.Labels, Annotations: a.Annotations, StartsAt: telemetry.Time(a.StartsAt.UnixNano()), Expr: a.Expr, Value: finite(a.Value)}})
	}
	return out
}

// finite is a value that JSON can carry.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// historyHandler answers queries of the history; nil where there is none.
func (s *service) historyHandler() http.Handler {
	if s.history == nil {
		return nil
	}
	return s.history
}

// url is the public address of this server, as far as it knows.
func (s *service) url() string {
	scheme := "http://"
	if s.c.File.Web.TLS.Cert != "" {
		scheme = "https://"
	}
	return scheme + s.c.File.Listen
}
