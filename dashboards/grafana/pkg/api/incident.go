package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Interval bounds a moment that is not known exactly.
type Interval struct {
	Earliest time.Time `json:"earliest"`
	Latest   time.Time `json:"latest"`
}

// Suspect is a root, or what else it might have been.
type Suspect struct {
	Entity     string    `json:"entity"`
	Domain     string    `json:"domain"`
	Signature  string    `json:"signature"`
	Confidence float64   `json:"confidence"`
	Onset      *Interval `json:"onset"`
}

// HurtJob is the effect of an incident on a job.
type HurtJob struct {
	Job            string   `json:"job"`
	State          string   `json:"state"`
	Before         *float64 `json:"before"`
	Now            *float64 `json:"now"`
	Expected       *float64 `json:"expected"`
	Slowdown       *float64 `json:"slowdown"`
	GPUSecondsLost *float64 `json:"gpu_seconds_lost"`
	Share          *float64 `json:"share"`
}

// Link is one step of the way from the root to the jobs.
type Link struct {
	Entity     string    `json:"entity"`
	Domain     string    `json:"domain"`
	Metric     string    `json:"metric"`
	Shape      string    `json:"shape"`
	Onset      *Interval `json:"onset"`
	LagSeconds *float64  `json:"lag_seconds"`
	LagUnsure  *float64  `json:"lag_uncertainty_seconds"`
	Relation   string    `json:"relation"`
	From       string    `json:"from"`
	Before     *float64  `json:"before"`
	Now        *float64  `json:"now"`
	Unit       string    `json:"unit"`
	Why        string    `json:"why"`
}

// Action is a proposed action.
type Action struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Incident is one incident, as of one of its revisions.
type Incident struct {
	ID           string     `json:"id"`
	State        string     `json:"state"`
	Kind         string     `json:"kind"`
	Severity     string     `json:"severity"`
	Title        string     `json:"title"`
	Opened       time.Time  `json:"opened"`
	Updated      time.Time  `json:"updated"`
	Resolved     *time.Time `json:"resolved"`
	Resolution   *string    `json:"resolution"`
	Revision     int64      `json:"revision"`
	Onset        *Interval  `json:"onset"`
	Root         *Suspect   `json:"root"`
	Alternatives []Suspect  `json:"alternatives"`
	Impact       struct {
		Jobs []HurtJob `json:"jobs"`
	} `json:"impact"`
	Chain    []Link `json:"chain"`
	RuledOut []struct {
		Domain string `json:"domain"`
		Why    string `json:"why"`
	} `json:"ruled_out"`
	Actions []Action `json:"actions"`
	Verdict *string  `json:"verdict"`
	Site    string   `json:"site"`
}

// GPUSecondsLost returns the sum of the GPU seconds that the degraded jobs lost.
func (i *Incident) GPUSecondsLost() float64 {
	sum := 0.0
	for _, j := range i.Impact.Jobs {
		if j.GPUSecondsLost != nil {
			sum += *j.GPUSecondsLost
		}
	}
	return sum
}

// Asked narrows a list of incidents on the server's side.
type Asked struct {
	State string    // open, resolved or all
	Job   string    // empty: every job
	Since time.Time // told of at or after it; zero: whenever
	Limit int       // 0: the server's
}

// Incidents is a list, newest opening first.
type Incidents struct {
	Incidents   []Incident `json:"incidents"`
	LastEventID string     `json:"last_event_id"`
	Truncated   bool       `json:"truncated"`
}

// Incidents asks for a list.
func (c *Client) Incidents(ctx context.Context, a Asked) (*Incidents, error) {
	q := url.Values{}
	if a.State != "" {
		q.Set("state", a.State)
	}
	if a.Job != "" {
		q.Set("job", a.Job)
	}
	if !a.Since.IsZero() {
		q.Set("since", a.Since.UTC().Format(time.RFC3339Nano))
	}
	if a.Limit > 0 {
		q.Set("limit", strconv.Itoa(a.Limit))
	}
	var out Incidents
	return &out, c.get(ctx, []string{"incidents"}, q, &out)
}

// Incident asks for one.
func (c *Client) Incident(ctx context.Context, id string) (*Incident, error) {
	var out Incident
	return &out, c.get(ctx, []string{"incidents", id}, nil, &out)
}

// Curve is a course of values that is evidence.
type Curve struct {
	Entity  string     `json:"entity"`
	Metric  string     `json:"metric"`
	Unit    string     `json:"unit"`
	Role    string     `json:"role"` // effect, root, chain or witness
	T       []int64    `json:"t"`    // ms since 1970
	V       []*float64 `json:"v"`
	Thinned int        `json:"thinned"`
}

// Curves are those of one incident.
type Curves struct {
	Curves []Curve `json:"curves"`
	Note   string  `json:"note"`
}

// Curves asks for the evidence of one incident.
func (c *Client) Curves(ctx context.Context, id string) (*Curves, error) {
	var out Curves
	return &out, c.get(ctx, []string{"incidents", id, "curves"}, nil, &out)
}
