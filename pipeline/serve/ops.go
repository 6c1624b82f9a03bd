package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/replica"
)

// metrics answers GET /metrics.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if err := s.own.Write(w); err != nil {
		s.cfg.Logger.Debug("metrics not written", "err", err)
	}
}

// healthy answers GET /-/healthy.
func (s *server) healthy(w http.ResponseWriter, _ *http.Request) { writeText(w, "healthy") }

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text + "\n")) // whoever asked may be gone
}

// readiness answers GET /-/ready.
func (s *server) readiness(w http.ResponseWriter, r *http.Request) {
	status, err := s.notReady(r.Context())
	if err != nil {
		s.reply.problem(w, r, unavailable(err.Error()))
		return
	}
	text := "ready"
	if late := s.behind(&status); late != nil {
		text += "\n" + late.Text
	}
	for _, a := range status.Alarms {
		text += "\n" + a.Name + ": " + a.Text
	}
	writeText(w, text)
}

// notReady returns why this process cannot show the engine's state; else it returns
// that, because a person should look at alarms and delays nevertheless.
func (s *server) notReady(ctx context.Context) (status replica.Status, err error) {
	switch {
	case !s.cfg.Bus.Connected():
		return status, errDisconnected
	case !s.ledger.current():
		return status, errReplaying
	}
	answer, err := s.questions.ask(ctx, replica.AskStatus, nil)
	if err != nil {
		return status, err
	}
	if err := json.Unmarshal(answer, &status); err != nil {
		return status, fmt.Errorf("status: %w", err)
	}
	return status, s.cfg.Ready()
}

// reloaded is the answer to POST /-/reload.
type reloaded struct {
	Reloaded bool `json:"reloaded"`
}

// reload answers POST /-/reload.
func (s *server) reload(r *http.Request) (any, error) {
	if s.cfg.Reload == nil {
		return nil, &problem{status: http.StatusNotImplemented, text: "there is no configuration to be read again"}
	}
	if err := s.cfg.Reload(r.Context()); err != nil {
		s.cfg.Logger.Warn("the configuration was not reloaded; the old one stays in force", "error", err)
		return nil, &problem{status: http.StatusInternalServerError, text: "the old configuration stays in force: " + err.Error()}
	}
	noteChange(r, nil, map[string]bool{"reloaded": true})
	return reloaded{true}, nil
}

// counters are the server's own metrics.
type counters struct {
	set *metrics.Set

	streamsRefused, streamsCut, backlogs, panics, auditFailures *metrics.Counter
}

func newCounters(s *server) counters {
	set := s.cfg.Metrics
	gauge(set, "quintet_serve_streams", s.streams.count)
	gauge(set, "quintet_serve_incidents_held", s.ledger.size)
	return counters{set: set,
		streamsRefused: set.GetOrCreateCounter("quintet_serve_streams_refused_total"),
		streamsCut:     set.GetOrCreateCounter("quintet_serve_streams_cut_total"),
		backlogs:       set.GetOrCreateCounter("quintet_serve_backlogs_total"),
		panics:         set.GetOrCreateCounter("quintet_serve_panics_total"),
		auditFailures:  set.GetOrCreateCounter("quintet_serve_audit_failures_total")}
}

// refused counts requests that were refused before they were looked at.
func (c *counters) refused(why string) *metrics.Counter {
	return c.set.GetOrCreateCounter(`quintet_serve_refused_total{reason="` + why + `"}`)
}

// gauge shows a number as it is when it is asked for. A server that runs again
// with the same set takes the place of the one before.
func gauge(set *metrics.Set, name string, fn func() int) {
	set.UnregisterMetric(name)
	set.NewGauge(name, func() float64 { return float64(fn()) })
}
