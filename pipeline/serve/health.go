package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/pipeline/status"
	"github.com/quintet-dc/quintet/telemetry"
)

// polled is the engine's answers, as far as states follow from them.
type polled struct {
	status replica.Status
	jobs   []jobState
	reach  replica.Reach
	err    error
}

// jobState is the part of a job's JSON that states follow from.
type jobState struct {
	Job   telemetry.Entity `json:"job"`
	State string           `json:"state"`
}

// poll asks the engine for what states follow from.
func (s *server) poll(ctx context.Context) (out polled) {
	var jobs struct{ Jobs []jobState }
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = askInto(ctx, s.questions, replica.AskJobs, &jobs) })
	wg.Go(func() { errs[1] = askInto(ctx, s.questions, replica.AskStatus, &out.status) })
	wg.Go(func() { errs[2] = askInto(ctx, s.questions, replica.AskReach, &out.reach) })
	wg.Wait()
	out.jobs = jobs.Jobs
	for _, err := range errs {
		if err != nil && out.err == nil {
			out.err = err
		}
	}
	return out
}

// facts collects what states follow from.
func (s *server) facts(ctx context.Context, p polled) *status.Facts {
	f := &status.Facts{Unreachable: s.unreachable(p), Domains: p.reach.Domains}
	for _, a := range p.status.Alarms {
		f.Alarms = append(f.Alarms, a.Name)
	}
	for _, j := range p.jobs {
		if slices.Contains([]string{"slow", "stalled", "failed", "restarted"}, j.State) {
			f.Jobs = append(f.Jobs, status.Job{Entity: j.Job, State: j.State})
		}
	}
	open, _ := s.ledger.list()
	live := s.live.incidents(ctx)
	for _, k := range open {
		var in explain.Incident
		if k.state == explain.StateOpen && json.Unmarshal(newest(k, live), &in) == nil && in.State == explain.StateOpen {
			f.Incidents = append(f.Incidents, in)
		}
	}
	f.Alerts = s.unexplained(ctx)
	return f
}

// unreachable returns why nothing is known of the site now, empty if something is.
func (s *server) unreachable(p polled) string {
	switch {
	case p.err != nil:
		return p.err.Error()
	case !s.ledger.current():
		return errReplaying.Error()
	}
	if late := s.behind(&p.status); late != nil {
		return late.Text
	}
	return ""
}

// behind returns how far the engine is from the present, nil where it is not. The
// tick of a demo or of a replay is no time of day.
func (s *server) behind(st *replica.Status) *delay {
	if st.Tick != nil && (s.cfg.Demo != "" || s.cfg.Replay != nil) {
		return nil
	}
	return behind(st, s.now())
}

// unexplained returns the open alerts, at least warnings, that no open incident
// explains.
func (s *server) unexplained(ctx context.Context) (out []status.Alert) {
	all, _ := s.alerts.list()
	s.climbed(ctx, all)
	open := s.openIncidents()
	for _, k := range all {
		if k.state != explain.StateOpen || k.severity == explain.SeverityInfo || s.alertNote(k, open).Incident != "" {
			continue
		}
		out = append(out, status.Alert{ID: k.id, Title: k.title, Domain: k.domain, Entities: append([]telemetry.Entity{k.root}, k.entities...), Since: k.opened})
	}
	return out
}

// entityHealth is the state of an entity and what it follows from.
type entityHealth struct {
	Entity telemetry.Entity `json:"entity"`
	status.Status
	// Related are the incidents and alerts that concern it, the newest first,
	// resolved ones among them.
	Related []json.RawMessage `json:"related"`
}

// maxRelated bounds the incidents and alerts of one entity's answer.
const maxRelated = 100

// entityStatus answers GET /api/v1/entity.
func (s *server) entityStatus(r *http.Request) (any, error) {
	q := parameters(r, "entity")
	e, err := telemetry.ParseEntity(q.text("entity"))
	if err != nil {
		q.fail("entity", err.Error())
	}
	if q.err != nil {
		return nil, q.err
	}
	st, err := s.statusOf(r.Context(), e, 0)
	if err != nil {
		return nil, err
	}
	return entityHealth{e, st, s.related(status.Scope{Entity: e})}, nil
}

// Bounds of the entities of one search.
const (
	usualFound = 20
	maxFound   = 200
)

// search answers GET /api/v1/search: the entities whose kind:name contains q.
func (s *server) search(r *http.Request) (any, error) {
	q := parameters(r, "q", "limit")
	asked := replica.FindQuestion{Text: q.text("q"), Limit: q.number("limit", usualFound, 1, maxFound)}
	if asked.Text == "" || len(asked.Text) > 200 {
		q.fail("q", "want 1 to 200 bytes")
	}
	if q.err != nil {
		return nil, q.err
	}
	b, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	return ask(r.Context(), s.cfg.Bus, replica.AskFind, b)
}

// related returns the incidents and alerts that concern a scope, open or not.
func (s *server) related(scope status.Scope) []json.RawMessage {
	out := []json.RawMessage{}
	for _, l := range []*ledger{s.ledger, s.alerts} {
		all, _ := l.list()
		for _, k := range all {
			if len(out) < maxRelated && k.mentions(scope.Entity) && k.concerns(scope) {
				out = append(out, withVerdict(k.data, s.notes.of(k.id)))
			}
		}
	}
	return out
}

// statusOf returns the state of an entity. Roots below the confidence are
// suspects.
func (s *server) statusOf(ctx context.Context, e telemetry.Entity, confidence float64) (status.Status, error) {
	scope := status.Scope{Entity: e, Confidence: confidence}
	p := s.poll(ctx)
	if p.err == nil {
		var b raw
		if b, p.err = s.questions.askAbout(ctx, replica.AskReach, replica.ReachQuestion{Entity: e}); p.err == nil {
			p.err = json.Unmarshal(b, &p.reach)
		}
	}
	if p.reach.Entity != nil {
		scope.Reach = *p.reach.Entity
	}
	return status.Of(s.facts(ctx, p), scope), nil
}

// nodeHealth is the answer to GET /api/v1/nodes/{name}/health.
type nodeHealth struct {
	Node string `json:"node"`
	status.Status
}

// node answers GET /api/v1/nodes/{name}/health.
func (s *server) node(r *http.Request) (any, error) {
	q := parameters(r, "min_confidence")
	e := telemetry.Entity{Kind: telemetry.Node, Name: r.PathValue("name")}
	if err := e.Validate(); err != nil {
		q.fail("name", err.Error())
	}
	least := q.fraction("min_confidence")
	if q.err != nil {
		return nil, q.err
	}
	st, err := s.statusOf(r.Context(), e, least)
	return nodeHealth{e.Name, st}, err
}

// fraction reads a number from 0 to 1; 0 where there is none.
func (q *query) fraction(name string) float64 {
	text := q.text(name)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		q.fail(name, fmt.Sprintf("%q: want a number from 0 to 1", text))
		return 0
	}
	return v
}
