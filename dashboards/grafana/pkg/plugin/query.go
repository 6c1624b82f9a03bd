package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/api"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

// together is how many queries of one request are answered at a time.
const together = 4

// Query is the query of the query editor. Grafana puts more into the same object.
type Query struct {
	frames.Filter
	State    string `json:"state"`  // open, resolved or all
	Limit    int    `json:"limit"`  // incidents
	Format   string `json:"format"` // by query type
	GroupBy  string `json:"groupBy"`
	Incident string `json:"incident"`
	Hops     *int   `json:"hops"`
	Window   string `json:"window"` // of losses per hour, such as "1h"
	Of       string `json:"of"`     // values: jobs, entities, signatures, incidents
	Search   string `json:"search"`
	Live     bool   `json:"live"`
}

// asked is one query and the time that it is about.
type asked struct {
	Query
	kind  string
	times backend.TimeRange
}

// QueryData answers the queries of a panel, of an annotation or of an alert.
func (d *Datasource) QueryData(ctx context.Context, req *backend.QueryDataRequest) (*backend.QueryDataResponse, error) {
	out := backend.NewQueryDataResponse()
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, together)
	for _, q := range req.Queries {
		wg.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; wg.Done() }()
			r := d.one(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			out.Responses[q.RefID] = r
		}()
	}
	wg.Wait()
	return out, nil
}

func (d *Datasource) one(ctx context.Context, q backend.DataQuery) backend.DataResponse {
	a := asked{kind: q.QueryType, times: q.TimeRange}
	if err := json.Unmarshal(q.JSON, &a.Query); err != nil {
		return failed(&badQuery{"", err.Error()})
	}
	if a.kind == "" {
		var named struct {
			QueryType string `json:"queryType"`
		}
		if err := json.Unmarshal(q.JSON, &named); err != nil {
			return failed(&badQuery{"queryType", err.Error()})
		}
		a.kind = named.QueryType
	}
	list, err := d.answer(ctx, a)
	if err != nil {
		return failed(err)
	}
	for _, f := range list {
		f.RefID = q.RefID
	}
	return backend.DataResponse{Frames: list, Status: backend.StatusOK}
}

// answer is the list of query types.
func (d *Datasource) answer(ctx context.Context, a asked) (data.Frames, error) {
	switch a.kind {
	case "", "incidents":
		return d.incidents(ctx, a)
	case "annotations":
		return d.annotations(ctx, a)
	case "chain":
		return d.chain(ctx, a)
	case "curves":
		return d.curves(ctx, a)
	case "topology":
		return d.topology(ctx, a)
	case "jobs":
		return d.jobs(ctx, a)
	case "losses":
		return d.losses(ctx, a)
	case "coupling":
		return d.coupling(ctx, a)
	case "budget":
		return d.budget(ctx, a)
	case "bottlenecks":
		return d.bottlenecks(ctx, a)
	case "coverage":
		return d.coverage(ctx, a)
	case "openIncidents":
		return d.openIncidents(ctx, a)
	case "lossRate":
		return d.lossRate(ctx, a)
	case "values":
		return d.values(ctx, a)
	}
	return nil, &badQuery{"queryType", fmt.Sprintf("there is no %q", a.kind)}
}

// badQuery is a query that cannot be asked.
type badQuery struct{ field, text string }

func (e *badQuery) Error() string {
	if e.field == "" {
		return "the query: " + e.text
	}
	return e.field + ": " + e.text
}

func oneOf(field, got string, want ...string) (string, error) {
	if got == "" {
		return want[0], nil
	}
	for _, w := range want {
		if got == w {
			return got, nil
		}
	}
	return "", &badQuery{field, fmt.Sprintf("%q: want one of %q", got, want)}
}

// failed returns the error response for Grafana, with the side that caused the
// error.
func failed(err error) backend.DataResponse {
	source := backend.ErrorSourceDownstream
	return backend.DataResponse{Error: err, Status: statusOf(err), ErrorSource: source}
}

// statusOf returns the status that is sent to Grafana. Quintet's 401 and 403 are
// not passed on: to a browser they would mean that Grafana's own session has ended.
func statusOf(err error) backend.Status {
	var bad *badQuery
	var no *api.Refused
	var lost *api.Unreachable
	switch {
	case errors.As(err, &bad):
		return backend.StatusBadRequest
	case errors.As(err, &lost) && lost.TimedOut():
		return backend.StatusTimeout
	case errors.As(err, &no):
		switch no.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return backend.Status(no.Status)
		}
	}
	return backend.StatusBadGateway
}

// window returns how long ago the range began. Quintet totals losses up to now: if
// the range ends earlier, or began too long ago, the returned notice reports it.
func (d *Datasource) window(r backend.TimeRange) (time.Duration, string) {
	now := d.now()
	w := now.Sub(r.From)
	const longest = 30 * 24 * time.Hour
	switch {
	case w > longest+time.Hour:
		return longest, "Quintet counts at most 30 days"
	case w <= 0:
		return time.Minute, "the range lies in the future"
	}
	if late := now.Sub(r.To); late > time.Minute && late > r.To.Sub(r.From)/20 {
		return w, "Quintet counts up to now: what lies after the range is in it"
	}
	return w, ""
}

// remarked puts a remark, if there is one, on the first frame.
func remarked(remark string, list ...*data.Frame) data.Frames {
	if remark != "" && len(list) > 0 {
		frames.Say(list[0], remark)
	}
	return list
}
