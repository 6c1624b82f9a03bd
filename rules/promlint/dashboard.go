package promlint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/rules"
)

// The data sources of our dashboards, by their fixed ids.
const (
	PrometheusSource = "quintet-prometheus"
	PluginSource     = "quintet"
)

// dashboard is what is checked of a Grafana dashboard.
type dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name       string `json:"name"`
			Datasource source `json:"datasource"`
			Expr       string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Datasource source `json:"datasource"`
	Query      any    `json:"query"`
}

type panel struct {
	ID         int    `json:"id"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	Datasource source `json:"datasource"`
	Targets    []struct {
		Datasource source `json:"datasource"`
		RefID      string `json:"refId"`
		Expr       string `json:"expr"`
		Legend     string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Panels []panel `json:"panels"` // of a row that is closed
}

// silent lists the kinds of panel that show no data.
func silent(kind string) bool { return kind == "row" || kind == "text" || kind == "dashlist" }

// IsDashboard reports whether a document is a Grafana dashboard.
func IsDashboard(text []byte) bool {
	var d struct {
		Panels *json.RawMessage `json:"panels"`
		Schema *json.RawMessage `json:"schemaVersion"`
	}
	return json.Unmarshal(text, &d) == nil && d.Panels != nil && d.Schema != nil
}

func decode(f File) (*dashboard, error) {
	var d dashboard
	if err := json.NewDecoder(bytes.NewReader(f.Text)).Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return &d, nil
}

// all lists the panels, those in closed rows too.
func (d *dashboard) all() (out []panel) {
	for _, p := range d.Panels {
		out = append(append(out, p), p.Panels...)
	}
	return out
}

// Dashboard reports what is wrong with a dashboard.
func Dashboard(v *Vocabulary, f File) (problems rules.Problems) {
	note := func(s rules.Severity, what, text string) {
		line := 1 + bytes.Count(f.Text[:max(0, bytes.Index(f.Text, []byte(what)))], []byte("\n"))
		problems = append(problems, rules.Problem{File: f.Name, Line: line, Column: 1, Severity: s, Text: text})
	}
	say := func(what, format string, args ...any) { note(rules.Error, what, fmt.Sprintf(format, args...)) }
	d, err := decode(f)
	if err != nil {
		return rules.Problems{{File: f.Name, Severity: rules.Error, Text: err.Error()}}
	}
	if d.UID == "" || d.Title == "" {
		say("", "a dashboard without uid or title cannot be linked to")
	}
	c := &dashboardCheck{vocabulary: v, say: say, doubt: func(what, text string) { note(rules.Warning, what, text) }}
	for _, x := range d.Templating.List {
		c.variable(&x)
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			c.expr("annotation "+a.Name, a.Expr)
		}
	}
	ids := map[int]bool{}
	for _, p := range d.all() {
		if ids[p.ID] {
			say(p.Title, "panel %q: id %d twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		c.panel(&p)
	}
	c.places(d.Panels)
	return problems
}

type dashboardCheck struct {
	vocabulary *Vocabulary
	say        func(where, format string, args ...any)
	doubt      func(where, text string)
}

func (c *dashboardCheck) panel(p *panel) {
	if p.Title == "" {
		c.say("", "panel %d has no title", p.ID)
	}
	if silent(p.Type) {
		return
	}
	if p.FieldConfig.Defaults.Unit == "" {
		c.say(p.Title, "panel %q has no unit", p.Title)
	}
	if len(p.Targets) == 0 {
		c.say(p.Title, "panel %q asks nothing", p.Title)
	}
	for _, t := range p.Targets {
		from := t.Datasource.UID
		if from == "" {
			from = p.Datasource.UID
		}
		switch from {
		case PluginSource:
		case PrometheusSource:
			has := c.expr(fmt.Sprintf("panel %q", p.Title), t.Expr)
			for _, m := range legend.FindAllStringSubmatch(t.Legend, -1) {
				if !has.has(m[1]) {
					c.say(t.Legend, "panel %q: the legend names label %s, which its series do not have", p.Title, m[1])
				}
			}
		default:
			c.say(p.Title, "panel %q: data source %q: want %s or %s", p.Title, from, PrometheusSource, PluginSource)
		}
	}
}

// legend is a label in a legend; values is a variable's question for a label;
// placeholder is one of Grafana's variables.
var (
	legend      = regexp.MustCompile(`\{\{\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\}\}`)
	values      = regexp.MustCompile(`^label_values\((?:(.+),)?\s*([a-zA-Z_][a-zA-Z0-9_]*)\)$`)
	placeholder = regexp.MustCompile(`\$(?:\{[a-zA-Z_]\w*(?::\w+)?\}|[a-zA-Z_]\w*)`)
)

// plain puts something that parses in the place of Grafana's variables: a
// minute for times, fill for the others.
func plain(expr, fill string) string {
	return placeholder.ReplaceAllStringFunc(expr, func(name string) string {
		switch strings.Trim(name, "${}") {
		case "__rate_interval", "__interval", "__range":
			return "1m"
		}
		return fill
	})
}

// expr checks a question and returns the labels of its answer.
func (c *dashboardCheck) expr(where, text string) labelSet {
	e, err := language().ParseExpr(plain(text, ".*"))
	if err != nil {
		c.say(strings.TrimPrefix(where, "panel "), "%s: %s: %v", where, text, err)
		return nil
	}
	in := &inference{vocabulary: c.vocabulary}
	has := in.of(e)
	for _, f := range in.found {
		if f.doubt {
			c.doubt(strings.TrimPrefix(where, "panel "), where+": "+f.text)
			continue
		}
		c.say(strings.TrimPrefix(where, "panel "), "%s: %s", where, f.text)
	}
	return has
}

func (c *dashboardCheck) variable(x *variable) {
	if x.Type != "query" {
		return
	}
	text, ok := x.Query.(string)
	if q, isMap := x.Query.(map[string]any); isMap {
		text, ok = q["query"].(string)
	}
	m := values.FindStringSubmatch(text)
	switch {
	case !ok || m == nil:
		c.say(x.Name, "variable %s: want label_values(series, label)", x.Name)
	case x.Datasource.UID != PrometheusSource:
		c.say(x.Name, "variable %s: data source %q: want %s", x.Name, x.Datasource.UID, PrometheusSource)
	case m[1] != "" && !c.expr("variable "+x.Name, m[1]).has(m[2]):
		c.say(x.Name, "variable %s: its series do not have label %s", x.Name, m[2])
	}
}

// places checks that panels neither overlap nor reach over the grid of 24.
func (c *dashboardCheck) places(ps []panel) {
	for i, p := range ps {
		a := p.GridPos
		if a.W < 1 || a.H < 1 || a.X < 0 || a.X+a.W > 24 {
			c.say(p.Title, "panel %q: gridPos reaches over the 24 columns", p.Title)
		}
		if slices.ContainsFunc(ps[:i], func(o panel) bool {
			b := o.GridPos
			return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
		}) {
			c.say(p.Title, "panel %q lies over another", p.Title)
		}
	}
}
