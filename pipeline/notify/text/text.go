package text

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config is the configuration of texts; empty fields mean the defaults.
type Config struct {
	Title, Body string // templates
	Page        string // the page's address, for links; none without it
}

// Bounds of the output of a template, in bytes.
const (
	maxTemplate = 16 << 10
	maxTitle    = 1024
	maxBody     = 32 << 10
	maxList     = 20 // of the chain, actions and jobs
)

const usualTitle = `{{if .Notice}}Flapping: {{else if eq .State "resolved"}}Resolved: {{else if gt .Reopens 0}}Again: {{end}}{{.Title}}`

const usualBody = `{{with .Notice}}{{.}}
{{end}}{{if eq .Kind "alert"}}{{range .Alerts}}- {{.}}
{{end}}{{with .Description}}{{.}}
{{end}}{{else}}{{if .Root}}Root: {{.Root}} ({{.Domain}}, {{.Signature}}, confidence {{.Certainty}}){{else}}Cause under investigation{{end}}
{{end}}{{if .Jobs}}Degraded: {{join .Jobs ", "}}{{if .Lost}}; {{.Lost}} lost{{end}}
{{end}}{{range .Chain}}- {{.}}
{{end}}{{if ne .State "resolved"}}{{range .Actions}}{{if ne $.Kind "alert"}}Do: {{end}}{{.}}
{{end}}{{end}}`

// View is the data of a template.
type View struct {
	ID, Type, State, Kind, Severity, Title string
	Domain, Signature, Root, Site          string
	Confidence                             string // of the root, two digits
	Certainty                              string // of the root, as 93 %
	Opened, Updated, Resolved              string // RFC 3339; Resolved is empty while it is open
	Resolution                             string
	Jobs                                   []string // job:name
	Slowdown                               string   // of the job that is slowest, as 3.8; empty where unknown
	GPUHours                               string   // lost so far; empty where none are
	Lost                                   string   // lost so far, as 6.77 GPU-min; empty where nothing is
	Chain, Actions                         []string
	Revision, Reopens                      int
	Notice, Link                           string
	Alerts                                 []string // of a group of alerts: the text of each
	Description                            string   // of the first
}

// Text renders messages.
type Text struct {
	title, body *template.Template
	page        string
}

// New reads the templates and tries them.
func New(c Config) (*Text, error) {
	t := &Text{page: strings.TrimSuffix(c.Page, "/")}
	var err error
	if t.title, err = compile("title", cmp.Or(c.Title, usualTitle)); err != nil {
		return nil, err
	}
	if t.body, err = compile("text", cmp.Or(c.Body, usualBody)); err != nil {
		return nil, err
	}
	if _, _, err := t.Render(&View{}); err != nil {
		return nil, err
	}
	return t, nil
}

func compile(name, source string) (*template.Template, error) {
	if len(source) > maxTemplate {
		return nil, fmt.Errorf("%s: the template is longer than %d bytes", name, maxTemplate)
	}
	t, err := template.New(name).Funcs(template.FuncMap{"join": strings.Join, "upper": strings.ToUpper, "lower": strings.ToLower, "cut": Cut}).Parse(source)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	for _, part := range t.Templates() {
		if part.Tree != nil && counts(part.Root) {
			return nil, fmt.Errorf("%s: range over a number", name)
		}
	}
	return t, nil
}

// counts reports whether a template loops over a number: that need not end soon.
func counts(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return false
		}
		for _, c := range n.Nodes {
			if counts(c) {
				return true
			}
		}
	case *parse.IfNode:
		return counts(n.List) || counts(n.ElseList)
	case *parse.WithNode:
		return counts(n.List) || counts(n.ElseList)
	case *parse.RangeNode:
		for _, c := range n.Pipe.Cmds {
			if _, field := c.Args[0].(*parse.FieldNode); !field || len(c.Args) > 1 {
				return true // only the view's own lists have a known end
			}
		}
		return counts(n.List) || counts(n.ElseList)
	}
	return false
}

// View returns the template data of a message.
func (t *Text) View(m *notify.Content) *View {
	in := &m.Data
	v := &View{ID: in.ID, Type: m.Type, State: in.State, Kind: in.Kind, Severity: in.Severity, Title: in.Title, Domain: in.Root.Domain.String(), Signature: in.Root.Signature,
		Root: in.Root.Entity.String(), Site: in.Site, Confidence: fmt.Sprintf("%.2f", in.Root.Confidence), Opened: in.Opened.String(), Updated: in.Updated.String(),
		Revision: in.Revision, Reopens: in.Reopens, Notice: m.Notice}
	if in.Root.Entity.IsZero() {
		v.Confidence = ""
	} else {
		v.Certainty = explain.Percent(in.Root.Confidence)
	}
	if in.Resolved != nil {
		v.Resolved = in.Resolved.String()
	}
	if in.Resolution != nil {
		v.Resolution = *in.Resolution
	}
	switch {
	case t.page == "":
	case in.ID == "":
	case in.Kind == notify.KindAlert:
		v.Link = t.page + "/alerts/" + in.ID
	default:
		v.Link = t.page + "/incidents/" + in.ID
	}
	v.alerts(m.Alerts)
	v.impact(in)
	for _, l := range in.Chain[:min(len(in.Chain), maxList)] {
		v.Chain = append(v.Chain, link(l))
	}
	for _, a := range in.Actions[:min(len(in.Actions), maxList)] {
		v.Actions = append(v.Actions, a.Text)
	}
	return v
}

func (v *View) alerts(all []notify.RuleAlert) {
	for i, a := range all[:min(len(all), maxList)] {
		if i == 0 {
			v.Description = a.Annotations["description"]
		}
		v.Alerts = append(v.Alerts, cmp.Or(a.Annotations["summary"], a.Labels["alertname"]))
	}
	if more := len(all) - maxList; more > 0 {
		v.Alerts = append(v.Alerts, fmt.Sprintf("%d more", more))
	}
}

func (v *View) impact(in *explain.Incident) {
	var worst, lost float64
	for i, j := range in.Impact.Jobs {
		if i < maxList {
			v.Jobs = append(v.Jobs, j.Job.String())
		}
		lost += float64(j.GPUSecondsLost)
		if j.Slowdown != nil {
			worst = max(worst, *j.Slowdown)
		}
	}
	if more := len(in.Impact.Jobs) - maxList; more > 0 {
		v.Jobs = append(v.Jobs, fmt.Sprintf("%d more", more))
	}
	if worst > 0 {
		v.Slowdown = fmt.Sprintf("%.1f", worst)
	}
	if lost > 0 {
		v.Lost = explain.GPUTime(lost)
	}
	if lost >= 180 { // less is 0.0
		v.GPUHours = fmt.Sprintf("%.1f", lost/3600)
	}
}

// link is one step of a chain in words.
func link(l explain.Link) string {
	if l.Why != "" {
		return l.Entity.String() + ": " + l.Why
	}
	return fmt.Sprintf("%s: %s from %.4g to %.4g %s", l.Entity, l.Metric, l.Before, l.Now, l.Unit)
}

// Render returns title and body. A title is one line.
func (t *Text) Render(v *View) (title, body string, err error) {
	if title, err = run(t.title, v, maxTitle); err != nil {
		return "", "", err
	}
	body, err = run(t.body, v, maxBody)
	return oneLine(title), strings.TrimSpace(body), err
}

// errEnough ends a template that writes too much.
var errEnough = errors.New("that is enough")

// bounded keeps the written bytes, up to a bound.
type bounded struct {
	strings.Builder
	room int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.room)
	b.Builder.Write(p[:n])
	if b.room -= n; n < len(p) {
		return n, errEnough
	}
	return n, nil
}

func run(t *template.Template, v *View, room int) (string, error) {
	b := &bounded{room: room}
	if err := t.Execute(b, v); err != nil && !errors.Is(err, errEnough) {
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	return strings.ToValidUTF8(b.String(), ""), nil
}

// Cut shortens a text to so many bytes, on a whole character, and marks the cut.
func Cut(n int, s string) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	return strings.ToValidUTF8(s[:max(0, min(len(s), n-len(mark)))], "") + mark
}

// Shorten shortens a text to so many characters, and marks the cut.
func Shorten(n int, s string) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// oneLine takes control characters out of a title.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Time reads a message's timestamp, and is the incident's where that is missing.
func Time(m *notify.Content) telemetry.Time {
	var at telemetry.Time
	if at.UnmarshalText([]byte(m.Timestamp)) != nil {
		return m.Data.Updated
	}
	return at
}
