package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/telemetry"
)

func content() *notify.Content {
	slow, end := 3.84, telemetry.Time(1795229280e9)
	how := "recovered"
	return &notify.Content{Type: "incident.resolved", Timestamp: "2026-11-21T02:48:00Z", Notice: "", Data: explain.Incident{
		ID: "inc-1", State: explain.StateResolved, Kind: "incident", Severity: "critical", Title: "train is\n3.8 times slower", Opened: 1795229220e9, Updated: end, Resolved: &end, Resolution: &how, Revision: 4, Site: "lab",
		Root:    explain.Root{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: "h1/n0"}, Domain: telemetry.Network, Signature: "slow-receiver", Confidence: 0.937},
		Impact:  explain.Impact{Jobs: []explain.JobImpact{{Job: telemetry.Entity{Kind: telemetry.Job, Name: "train"}, Slowdown: &slow, GPUSecondsLost: 36000}}},
		Chain:   []explain.Link{{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: "h1/n0"}, Why: "it sent pause"}},
		Actions: []explain.Action{{Text: "Drain h1."}}}}
}

func render(t *testing.T, c text.Config) (title, body string) {
	t.Helper()
	x, err := text.New(c)
	if err != nil {
		t.Fatal(err)
	}
	title, body, err = x.Render(x.View(content()))
	if err != nil {
		t.Fatal(err)
	}
	return title, body
}

func TestWords(t *testing.T) {
	title, body := render(t, text.Config{})
	if title != "Resolved: train is 3.8 times slower" || body != "Root: nic:h1/n0 (network, slow-receiver, confidence 94 %)\nDegraded: job:train; 10 GPU-h lost\n- nic:h1/n0: it sent pause" {
		t.Errorf("%s\n%s", title, body)
	}
	title, body = render(t, text.Config{Title: `[{{upper .Severity}}] {{cut 13 .Title}} {{.Slowdown}} {{.Resolution}}`, Body: `{{range .Chain}}{{.}}|{{end}}{{range .Actions}}{{.}}|{{end}}{{.Link}}|{{.Resolved}}`, Page: "https://q/"})
	if title != "[CRITICAL] train is 3… 3.8 recovered" || body != "nic:h1/n0: it sent pause|Drain h1.|https://q/incidents/inc-1|2026-11-21T02:48:00Z" {
		t.Errorf("%s\n%s", title, body)
	}
}

func TestWordsOfAlerts(t *testing.T) {
	x, err := text.New(text.Config{Page: "https://q"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := notifytest.Alerts(t, explain.StateOpen, 1, "eth1", "eth2").Read()
	if err != nil {
		t.Fatal(err)
	}
	v := x.View(m)
	title, body, err := x.Render(v)
	if title != "LinkDown: several at switch:leaf3" || body != "- port eth1 is down\n- port eth2 is down\nLook at the cable.\nLook at both ends. Do: reseat." || v.Link != "https://q/alerts/alert-5f1c02d9a1b7e340" || err != nil {
		t.Errorf("%s\n%s\n%s %v", title, body, v.Link, err)
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	for name, template := range map[string]string{
		"unknown value":      "{{.Secret}}",
		"unknown function":   `{{env "HOME"}}`,
		"open":               "{{if .Title}}",
		"over a number":      "{{range 1000000000}}{{end}}",
		"hidden number":      "{{range (len .Title)}}{{end}}",
		"number in a branch": "{{if .Title}}{{else}}{{with .ID}}{{range 1000000000}}{{end}}{{end}}{{end}}",
		"in a template":      `{{define "x"}}{{range 1000000000}}{{end}}{{end}}{{template "x"}}`,
		"a variable":         "{{$n := 1000000000}}{{range $n}}{{end}}",
		"long":               strings.Repeat("x", 20<<10),
	} {
		if _, err := text.New(text.Config{Body: template}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestBounds(t *testing.T) {
	x, err := text.New(text.Config{Title: "{{.Title}}{{.Title}}", Body: `{{range .Chain}}{{printf "%s%s" . .}}{{end}}`})
	if err != nil {
		t.Fatal(err)
	}
	v := text.View{Title: strings.Repeat("ü", 5000)}
	for range 100 {
		v.Chain = append(v.Chain, strings.Repeat("ü", 1000))
	}
	title, body, err := x.Render(&v)
	if err != nil || len(title) > 1024 || len(body) > 32<<10 || !utf8.ValidString(title+body) {
		t.Errorf("%d, %d bytes, %v", len(title), len(body), err)
	}
	for n := range 9 {
		if got := text.Cut(n, "üüü"); len(got) > max(n, len("…")) || !utf8.ValidString(got) {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// FuzzTemplate has any template over any title: it ends, within its bounds.
func FuzzTemplate(f *testing.F) {
	f.Add("{{.Title}}{{range .Jobs}}{{.}}{{end}}", "a title")
	f.Add("{{with $x := .Chain}}{{index $x 0}}{{end}}", "")
	f.Fuzz(func(t *testing.T, template, title string) {
		x, err := text.New(text.Config{Title: template, Body: template})
		if err != nil {
			return
		}
		v := x.View(content())
		v.Title = title
		head, body, err := x.Render(v)
		if err == nil && (len(head) > 1024 || len(body) > 32<<10 || strings.ContainsAny(head, "\r\n")) {
			t.Fatalf("%q: %d, %d bytes", template, len(head), len(body))
		}
	})
}
