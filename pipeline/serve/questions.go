package serve

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/pipeline/status"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	usualHops = 2
	maxHops   = 8

	maxEntities = 5000 // of one answer
)

// topology answers GET /api/v1/topology.
func (s *server) topology(r *http.Request) (any, error) {
	q := parameters(r, "entity", "hops", "kind", "in", "after", "cursor", "limit")
	req := struct {
		Entity string `json:"entity"`
		Hops   int    `json:"hops"`
		Kind   string `json:"kind,omitempty"`
		Inside string `json:"in,omitempty"`
		After  string `json:"after,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}{q.text("entity"), q.number("hops", usualHops, 0, maxHops), q.text("kind"), q.text("in"), cmp.Or(q.text("cursor"), q.text("after")), q.number("limit", 0, 1, maxEntities)}
	for name, text := range map[string]string{"entity": req.Entity, "in": req.Inside} {
		if text == "" {
			continue
		}
		if _, err := telemetry.ParseEntity(text); err != nil {
			q.fail(name, err.Error())
		}
	}
	for _, name := range []string{"in", "after", "cursor", "limit"} {
		if req.Kind == "" && q.text(name) != "" {
			q.fail(name, "only with kind=")
		}
	}
	if req.Kind != "" && req.Entity != "" {
		q.fail("entity", "either entity= or kind=")
	}
	if err := (telemetry.Entity{Kind: telemetry.Kind(req.Kind), Name: "any"}).Validate(); req.Kind != "" && err != nil {
		q.fail("kind", "unknown kind")
	}
	if q.err != nil {
		return nil, q.err
	}
	return s.questions.askAbout(r.Context(), replica.AskTopology, req)
}

// siteStatus is the answer to GET /api/v1/status.
type siteStatus struct {
	replica.Status
	Behind *delay      `json:"behind"` // null while the engine's tick is within 30 s of the present
	Health status.Site `json:"health"`
	Faults bool        `json:"faults,omitempty"` // faults can be injected: it is a simulated site
}

// status answers GET /api/v1/status: the engine's status of itself, or, if none
// answers, that.
func (s *server) status(r *http.Request) (any, error) {
	if q := parameters(r); q.err != nil {
		return nil, q.err
	}
	var out siteStatus
	if err := askInto(r.Context(), s.questions, replica.AskStatus, &out.Status); err != nil {
		out.Status = replica.Status{Site: s.cfg.Site, Started: stamp(s.started), Replicas: []replica.Presence{}, Alarms: []replica.Alarm{s.noEngine.alarm(s.now(), err)}}
	} else {
		s.noEngine.over()
		out.Behind = s.behind(&out.Status)
	}
	out.Demo, out.Replay, out.Faults = s.cfg.Demo, s.cfg.Replay != nil, s.cfg.Faults != nil
	out.Health = status.OfSite(s.facts(r.Context(), s.poll(r.Context())))
	return out, nil
}

func stamp(t time.Time) telemetry.Time { return telemetry.Time(t.UnixNano()) }

// absence is since when no engine answers.
type absence struct {
	mu sync.Mutex
	at time.Time
}

// alarm returns an alarm with the time since when the engine is absent, and why.
func (a *absence) alarm(now time.Time, why error) replica.Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() {
		a.at = now
	}
	return replica.Alarm{Name: "no engine", Since: stamp(a.at), Text: why.Error()}
}

func (a *absence) over() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}
