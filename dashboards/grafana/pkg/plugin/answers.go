package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/api"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

const (
	usualIncidents = 1000
	maxIncidents   = 10000 // of one answer of Quintet's
	usualHops      = 2
)

// within queries the incidents that were open at some time of the range, newest
// opening first: those with a revision since it began, and those still open.
func (d *Datasource) within(ctx context.Context, a asked) (list []client.Incident, truncated bool, err error) {
	state, err := oneOf("state", a.State, "all", "open", "resolved")
	if err != nil {
		return nil, false, err
	}
	limit := a.Limit
	if limit <= 0 {
		limit = usualIncidents
	}
	limit = min(limit, maxIncidents)
	var open, resolved *client.IncidentList
	if state != "resolved" {
		if open, err = d.quint.Incidents(ctx, client.GetIncidentsParams{State: "open", Job: a.Job, Limit: maxIncidents}); err != nil {
			return nil, false, err
		}
		list, truncated = open.Incidents, open.Truncated
	}
	if state != "open" {
		if resolved, err = d.quint.Incidents(ctx, client.GetIncidentsParams{State: "resolved", Job: a.Job, Since: api.Since(a.times.From), Limit: maxIncidents}); err != nil {
			return nil, false, err
		}
		list, truncated = append(list, resolved.Incidents...), truncated || resolved.Truncated
	}
	list = slices.DeleteFunc(list, func(i client.Incident) bool {
		return i.Opened.After(a.times.To) || i.Resolved != nil && i.Resolved.Before(a.times.From) || !a.Passes(&i)
	})
	// Between the two questions one may have been resolved: the later answer holds.
	slices.SortStableFunc(list, func(x, y client.Incident) int {
		return cmp.Or(y.Opened.Compare(x.Opened), cmp.Compare(x.ID, y.ID), cmp.Compare(y.Revision, x.Revision))
	})
	list = slices.CompactFunc(list, func(x, y client.Incident) bool { return x.ID == y.ID })
	if len(list) > limit {
		list, truncated = list[:limit], true
	}
	return list, truncated, nil
}

func (d *Datasource) incidents(ctx context.Context, a asked) (data.Frames, error) {
	list, truncated, err := d.within(ctx, a)
	if err != nil {
		return nil, err
	}
	f := frames.Incidents(list, d.page)
	if truncated {
		frames.Say(f, fmt.Sprintf("there are more than these %d", len(list)))
	}
	if a.Live {
		if f.Meta.Channel, err = d.channel(a.Filter); err != nil {
			return nil, err
		}
	}
	return data.Frames{f}, nil
}

func (d *Datasource) annotations(ctx context.Context, a asked) (data.Frames, error) {
	list, truncated, err := d.within(ctx, a)
	if err != nil {
		return nil, err
	}
	f := frames.Annotations(list, earlier(a.times.To, d.now()))
	if truncated {
		frames.Say(f, fmt.Sprintf("there are more than these %d", len(list)))
	}
	return data.Frames{f}, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (d *Datasource) chain(ctx context.Context, a asked) (data.Frames, error) {
	i, err := d.chosen(ctx, a)
	if err != nil || i == nil {
		return frames.Chain(&client.Incident{}, ""), err
	}
	return frames.Chain(i, d.page), nil
}

func (d *Datasource) curves(ctx context.Context, a asked) (data.Frames, error) {
	i, err := d.chosen(ctx, a)
	if err != nil || i == nil {
		return nil, err
	}
	c, err := d.quint.Curves(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	return frames.Curves(c), nil
}

// chosen is the incident that is named; without a name the newest of the range,
// open ones first, and none where there is none.
func (d *Datasource) chosen(ctx context.Context, a asked) (*client.Incident, error) {
	if a.Incident != "" && a.Incident != "newest" {
		if !strings.HasPrefix(a.Incident, "inc-") {
			return nil, &badQuery{"incident", fmt.Sprintf("%q is no incident's id", a.Incident)}
		}
		return d.quint.Incident(ctx, a.Incident)
	}
	list, _, err := d.within(ctx, a)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if k := slices.IndexFunc(list, func(i client.Incident) bool { return i.State == "open" }); k >= 0 {
		return &list[k], nil
	}
	return &list[0], nil
}

func (d *Datasource) topology(ctx context.Context, a asked) (data.Frames, error) {
	hops := usualHops
	if a.Hops != nil {
		hops = *a.Hops
	}
	t, err := d.quint.Topology(ctx, a.Entity, hops)
	if err != nil {
		return nil, err
	}
	return frames.Topology(t, a.Entity), nil
}

func (d *Datasource) jobs(ctx context.Context, a asked) (data.Frames, error) {
	format, err := oneOf("format", a.Format, "table", "steps")
	if err != nil {
		return nil, err
	}
	list, err := d.quint.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	list = frames.Only(list, a.Job)
	if format == "steps" {
		return frames.Steps(list, a.times.From, a.times.To), nil
	}
	return data.Frames{frames.Jobs(list, d.page)}, nil
}

func (d *Datasource) losses(ctx context.Context, a asked) (data.Frames, error) {
	by, err := oneOf("groupBy", a.GroupBy, "cause", "job", "domain", "day")
	if err != nil {
		return nil, err
	}
	window, remark := d.window(a.times)
	l, err := d.quint.Losses(ctx, window, a.Job)
	if err != nil {
		return nil, err
	}
	switch by {
	case "job":
		return remarked(remark, frames.LossesByJob(l)), nil
	case "domain":
		return remarked(remark, frames.LossesByDomain(l)), nil
	case "day":
		f, err := frames.LossesByDay(l, a.times.From, a.times.To)
		return data.Frames{f}, err
	}
	return remarked(remark, frames.LossesByCause(l)), nil
}

func (d *Datasource) coupling(ctx context.Context, a asked) (data.Frames, error) {
	format, err := oneOf("format", a.Format, "matrix", "pairs", "graph")
	if err != nil {
		return nil, err
	}
	window, remark := d.window(a.times)
	c, err := d.quint.Coupling(ctx, window)
	if err != nil {
		return nil, err
	}
	switch format {
	case "pairs":
		return remarked(remark, frames.CouplingPairs(c)), nil
	case "graph":
		return remarked(remark, frames.CouplingGraph(c)...), nil
	}
	return remarked(remark, frames.CouplingMatrix(c)), nil
}

func (d *Datasource) budget(ctx context.Context, a asked) (data.Frames, error) {
	format, err := oneOf("format", a.Format, "waterfall", "wide")
	if err != nil {
		return nil, err
	}
	window, remark := d.window(a.times)
	all, err := d.quint.Budgets(ctx, window, a.Job)
	if err != nil {
		return nil, err
	}
	b, ok := frames.Budget(all, a.Job)
	if !ok {
		return nil, &badQuery{"job", fmt.Sprintf("Quintet knows no budget of %q", a.Job)}
	}
	if format == "wide" {
		return remarked(remark, frames.BudgetWide(b)), nil
	}
	return remarked(remark, frames.BudgetWaterfall(b)), nil
}

func (d *Datasource) bottlenecks(ctx context.Context, a asked) (data.Frames, error) {
	window, remark := d.window(a.times)
	b, err := d.quint.Bottlenecks(ctx, window)
	if err != nil {
		return nil, err
	}
	return remarked(remark, frames.Bottlenecks(b)), nil
}

func (d *Datasource) coverage(ctx context.Context, a asked) (data.Frames, error) {
	format, err := oneOf("format", a.Format, "timeline", "table")
	if err != nil {
		return nil, err
	}
	c, err := d.quint.Coverage(ctx)
	if err != nil {
		return nil, err
	}
	if format == "table" {
		return data.Frames{frames.Coverage(c, d.now())}, nil
	}
	return frames.Timeline(c, a.times.From, a.times.To), nil
}

// openIncidents counts those open now, whatever the range: an alert asks how it
// is.
func (d *Datasource) openIncidents(ctx context.Context, a asked) (data.Frames, error) {
	all, err := d.quint.Incidents(ctx, client.GetIncidentsParams{State: "open", Job: a.Job, Limit: maxIncidents})
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all.Incidents, func(i client.Incident) bool { return !a.Passes(&i) })
	return data.Frames{frames.OpenIncidents(list)}, nil
}

func (d *Datasource) lossRate(ctx context.Context, a asked) (data.Frames, error) {
	window := time.Hour
	if a.Window != "" {
		w, err := time.ParseDuration(a.Window)
		if err != nil || w <= 0 {
			return nil, &badQuery{"window", fmt.Sprintf("%q: want a length of time such as 30m or 1h", a.Window)}
		}
		window = w
	}
	l, err := d.quint.Losses(ctx, window, a.Job)
	if err != nil {
		return nil, err
	}
	f, err := frames.LossRate(l)
	return data.Frames{f}, err
}

// values returns the possible values of a dashboard's variable.
func (d *Datasource) values(ctx context.Context, a asked) (data.Frames, error) {
	of, err := oneOf("of", a.Of, "jobs", "entities", "signatures", "incidents")
	if err != nil {
		return nil, err
	}
	list, err := d.choices(ctx, of, a.Search)
	if err != nil {
		return nil, err
	}
	return data.Frames{frames.Values(list)}, nil
}
