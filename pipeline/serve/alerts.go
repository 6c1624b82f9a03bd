package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

const usualAlerts = 500

// alertNote is what else is known of a group of alerts that is open.
type alertNote struct {
	// Incident is the open incident that covers the alerts, and Why how.
	Incident   string   `json:"incident,omitempty"`
	Why        string   `json:"why,omitempty"`
	SilencedBy []string `json:"silenced_by"`
}

// alertList is the answer to GET /api/v1/alerts: groups in the form of a webhook.
type alertList struct {
	Alerts    []json.RawMessage    `json:"alerts"`
	Notes     map[string]alertNote `json:"notes"`
	Truncated bool                 `json:"truncated,omitempty"`
	Next      string               `json:"next,omitempty"` // the cursor of what comes behind
}

// alertAndNote is the answer to GET /api/v1/alerts/{id}.
type alertAndNote struct {
	Alert json.RawMessage `json:"alert"`
	Note  alertNote       `json:"note"`
}

// firing answers GET /api/v1/alerts.
func (s *server) firing(r *http.Request) (any, error) {
	q := parameters(r, "state", "limit", "cursor")
	state, limit, from := q.text("state"), q.number("limit", usualAlerts, 1, maxAlerts), q.cursor()
	if !slices.Contains([]string{"", "all", explain.StateOpen, explain.StateResolved}, state) {
		q.fail("state", "want open, resolved or all")
	}
	if q.err != nil {
		return nil, q.err
	}
	if err := s.alertsError(); err != nil {
		return nil, err
	}
	all, _ := s.alerts.list()
	s.climbed(r.Context(), all)
	out := alertList{Alerts: []json.RawMessage{}, Notes: map[string]alertNote{}}
	slices.SortStableFunc(all, func(a, b *kept) int { return closed(a) - closed(b) })
	open := s.openIncidents()
	all = slices.DeleteFunc(all, func(k *kept) bool { return state != "" && state != "all" && state != k.state })
	p := pageOf(all, func(k *kept) string { return k.id }, from, limit)
	out.Next, out.Truncated = p.next, p.next != ""
	for _, k := range p.items {
		out.Alerts = append(out.Alerts, k.data)
		if n := s.alertNote(k, open); n.Incident != "" || len(n.SilencedBy) > 0 {
			out.Notes[k.id] = n
		}
	}
	return out, nil
}

// closed orders open alerts before ended ones.
func closed(k *kept) int {
	if k.state == explain.StateOpen {
		return 0
	}
	return 1
}

// alert answers GET /api/v1/alerts/{id}.
func (s *server) alert(r *http.Request) (any, error) {
	if q := parameters(r); q.err != nil {
		return nil, q.err
	}
	if err := s.alertsError(); err != nil {
		return nil, err
	}
	k, ok := s.alerts.get(r.PathValue("id"))
	if !ok {
		return nil, &problem{status: http.StatusNotFound, field: "id", text: "no such alert"}
	}
	s.climbed(r.Context(), []*kept{k})
	return alertAndNote{k.data, s.alertNote(k, s.openIncidents())}, nil
}

// alertsError returns why the alerts are not known.
func (s *server) alertsError() error {
	if s.cfg.Firing == nil {
		return &problem{status: http.StatusNotImplemented, text: "alerts: this process does not read them"}
	}
	if !s.alerts.current() || !s.ledger.current() {
		return unavailable("the alerts are still being read")
	}
	return nil
}

// openIncidents returns the open incidents that may cover alerts.
func (s *server) openIncidents() (out []*notify.OpenIncident) {
	all, _ := s.ledger.list()
	for _, k := range all {
		if k.open != nil {
			out = append(out, k.open)
		}
	}
	return out
}

// What an answer waits for the engine to report what is above the roots of alerts,
// and how often it looks.
const (
	graphTimeout = 500 * time.Millisecond
	climbLook    = 10 * time.Millisecond
)

// climbed waits until it is known what is above the roots of open alerts. The engine
// is asked when that is first needed: an alert of a supply whose feed is the root of
// an incident would be taken for an alert that no incident includes until then.
func (s *server) climbed(ctx context.Context, alerts []*kept) {
	unknown := func(k *kept) bool {
		if k.open == nil {
			return false
		}
		_, known := s.above.Above(k.root)
		return !known
	}
	limit, look := time.NewTimer(graphTimeout), time.NewTicker(climbLook)
	defer limit.Stop()
	defer look.Stop()
	for slices.ContainsFunc(alerts, unknown) {
		select {
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		case <-look.C:
		}
	}
}

// alertNote returns why a group's messages are withheld.
func (s *server) alertNote(k *kept, open []*notify.OpenIncident) alertNote {
	n := alertNote{SilencedBy: s.noteView(k, note{}).SilencedBy}
	if k.open != nil {
		n.Incident, n.Why = notify.Holder(k.open, open, s.above)
	}
	return n
}
