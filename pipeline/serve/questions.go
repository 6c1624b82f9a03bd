package serve

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/telemetry"
)

// asking answers with what the engine answers to a question.
func (s *server) asking(what, question string) handler {
	return func(r *http.Request) (any, error) {
		if q := parameters(r); q.err != nil {
			return nil, q.err
		}
		return ask(r.Context(), s.cfg.Bus, what, []byte(question))
	}
}

const (
	usualHops = 2
	maxHops   = 8
)

// topology answers GET /api/v1/topology.
func (s *server) topology(r *http.Request) (any, error) {
	q := parameters(r, "entity", "hops")
	req := struct {
		Entity string `json:"entity"`
		Hops   int    `json:"hops"`
	}{q.text("entity"), q.number("hops", usualHops, 0, maxHops)}
	if req.Entity != "" {
		if _, err := telemetry.ParseEntity(req.Entity); err != nil {
			q.fail("entity", err.Error())
		}
	}
	if q.err != nil {
		return nil, q.err
	}
	b, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	return ask(r.Context(), s.cfg.Bus, replica.AskTopology, b)
}

// status answers GET /api/v1/status: what the engine says of itself, or, where
// none answers, that.
func (s *server) status(r *http.Request) (any, error) {
	if q := parameters(r); q.err != nil {
		return nil, q.err
	}
	var out replica.Status
	if err := askInto(r.Context(), s.cfg.Bus, replica.AskStatus, &out); err != nil {
		out = replica.Status{Site: s.cfg.Site, Started: stamp(s.started), Replicas: []replica.Presence{}, Alarms: []replica.Alarm{s.noEngine.alarm(s.now(), err)}}
	} else {
		s.noEngine.over()
	}
	out.Demo = s.cfg.Demo
	return out, nil
}

func stamp(t time.Time) telemetry.Time { return telemetry.Time(t.UnixNano()) }

// later answers what is still to come.
func later(r *http.Request) (any, error) {
	return nil, &problem{status: http.StatusNotImplemented, text: r.URL.Path + " is still to come"}
}

// absence is since when no engine answers.
type absence struct {
	mu sync.Mutex
	at time.Time
}

// alarm says since when, and why.
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
