package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Job is a job, as of now.
type Job struct {
	Job              string     `json:"job"`
	State            string     `json:"state"`
	StepSeconds      *float64   `json:"step_seconds"`
	UsualStepSeconds *float64   `json:"usual_step_seconds"`
	Slowdown         *float64   `json:"slowdown"`
	MFU              *float64   `json:"mfu"`
	GPUs             *int64     `json:"gpus"`
	Nodes            *int64     `json:"nodes"`
	LastStep         *time.Time `json:"last_step"`
	Incidents        []string   `json:"incidents"`
	Goodput          *float64   `json:"goodput"`
	WorkLostSeconds  *float64   `json:"work_lost_seconds"`
	Failures         *int64     `json:"failures"`
	Phase            string     `json:"phase"`
	Recent           struct {
		T []int64    `json:"t"` // ms since 1970
		V []*float64 `json:"v"` // seconds
	} `json:"recent"`
}

// Jobs asks for all jobs.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	var out struct {
		Jobs []Job `json:"jobs"`
	}
	err := c.get(ctx, []string{"jobs"}, nil, &out)
	return out.Jobs, err
}

// Entity is a device or a part of one.
type Entity struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// Edge relates two entities.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Rel   string `json:"rel"`
	Stale bool   `json:"stale"`
}

// Topology is the neighbourhood of an entity, or the whole topology as far as the
// server returns it.
type Topology struct {
	Kinds     map[string]int `json:"kinds"`
	Entities  []Entity       `json:"entities"`
	Edges     []Edge         `json:"edges"`
	Truncated bool           `json:"truncated"`
}

// Topology queries the neighbourhood of an entity; without an entity it queries all
// edges, of which the server returns at most 5,000.
func (c *Client) Topology(ctx context.Context, entity string, hops int) (*Topology, error) {
	q := url.Values{}
	if entity != "" {
		q.Set("entity", entity)
		q.Set("hops", strconv.Itoa(min(max(hops, 0), 8)))
	}
	var out Topology
	return &out, c.get(ctx, []string{"topology"}, q, &out)
}

// OfKind queries entities of a kind by name, and the name after which the next page
// begins; empty on the last page.
func (c *Client) OfKind(ctx context.Context, kind, after string) (list []Entity, next string, err error) {
	q := url.Values{"kind": {kind}}
	if after != "" {
		q.Set("after", after)
	}
	var out struct {
		Entities []Entity `json:"entities"`
		Next     string   `json:"next"`
	}
	err = c.get(ctx, []string{"topology"}, q, &out)
	return out.Entities, out.Next, err
}

// Source is something that states measurements.
type Source struct {
	Collector          string     `json:"collector"`
	Target             string     `json:"target"`
	Part               string     `json:"part"`
	Series             int64      `json:"series"`
	Latest             *time.Time `json:"latest"`
	Silent             bool       `json:"silent"`
	CadenceSeconds     *float64   `json:"cadence_seconds"`
	ClockOffsetSeconds *float64   `json:"clock_offset_seconds"`
}

// Gap is an interval in which a source was silent.
type Gap struct {
	Collector string     `json:"collector"`
	Target    string     `json:"target"`
	Part      string     `json:"part"`
	From      time.Time  `json:"from"`
	To        *time.Time `json:"to"` // null: it still is
}

// Coverage lists the data sources and the data received from each.
type Coverage struct {
	Sources []Source `json:"sources"`
	Gaps    []Gap    `json:"gaps"`
}

// Coverage queries the data received from each source.
func (c *Client) Coverage(ctx context.Context) (*Coverage, error) {
	var out Coverage
	return &out, c.get(ctx, []string{"coverage"}, nil, &out)
}

// Alarm is something that is wrong with Quintet itself.
type Alarm struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Status is Quintet's status of itself.
type Status struct {
	Site    string     `json:"site"`
	Engine  string     `json:"engine"` // version; empty while none answers
	Rules   string     `json:"rules"`
	Tick    *time.Time `json:"tick"`
	Alarms  []Alarm    `json:"alarms"`
	Sources int        `json:"sources"`
	Silent  int        `json:"silent"`
	Demo    string     `json:"demo"`
}

// Status asks how Quintet is.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var out Status
	return &out, c.get(ctx, []string{"status"}, nil, &out)
}
