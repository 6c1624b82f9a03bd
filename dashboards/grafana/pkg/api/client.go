package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/client"
)

// Client asks one server. It may be used by many goroutines.
type Client struct {
	base   *url.URL
	ask    *client.Client
	follow *client.Client
}

// New makes a client of the server at base. Requests use ask, with its timeout; the
// stream, which does not end, uses follow, which must not have one.
func New(base string, ask, follow *http.Client) (*Client, error) {
	base = strings.TrimSpace(base)
	if base == "" {
		return nil, errors.New("no URL of a Quintet server is set")
	}
	asks, err := client.New(base, client.WithHTTP(ask))
	if err != nil {
		return nil, err
	}
	follows, err := client.New(base, client.WithHTTP(follow))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	return &Client{base: u, ask: asks, follow: follows}, err
}

// Page is the address of a view of Quintet's own page, such as "incidents/…".
func (c *Client) Page(view ...string) string { return c.base.JoinPath(view...).String() }

// Incidents asks for a list, newest opening first.
func (c *Client) Incidents(ctx context.Context, p client.GetIncidentsParams) (*client.IncidentList, error) {
	return explained(c.ask.GetIncidents(ctx, p))
}

// Since is a time as a parameter; empty for the zero time.
func Since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Incident asks for one.
func (c *Client) Incident(ctx context.Context, id string) (*client.Incident, error) {
	return explained(c.ask.GetIncidentsID(ctx, id))
}

// Curves asks for the evidence of one incident.
func (c *Client) Curves(ctx context.Context, id string) (*client.Picture, error) {
	return explained(c.ask.GetIncidentsIDCurves(ctx, id, client.GetIncidentsIDCurvesParams{}))
}

// Jobs asks for all jobs.
func (c *Client) Jobs(ctx context.Context) ([]client.Job, error) {
	out, err := explained(c.ask.GetJobs(ctx, client.GetJobsParams{}))
	if err != nil {
		return nil, err
	}
	return out.Jobs, nil
}

// Topology queries the neighbourhood of an entity; without an entity it queries all
// edges, of which the server returns at most 5,000.
func (c *Client) Topology(ctx context.Context, entity string, hops int) (*client.Topology, error) {
	p := client.GetTopologyParams{Entity: entity}
	if entity != "" {
		n := int64(min(max(hops, 0), 8))
		p.Hops = &n
	}
	return explained(c.ask.GetTopology(ctx, p))
}

// OfKind queries entities of a kind by name, and the name after which the next page
// begins; empty on the last page.
func (c *Client) OfKind(ctx context.Context, kind, after string) (list []client.Entity, next string, err error) {
	out, err := explained(c.ask.GetTopology(ctx, client.GetTopologyParams{Kind: kind, After: after}))
	if err != nil {
		return nil, "", err
	}
	return out.Entities, out.Next, nil
}

// Coverage queries the data received from each source.
func (c *Client) Coverage(ctx context.Context) (*client.SourceList, error) {
	return explained(c.ask.GetCoverage(ctx, client.GetCoverageParams{}))
}

// Status asks how Quintet is.
func (c *Client) Status(ctx context.Context) (*client.SiteStatus, error) {
	return explained(c.ask.GetStatus(ctx))
}

// What the server takes for a window.
const (
	minWindow = time.Minute
	maxWindow = 30 * 24 * time.Hour
)

// windowed is a window as a parameter.
func windowed(window time.Duration) string {
	window = min(max(window, minWindow), maxWindow)
	// Seconds, rounded up: the window must not begin after the requested time.
	return fmt.Sprintf("%ds", int64((window+time.Second-1)/time.Second))
}

// Losses queries the loss of the window up to now, of all jobs or one.
func (c *Client) Losses(ctx context.Context, window time.Duration, job string) (*client.Losses, error) {
	return explained(c.ask.GetLosses(ctx, client.GetLossesParams{Window: windowed(window), Job: job}))
}

// Coupling asks for the matrix of the window up to now.
func (c *Client) Coupling(ctx context.Context, window time.Duration) (*client.Matrix, error) {
	out, err := explained(c.ask.GetCoupling(ctx, client.GetCouplingParams{Window: windowed(window)}))
	if err != nil {
		return nil, err
	}
	n := len(out.Domains)
	square := len(out.Coupling) == n && len(out.LagSeconds) == n
	for i := 0; square && i < n; i++ {
		square = len(out.Coupling[i]) == n && len(out.LagSeconds[i]) == n
	}
	if !square {
		return nil, &Garbage{Path: "/api/v1/coupling", Why: "the matrix has not a row and a column for each domain"}
	}
	return out, nil
}

// Budgets asks where the GPU-seconds of the window up to now went.
func (c *Client) Budgets(ctx context.Context, window time.Duration, job string) (*client.Budgets, error) {
	return explained(c.ask.GetBudget(ctx, client.GetBudgetParams{Window: windowed(window), Job: job}))
}

// Bottlenecks asks for the scores of the window up to now.
func (c *Client) Bottlenecks(ctx context.Context, window time.Duration) (*client.Bottlenecks, error) {
	return explained(c.ask.GetBottlenecks(ctx, client.GetBottlenecksParams{Window: windowed(window)}))
}
