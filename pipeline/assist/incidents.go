package assist

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	usualListed = 20
	maxListed   = 50
)

func itoa(n int) string { return strconv.Itoa(n) }

// addIncidents adds the tools on incidents.
func (t *tools) addIncidents(s *mcp.Server) {
	add(s, tool{"list_incidents", "List incidents",
		"Which jobs are degraded, since when, where it began and why, newest first. Default: open incidents. Risks (faults that degrade no job yet) are included, with kind risk."}, t.listIncidents)
	add(s, tool{"get_incident", "Get one incident",
		"One incident whole: what it costs each job, its root, the chain from the root to the job with times and their uncertainty, alternatives, what is ruled out and why, blind spots (what could not be seen), what to do, what people wrote about it."}, t.getIncident)
	add(s, tool{"get_evidence", "Get the curves behind an incident",
		"The curves that are an incident's evidence, read back from the log: the degraded job's steps, the root, the chain, corroborating evidence. Each with its median before the onset and since, and thinned points that keep the extremes."}, t.getEvidence)
}

type listIncidentsIn struct {
	State string `json:"state,omitempty" jsonschema:"open (the default), resolved or all"`
	Job   string `json:"job,omitempty" jsonschema:"only those that degrade this job, such as job:train"`
	Since string `json:"since,omitempty" jsonschema:"only those published at or after this time (RFC 3339)"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most so many, 1 to 50; default 20"`
}

// listed is an incident in a list.
type listed struct {
	ID         string             `json:"id"`
	State      string             `json:"state"`
	Kind       string             `json:"kind"`
	Severity   string             `json:"severity"`
	Title      string             `json:"title"`
	Opened     telemetry.Time     `json:"opened"`
	Resolved   *telemetry.Time    `json:"resolved"`
	Onset      telemetry.Interval `json:"onset"`
	Root       telemetry.Entity   `json:"root"`
	Domain     telemetry.Domain   `json:"domain"`
	Signature  string             `json:"signature"`
	Confidence float64            `json:"confidence"`
	Jobs       []degradedJob      `json:"jobs"`
}

// degradedJob is a degraded job of an incident.
type degradedJob struct {
	Job            telemetry.Entity `json:"job"`
	State          string           `json:"state"`
	Slowdown       *float64         `json:"slowdown"`
	GPUSecondsLost float64          `json:"gpu_seconds_lost"`
}

func (t *tools) listIncidents(ctx context.Context, in listIncidentsIn) (*result, error) {
	in.Limit = cmp.Or(in.Limit, usualListed)
	if in.Limit < 1 || in.Limit > maxListed {
		return nil, fmt.Errorf("limit: %d: want 1 to %d", in.Limit, maxListed)
	}
	in.State = cmp.Or(in.State, explain.StateOpen)
	var got struct {
		Incidents []explain.Incident `json:"incidents"`
		Truncated bool               `json:"truncated"`
	}
	if err := t.get(ctx, "/api/v1/incidents", parameters("state", in.State, "job", in.Job, "since", in.Since), &got); err != nil {
		return nil, err
	}
	rows, lost, risks := []listed{}, 0.0, 0
	for i := range got.Incidents {
		x := &got.Incidents[i]
		if x.Kind == explain.KindRisk {
			risks++
		}
		row := listed{x.ID, x.State, x.Kind, x.Severity, x.Title, x.Opened, x.Resolved, x.Onset, x.Root.Entity, x.Root.Domain, x.Root.Signature, x.Root.Confidence, []degradedJob{}}
		for _, j := range x.Impact.Jobs {
			row.Jobs = append(row.Jobs, degradedJob{j.Job, j.State, j.Slowdown, j.GPUSecondsLost})
			lost += j.GPUSecondsLost
		}
		rows = append(rows, row)
	}
	out := &result{tick: t.tick(ctx), page: "/", text: listWords(in.State, len(rows)-risks, risks, lost)}
	if len(rows) > 0 {
		out.text += " The newest: " + rows[0].Title
	}
	more := ""
	if got.Truncated {
		more = " or more"
	}
	if n := len(rows); n > in.Limit {
		out.cut = append(out.cut, fmt.Sprintf("incidents: the newest %d of %d%s; limit, job and since choose others", in.Limit, n, more))
		rows = rows[:in.Limit]
	}
	out.data = map[string]any{"incidents": rows}
	return out, nil
}

func listWords(state string, incidents, risks int, lost float64) string {
	which := map[string]string{explain.StateOpen: "open ", explain.StateResolved: "resolved "}[state]
	s := plural(incidents, which+"incident")
	if risks > 0 {
		s += ", " + plural(risks, which+"risk")
	}
	if lost > 0 {
		s += "; " + explain.GPUTime(lost) + " lost"
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

type incidentIn struct {
	ID string `json:"id" jsonschema:"the incident's id, inc- and 16 hex digits, as list_incidents gives it"`
}

// checkID returns an error for an invalid id before it becomes a part of a path.
func checkID(id string) error {
	hex, ok := strings.CutPrefix(id, "inc-")
	if !ok || len(hex) != 16 || strings.Trim(hex, "0123456789abcdef") != "" {
		return fmt.Errorf("id: %.40q: want inc- and 16 hex digits, as list_incidents gives it", id)
	}
	return nil
}

// incident asks for one incident.
func (t *tools) incident(ctx context.Context, id, more string, into any) error {
	if err := checkID(id); err != nil {
		return err
	}
	err := t.get(ctx, "/api/v1/incidents/"+id+more, nil, into)
	var r *Refusal
	if errors.As(err, &r) && r.Status == http.StatusNotFound {
		return fmt.Errorf("no incident is called %s: list_incidents with state all gives those there are", id)
	}
	return err
}

func (t *tools) getIncident(ctx context.Context, in incidentIn) (*result, error) {
	var whole json.RawMessage
	if err := t.incident(ctx, in.ID, "", &whole); err != nil {
		return nil, err
	}
	var x explain.Incident
	if err := json.Unmarshal(whole, &x); err != nil {
		return nil, fmt.Errorf("incident %s: %w", in.ID, err)
	}
	var notes json.RawMessage
	if err := t.incident(ctx, in.ID, "/notes", &notes); err != nil {
		return nil, err
	}
	return &result{text: incidentWords(&x), tick: t.tick(ctx), page: pageOf(in.ID),
		data: map[string]any{"incident": whole, "notes": notes}}, nil
}

func pageOf(id string) string { return "/incidents/" + url.PathEscape(id) }

// incidentWords describes an incident in two or three sentences.
func incidentWords(x *explain.Incident) string {
	root := "cause under investigation"
	if !x.Root.Entity.IsZero() {
		root = fmt.Sprintf("root %s, %s, confidence %.2f", x.Root.Entity, x.Root.Signature, x.Root.Confidence)
	}
	s := fmt.Sprintf("%s (%s, %s, %s; %s).", x.Title, x.State, x.Kind, x.Severity, root)
	if x.Title != "" && strings.HasSuffix(x.Title, ".") {
		s = strings.TrimSuffix(x.Title, ".") + s[len(x.Title):]
	}
	if n := len(x.BlindSpots); n > 0 {
		s += fmt.Sprintf(" It could not see everything: %s.", plural(n, "blind spot"))
	}
	if len(x.Actions) > 0 {
		s += " First of what to do: " + strings.TrimSuffix(x.Actions[0].Text, ".") + "."
	}
	return s
}
