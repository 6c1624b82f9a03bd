package frames

import (
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// Filter is which incidents are wanted. What is empty lets all pass.
type Filter struct {
	Severities []string `json:"severities,omitempty"`
	Domains    []string `json:"domains,omitempty"`
	Kinds      []string `json:"kinds,omitempty"` // incident, risk
	Signature  string   `json:"signature,omitempty"`
	Entity     string   `json:"entity,omitempty"` // the root, or somewhere in its chain
	Job        string   `json:"job,omitempty"`    // with or without "job:"
}

// Passes is whether an incident is wanted.
func (f Filter) Passes(i *client.Incident) bool {
	return (len(f.Severities) == 0 || slices.Contains(f.Severities, i.Severity)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, i.Kind)) &&
		(len(f.Domains) == 0 || slices.Contains(f.Domains, domainOf(i))) &&
		(f.Signature == "" || signatureOf(i) == f.Signature) &&
		(f.Entity == "" || involves(i, f.Entity)) &&
		(f.Job == "" || affects(i, f.Job))
}

func domainOf(i *client.Incident) string {
	if i.Root == nil {
		return ""
	}
	return i.Root.Domain
}

func signatureOf(i *client.Incident) string {
	if i.Root == nil {
		return ""
	}
	return i.Root.Signature
}

func rootOf(i *client.Incident) string {
	if i.Root == nil {
		return ""
	}
	return i.Root.Entity
}

func involves(i *client.Incident, entity string) bool {
	return rootOf(i) == entity || slices.ContainsFunc(i.Chain, func(l client.Link) bool { return l.Entity == entity })
}

func affects(i *client.Incident, job string) bool {
	want := "job:" + strings.TrimPrefix(job, "job:")
	return slices.ContainsFunc(i.Impact.Jobs, func(j client.JobImpact) bool { return j.Job == want })
}

// jobsOf returns the names of the degraded jobs.
func jobsOf(i *client.Incident) []string {
	out := make([]string, len(i.Impact.Jobs))
	for k, j := range i.Impact.Jobs {
		out[k] = short(j.Job)
	}
	return out
}

// lostBy returns the sum of the GPU seconds that the degraded jobs lost.
func lostBy(i *client.Incident) float64 {
	sum := 0.0
	for _, j := range i.Impact.Jobs {
		sum += j.GPUSecondsLost
	}
	return sum
}

// worst is the largest slowdown of a job; a stalled job has none.
func worst(i *client.Incident) *float64 {
	var out *float64
	for _, j := range i.Impact.Jobs {
		if j.Slowdown != nil && (out == nil || *j.Slowdown > *out) {
			out = j.Slowdown
		}
	}
	return out
}

// Incidents makes a table, one row for each. page is where Quintet's own page
// is, and may be empty. The fields are the same whatever the rows: a stream
// sends them once.
func Incidents(list []client.Incident, page string) *data.Frame {
	n := len(list)
	opened, updated := moment("opened", n), moment("updated", n).called("Updated")
	resolved := optionalMoment("resolved", n).called("Resolved")
	severity, state, kind := text("severity", n), text("state", n).called("State"), text("kind", n).called("Kind")
	title, domain := text("title", n).called("What"), text("domain", n)
	root, signature := text("root", n).called("Root"), text("signature", n).called("Fault")
	confidence, jobs := number("confidence", n), text("jobs", n).called("Jobs")
	slowdown, lost := number("slowdown", n), exact("gpu_seconds_lost", n)
	id, revision := text("id", n).called("Id"), count("revision", n).called("Revision")
	for r := range list {
		i := &list[r]
		opened.Set(r, i.Opened)
		updated.Set(r, i.Updated)
		resolved.Set(r, i.Resolved)
		severity.Set(r, i.Severity)
		state.Set(r, i.State)
		kind.Set(r, i.Kind)
		title.Set(r, i.Title)
		domain.Set(r, domainOf(i))
		root.Set(r, rootOf(i))
		signature.Set(r, signatureOf(i))
		if i.Root != nil {
			confidence.Set(r, &i.Root.Confidence)
		}
		jobs.Set(r, strings.Join(jobsOf(i), ", "))
		slowdown.Set(r, worst(i))
		lost.Set(r, lostBy(i))
		id.Set(r, i.ID)
		revision.Set(r, i.Revision)
	}
	return table("incidents",
		opened.called("Opened"), severity.called("Severity").mapped(severityColours()), state,
		title.links("Open in Quintet", linkByID(page)), domain.called("Domain").mapped(domainColours()), root, signature,
		confidence.called("Confidence").unit(unitShare), jobs,
		slowdown.called("Slowdown").about("how many times its usual step the slowest job takes"),
		lost.called("GPU time lost").unit(unitSeconds).about("GPU-seconds, all jobs"),
		kind, updated, resolved, id.links("Open in Quintet", linkByID(page)), revision)
}

// linkByID is a link with the id of the row's incident.
func linkByID(page string) string {
	if page == "" {
		return ""
	}
	return strings.TrimSuffix(page, "/") + "/incidents/${__data.fields.id}"
}

// Annotations makes the frame that Grafana draws as regions on graphs. An open
// incident ends at until.
func Annotations(list []client.Incident, until time.Time) *data.Frame {
	n := len(list)
	at, end := moment("time", n), moment("timeEnd", n)
	title, body, id := text("title", n), text("text", n), text("id", n)
	tags := text("tags", n)
	colours := text("color", n)
	for r := range list {
		i := &list[r]
		begin := i.Opened
		if !i.Onset.Earliest.IsZero() {
			begin = i.Onset.Earliest
		}
		finish := until
		if i.Resolved != nil {
			finish = *i.Resolved
		}
		if finish.Before(begin) {
			finish = begin
		}
		at.Set(r, begin)
		end.Set(r, finish)
		title.Set(r, i.Severity+": "+signatureOf(i))
		body.Set(r, i.Title)
		tags.Set(r, strings.Join(tagsOf(i), ","))
		id.Set(r, i.ID)
		colours.Set(r, colour(domainOf(i)))
	}
	f := table("annotations", at, end, title, body, tags, id, colours)
	f.Meta.DataTopic = data.DataTopicAnnotations
	return f
}

// tagsOf returns the tags by which people filter annotations.
func tagsOf(i *client.Incident) []string {
	out := []string{i.Severity, i.State}
	for _, s := range []string{domainOf(i), signatureOf(i), rootOf(i)} {
		if s != "" {
			out = append(out, s)
		}
	}
	for _, j := range i.Impact.Jobs {
		out = append(out, j.Job)
	}
	return out
}

// OpenIncidents counts the open ones by severity: numbers to alert on, zero
// where there is none, so that an alert ends.
func OpenIncidents(list []client.Incident) *data.Frame {
	severities := []string{"critical", "warning", "info"}
	severity, open := text("severity", len(severities)), exact("open", len(severities))
	for r, s := range severities {
		n := 0
		for k := range list {
			if list[k].Severity == s && list[k].State == "open" {
				n++
			}
		}
		severity.Set(r, s)
		open.Set(r, float64(n))
	}
	return numbers("open incidents", severity, open.called("Open incidents"))
}

// Curves makes a series for each curve of an incident's evidence.
func Curves(c *client.Picture) []*data.Frame {
	out := make([]*data.Frame, 0, len(c.Curves))
	for _, k := range c.Curves {
		n := min(len(k.T), len(k.V))
		at, value := moment("time", n), number(k.Metric, n)
		for r := range n {
			at.Set(r, time.UnixMilli(k.T[r]).UTC())
			value.Set(r, k.V[r])
		}
		value.Labels = data.Labels{"entity": k.Entity, "role": k.Role}
		value = value.called(short(k.Entity) + " " + k.Metric).unit(grafanaUnit(k.Unit))
		f := data.NewFrame(k.Entity+" "+k.Metric, at.Field, value.Field)
		f.Meta = &data.FrameMeta{Type: data.FrameTypeTimeSeriesMulti, TypeVersion: data.FrameTypeVersion{0, 1}, PreferredVisualization: data.VisTypeGraph}
		if c.Note != "" {
			Say(f, c.Note)
		}
		out = append(out, f)
	}
	return out
}

// grafanaUnit returns Grafana's name of a unit, or shows the unit after the value.
func grafanaUnit(u string) string {
	switch u {
	case "", "1":
		return "none"
	case "s":
		return unitSeconds
	case "s/s":
		return unitShare
	case "W":
		return "watt"
	case "B/s":
		return "binBps"
	case "Hz":
		return "hertz"
	case "Cel", "°C":
		return "celsius"
	case "V":
		return "volt"
	case "A":
		return "amp"
	}
	return "suffix: " + u
}
